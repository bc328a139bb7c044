// SPDX-License-Identifier: Apache-2.0
// Applications of a definition (SCIF), the scripts of an OCI image's configuration, and names and
// contents that look secret.
#include "builder/bases/oci_config.hpp"
#include "builder/files/secrets.hpp"
#include "builder/steps/apps.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "temporary.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

namespace {

definitions::Section
section(const std::string& name, const std::string& app, const std::string& text) {
    definitions::Section made;
    made.name = name;
    made.arguments = app;
    made.text = text;
    made.line = 5;
    return made;
}

/// What a shell prints that ran the image's runscript with these words.
std::string printed(const OciConfig& config,
                    const std::vector<std::string>& words,
                    const EnvironmentMap& variables = {}) {
    const TempDirectory folder = temporary();
    const fs::path script = folder.path() / "runscript";
    REQUIRE(write_file(script, run_script(config), 0755));
    Command command;
    command.argv = {"sh", script.native()};
    command.argv.insert(command.argv.end(), words.begin(), words.end());
    EnvironmentMap environment = variables;
    environment.emplace("PATH", "/usr/bin:/bin");
    command.environment = environment;
    const auto outcome = run_process(command);
    REQUIRE(outcome);
    return outcome->output + (outcome->ok() ? "" : "!" + std::to_string(outcome->code));
}

/// What a file of this name with this content is taken for.
std::string taken_for(const std::string& name, const std::string& content) {
    const TempDirectory folder = temporary();
    REQUIRE(write_file(folder.path() / "file", content));
    const UniqueFd fd(::open((folder.path() / "file").c_str(), O_RDONLY | O_CLOEXEC));
    const char* const what = secret_in(name, fd.get(), content.size());
    return what == nullptr ? "" : what;
}

} // namespace

TEST_CASE("apps: each section becomes a file of its application, with variables for all") {
    definitions::Stage stage;
    stage.sections = {section("post", "", "true\n"),
                      section("apprun", "foo-1", "exec foo \"$@\"\n"),
                      section("apprun", "foo-1 more", "second\n"),
                      section("appenv", "foo-1", "export A=1\n"),
                      section("apphelp", "foo-1", "help\n"),
                      section("appstart", "foo-1", "start\n"),
                      section("apptest", "foo-1", "test\n"),
                      section("applabels", "foo-1", "author me\n"),
                      section("appinstall", "foo-1", "make\n"),
                      section("appfiles", "foo-1", "a.txt\nb.txt data/b\n"),
                      section("apphelp", "bar", "bar's\n")};
    const auto apps = find_apps(stage, "a.def");
    REQUIRE(apps);
    REQUIRE(apps->size() == 2);
    CHECK(apps->front().name == "foo-1");
    CHECK(apps->front().text("apprun") == "exec foo \"$@\"\n\nsecond\n");
    CHECK(apps->back().text("apprun").empty());
    const auto files = app_files(*apps);
    REQUIRE(files.size() == 2);
    CHECK(files[0].destination == "/scif/apps/foo-1/a.txt");
    CHECK(files[1].source == "b.txt");
    CHECK(files[1].destination == "/scif/apps/foo-1/data/b");
    CHECK(app_texts(*apps).find("%appinstall foo-1\nmake\n") != std::string::npos);
    const std::string install = install_script(*apps);
    CHECK(install.find("cd /scif/apps/foo-1\nmake\n") != std::string::npos);
    const TempDirectory folder = temporary();
    REQUIRE(make_directories(folder.path() / ".singularity.d/env"));
    REQUIRE(write_apps(*apps, folder.path()));
    const fs::path base = folder.path() / "scif/apps/foo-1";
    const std::pair<const char*, const char*> texts[] = {
        {"scif/env/90-environment.sh", "export A=1\n"},
        {"scif/runscript.help", "help\n"},
        {"scif/startscript", "#!/bin/sh\n\nstart\n\n"},
        {"scif/test", "#!/bin/sh\n\ntest\n\n"}};
    for (const auto& [file, text] : texts) {
        CAPTURE(file);
        CHECK(read_file(base / file).value_or("none") == text);
    }
    struct stat status {};
    REQUIRE(::stat((base / "scif/runscript").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0755);
    REQUIRE(::stat((base / "scif/runscript.help").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0644);
    CHECK(read_file(base / "scif/labels.json")->find("\"author\": \"me\"") != std::string::npos);
    CHECK(read_file(base / "scif/labels.json")->find("foo-1") != std::string::npos);
    for (const char* made : {"bin", "lib", "../../data/foo-1/input", "../../data/foo-1/output"}) {
        CHECK(fs::is_directory(base / made));
    }
    CHECK_FALSE(fs::exists(folder.path() / "scif/apps/bar/scif/runscript"));
    CHECK(read_file(base / "scif/env/01-base.sh")->find("SCIF_APPDATA=\"/scif/data/foo-1\"") !=
          std::string::npos);
    const std::string exports = *read_file(folder.path() / ".singularity.d/env/94-appsbase.sh");
    for (const char* line : {"SCIF_APPROOT_foo_1=/scif/apps/foo_1\n",
                             "export SCIF_APPENV_foo_1=",
                             "export SCIF_APPRUN_foo_1=",
                             "export SCIF_APPSTART_foo_1=",
                             "export SCIF_APPLABELS_bar="}) {
        CHECK_MESSAGE(exports.find(line) != std::string::npos, line);
    }
    for (const char* line : {"SCIF_APPENV_bar", "SCIF_APPRUN_bar", "SCIF_APPSTART_bar"}) {
        CHECK_MESSAGE(exports.find(line) == std::string::npos, line);
    }
}

TEST_CASE("apps: links of the base lead nowhere outside of the tree") {
    definitions::Stage stage;
    stage.sections = {section("apprun", "foo", "exec foo\n")};
    const auto apps = find_apps(stage, "a.def");
    REQUIRE(apps);
    const TempDirectory folder = temporary();
    const fs::path root = folder.path() / "root";
    const fs::path outside = folder.path() / "outside";
    REQUIRE(make_directories(outside));
    REQUIRE(make_directories(root / "scif"));
    REQUIRE(make_directories(root / ".singularity.d"));
    fs::create_symlink(outside, root / "scif/apps");
    fs::create_symlink(outside, root / "scif/data");
    fs::create_symlink(outside, root / ".singularity.d/env");
    (void)write_apps(*apps, root); // what it makes of a link that leads nowhere inside is its own
    CHECK(fs::is_empty(outside));
    fs::remove_all(root / "scif/apps"); // a folder by now
    fs::create_directories(root / "opt/apps");
    fs::create_symlink("/opt/apps", root / "scif/apps");
    REQUIRE(write_apps(*apps, root));
    CHECK(read_file(root / "opt/apps/foo/scif/runscript").value_or("none") ==
          "#!/bin/sh\n\nexec foo\n\n");
    CHECK(fs::is_empty(outside));
}

TEST_CASE("apps: a name that leads out of the folder of applications is refused") {
    for (const char* name : {"", ".", "..", "a/b", "/a"}) {
        definitions::Stage stage;
        stage.sections = {section("apprun", name, "x\n"), section("apphelp", name, "y\n")};
        const auto refused = find_apps(stage, "a.def");
        REQUIRE_FALSE(refused);
        CHECK(refused.error().faults().size() == 2);
        CHECK(refused.error().faults().front().where->line == 5);
    }
}

TEST_CASE("oci: the image's command runs as its configuration says, with any words") {
    const std::string odd = "a 'b' \"c\" $HOME `id` \\d";
    OciConfig config;
    config.entrypoint = {"printf", "[%s]"};
    config.command = {"x", odd};
    CHECK(printed(config, {}) == "[x][" + odd + "]");
    CHECK(printed(config, {"word", "two words"}) == "[word][two words]");
    CHECK(printed(config, {"$A"}, {{"A", "value"}}) == "[value]"); // as with Apptainer
    for (const char* name : {"APPTAINER_NO_EVAL", "SINGULARITY_NO_EVAL"}) {
        CHECK(printed(config, {odd}, {{name, "1"}}) == "[" + odd + "]");
        CHECK(printed(config, {}, {{name, "1"}}) == "[x][" + odd + "]");
    }
    config.entrypoint.clear();
    config.command = {"echo", "hello"};
    CHECK(printed(config, {}) == "hello\n");
    CHECK(printed(config, {"echo", "other"}) == "other\n");
    config.command.clear();
    CHECK(printed(config, {}) == "!127");
    CHECK(printed(config, {"echo", "other"}) == "other\n");
}

TEST_CASE("oci: variables keep the caller's value, but for PATH") {
    OciConfig config;
    config.environment = {{"PATH", "/opt:/bin"}, {"A", "it's"}, {"B", "b"}};
    const auto value = [&](const EnvironmentMap& variables, const std::string& name) {
        Command command;
        command.argv = {
            "/bin/sh", "-c", environment_script(config) + "printf %s \"$" + name + "\""};
        command.environment = variables;
        return run_process(command)->output;
    };
    CHECK(value({{"PATH", "/bin"}}, "PATH") == "/opt:/bin");
    CHECK(value({}, "A") == "it's");
    CHECK(value({{"A", "mine"}}, "A") == "mine");
    CHECK(value({{"A", ""}}, "A") == "it's");
    CHECK(value({{"A", "mine"}}, "B") == "b");
}

TEST_CASE("oci: what other runtimes keep of a configuration is named; what is none is refused") {
    const auto notes = [](const std::string& fields) {
        const auto config = read_oci_config(R"({"config":{)" + fields + "}}");
        REQUIRE(config);
        return config->notes.size();
    };
    for (const char* field : {R"("User":"u")",
                              R"("WorkingDir":"/w")",
                              R"("ExposedPorts":{"80/tcp":{}})",
                              R"("Volumes":{"/v":{}})",
                              R"("Healthcheck":{"Test":["x"]})",
                              R"("StopSignal":"TERM")",
                              R"("Env":["1a=x"])"}) {
        CHECK_MESSAGE(notes(field) == 1, field);
    }
    for (const char* field : {R"("User":"")",
                              R"("WorkingDir":"/")",
                              R"("WorkingDir":null)",
                              R"("Volumes":{})",
                              R"("ExposedPorts":[])",
                              R"("Env":null)"}) {
        CHECK_MESSAGE(notes(field) == 0, field);
    }
    const auto config = read_oci_config(
        R"({"config":{"Entrypoint":"one","Cmd":["a","b"],"Env":["A=1=2","B","C="],"Labels":{"l":"v"}}})");
    REQUIRE(config);
    CHECK(config->entrypoint == std::vector<std::string>{"one"});
    CHECK(config->command == std::vector<std::string>{"a", "b"});
    CHECK(config->environment ==
          std::vector<std::pair<std::string, std::string>>{{"A", "1=2"}, {"B", ""}, {"C", ""}});
    CHECK(config->labels == std::map<std::string, std::string>{{"l", "v"}});
    CHECK(read_oci_config("{}"));
    for (const char* bad : {"",
                            "{",
                            R"({"config":{"Env":5}})",
                            R"({"config":{"Cmd":[5]}})",
                            R"({"config":{"Labels":{"l":5}}})"}) {
        CHECK_MESSAGE(!read_oci_config(bad), bad);
    }
}

TEST_CASE("secrets: every name and end of a name, and names that only look like one") {
    const std::pair<const char*, const char*> names[] = {
        {".env", "settings with secrets"},
        {".netrc", "logins"},
        {"_netrc", "logins"},
        {".git-credentials", "logins"},
        {".pgpass", "logins"},
        {".pypirc", "logins"},
        {".htpasswd", "logins"},
        {"token", "a token"},
        {".token", "a token"},
        {".vault-token", "a token"},
        {"id_rsa", "a private key"},
        {"id_dsa", "a private key"},
        {"id_ecdsa", "a private key"},
        {"id_ed25519", "a private key"},
        {"pgp-secret", "a private key"},
        {"secring.gpg", "a private key"},
        {".dockercfg", "logins"},
        {".my.cnf", "logins"},
        {"rclone.conf", "logins"},
        {"application_default_credentials.json", "logins"},
        {"x.token", "a token"},
        {"x.p12", "a store of keys"},
        {"x.pfx", "a store of keys"},
        {"x.jks", "a store of keys"},
        {"x.kdbx", "a store of keys"},
        {".kube/config", "logins"},
        {".cargo/credentials", "a token"},
        {".cargo/credentials.toml", "a token"},
        {".config/gh/hosts.yml", "a token"},
        {".env.local", "settings with secrets"}};
    for (const auto& [name, what] : names) {
        CAPTURE(name);
        CHECK(taken_for(name, "") == what);
        CHECK(taken_for("a/b/" + std::string(name), "") == what);
        CHECK(taken_for(std::string(name) + "x/y", "") == "");
    }
    for (const char* name : {"id_rsa.pub",
                             "tokens",
                             "env",
                             ".env.example",
                             ".env.sample",
                             ".env.template",
                             ".env.dist",
                             "config",
                             "x.key",
                             "my.cnf"}) {
        CHECK_MESSAGE(taken_for(name, "") == "", name);
    }
}

TEST_CASE("secrets: a key or a token by what follows its mark, as long as it is") {
    const std::string x(80, 'x');
    struct Row {
        const char* begin;
        std::size_t length;
        const char* what;
    };
    const Row rows[] = {{"AGE-SECRET-KEY-1", 50, "a private key"},
                        {"PuTTY-User-Key-File-", 1, "a private key"},
                        {"_authToken=", 8, "a token"},
                        {"\"auth\": \"", 8, "logins"},
                        {"\"auth\":\"", 8, "logins"},
                        {"client-key-data: ", 40, "a private key"},
                        {"oauth_token: ", 30, "a token"},
                        {"AKIA", 16, "a token"},
                        {"ghp_", 36, "a token"},
                        {"github_pat_", 40, "a token"},
                        {"glpat-", 20, "a token"},
                        {"hf_", 30, "a token"},
                        {"aws_secret_access_key = ", 40, "a token"},
                        {"aws_secret_access_key=", 40, "a token"},
                        {"xoxb-", 20, "a token"},
                        {"xoxp-", 20, "a token"},
                        {"npm_", 36, "a token"},
                        {"pypi-AgEI", 40, "a token"},
                        {"dckr_pat_", 20, "a token"},
                        {"AIzaSy", 33, "a token"},
                        {"sk-ant-", 40, "a token"},
                        {"-----BEGIN PRIVATE KEY-----\n", 16, "a private key"}};
    for (const Row& row : rows) {
        CAPTURE(row.begin);
        CHECK(taken_for("f", "a " + std::string(row.begin) + x.substr(0, row.length) + " b") ==
              row.what);
        CHECK(taken_for("f", "a " + std::string(row.begin) + x.substr(0, row.length - 1) + " b") ==
              "");
        CHECK(taken_for("f", std::string(row.begin) + "! " + row.begin + x) == row.what);
    }
    const std::string token = "ghp_" + x;
    CHECK(taken_for("f", token + std::string(4096 - token.size(), '\n')) == "a token");
    CHECK(taken_for("f", token + std::string(4097 - token.size(), '\n')) == "");
    const std::string key = "-----BEGIN PGP PRIVATE KEY BLOCK-----\n";
    CHECK(taken_for("f", key + std::string(65536 - key.size(), '\n')) == "a private key");
    CHECK(taken_for("f", key + std::string(65537 - key.size(), '\n')) == "");
    CHECK(taken_for("pip.conf", "https://u:p@h") == "logins");
    CHECK(taken_for(".condarc", "https://u:p@h") == "logins");
    CHECK(taken_for(".gitconfig", "https://u:p@h") == "logins");
    CHECK(taken_for(".yarnrc", "https://u:p@h") == "logins");
    CHECK(taken_for("other", "https://u:p@h") == "");
    CHECK(taken_for("pip.conf", "https://u:@h") == "");
    CHECK(taken_for("pip.conf", "https://u@h") == "");
    CHECK(taken_for("pip.conf", "https://h/a:b@c") == "");
    CHECK(taken_for("pip.conf", "https://h https://u:p@h") == "logins");
}
