// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/children.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "tests/unit/namespaces/tiny_root.hpp"

#include <csignal>

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

using namespace cybele;
using namespace cybele::namespaces;

namespace {

/// A sandbox that runs a shell script and keeps what it printed.
struct Trial {
    TempDirectory folder = tiny::make_folder();
    Sandbox sandbox;
    std::filesystem::path root = folder.path() / "root";

    Trial() {
        tiny::make_root(root);
        std::filesystem::create_directory(folder.path() / "log");
        std::filesystem::permissions(folder.path() / "log", std::filesystem::perms(0777));
        sandbox.root = root;
        sandbox.environment["PATH"] = "/bin";
    }

    int run(const std::string& script) {
        sandbox.argv = {"sh", "-c", script};
        return run_now();
    }
    int run_now() {
        const UniqueFd log(open(log_path().c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0666));
        const auto code = run_sandboxed(sandbox, {log.get(), log.get()});
        if (!code) {
            (void)write_all(log.get(),
                            code.error().message() + ": " + code.error().faults().front().because,
                            "log");
            return 255;
        }
        return *code;
    }
    [[nodiscard]] std::filesystem::path log_path() const {
        return folder.path() / "log" / std::to_string(geteuid());
    }
    /// Of root's trials, or of the user's.
    [[nodiscard]] std::string log(uid_t uid = 0) const {
        return tiny::read(folder.path() / "log" / std::to_string(uid));
    }
};

Mount bind(const std::filesystem::path& source, const std::filesystem::path& target) {
    Mount mount;
    mount.source = source;
    mount.target = target;
    return mount;
}

Mount make(Mount::Kind kind, const std::filesystem::path& target) {
    Mount mount;
    mount.kind = kind;
    mount.target = target;
    return mount;
}

std::size_t count_mounts() {
    const std::string table = tiny::read("/proc/self/mountinfo");
    return static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n'));
}

} // namespace

TEST_CASE("a program's code is given as a shell gives it") {
    Trial trial;
    CHECK(trial.run("exit 7") == 7);
    CHECK(trial.run("kill -TERM $$") == 128 + SIGTERM);
    trial.sandbox.argv = {"no-such-program"};
    CHECK(trial.run_now() == 127);
    CHECK(trial.log().find("no-such-program") != std::string::npos);
    trial.sandbox.argv = {"/etc/passwd"};
    CHECK(trial.run_now() == 126);
}

TEST_CASE("a child that ended keeps its number until nothing sends it signals any more") {
    constexpr int kCode = 7;
    const pid_t child = fork();
    if (child == 0) {
        _exit(kCode);
    }
    bool has_number = false;
    const int code = wait_passing_signals(child, [&] {
        siginfo_t info = {};
        has_number =
            waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == child;
    });
    CHECK(has_number);
    CHECK(code == kCode);
    CHECK(waitpid(child, nullptr, WNOHANG) == -1); // it was reaped
}

TEST_CASE("the root is the new one and nothing stays mounted") {
    Trial trial;
    const std::size_t before = count_mounts();
    trial.sandbox.mounts = {make(Mount::Kind::kProc, "/proc"), make(Mount::Kind::kTmpfs, "/tmp")};
    CHECK(trial.run("ls / | tr '\\n' ' '; cat /proc/self/mountinfo | wc -l") == 0);
    CHECK(trial.log() == "bin dev etc proc root sys tmp var 3\n");
    CHECK(count_mounts() == before);
}

TEST_CASE("a missing directory is told, unless another one is there") {
    Trial trial;
    trial.sandbox.directory = "/nowhere";
    CHECK(trial.run("pwd") == 255);
    CHECK(trial.log().find("/nowhere") != std::string::npos);
    trial.sandbox.other_directories = {"/neither", "/tmp"};
    CHECK(trial.run("pwd") == 0);
    CHECK(trial.log() == "/tmp\n");
}

TEST_CASE("binds: read-only, over files, missing sources and targets") {
    Trial trial;
    tiny::write(trial.folder.path() / "data/file", "content\n");
    Mount folder = bind(trial.folder.path() / "data", "/new/data");
    folder.is_read_only = true;
    trial.sandbox.mounts = {folder, bind(trial.folder.path() / "data/file", "/etc/passwd")};
    CHECK(trial.run("cat /new/data/file /etc/passwd; touch /new/data/other") == 1);
    CHECK(trial.log().starts_with("content\ncontent\n"));
    CHECK(trial.log().find("Read-only file system") != std::string::npos);
    CHECK(!std::filesystem::exists(trial.folder.path() / "data/other"));

    Mount missing = bind(trial.folder.path() / "none", "/mnt");
    trial.sandbox.mounts = {missing};
    CHECK(trial.run("true") == 255);
    CHECK(trial.log().find("no such file or directory on this host") != std::string::npos);
    missing.is_optional = true;
    trial.sandbox.mounts = {missing};
    CHECK(trial.run("true") == 0);
}

TEST_CASE("links in the image cannot lead a bind out of the root") {
    Trial trial;
    const auto outside = trial.folder.path() / "outside";
    std::filesystem::create_directory(outside);
    tiny::write(trial.folder.path() / "data/file", "content\n");
    std::filesystem::create_directory_symlink(outside, trial.root / "absolute");
    std::filesystem::create_directory_symlink("../../../../../../../.." + outside.string(),
                                              trial.root / "climbing");
    trial.sandbox.mounts = {bind(trial.folder.path() / "data", "/absolute/target"),
                            bind(trial.folder.path() / "data", "/climbing/other")};
    CHECK(trial.run("cat " + (outside / "target/file").string() + " /climbing/other/file") == 0);
    CHECK(trial.log() == "content\ncontent\n");
    CHECK(std::filesystem::is_empty(outside));
    CHECK(std::filesystem::exists(trial.root / outside.relative_path() / "target"));
}

TEST_CASE("nothing is made in the host's directories") {
    Trial trial;
    std::filesystem::create_directory(trial.folder.path() / "host");
    trial.sandbox.mounts = {bind(trial.folder.path() / "host", "/tmp"),
                            bind(trial.folder.path() / "host", "/tmp/new")};
    CHECK(trial.run("true") == 255);
    CHECK(trial.log().find("directory of the host") != std::string::npos);
    CHECK(std::filesystem::is_empty(trial.folder.path() / "host"));
}

TEST_CASE("a read-only root stays writable where a tmpfs lies") {
    Trial trial;
    trial.sandbox.is_root_read_only = true;
    trial.sandbox.mounts = {make(Mount::Kind::kTmpfs, "/tmp")};
    CHECK(trial.run("touch /tmp/a && ! touch /a") == 0);
    CHECK(!std::filesystem::exists(trial.root / "a"));
    // The tree itself keeps its flags.
    tiny::write(trial.root / "still-writable", "");
}

TEST_CASE("a pid namespace of its own, with its first process collecting what is left") {
    Trial trial;
    trial.sandbox.new_pid_namespace = true;
    trial.sandbox.mounts = {make(Mount::Kind::kProc, "/proc"), bind("/dev", "/dev")};
    CHECK(trial.run("echo $$; (sleep 300 &) ; exit 5") == 5);
    CHECK(trial.log() == "2\n");
}

TEST_CASE("what the program leaves behind ends with it") {
    Trial trial;
    const std::string mark = "31" + std::to_string(getpid());
    trial.sandbox.mounts = {bind("/dev", "/dev")};
    for (const bool new_pid_namespace : {false, true}) {
        trial.sandbox.new_pid_namespace = new_pid_namespace;
        CHECK(trial.run("(sleep " + mark + " &) ; sleep 0.1; exit 3") == 3);
        CHECK(!tiny::is_running(mark));
    }
}

TEST_CASE("privileges are dropped, also from a set that is not whole") {
    Trial trial;
    trial.sandbox.drop_privileges = true;
    trial.sandbox.mounts = {make(Mount::Kind::kProc, "/proc")};
    CHECK(trial.run("grep -E 'CapEff|CapPrm|CapBnd|NoNewPrivs' /proc/self/status") == 0);
    CHECK(trial.log() == "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
                         "CapBnd:\t0000000000000000\nNoNewPrivs:\t1\n");
}

TEST_CASE("exec in place keeps the process and its descriptors, not ours") {
    Trial trial;
    const int code = tiny::in_child([&] {
        const UniqueFd log(open(trial.log_path().c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666));
        const UniqueFd own(open("/dev/null", O_RDONLY | O_CLOEXEC));
        dup2(log.get(), 1);
        dup2(log.get(), 9);
        if (!enter_namespaces(IdMap::kNone)) {
            return 90;
        }
        trial.sandbox.mounts = {make(Mount::Kind::kProc, "/proc")};
        trial.sandbox.umask = 027;
        close(10); // the shell's own place for saved descriptors
        const std::string expected = tiny::inherited_descriptors();
        trial.sandbox.argv = {"sh",
                              "-c",
                              "echo nine >&9; [ $$ = " + std::to_string(getpid()) +
                                  " ] && umask; printf '" + expected +
                                  "---\\n'; ls -1 /proc/$$/fd; exit 44"};
        (void)exec_in_sandbox(trial.sandbox);
        return 91;
    });
    CHECK(code == 44);
    const std::string log = trial.log();
    REQUIRE(log.starts_with("nine\n0027\n0\n1\n2\n"));
    const auto middle = log.find("---\n");
    CHECK(log.substr(10, middle - 10) == log.substr(middle + 4));
}

TEST_CASE("an ordinary user: own root for the mounts, own id for the program") {
    Trial trial;
    const Mount locked = bind("/proc", "/proc");
    tiny::write(trial.folder.path() / "data/file", "content\n");
    const int code = tiny::as_user([&] {
        // The root belongs to somebody else, so targets are made on a tmpfs of ours.
        trial.sandbox.mounts = {make(Mount::Kind::kTmpfs, "/tmp"),
                                bind("/tmp", "/tmp/host"),
                                bind(trial.folder.path() / "data", "/tmp/data"),
                                locked};
        trial.sandbox.mounts[2].is_read_only = true;
        trial.sandbox.is_root_read_only = true;
        trial.sandbox.drop_privileges = true;
        trial.sandbox.final_ids = Sandbox::Ids{geteuid(), getegid()};
        const auto ran = run_in_namespaces(IdMap::kOwnRoot, [&] {
            return trial.run("id -u; id -g; cat /tmp/data/file; grep CapEff /proc/self/status; "
                             "touch /tmp/data/x 2>&- || echo ro; "
                             "mount -t tmpfs none /tmp 2>&- || echo no; exit 3");
        });
        return ran.value_or(200);
    });
    CHECK(code == 3);
    // The log of uid 0 is that inside the outer namespace.
    CHECK(trial.log() == "65534\n65534\ncontent\nCapEff:\t0000000000000000\nro\nno\n");
}

TEST_CASE("in a plain chroot without /proc, where pivot_root is refused") {
    Trial trial;
    tiny::make_root(trial.root / "inner");
    const int code = tiny::in_child([&] {
        if (chroot(trial.root.c_str()) != 0 || chdir("/") != 0) {
            return 90;
        }
        trial.sandbox.root = "/inner";
        trial.sandbox.argv = {"sh", "-c", "test ! -e /inner && test -e /bin/sh && exit 9"};
        trial.sandbox.mounts = {make(Mount::Kind::kTmpfs, "/tmp"), bind("/etc", "/etc")};
        return run_sandboxed(trial.sandbox).value_or(91);
    });
    CHECK(code == 9);
}

TEST_CASE("the program dies with the process that runs it") {
    Trial trial;
    const std::string mark = "32" + std::to_string(getpid());
    for (const bool new_pid_namespace : {false, true}) {
        trial.sandbox.new_pid_namespace = new_pid_namespace;
        const pid_t pid = fork();
        if (pid == 0) {
            _exit(trial.run("sleep " + mark));
        }
        CHECK(tiny::becomes_running(mark, true));
        kill(pid, SIGKILL);
        CHECK(wait_for(pid) == 128 + SIGKILL);
        CHECK(tiny::becomes_running(mark, false));
    }
}
