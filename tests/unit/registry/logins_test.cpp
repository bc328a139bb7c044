// SPDX-License-Identifier: Apache-2.0
// Files of logins, and the programs that they name.
#include "registry/oci/credentials.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"

#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>

namespace cybele::registry {
namespace {

namespace fs = std::filesystem;

struct Home {
    TempDirectory folder = *TempDirectory::make("/var/tmp", "cybele-logins");
    fs::path file = folder.path() / "logins.json";
    Environment environment{EnvironmentMap{{"HOME", folder.path().native()},
                                           {"PATH", folder.path().native() + ":/usr/bin:/bin"}}};

    void write(const std::string& text) const {
        REQUIRE(write_file(file, text));
    }
    /// A program that answers with `answer`, and ends with `code`; what it was asked is in `asked`.
    void program(const std::string& name, const std::string& answer, int code = 0) const {
        const fs::path path = folder.path() / ("docker-credential-" + name);
        REQUIRE(write_file(path,
                           "#!/bin/sh\n[ \"$1\" = get ] || exit 9\ncat > '" +
                               (folder.path() / "asked").native() + "'\nprintf '%s' '" + answer +
                               "'\nexit " + std::to_string(code) + "\n"));
        REQUIRE(::chmod(path.c_str(), 0755) == 0);
    }
    [[nodiscard]] Result<std::optional<Login>> find(const std::string& host = "a.example") const {
        return find_login(host, "group/app", file, environment);
    }
    [[nodiscard]] std::string user(const std::string& host = "a.example") const {
        const auto login = find(host);
        return !login ? "refused" : *login ? (*login)->user : "nobody";
    }
    [[nodiscard]] std::string asked() const {
        return *read_file(folder.path() / "asked");
    }
};

std::string auth(const std::string& user) {
    return R"({"auth":")" + base64(user + ":x") + R"("})";
}

} // namespace

TEST_CASE("the program of a registry, or of all, is asked for its login") {
    const Home home;
    home.program("one", R"({"Username":"alice","Secret":"open sesame"})");
    home.program("all", R"({"Username":"bob","Secret":"b"})");
    home.write(R"({"credHelpers":{"a.example":"one","b.example":5},"credsStore":"all"})");
    const auto login = home.find();
    REQUIRE(login);
    CHECK((*login)->user == "alice");
    CHECK((*login)->password == "open sesame");
    CHECK((*login)->origin == "docker-credential-one");
    CHECK(home.asked() == "a.example");
    CHECK(home.user("b.example") == "bob");
    CHECK(home.asked() == "b.example");
    CHECK(home.user("index.docker.io") == "bob");
    CHECK(home.asked() == "https://index.docker.io/v1/");
    // A login in the file itself comes first, the one of a longer name before the host's program.
    home.write(R"({"auths":{"a.example/group":)" + auth("group") +
               R"(},"credHelpers":{"a.example":"one"},"credsStore":""})");
    CHECK(home.user() == "group");
    CHECK(home.user("c.example") == "nobody");
}

TEST_CASE("a program that gives an identity token, none, or fails") {
    const Home home;
    home.write(R"({"credsStore":"one"})");
    home.program("one", R"({"Username":"<token>","Secret":"t"})");
    const auto token = home.find();
    REQUIRE(token);
    CHECK((*token)->identity_token == "t");
    CHECK((*token)->user.empty());
    CHECK((*token)->password.empty());
    home.program("one", "{}");
    CHECK(home.user() == "nobody");
    home.program("one", "credentials not found in native keychain", 1);
    CHECK(home.user() == "nobody");
    home.program("one", "locked", 1);
    const auto failed = home.find();
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kEnvironment);
    CHECK(failed.error().faults().front().because == "locked");
    home.write(R"({"credsStore":"../one"})");
    const auto refused = home.find();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().faults().front().id == "credential-program-name");
}

TEST_CASE("entries of a file: user and password apart, none, and what is no object") {
    const Home home;
    home.write(R"({"auths":{"a.example":{"username":"alice","password":"p"}}})");
    CHECK(home.user() == "alice");
    CHECK((*home.find())->password == "p");
    CHECK((*home.find())->origin == home.file.native());
    home.write(R"({"auths":{"a.example":{"auth":"!"}}})");
    CHECK(home.user() == "nobody");
    home.write(R"({"auths":{"a.example":{"auth":")" + base64("no colon") + R"("}}})");
    CHECK(home.user() == "nobody");
    home.write(R"({"auths":{"a.example":{},"http://a.example/v1/":)" + auth("second") + "}}");
    CHECK(home.user() == "second");
    home.write(R"({"auths":{"a.example":"text"}})");
    CHECK(home.user() == "nobody");
    for (const char* bad : {"[]", "5", "", "{"}) {
        home.write(bad);
        CHECK(home.user() == "refused");
    }
}

TEST_CASE("a login by variables needs both, and is not one that is kept for a host") {
    Home home;
    home.write("{}");
    home.environment.set("DOCKER_USERNAME", "docker");
    CHECK(home.user() == "nobody");
    home.environment.set("DOCKER_PASSWORD", "p");
    CHECK(home.user() == "docker");
    home.environment.set("APPTAINER_DOCKER_USERNAME", "apptainer");
    CHECK(home.user() == "docker");
    home.environment.set("APPTAINER_DOCKER_PASSWORD", "p");
    CHECK(home.user() == "apptainer");
    CHECK((*home.find())->origin == "$APPTAINER_DOCKER_USERNAME");
    home.write(R"({"auths":{"a.example":)" + auth("file") + "}}");
    CHECK(home.user() == "file"); // it was named
    home.environment = Environment(EnvironmentMap{{"HOME", home.folder.path().native()},
                                                  {"SINGULARITY_DOCKER_USERNAME", "variable"},
                                                  {"SINGULARITY_DOCKER_PASSWORD", "p"}});
    CHECK(find_login("b.example", "x", home.file, home.environment).value()->user == "variable");
    CHECK_FALSE(find_kept_login("b.example", home.file, home.environment).value());
    CHECK(find_kept_login("a.example", home.file, home.environment).value()->user == "file");
}

TEST_CASE("logins that cannot be looked for are an error, not an anonymous request") {
    Home home;
    const fs::path root = home.folder.path();
    const auto find = [&] { return find_login("a.example", "x", {}, home.environment); };
    CHECK_FALSE(find().value());
    fs::create_symlink(".docker", root / ".docker"); // leads to itself
    const auto refused = find();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kEnvironment);
    CHECK(refused.error().faults().front().id == "settings-not-visible");
    const fs::path file = root / ".docker/config.json";
    CHECK_FALSE(login_hosts(file));
    CHECK_FALSE(erase_login(file, "a.example"));
    CHECK_FALSE(write_login(file, "a.example", {"u", "p", {}, {}}));
    fs::remove(root / ".docker");
    fs::create_symlink("run", root / "run"); // as one of another user
    home.environment.set("XDG_RUNTIME_DIR", (root / "run").native());
    CHECK_FALSE(find().value());
}

TEST_CASE("where a login is written: the named file, Apptainer's where there is one, docker's") {
    Home home;
    const fs::path root = home.folder.path();
    CHECK(login_file({}, home.environment) == root / ".docker/config.json");
    REQUIRE(make_directories(root / ".apptainer"));
    CHECK(login_file({}, home.environment) == root / ".docker/config.json");
    REQUIRE(write_file(root / ".apptainer/docker-config.json", "{}"));
    CHECK(login_file({}, home.environment) == root / ".apptainer/docker-config.json");
    home.environment.set("APPTAINER_CONFIGDIR", (root / "settings").native());
    CHECK(login_file({}, home.environment) == root / ".docker/config.json");
    home.environment.set("REGISTRY_AUTH_FILE", "/named.json");
    CHECK(login_file({}, home.environment) == "/named.json");
    CHECK(login_file("/given.json", home.environment) == "/given.json");
}

TEST_CASE("the hosts of a file, with Docker's registry by its name") {
    const Home home;
    CHECK(login_hosts(home.file)->empty());
    home.write("{}");
    CHECK(login_hosts(home.file)->empty());
    home.write(R"({"auths":[]})");
    CHECK(login_hosts(home.file)->empty());
    REQUIRE(write_login(home.file, "index.docker.io", {"hub", "p", {}, {}}));
    REQUIRE(write_login(home.file, "b.example", {"b", "p", {}, {}}));
    CHECK(*login_hosts(home.file) == std::vector<std::string>{"b.example", "index.docker.io"});
    CHECK(read_file(home.file)->find("https://index.docker.io/v1/") != std::string::npos);
    CHECK(home.user("index.docker.io") == "hub");
    CHECK(*erase_login(home.file, "index.docker.io"));
    CHECK(*login_hosts(home.file) == std::vector<std::string>{"b.example"});
    CHECK_FALSE(*erase_login(home.folder.path() / "none.json", "b.example"));
    home.write("[]");
    CHECK_FALSE(login_hosts(home.file));
    CHECK_FALSE(write_login(home.file, "a.example", {"a", "p", {}, {}}));
}

TEST_CASE("a folder that is made for logins is its owner's alone") {
    const Home home;
    const mode_t before = ::umask(0);
    const auto written =
        write_login(home.folder.path() / "new/config.json", "a.example", {"a", "p", {}, {}});
    ::umask(before);
    REQUIRE(written);
    struct stat status {};
    REQUIRE(::stat((home.folder.path() / "new").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
    REQUIRE(write_file(home.folder.path() / "file", ""));
    const auto refused =
        write_login(home.folder.path() / "file/config.json", "a.example", {"a", "p", {}, {}});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().faults().front().id == "login-not-stored");
}

} // namespace cybele::registry
