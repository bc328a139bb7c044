// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/action_script.hpp"
#include "runtime/containers/environment_option.hpp"
#include "runtime/containers/host_files.hpp"
#include "runtime/containers/locale.hpp"
#include "runtime/containers/payload_environment.hpp"
#include "tests/unit/runtime/trial.hpp"

using namespace cybele;
using namespace cybele::runtime;

TEST_CASE("environment files: assignments as a shell writes them, and nothing is run") {
    const auto folder = tiny::make_folder();
    const auto read = [&](const std::string& text) {
        tiny::write(folder.path() / "file", text);
        return read_environment_file(folder.path() / "file");
    };
    const std::vector<std::pair<std::string, EnvironmentMap>> rows = {
        {"# comment\n\nA=1\nexport B='x y'\n  C=\"$HOME\"\nD=\n",
         {{"A", "1"}, {"B", "x y"}, {"C", "$HOME"}, {"D", ""}}},
        {"A=1 # c\nB=\"2 # in\"\nC=#3\nD=a#4\n",
         {{"A", "1"}, {"B", "2 # in"}, {"C", "#3"}, {"D", "a#4"}}},
        {"A=1 B='it''s' export C=\"a\\\"b\\n\"", {{"A", "1"}, {"B", "its"}, {"C", "a\"b\\n"}}},
        {"A=\"one\ntwo\"\nB=a\\\nb\nC=\\$X\\ y\\",
         {{"A", "one\ntwo"}, {"B", "ab"}, {"C", "$X y\\"}}},
        {"A=$(id)\r\nexport A\r\nB=`id`", {}},
        {"A=1\r\nexport A X\r\nB=`id`", {{"A", "1"}, {"B", "`id`"}}},
    };
    for (const auto& [text, expected] : rows) {
        const auto variables = read(text);
        CAPTURE(text);
        CHECK(variables.has_value() == !expected.empty());
        if (variables) {
            CHECK(*variables == expected);
        }
    }
}

TEST_CASE("environment files by the name of Apptainer use variables of the file and of the host") {
    const auto folder = tiny::make_folder();
    const Environment host(EnvironmentMap{{"HOST", "a b$X"}, {"A", "host"}});
    const std::vector<std::pair<std::string, std::string>> rows = {
        {"V=$HOST", "a b$X"},
        {"V=\"<${HOST}>\"", "<a b$X>"},
        {"V='$HOST'", "$HOST"},
        {"V=\\$HOST", "$HOST"},
        {"V=\"\\$HOST\"", "$HOST"},
        {"A=own\nV=$A.$NOSUCH.", "own.."},
        {"V=$ V=$1", "$1"},
        {"V=${HOST", "${HOST"},
        {"V=\"${HOST:-x}\"", "${HOST:-x}"},
        {"readonly V=1", "1"},
        {"declare -r V=1", "1"},
        {"typeset V=1", "1"},
        {"V=1; B=2", "1"},
        {"V=1\nV+=2", "12"},
        {"set -a\nV=1\nset +a", "1"},
        {"B=1\nunset B\nV=$B.", "."},
    };
    for (const auto& [text, expected] : rows) {
        CAPTURE(text);
        tiny::write(folder.path() / "file", text);
        const auto variables = read_environment_file(folder.path() / "file", &host);
        REQUIRE(variables);
        CHECK(variables->at("V") == expected);
    }
}

TEST_CASE("environment files: all faults with their places") {
    const auto folder = tiny::make_folder();
    tiny::write(folder.path() / "bad",
                "\xEF\xBB\xBF"
                "A=1\nno variable\n1A=2\n B=a b\nC=x;y\nX\nD='open\n");
    const auto bad = read_environment_file(folder.path() / "bad");
    REQUIRE(!bad);
    std::vector<std::pair<std::size_t, std::size_t>> places;
    for (const Fault& fault : bad.error().faults()) {
        CHECK(fault.code == ErrorCode::kInput);
        places.emplace_back(fault.where->line, fault.where->column);
    }
    CHECK(places == std::vector<std::pair<std::size_t, std::size_t>>{
                        {1, 1}, {2, 1}, {3, 1}, {4, 6}, {5, 4}, {6, 1}, {7, 3}});
}

TEST_CASE("--env: one variable, or several") {
    using Pairs = std::vector<std::pair<std::string, std::string>>;
    CHECK(read_environment_option("A=1").value() == Pairs{{"A", "1"}});
    CHECK(read_environment_option("A=1,2").value() == Pairs{{"A", "1,2"}});
    CHECK(read_environment_option("\"A=1,2\"").value() == Pairs{{"A", "1,2"}});
    CHECK(read_environment_option("A=x=y").value() == Pairs{{"A", "x=y"}});
    CHECK(read_environment_option("A=1,B=2=3").value() == Pairs{{"A", "1"}, {"B", "2=3"}});
    CHECK(read_environment_option("\"A=1,2\",B=3").value() == Pairs{{"A", "1,2"}, {"B", "3"}});
    for (const char* text : {"A", "=1", "A=1,B=2,C", "A=1,B=2,=3"}) {
        const auto refused = read_environment_option(text);
        REQUIRE(!refused);
        CHECK(refused.error().code() == ErrorCode::kUsage);
    }
}

TEST_CASE("which of the host's variables pass") {
    Request request;
    const Environment host({{"PMIX_RANK", "1"},
                            {"OMPI_COMM_WORLD_RANK", "2"},
                            {"PMI_FD", "5"},
                            {"SLURM_JOB_ID", "3"},
                            {"HOME", "/h"},
                            {"PATH", "/p"},
                            {"LD_LIBRARY_PATH", "/l"},
                            {"APPTAINER_NAME", "x"},
                            {"SINGULARITY_BIND", "x"},
                            {"BASH_FUNC_ml%%", "() { echo; }"},
                            {"TERM", "xterm"},
                            {"https_proxy", "p"},
                            {"LANG", "de_DE.UTF-8"}});
    auto layers = make_environment(request, host, "/home/u");
    REQUIRE(layers);
    CHECK(layers->host == EnvironmentMap{{"PMIX_RANK", "1"},
                                         {"OMPI_COMM_WORLD_RANK", "2"},
                                         {"PMI_FD", "5"},
                                         {"SLURM_JOB_ID", "3"},
                                         {"TERM", "xterm"},
                                         {"https_proxy", "p"},
                                         {"LANG", "de_DE.UTF-8"},
                                         {"PYTHONNOUSERSITE", "1"}});
    CHECK(layers->facts.at("HOME") == "/home/u");
    CHECK(layers->facts.at("USER_PATH") == "/p");
    CHECK(layers->facts.at("APPTAINER_NO_EVAL") == "1");
    CHECK(layers->facts.count("APPTAINER_INSTANCE") == 0);
    request.variables.cleanenv = true;
    layers = make_environment(request, host, "/home/u");
    REQUIRE(layers);
    CHECK(layers->host ==
          EnvironmentMap{
              {"TERM", "xterm"}, {"https_proxy", "p"}, {"LANG", "C"}, {"PYTHONNOUSERSITE", "1"}});
    CHECK(layers->facts.count("USER_PATH") == 0);
    request.global.follows_apptainer = true;
    request.instance.name = "one";
    layers = make_environment(request, host, "/home/u");
    REQUIRE(layers);
    CHECK(layers->facts.count("APPTAINER_NO_EVAL") == 0);
    CHECK(layers->facts.at("APPTAINER_INSTANCE") == "one");
}

TEST_CASE("who wins among the injecting ways") {
    const auto folder = tiny::make_folder();
    tiny::write(folder.path() / "file", "B=file\nC=file\n");
    Request request;
    request.variables.environment = {{"C", "option"}, {"PREPEND_PATH", "/first"}};
    request.variables.environment_files = {folder.path() / "file"};
    const Environment host({{"SINGULARITYENV_A", "s"},
                            {"APPTAINERENV_A", "a"},
                            {"APPTAINERENV_B", "a"},
                            {"APPTAINERENV_HOME", "/evil"},
                            {"SINGULARITYENV_LD_LIBRARY_PATH", "/mine"},
                            {"APPTAINERENV_APPEND_PATH", "/last"}});
    const auto layers = make_environment(request, host, "/h");
    REQUIRE(layers);
    CHECK(layers->injected == EnvironmentMap{{"A", "a"},
                                             {"B", "file"},
                                             {"C", "option"},
                                             {"LD_LIBRARY_PATH", "/mine:/.singularity.d/libs"}});
    CHECK(flatten(*layers).at("PATH") == "/first:" + std::string(kDefaultPath) + ":/last");
    CHECK(flatten(*layers).at("HOME") == "/h");
    request.variables.environment = {{"a b", "x"}};
    CHECK(!make_environment(request, host, "/h"));
}

TEST_CASE("passwd and group keep the image's lines and gain the caller's") {
    Caller caller;
    caller.uid = 1234;
    caller.gid = 77;
    caller.passwd = "ann:x:1234:77:Ann:/home/ann:/bin/zsh";
    caller.groups = {"lab:x:77:ann", "root:x:0:ann"};
    CHECK(merge_passwd("root:x:0:0::/root:/bin/sh", caller, "/h") ==
          "root:x:0:0::/root:/bin/sh\nann:x:1234:77:Ann:/h:/bin/zsh\n");
    CHECK(merge_passwd("web:x:1234:5::/old:/bin/sh\n", caller, "/h") ==
          "web:x:1234:5::/h:/bin/sh\n");
    CHECK(merge_group("root:x:0:", caller) == "root:x:0:\nlab:x:77:ann\n");
}

TEST_CASE("locales that the image lacks") {
    const auto folder = tiny::make_folder();
    const auto& root = folder.path();
    tiny::write(root / "usr/lib/os-release", "");
    CHECK(has_locale(root, "C.UTF-8"));
    CHECK(!has_locale(root, "en_US.UTF-8"));
    EnvironmentMap host = {{"LANG", "en_US.UTF-8"}, {"LC_ALL", "C"}, {"X", "1"}};
    fall_back_to_known_locale(host, root);
    CHECK(host == EnvironmentMap{{"LANG", "C.UTF-8"}, {"X", "1"}});
    std::filesystem::create_directories(root / "usr/lib/locale/en_US.utf8");
    CHECK(has_locale(root, "en_US.UTF-8"));
    tiny::write(root / "usr/lib/locale/locale-archive", std::string("xx\0de_DE.utf8@euro\0", 20));
    CHECK(has_locale(root, "de_DE.UTF-8@euro"));
    CHECK(!has_locale(root, "de_AT.UTF-8"));
}

TEST_CASE("an environment too big for one argument goes another way") {
    PayloadEnvironment layers;
    for (int i = 0; i < 40; ++i) {
        layers.host["BIG" + std::to_string(i)] = std::string(4096, 'x');
    }
    layers.injected["SURE"] = "1";
    Request request;
    request.program.arguments = {"true"};
    const ImageTraits traits{true, true, false, false, false};
    const auto made = make_program(request, layers, traits);
    REQUIRE(made);
    const std::optional<Program> program = made->by_shell ? made->by_shell() : *made;
    CHECK(program->argv[2].size() < 128 * 1024);
    CHECK(program->argv[2].find("export SURE=1\n") != std::string::npos);
    std::size_t handed_over = 0;
    for (int i = 0; i < 40; ++i) {
        const std::string name = "BIG" + std::to_string(i);
        const bool is_in_script = program->argv[2].find(name + "=x") != std::string::npos;
        CHECK(is_in_script != program->environment.contains(name));
        handed_over += is_in_script ? 0 : 1;
    }
    CHECK(handed_over > 0);
}
