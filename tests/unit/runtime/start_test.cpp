// SPDX-License-Identifier: Apache-2.0
// Real containers of a tiny image: by the kernel (root), by FUSE and unpacked (user nobody).
#include "runtime/unpacked_trees.hpp"
#include "tests/unit/namespaces/old_kernel.hpp"
#include "tests/unit/runtime/trial.hpp"

#include <csignal>
#include <ctime>

#include <fmt/format.h>
#include <sys/stat.h>

using namespace cybele;
using namespace cybele::runtime;
using trial::As;
using trial::exec;

namespace {

constexpr As kAll[] = {As::kRoot, As::kUser, As::kUserWithFuse};

/// One image for all cases that do not change it.
const trial::Image& tiny_image() {
    static const trial::Image image = [] {
        trial::Image made;
        made.pack();
        return made;
    }();
    return image;
}

/// The files behind all loop devices.
std::string losetup() {
    std::string files;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/block", ignored)) {
        files += read_file(entry.path() / "loop/backing_file").value_or("");
    }
    return files;
}

/// Whether no loop device serves the image any more: a container ends with its last process, and
/// one that ranks share stays a second longer.
bool is_let_go(const std::string& image) {
    for (int i = 0; i < 250 && losetup().find(image) != std::string::npos; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return losetup().find(image) == std::string::npos;
}

std::size_t mounts_now() {
    const std::string table = tiny::read("/proc/self/mountinfo");
    return static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n'));
}

trial::Ended sh(const std::string& script, As as, const EnvironmentMap& more = {}) {
    EnvironmentMap environment = trial::environment_of(tiny_image());
    for (const auto& [name, value] : more) {
        environment[name] = value;
    }
    return trial::run(tiny_image(), exec(tiny_image(), script), environment, as);
}

} // namespace

TEST_CASE("codes, signals, missing programs") {
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        CHECK(sh("exit 7", as).code == 7);
        CHECK(sh("kill -TERM $$", as).code == 128 + SIGTERM);
        CHECK(sh("no-such-program", as).code == 127);
        Request request = exec(tiny_image(), "");
        const auto environment = trial::environment_of(tiny_image());
        request.arguments = {"no-such-program"};
        CHECK(trial::run(tiny_image(), request, environment, as).code == 127);
        request.arguments = {"/etc/not-a-program"};
        CHECK(trial::run(tiny_image(), request, environment, as).code == 126);
    }
}

TEST_CASE("the ways of mounting are those that are expected") {
    const char* ways[] = {"kernel squashfs", "unpacked", "FUSE"};
    for (const As as : kAll) {
        Request request = exec(tiny_image(), "true");
        request.is_verbose = true;
        const auto ended =
            trial::run(tiny_image(), request, trial::environment_of(tiny_image()), as);
        CAPTURE(ended.text);
        CHECK(ended.code == 0);
        CHECK(ended.text.find(std::string("mounted by ") + ways[static_cast<int>(as)]) !=
              std::string::npos);
    }
}

TEST_CASE("the host's /tmp and /dev/shm are the container's: MPI's ranks meet there") {
    for (const std::string folder : {"/tmp", "/dev/shm"}) {
        struct stat status = {};
        REQUIRE(::stat(folder.c_str(), &status) == 0);
        const std::string inode =
            std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
        for (const As as : kAll) {
            CAPTURE(folder);
            CAPTURE(static_cast<int>(as));
            CHECK(sh("stat -c %d:%i " + folder, as).text == inode + "\n");
        }
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
    request.environment["OPTION"] = nasty;
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
    request.action = Action::kRun;
    request.arguments = {"a b", "c"};
    for (const As as : kAll) {
        const auto ended = trial::run(tiny_image(), request, environment, as);
        CHECK(ended.text == "run a b c\n");
    }
    request.arguments = {};
    request.action = Action::kTest;
    CHECK(trial::run(tiny_image(), request, environment).code == 6);
    request.action = Action::kShell;
    request.arguments = {"-c", "echo shell"};
    CHECK(trial::run(tiny_image(), request, environment).text == "shell\n");
}

TEST_CASE("binds: read-only, missing mount points, files, missing sources") {
    const auto out = tiny_image().folder.path() / "out";
    tiny::write(out / "file", "host\n");
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        Request request = exec(tiny_image(),
                               "cat /deep/er/file /etc/one/two; ! touch /deep/er/x 2>/dev/null && "
                               "touch /rw/made-$(id -u)");
        request.binds = {out.string() + ":/deep/er:ro," + (out / "file").string() + ":/etc/one/two",
                         out.string() + ":/rw"};
        auto ended = trial::run(tiny_image(), request, trial::environment_of(tiny_image()), as);
        CHECK(ended.code == 0);
        CHECK(ended.text == "host\nhost\n");
        CHECK(!std::filesystem::exists(out / "x"));
        request.binds = {(out / "none").string() + ":/none"};
        ended = trial::run(tiny_image(), request, trial::environment_of(tiny_image()), as);
        CHECK(ended.code == 255);
        CHECK(ended.text.find("none") != std::string::npos);
    }
}

TEST_CASE("links of the image stay inside it") {
    trial::Image image;
    std::filesystem::remove(image.root / "tmp");
    std::filesystem::create_directory_symlink("/etc", image.root / "tmp");
    std::filesystem::remove_all(image.root / "home");
    std::filesystem::create_directory_symlink("../../../../../../opt/homes", image.root / "home");
    image.pack();
    for (const As as : kAll) {
        Request request;
        request.image = image.sif;
        request.arguments = {"sh", "-c", "ls -d /tmp/cybele-mark-* > /dev/null; cat /home/u/file"};
        request.home = (image.folder.path() / "home").string() + ":/home/u";
        tiny::write(image.folder.path() / "home/file", "content\n");
        const auto ended = trial::run(image, request, trial::environment_of(image), as);
        CHECK(ended.text.find("content\n") != std::string::npos);
    }
    CHECK(!std::filesystem::exists("/opt/homes"));
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

TEST_CASE("contained: nothing of the host's files, a small /dev, processes of its own") {
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        Request request = exec(tiny_image(),
                               "ls -A /tmp $HOME | grep -v : | tr -d '\\n'; echo $$; "
                               "ls /dev | tr '\\n' ' '; echo x > /dev/null && echo y > $HOME/z; "
                               "echo ${SECRET-clean} $LANG");
        request.containall = true;
        auto environment = trial::environment_of(tiny_image());
        environment["SECRET"] = "1";
        const auto ended = trial::run(tiny_image(), request, environment, as);
        CHECK(ended.code == 0);
        CHECK(ended.text == "2\nfd full null ptmx pts random shm stderr stdin stdout tty urandom "
                            "zero clean C\n");
    }
}

TEST_CASE("a writable tmpfs over the image") {
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        Request request = exec(tiny_image(),
                               "echo new > /etc/hosts-2 && cat /etc/hosts-2 && "
                               "echo more >> /etc/not-a-program && mkdir /top");
        request.writable_tmpfs = true;
        const auto ended =
            trial::run(tiny_image(), request, trial::environment_of(tiny_image()), as);
        CHECK(ended.text == "new\n");
        CHECK(ended.code == 0);
    }
    CHECK(!std::filesystem::exists(tiny_image().root / "top"));
}

TEST_CASE("directories and bare squashfs are images too") {
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        for (const auto& path : {tiny_image().root, tiny_image().squashfs}) {
            Request request =
                exec(tiny_image(), "cat /etc/not-a-program; ! touch /etc/x && exit 5");
            request.image = path;
            const auto ended =
                trial::run(tiny_image(), request, trial::environment_of(tiny_image()), as);
            CHECK(ended.code == 5);
        }
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
    request.action = Action::kRun;
    request.arguments = {"-c", "echo sh"};
    CHECK(trial::run(image, request, environment).text == "sh\n");
}

TEST_CASE("what is refused") {
    trial::Image image;
    image.pack();
    const auto refused = [&](const std::filesystem::path& path) {
        Request request = exec(image, "true");
        request.image = path;
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
    request.directory = "/nowhere";
    CHECK(trial::run(image, request, trial::environment_of(image)).code == 255);
    CHECK(is_let_go(image.folder.path().filename().string()));
}

TEST_CASE("nothing stays after the end or a kill") {
    const std::size_t mounts = mounts_now();
    const auto environment = trial::environment_of(tiny_image());
    const std::string mark = "33" + std::to_string(getpid());
    const std::string image = tiny_image().folder.path().filename().string();
    REQUIRE(is_let_go(image));
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        const pid_t pid = fork();
        if (pid == 0) {
            trial::become(
                tiny_image(), exec(tiny_image(), "sleep " + mark + "; true"), environment, as);
        }
        CHECK(tiny::becomes_running(mark, true));
        // Only the one in the mount's own namespace serves it.
        CHECK((losetup().find(image) != std::string::npos) == (as == As::kRoot));
        kill(pid, SIGKILL);
        CHECK(wait_for(pid) == 128 + SIGKILL);
        // What the killed shell started lives on, as on the host, and still has its files.
        tiny::kill_marked(mark);
        CHECK(tiny::becomes_running(mark, false));
        CHECK(is_let_go(image));
    }
    CHECK(tiny::becomes_running("cybelectl-fuse", false));
    CHECK(mounts_now() == mounts);
}

TEST_CASE("a mount lives as long as the last process of the container") {
    const auto& image = tiny_image();
    const auto environment = trial::environment_of(image);
    const auto file = image.folder.path() / "out/later";
    const std::string script = "(sleep 1; cat /etc/not-a-program /bin/busybox | wc -c > " +
                               file.string() + ") > /dev/null 2>&1 & exit 0";
    Request request = exec(image, script);
    request.binds = {(image.folder.path() / "out").string()};
    for (const As as : {As::kRoot, As::kUserWithFuse}) {
        std::filesystem::remove(file);
        std::filesystem::permissions(image.folder.path() / "out", std::filesystem::perms(0777));
        CHECK(trial::run(image, request, environment, as).code == 0);
        for (int i = 0; i < 250 && tiny::read(file).empty(); ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        CHECK(tiny::read(file) ==
              std::to_string(std::filesystem::file_size(image.root / "bin/busybox")) + '\n');
    }
    CHECK(tiny::becomes_running("cybelectl-fuse", false));
}

TEST_CASE("several processes unpack an image once") {
    trial::Image image;
    image.pack();
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) {
        const pid_t pid = fork();
        if (pid == 0) {
            trial::become(image, exec(image, "exit 12"), trial::environment_of(image), As::kUser);
        }
        children.push_back(pid);
    }
    for (const pid_t pid : children) {
        CHECK(wait_for(pid) == 12);
    }
    std::size_t trees = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(image.folder.path() / "cache/user/unpacked")) {
        const std::string name = entry.path().filename();
        trees += name.size() == 64 ? 1U : 0U;
        CHECK(name.find(".part-") == std::string::npos);
    }
    CHECK(trees == 1);
}

TEST_CASE("an unpacked image is listed with its last use, and removed when nothing runs in it") {
    trial::Image image;
    image.pack();
    const std::filesystem::path cache = image.folder.path() / "cache/user";
    const auto environment = trial::environment_of(image);
    const auto is_kept_while_running = [&](Request request) {
        const std::string mark = "43210";
        request.arguments = {"/bin/sleep", mark};
        const pid_t program = fork();
        if (program == 0) {
            trial::become(image, request, environment, As::kUser);
        }
        const bool is_running = tiny::becomes_running(mark, true);
        const auto trees = unpacked_trees(cache);
        const bool is_kept = trees.size() == 1 && !remove_unpacked(trees.front()) &&
                             std::filesystem::exists(trees.front().path / "bin/busybox");
        kill(program, SIGKILL);
        return wait_for(program) == 128 + SIGKILL && is_running && is_kept;
    };
    Request request = exec(image, "");
    CHECK(is_kept_while_running(request)); // shown by a bind
    request.binds = {"/etc:/new/place"};
    CHECK(is_kept_while_running(request)); // by an underlay
    request.binds.clear();
    request.writable_tmpfs = true;
    CHECK(is_kept_while_running(request)); // by an overlay
    request.writable_tmpfs = false;
    request.overlays = {image.root.string() + ":ro"};
    CHECK(is_kept_while_running(request)); // by one that is only read
    request.writable_tmpfs = true;
    CHECK(is_kept_while_running(request)); // by both

    const UnpackedTree tree = unpacked_trees(cache).at(0);
    CHECK(tree.image == image.sif);
    CHECK(tree.bytes >= std::filesystem::file_size(image.root / "bin/busybox"));
    CHECK(tree.used >= std::time(nullptr) - 60);
    std::filesystem::create_directories(tree.path.native() + ".part-x/deep"); // of a killed start
    const auto trees = unpacked_trees(cache);
    REQUIRE(trees.size() == 2);
    CHECK(remove_unpacked(trees.back()));
    CHECK(std::filesystem::exists(tree.path));
    CHECK(remove_unpacked(tree));
    CHECK(unpacked_trees(cache).empty());
    CHECK(!std::filesystem::exists(tree.path.native() + ".used"));
    CHECK(trial::run(image, exec(image, "exit 12"), environment, As::kUser).code == 12);
    CHECK(unpacked_trees(cache).size() == 1);
}

TEST_CASE("an image that belongs to somebody else gets its mount points by an underlay") {
    Request request =
        exec(tiny_image(), "cat /new/place/hosts; cat /etc/hosts > /dev/null; exit 8");
    request.image = tiny_image().root;
    request.binds = {"/etc:/new/place:ro,/etc:/etc/below"};
    request.is_verbose = true;
    const auto ended =
        trial::run(tiny_image(), request, trial::environment_of(tiny_image()), As::kUser);
    CAPTURE(ended.text);
    CHECK(ended.code == 8);
    CHECK(ended.text.find("by underlay") != std::string::npos);
    CHECK(ended.text.find(tiny::read("/etc/hosts")) != std::string::npos);
    CHECK(!std::filesystem::exists(tiny_image().root / "new"));
}

TEST_CASE("a mount point is made by an underlay of the one directory that lacks it") {
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path("/"); // it is bound, too: no further mount point is missing
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        Request request = exec(tiny_image(),
                               "cat /etc/below/here/hosts; cat /etc/not-a-program /etc/hosts;"
                               "grep -c ' / overlay ' /proc/mounts;"
                               "touch /etc/below/x /etc/x /x 2>/dev/null || exit 8");
        request.binds = {"/etc:/etc/below/here:ro"};
        request.is_verbose = true;
        const auto ended =
            trial::run(tiny_image(), request, trial::environment_of(tiny_image()), as);
        CAPTURE(ended.text);
        CHECK(ended.code == 8);
        CHECK(ended.text.find("by underlay") != std::string::npos);
        CHECK(ended.text.find(tiny::read("/etc/hosts")) != std::string::npos);
        CHECK(!std::filesystem::exists(tiny_image().root / "etc/below"));
    }
    std::filesystem::current_path(before);
}

TEST_CASE("containers start with the calls of Linux 4.18") {
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        for (const auto& path : {tiny_image().sif, tiny_image().root}) {
            Request request = exec(tiny_image(),
                                   "cat /new/place/hosts > /dev/null && "
                                   "! touch /new/place/x 2>/dev/null && exit 8");
            request.image = path;
            request.binds = {"/etc:/new/place:ro"};
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

TEST_CASE("choose_mount says what start does") {
    CHECK(choose_mount().way == "kernel squashfs");
    CHECK(tiny::as_user([&] {
              const auto choice = choose_mount();
              const bool can_fuse = access("/dev/fuse", R_OK | W_OK) == 0;
              return choice.way == (can_fuse ? "FUSE" : "unpacked") && !choice.because.empty() ? 11
                                                                                               : 1;
          }) == 11);
}
