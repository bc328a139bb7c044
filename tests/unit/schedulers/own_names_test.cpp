// SPDX-License-Identifier: Apache-2.0
// Variables of a Job that have the name of a variable of the script: the program gets its own, and
// the script keeps its own.
#include "bench.hpp"
#include "support/message.hpp"
#include "support/text.hpp"

#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cybele::schedulers {
namespace {

/// The runtime: sets what --env gives, and starts the words behind the image here.
constexpr const char* kStandIn =
    "while [[ $1 != *.sif ]]; do\n"
    "    case $1 in --env=*) export \"${1#--env=}\" ;; esac\n    shift\n"
    "done\nshift\nexec \"$@\"\n";

/// Each word of lower-case letters in the script, but those of the shell.
std::set<std::string> names_in(const std::string& script) {
    std::set<std::string> names;
    std::string word;
    for (const char letter : script.substr(script.find("main() {"))) {
        if ((letter >= 'a' && letter <= 'z') || letter == '_') {
            word += letter;
        } else if (!word.empty()) {
            if (word != "_" && !word.starts_with("cybele")) {
                names.insert(word);
            }
            word.clear();
        }
    }
    return names;
}

std::string environment_of(const std::set<std::string>& names) {
    std::string text = "environment:\n";
    for (const std::string& name : names) {
        text += fmt::format("  '{0}': mine {0}\n", name);
    }
    return text;
}

} // namespace

TEST_CASE("a variable of the Job with the name of one of the script reaches the program alone") {
    struct Row {
        const char* fields;
        const char* program; ///< {}: what prints the names that it does not find
    };
    constexpr std::array rows{
        Row{"", "script: |\n  {}"},
        Row{"image: a.sif\n", "script: |\n  {}"},
        Row{"image: a.sif\nlaunch: openmp\narray: 0-3\nmodules: [m]\nsetup: 'true'\n"
            "verify: {keys: [a.pub]}\nresources: {time: 5 min}\n",
            "script: |\n  {}"},
        Row{"launch: batch\n", "script: |\n  {}"},
        Row{"launch: batch\nimage: a.sif\n", "script: |\n  {}"},
        Row{"launch: batch\nimage: a.sif\n", "script: |\n  $CYBELE_CONTAINER sh -c '{}'"},
        Row{"sweep: {rate: [1, 2]}\n", "script: |\n  {}"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.fields);
        CAPTURE(row.program);
        Bench bench;
        bench.program("apptainer", kStandIn);
        bench.program("cybelectl", kStandIn);
        bench.file("a.sif", "image");
        bench.file("a.pub", "key");
        bench.variables["BASH_FUNC_module%%"] = "() { :; }";
        bench.variables["CYBELE_ARRAY_INDEX"] = "1";
        const auto fields = [&](const std::set<std::string>& names) {
            const std::string look = fmt::format(
                "for NAME in {}; do eval \"[ \\\"\\${{$NAME-}}\\\" = \\\"mine $NAME\\\" ]\" "
                "|| echo \"$NAME\"; done",
                fmt::join(names, " "));
            return row.fields + environment_of(names) +
                   fmt::format(fmt::runtime(row.program), look) + "\n";
        };
        const auto names = names_in(bench.script(fields({"x"}), "local"));
        REQUIRE(names.contains("payload"));
        const auto outcome = bench.run(fields(names), "local");
        CHECK_MESSAGE(outcome.code == 0, outcome.errors);
        CHECK(outcome.output == "");
        if (std::string_view(row.fields).find("array") == std::string_view::npos &&
            !std::string_view(row.fields).starts_with("sweep")) {
            CHECK(bench.record()["state"] == "done");
        }
    }
}

TEST_CASE("a variable of the submission with a name of the script reaches the program unchanged") {
    constexpr std::array rows{
        "script: |\n  {0}",
        "teardown: [{{run: '{0}'}}]\nscript: |\n  true",
        "input: in.txt\nscript: |\n  {0}",
        "image: a.sif\nlaunch: openmp\narray: 0-3\nmodules: [m]\nsetup: |\n  {0}\n"
        "verify: {{keys: [a.pub]}}\nresources: {{time: 5 min}}\nscript: |\n  {0}",
        "launch: batch\nsetup: |\n  {0}\nscript: |\n  {0}",
        "setup: [{{run: '{0}', on: each-node}}]\nscript: |\n  {0}",
        "launch: batch\nimage: a.sif\nscript: |\n  $CYBELE_CONTAINER sh -c '{0}'",
        "sweep: {{rate: [1, 2], pack: all}}\nscript: |\n  {0}",
        "launch: torch\ncommand: [train]",
    };
    for (const char* const row : rows) {
        CAPTURE(row);
        Bench bench;
        bench.program("apptainer", kStandIn);
        bench.program("cybelectl", kStandIn);
        bench.file("a.sif", "image");
        bench.file("a.pub", "key");
        bench.file("in.txt", "");
        const auto look = [](const std::set<std::string>& names) {
            return fmt::format("for NAME in {}; do printenv \"$NAME\" | grep -qx \"mine $NAME\" "
                               "|| echo \"$NAME\" >>\"$HOME/lost\"; done",
                               fmt::join(names, " "));
        };
        const auto names =
            names_in(bench.script(fmt::format(fmt::runtime(row), "true") + "\n", "local"));
        REQUIRE(names.contains("payload"));
        for (const std::string& name : names) {
            bench.variables[name] = "mine " + name;
        }
        bench.program("python3", look(names) + "\n");
        bench.variables["BASH_FUNC_module%%"] = "() { :; }";
        bench.variables["CYBELE_ARRAY_INDEX"] = "1";
        const auto outcome = bench.run(fmt::format(fmt::runtime(row), look(names)) + "\n", "local");
        CHECK_MESSAGE(outcome.code == 0, outcome.errors);
        const auto lost = read_file(bench.work / "lost");
        CHECK_MESSAGE(!lost, (lost ? *lost : ""));
    }
}

TEST_CASE("what a set-up exports under a name of the script reaches the program") {
    for (const char* const row : {"", "launch: batch\n", "image: a.sif\nmodules: [m]\n"}) {
        CAPTURE(row);
        Bench bench;
        bench.program("cybelectl", kStandIn);
        bench.file("a.sif", "image");
        bench.variables["BASH_FUNC_module%%"] = "() { export image=of-module place=of-module; }";
        bench.variables["name"] = "of the submission";
        bench.variables["place"] = "of the submission";
        const auto outcome =
            bench.run(std::string(row) + "setup: export name=$name,changed private=mine\n"
                                         "script: echo $name-$private-${image-}-$place\n",
                      "local");
        CHECK_MESSAGE(outcome.code == 0, outcome.errors);
        CHECK(outcome.output == (std::string_view(row).find("modules") == std::string_view::npos
                                     ? "of the submission,changed-mine--of the submission\n"
                                     : "of the submission,changed-mine-of-module-of-module\n"));
        CHECK(bench.record()["state"] == "done");
    }
}

TEST_CASE("functions of a set-up replace none of the script, and no command of bash after it") {
    constexpr std::array rows{"", "image: a.sif\nverify: {keys: [a.pub]}\n", "launch: batch\n"};
    for (const char* const row : rows) {
        CAPTURE(row);
        Bench bench;
        bench.program("apptainer", kStandIn);
        bench.program("cybelectl", kStandIn);
        bench.file("a.sif", "image");
        bench.file("a.pub", "key");
        const std::string program = "\nscript: |\n  echo fine\n  exit 5\n";
        std::string functions = "setup: |\n";
        for (const std::string_view line :
             text::split(bench.script(row + ("setup: |\n  true" + program), "local"), '\n')) {
            if (const auto end = line.find("() {");
                end != std::string_view::npos && end > 0 && line.find_first_of(" '\"") == end + 2) {
                functions += fmt::format("  {}() {{ echo stolen; }}\n", line.substr(0, end));
            }
        }
        REQUIRE(functions.find("  launch()") != std::string::npos);
        functions += "  kill() { echo stolen; }\n  cd() { echo stolen; }\n  cybelectl() { :; }\n";
        const auto outcome = bench.run(row + (functions + program.substr(1)), "local");
        CHECK_MESSAGE(outcome.code == 5, outcome.errors);
        CHECK(outcome.output == "fine\n");
        CHECK(outcome.errors.find("launch: readonly function") != std::string::npos);
        CHECK(bench.record()["state"] == "failed");
    }
}

TEST_CASE("a set-up that uses names of the script changes neither its record nor what it removes") {
    const std::string assign =
        "for NAME in {}; do\n    [ \"$NAME\" = ended ] || eval \"$NAME=$PWD/mine\"\n  done";
    constexpr std::array rows{"",
                              "array: 0-3\nimage: a.sif\n",
                              "launch: batch\n",
                              "image: a.sif\nverify: {keys: [a.pub]}\n"};
    for (const char* const row : rows) {
        CAPTURE(row);
        Bench bench;
        bench.program("apptainer", kStandIn);
        bench.program("cybelectl", kStandIn);
        bench.file("a.sif", "image");
        bench.file("a.pub", "key");
        REQUIRE(make_directories(bench.work / "mine").has_value());
        bench.variables["CYBELE_ARRAY_INDEX"] = "1";
        const auto fields = [&](const std::string& names) {
            return row + ("setup: |\n  " + fmt::format(fmt::runtime(assign), names)) +
                   "\nscript: |\n  echo fine\n  exit 5\n";
        };
        const auto names = names_in(bench.script(fields("x"), "local"));
        const auto outcome = bench.run(fields(fmt::format("{}", fmt::join(names, " "))), "local");
        CHECK_MESSAGE(outcome.code == 5, outcome.errors);
        CHECK(outcome.output == "fine\n");
        CHECK(
            fs::is_directory(bench.work / "mine")); // `private` and the like are removed at the end
        if (std::string_view(row).find("array") == std::string_view::npos) {
            CHECK(bench.record()["state"] == "failed");
        }
    }
}

TEST_CASE("a secret with the name of one of the script's variables is refused at its line") {
    const auto fault_of = [](const char* name) {
        const launchers::Job job = job_of(fmt::format(
            "kind: Job\nname: run\ncommand: [a]\nenvironment:\n  {}: '@file:key'\n", name));
        RenderInput input;
        input.job = &job;
        input.dialect = "slurm";
        const auto script = render_script(input);
        return script ? std::string() : format_text(script.error().faults());
    };
    CHECK(fault_of("PRIVATE") == "");
    CHECK(fault_of("my_Token") == "");
    for (const std::string name : {"private", "cpus", "hosts", "exported", "token", "_2"}) {
        const std::string told = fault_of(name.c_str());
        CHECK_MESSAGE(told.find("error: the secret `" + name + "` has a name as ") == 0, told);
        CHECK_MESSAGE(told.find(":5:") != std::string::npos, told);
    }
}

TEST_CASE("variables that no option of the runtime can carry stand before Spark's programs") {
    const Bench bench;
    const std::string text = bench.script(
        "launch: spark\nimage: a.sif\ncommand: [a.py]\nresources: {memory-per-node: 8 GiB}\n"
        "environment: {ODD: \"a,b'c\", name: mine, LD_LIBRARY_PATH: /x}\n",
        "slurm");
    CHECK_MESSAGE(text.find("\"$image\" env 'ODD=a,b'\\''c' name=mine /bin/sh -c 'set -a; ") !=
                      std::string::npos,
                  text);
    CHECK_MESSAGE(text.find(" sh /x /bin/sh -c \\\n") != std::string::npos, text);
}

} // namespace cybele::schedulers
