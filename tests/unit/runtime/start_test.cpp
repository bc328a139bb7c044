// SPDX-License-Identifier: Apache-2.0
// What a program in a container meets: its environment, ids, descriptors, codes.
// Real containers of a tiny image: by the kernel (root), by FUSE and unpacked (user nobody).
#include "tests/unit/namespaces/old_kernel.hpp"
#include "tests/unit/runtime/trial.hpp"

#include <csignal>

#include <fmt/format.h>

using namespace cybele;
using namespace cybele::runtime;
using trial::As;
using trial::exec;
using trial::is_let_go;
using trial::kAll;
using trial::sh;
using trial::tiny_image;

TEST_CASE("codes, signals, missing programs") {
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        CHECK(sh("exit 7", as).code == 7);
        CHECK(sh("kill -TERM $$", as).code == 128 + SIGTERM);
        CHECK(sh("no-such-program", as).code == 127);
        Request request = exec(tiny_image(), "");
        const auto environment = trial::environment_of(tiny_image());
        request.program.arguments = {"no-such-program"};
        CHECK(trial::run(tiny_image(), request, environment, as).code == 127);
        request.program.arguments = {"/etc/not-a-program"};
        CHECK(trial::run(tiny_image(), request, environment, as).code == 126);
    }
}

TEST_CASE("ids, home and accounts") {
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        const std::string uid = as == As::kRoot ? "0" : "65534";
        const auto ended = sh("id -u; id -g; cd; pwd; grep -c \":$(id -u):.*:$HOME:\" /etc/passwd; "
                              "touch $HOME/seen-$(id -u); ! touch /etc/x 2>/dev/null",
                              as);
        CHECK(ended.code == 0);
        const std::string home = (tiny_image().folder.path() / "home").string();
        CHECK(ended.text == fmt::format("{0}\n{0}\n{1}\n1\n", uid, home));
        CHECK(std::filesystem::exists(tiny_image().folder.path() / "home" / ("seen-" + uid)));
    }
}

TEST_CASE("the order of the environment's sources") {
    for (const As as : kAll) {
        const auto ended = sh("echo $FROM_DOCKER $FROM_IMAGE $BOTH $HOST $INJECTED ${EMPTY-unset} "
                              "$PMIX_RANK; echo $PATH; echo $LD_LIBRARY_PATH $APPTAINER_NAME "
                              "$SINGULARITY_NAME $PYTHONNOUSERSITE",
                              as,
                              {{"FROM_DOCKER", "host"},
                               {"BOTH", "host"},
                               {"HOST", "host"},
                               {"EMPTY", "host"},
                               {"PMIX_RANK", "3"},
                               {"APPTAINERENV_INJECTED", "yes"},
                               {"LD_LIBRARY_PATH", "/host"},
                               {"APPTAINERENV_PREPEND_PATH", "/first"}});
        CHECK(ended.text ==
              "image image image host yes unset 3\n"
              "/first:/opt/bin:/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin\n"
              "/.singularity.d/libs tiny.sif tiny.sif 1\n");
    }
}

TEST_CASE("values are data, whatever they hold") {
    const std::string nasty = "a'b\"c$(touch /tmp/cybele-never)`id`\\ \n;exit 9\n'";
    Request request =
        exec(tiny_image(),
             "for v in \"$NASTY\" \"$INJECTED\" \"$OPTION\"; do printf '%s\\n' \"$v\"; done");
    request.variables.environment["OPTION"] = nasty;
    EnvironmentMap environment = trial::environment_of(tiny_image());
    environment["NASTY"] = nasty;
    environment["APPTAINERENV_INJECTED"] = nasty;
    environment["x;touch /tmp/cybele-never;"] = "1";
    environment["BASH_FUNC_x%%"] = "() { :; }; touch /tmp/cybele-never";
    for (const As as : kAll) {
        const auto ended = trial::run(tiny_image(), request, environment, as);
        CHECK(ended.code == 0);
        CHECK(ended.text == fmt::format("{0}\n{0}\n{0}\n", nasty));
    }
    CHECK(!std::filesystem::exists("/tmp/cybele-never"));
}

TEST_CASE("run, test and shell") {
    Request request = exec(tiny_image(), "");
    const auto environment = trial::environment_of(tiny_image());
    request.program.action = Action::kRun;
    request.program.arguments = {"a b", "c"};
    for (const As as : kAll) {
        const auto ended = trial::run(tiny_image(), request, environment, as);
        CHECK(ended.text == "run a b c\n");
    }
    request.program.arguments = {};
    request.program.action = Action::kTest;
    CHECK(trial::run(tiny_image(), request, environment).code == 6);
    request.program.action = Action::kShell;
    request.program.arguments = {"-c", "echo shell"};
    CHECK(trial::run(tiny_image(), request, environment).text == "shell\n");
}

TEST_CASE("descriptors, umask and process id are kept; none of ours stays open") {
    for (const As as : kAll) {
        const auto environment = trial::environment_of(tiny_image());
        const std::string log = tiny_image().folder.path() / "descriptors";
        const int code = tiny::in_child([&]() -> int {
            const int fd = open(log.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0666);
            dup2(fd, 1);
            dup2(fd, 9);
            umask(027);
            close(10); // the shell's own place for saved descriptors
            const std::string script =
                "umask; [ $$ = " + std::to_string(getpid()) + " ] || echo other; printf '" +
                tiny::inherited_descriptors() + "---\\n'; ls -1 /proc/$$/fd; echo nine >&9";
            trial::become(tiny_image(), exec(tiny_image(), script), environment, as);
        });
        CHECK(code == 0);
        const std::string text = tiny::read(log);
        REQUIRE(text.starts_with("0027\n0\n1\n2\n"));
        const auto middle = text.find("---\n");
        CHECK(text.substr(middle + 4) == text.substr(5, middle - 5) + "nine\n");
    }
}

TEST_CASE("the program has no children that it did not start") {
    for (const As as : kAll) {
        CHECK(sh("read line < /proc/$$/task/$$/children; echo \"[$line]\"", as).text == "[]\n");
    }
}

TEST_CASE("an image without metadata starts its programs directly") {
    trial::Image image;
    std::filesystem::remove_all(image.root / ".singularity.d");
    image.pack();
    Request request = exec(image, "echo $PATH $HOST");
    EnvironmentMap environment = trial::environment_of(image);
    environment["HOST"] = "h";
    for (const As as : kAll) {
        CHECK(trial::run(image, request, environment, as).text ==
              "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin h\n");
    }
    request.program.action = Action::kRun;
    request.program.arguments = {"-c", "echo sh"};
    CHECK(trial::run(image, request, environment).text == "sh\n");
}

TEST_CASE("what is refused") {
    trial::Image image;
    image.pack();
    const auto refused = [&](const std::filesystem::path& path) {
        Request request = exec(image, "true");
        request.image.file = path;
        const auto ended = trial::run(image, request, trial::environment_of(image));
        CHECK(ended.code == 255);
        return ended.text;
    };
    image.write_sif(image.folder.path() / "other.sif", "s390x");
    const std::string other = refused(image.folder.path() / "other.sif");
    CHECK(other.find("s390x") != std::string::npos);
    CHECK(other.find(images::host_architecture()) != std::string::npos);
    tiny::write(image.folder.path() / "text", "no image\n");
    (void)refused(image.folder.path() / "text");
    CHECK(refused(image.folder.path() / "none").find("none") != std::string::npos);
    tiny::write(image.folder.path() / "cut", tiny::read(image.squashfs).substr(0, 4096));
    (void)refused(image.folder.path() / "cut");
    Request request = exec(image, "true");
    request.program.directory = "/nowhere";
    CHECK(trial::run(image, request, trial::environment_of(image)).code == 255);
    CHECK(is_let_go(image.folder.path().filename().string()));
}

TEST_CASE("containers start with the calls of Linux 4.18") {
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        for (const auto& path : {tiny_image().sif, tiny_image().root}) {
            Request request = exec(tiny_image(),
                                   "cat /new/place/hosts > /dev/null && "
                                   "! touch /new/place/x 2>/dev/null && exit 8");
            request.image.file = path;
            request.files.binds = {"/etc:/new/place:ro"};
            const int code = tiny::in_child([&]() -> int {
                if (as != As::kRoot) {
                    trial::give_fuse(tiny_image().folder.path(), as == As::kUserWithFuse);
                    tiny::become_user();
                }
                tiny::forget_new_calls(ENOSYS);
                auto environment = trial::environment_of(tiny_image());
                environment["CYBELE_CACHE_DIR"] += as == As::kRoot ? "" : "/user";
                const auto started = start(request, Environment(environment));
                if (!started) {
                    MESSAGE(
                        started.error().message(), ": ", started.error().faults().front().because);
                }
                return started.value_or(255);
            });
            CHECK(code == 8);
        }
    }
}
