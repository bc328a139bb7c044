// SPDX-License-Identifier: Apache-2.0
// What a container sees of its image and of the host's files, by each way of mounting, and that
// nothing of it stays.
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

namespace {

std::size_t mounts_now() {
    const std::string table = tiny::read("/proc/self/mountinfo");
    return static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n'));
}

} // namespace

TEST_CASE("the ways of mounting are those that are expected") {
    const char* ways[] = {"kernel squashfs", "unpacked", "FUSE"};
    for (const As as : kAll) {
        Request request = exec(tiny_image(), "true");
        request.global.is_verbose = true;
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

TEST_CASE("binds: read-only, missing mount points, files, missing sources") {
    const auto out = tiny_image().folder.path() / "out";
    tiny::write(out / "file", "host\n");
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        Request request = exec(tiny_image(),
                               "cat /deep/er/file /etc/one/two; ! touch /deep/er/x 2>/dev/null && "
                               "touch /rw/made-$(id -u)");
        request.files.binds = {out.string() + ":/deep/er:ro," + (out / "file").string() +
                                   ":/etc/one/two",
                               out.string() + ":/rw"};
        auto ended = trial::run(tiny_image(), request, trial::environment_of(tiny_image()), as);
        CHECK(ended.code == 0);
        CHECK(ended.text == "host\nhost\n");
        CHECK(!std::filesystem::exists(out / "x"));
        request.files.binds = {(out / "none").string() + ":/none"};
        ended = trial::run(tiny_image(), request, trial::environment_of(tiny_image()), as);
        CHECK(ended.code == 255);
        CHECK(ended.text.find("none") != std::string::npos);
    }
}

TEST_CASE("targets below a bound folder are made there, but not by a link, and not read-only") {
    trial::Image image;
    std::filesystem::create_directories(image.root / "data");
    std::filesystem::create_directory_symlink("/data", image.root / "to-data");
    image.pack();
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        const auto out = image.folder.path() / ("out-" + std::to_string(static_cast<int>(as)));
        tiny::write(out / "file", "host\n");
        tiny::write(out / "deep/file", "deep\n");
        std::filesystem::create_directory_symlink("deep", out / "link");
        for (const auto& folder : {out, out / "deep"}) { // the user's own, or anybody's
            std::filesystem::permissions(folder, std::filesystem::perms::all);
        }
        const std::string file = (out / "file").string();
        const auto run = [&](const std::string& mode, const std::string& target) {
            Request request = exec(image, "cat " + target);
            request.files.binds = {fmt::format("{}:{}", file, target),
                                   out.string() + ":/data" + mode};
            return trial::run(image, request, trial::environment_of(image), as);
        };
        CHECK(run("", "/data/new").text == "host\n");
        CHECK(run("", "/data/deep/er/new").text == "host\n");
        CHECK(std::filesystem::is_empty(out / "new"));
        CHECK(std::filesystem::is_empty(out / "deep/er/new"));
        for (const auto& [mode, target] : {std::pair(":ro", "/data/other"),
                                           std::pair("", "/to-data/other"),
                                           std::pair("", "/data/link/other")}) {
            CAPTURE(target);
            const auto refused = run(mode, target);
            CHECK(refused.code == 255);
            CHECK(refused.text.find("in a directory of the host") != std::string::npos);
        }
        CHECK(!std::filesystem::exists(out / "other"));
        CHECK(!std::filesystem::exists(out / "deep/other"));
    }
}

TEST_CASE("a link of the image to a folder of the host makes nothing there, and covers nothing") {
    trial::Image image;
    std::filesystem::remove(image.root / "var/tmp");
    std::filesystem::create_directory_symlink("../tmp", image.root / "var/tmp");
    image.pack();
    auto work = TempDirectory::make("/tmp", "cybele-work-");
    REQUIRE(work);
    std::filesystem::permissions(work->path(), std::filesystem::perms(0777));
    const std::string name = work->path().filename();
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        const auto before = std::filesystem::current_path();
        std::filesystem::current_path(work->path());
        const auto ended =
            trial::run(image,
                       exec(image, fmt::format("pwd; ls -d /tmp/{0} /var/tmp/{0}", name)),
                       trial::environment_of(image),
                       as);
        std::filesystem::current_path(before);
        CHECK(ended.code == 0);
        CHECK(ended.text ==
              fmt::format("{0}\n/tmp/{1}\n/var/tmp/{1}\n", work->path().string(), name));
        CHECK_FALSE(std::filesystem::exists("/var/tmp/" + name));
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
        request.image.file = image.sif;
        request.program.arguments = {
            "sh", "-c", "ls -d /tmp/cybele-mark-* > /dev/null; cat /home/u/file"};
        request.files.home = (image.folder.path() / "home").string() + ":/home/u";
        tiny::write(image.folder.path() / "home/file", "content\n");
        const auto ended = trial::run(image, request, trial::environment_of(image), as);
        CHECK(ended.text.find("content\n") != std::string::npos);
    }
    CHECK(!std::filesystem::exists("/opt/homes"));
}

TEST_CASE("contained: nothing of the host's files, a small /dev, processes of its own") {
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        Request request = exec(tiny_image(),
                               "ls -A /tmp $HOME | grep -v : | tr -d '\\n'; echo $$; "
                               "ls /dev | tr '\\n' ' '; echo x > /dev/null && echo y > $HOME/z; "
                               "echo ${SECRET-clean} $LANG");
        request.isolation.containall = true;
        auto environment = trial::environment_of(tiny_image());
        environment["SECRET"] = "1";
        const auto ended = trial::run(tiny_image(), request, environment, as);
        CHECK(ended.code == 0);
        CHECK(ended.text == "2\nfd full mqueue null ptmx pts random shm stderr stdin stdout tty "
                            "urandom zero clean C\n");
    }
}

TEST_CASE("a writable tmpfs over the image") {
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        Request request = exec(tiny_image(),
                               "echo new > /etc/hosts-2 && cat /etc/hosts-2 && "
                               "echo more >> /etc/not-a-program && mkdir /top");
        request.image.writable_tmpfs = true;
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
            request.image.file = path;
            const auto ended =
                trial::run(tiny_image(), request, trial::environment_of(tiny_image()), as);
            CHECK(ended.code == 5);
        }
    }
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
        CHECK((trial::loop_files().find(image) != std::string::npos) == (as == As::kRoot));
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
    request.files.binds = {(image.folder.path() / "out").string()};
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

TEST_CASE("an image that belongs to somebody else gets its mount points by an underlay") {
    Request request =
        exec(tiny_image(), "cat /new/place/hosts; cat /etc/hosts > /dev/null; exit 8");
    request.image.file = tiny_image().root;
    request.files.binds = {"/etc:/new/place:ro,/etc:/etc/below"};
    request.global.is_verbose = true;
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
        request.files.binds = {"/etc:/etc/below/here:ro"};
        request.global.is_verbose = true;
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

TEST_CASE("choose_mount says what start does") {
    CHECK(choose_mount().way == "kernel squashfs");
    CHECK(tiny::as_user([&] {
              const auto choice = choose_mount();
              const bool can_fuse = access("/dev/fuse", R_OK | W_OK) == 0;
              return choice.way == (can_fuse ? "FUSE" : "unpacked") && !choice.because.empty() ? 11
                                                                                               : 1;
          }) == 11);
}
