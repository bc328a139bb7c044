// SPDX-License-Identifier: Apache-2.0
// One container for the ranks of a launch: real ones, as root and as the user nobody.
#include "runtime/containers/holder.hpp"
#include "runtime/containers/join_key.hpp"
#include "runtime/containers/rank.hpp"
#include "runtime/containers/rendezvous.hpp"
#include "runtime/containers/state_folder.hpp"
#include "tests/unit/namespaces/old_kernel.hpp"
#include "tests/unit/runtime/trial.hpp"

#include <algorithm>
#include <csignal>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

using namespace cybele;
using namespace cybele::runtime;
using trial::As;
using trial::kAll;
using trial::tiny_image;

namespace {

constexpr const char* kHolder = "cybelectl-hold";
constexpr const char* kJoinedServer = "cybelectl-fuse";

/// A mount namespace in which users may open /dev/fuse or not: one host for all ranks of a launch.
UniqueFd make_host(const std::filesystem::path& folder, bool has_fuse) {
    const std::string mark = folder / "host";
    const pid_t pid = fork();
    if (pid == 0) {
        trial::give_fuse(folder, has_fuse);
        tiny::write(mark, "made");
        pause();
        _exit(0);
    }
    for (int i = 0; i < 500 && tiny::read(mark).empty(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    UniqueFd made(open(("/proc/" + std::to_string(pid) + "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC));
    kill(pid, SIGKILL);
    (void)wait_for(pid);
    return made;
}

/// One launch: its environment, a private folder for its socket, where its ranks write.
struct Launch {
    As as;
    TempDirectory folder = tiny::make_folder();
    EnvironmentMap environment = trial::environment_of(tiny_image());
    UniqueFd host; ///< a user's: entered by each start

    explicit Launch(As who, const std::string& name = "one") : as(who) {
        const auto run = folder.path() / "run";
        std::filesystem::create_directory(run);
        std::filesystem::permissions(run, std::filesystem::perms(0700));
        std::filesystem::permissions(folder.path(), std::filesystem::perms(0777));
        if (as != As::kRoot) {
            REQUIRE(chown(run.c_str(), tiny::kUser, tiny::kUser) == 0);
            host = make_host(folder.path(), as == As::kUserWithFuse);
        }
        environment["XDG_RUNTIME_DIR"] = run;
        environment["PMIX_RANK"] = "0";
        environment["PMIX_NAMESPACE"] = name;
    }

    /// Starts a rank that runs `script` with OUT, a file of its own; gives its process id.
    [[nodiscard]] pid_t start(int rank, const std::string& script, bool has_old_kernel = false) {
        Request request = trial::exec(tiny_image(), script);
        request.files.binds = {folder.path().string()};
        request.variables.environment["OUT"] = out(rank);
        const pid_t pid = fork();
        if (pid == 0) {
            if (has_old_kernel) {
                if (as != As::kRoot) {
                    tiny::become_user();
                }
                tiny::forget_new_calls(ENOSYS);
                trial::become(tiny_image(), request, environment, As::kRoot);
            }
            if (host.valid() && setns(host.get(), CLONE_NEWNS) != 0) {
                _exit(97);
            }
            trial::become(tiny_image(), request, environment, host.valid() ? As::kUserHere : as);
        }
        return pid;
    }
    [[nodiscard]] std::string out(int rank) const {
        return folder.path() / ("out-" + std::to_string(rank));
    }
    [[nodiscard]] std::filesystem::path sockets() const {
        return folder.path() / "run/cybelectl";
    }
    /// The different first lines of what the ranks wrote.
    [[nodiscard]] std::set<std::string> seen(int ranks) const {
        std::set<std::string> all;
        for (int rank = 0; rank < ranks; ++rank) {
            all.insert(tiny::read(out(rank)));
        }
        return all;
    }
};

constexpr const char* kTellNamespaces =
    "for n in mnt user; do readlink /proc/self/ns/$n; done > $OUT";

/// The processes of this title; one that has ended and waits for its parent has no command line.
std::vector<pid_t> named(const std::string& title) {
    std::vector<pid_t> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") == std::string::npos &&
            read_file(entry.path() / "comm").value_or("") == title + '\n' &&
            !read_file(entry.path() / "cmdline").value_or("").empty()) {
            found.push_back(std::stoi(name));
        }
    }
    return found;
}

std::vector<pid_t> holders() {
    return named(kHolder);
}

/// Waits up to 10 s.
bool becomes(const std::function<bool()>& condition) {
    for (int i = 0; i < 500 && !condition(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return condition();
}

bool nothing_left(const Launch& launch) {
    return becomes([&] {
        return holders().empty() && !std::filesystem::exists(launch.sockets()) &&
               named(kJoinedServer).empty();
    });
}

} // namespace

TEST_CASE("starts at the same instant share one container, which goes with the last") {
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        Launch launch(as);
        std::vector<pid_t> ranks;
        ranks.reserve(8);
        for (int rank = 0; rank < 8; ++rank) {
            ranks.push_back(launch.start(rank, kTellNamespaces));
        }
        for (const pid_t pid : ranks) {
            CHECK(wait_for(pid) == 0);
        }
        const auto seen = launch.seen(8);
        CHECK(seen.size() == 1);
        CHECK(seen.begin()->starts_with("mnt:["));
        CHECK(nothing_left(launch));
    }
}

TEST_CASE("with the calls of Linux 4.18 too") {
    for (const As as : {As::kRoot, As::kUser}) {
        CAPTURE(static_cast<int>(as));
        Launch launch(as);
        launch.environment["CYBELE_CACHE_DIR"] += as == As::kRoot ? "/root" : "/user";
        const pid_t first = launch.start(0, kTellNamespaces, true);
        const pid_t second = launch.start(1, kTellNamespaces, true);
        CHECK(wait_for(first) == 0);
        CHECK(wait_for(second) == 0);
        CHECK(launch.seen(2).size() == 1);
        CHECK(nothing_left(launch));
    }
}

TEST_CASE("ranks read each other's memory as an ordinary user") {
    // What the kernel asks for process_vm_readv() it asks for /proc/PID/mem too.
    for (const As as : {As::kUser, As::kUserWithFuse}) {
        Launch launch(as);
        const pid_t first =
            launch.start(0, "echo $$ > $OUT; while [ ! -e $OUT.end ]; do sleep 0.1; done");
        REQUIRE(becomes([&] { return !tiny::read(launch.out(0)).empty(); }));
        const std::string pid = std::to_string(first);
        const pid_t second = launch.start(
            1,
            fmt::format("cat /proc/{0}/environ > /dev/null && "
                        "dd if=/proc/{0}/mem bs=1 count=0 2>/dev/null && echo read > $OUT",
                        pid));
        CHECK(wait_for(second) == 0);
        CHECK(tiny::read(launch.out(1)) == "read\n");
        launch.environment["PMIX_NAMESPACE"] = "other";
        const pid_t stranger =
            launch.start(2, "dd if=/proc/" + pid + "/mem bs=1 count=0 2>/dev/null");
        CHECK(wait_for(stranger) != 0);
        tiny::write(launch.out(0) + ".end", "");
        CHECK(wait_for(first) == 0);
        CHECK(nothing_left(launch));
    }
}

TEST_CASE("the first rank may end before the others start") {
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        Launch launch(as);
        for (int rank = 0; rank < 3; ++rank) {
            CHECK(wait_for(launch.start(rank, kTellNamespaces)) == 0);
        }
        CHECK(launch.seen(3).size() == 1);
        CHECK(nothing_left(launch));
    }
}

TEST_CASE("a rank that does what one did before asks the FUSE server nothing") {
    Launch launch(As::kUserWithFuse);
    const pid_t first = launch.start(0, "echo > $OUT; while [ ! -e $OUT.end ]; do sleep 0.1; done");
    REQUIRE(becomes([&] { return !tiny::read(launch.out(0)).empty(); }));
    const std::string script = "cat /.singularity.d/env/*.sh > /dev/null; ls -l /etc > /dev/null;"
                               "test ! -e /etc/missing; echo $FROM_IMAGE > $OUT";
    CHECK(wait_for(launch.start(1, script)) == 0);
    CHECK(wait_for(launch.start(2, script)) == 0);
    REQUIRE(named(kJoinedServer).size() == 1);
    const pid_t server = named(kJoinedServer).front();
    kill(server, SIGSTOP);
    const pid_t again = launch.start(3, script);
    const bool has_ended = becomes([&] { return !tiny::read(launch.out(3)).empty(); });
    kill(server, SIGCONT);
    CHECK(has_ended);
    CHECK(wait_for(again) == 0);
    CHECK(tiny::read(launch.out(3)) == "image\n");
    tiny::write(launch.out(0) + ".end", "");
    CHECK(wait_for(first) == 0);
    CHECK(nothing_left(launch));
}

TEST_CASE("two launches of one user, and two images, stay apart") {
    for (const As as : kAll) {
        Launch launch(as);
        const pid_t one = launch.start(0, kTellNamespaces);
        launch.environment["PMIX_NAMESPACE"] = "two";
        const pid_t other = launch.start(1, kTellNamespaces);
        launch.environment["APPTAINER_BIND"] = "/etc:/mnt-more";
        const pid_t bound = launch.start(2, kTellNamespaces);
        for (const pid_t pid : {one, other, bound}) {
            CHECK(wait_for(pid) == 0);
        }
        CHECK(launch.seen(3).size() == 3);
        CHECK(nothing_left(launch));
    }
}

TEST_CASE("a killed holder takes no rank with it; the next start makes a new container") {
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        Launch launch(as);
        const pid_t first = launch.start(
            0,
            "readlink /proc/self/ns/mnt > $OUT; while [ ! -e $OUT.end ]; do sleep 0.1; done; "
            "cat /etc/not-a-program /bin/busybox > /dev/null");
        REQUIRE(becomes([&] { return !tiny::read(launch.out(0)).empty() && !holders().empty(); }));
        REQUIRE(holders().size() == 1);
        kill(holders().front(), SIGKILL);
        CHECK(becomes([] { return holders().empty(); }));
        CHECK(std::filesystem::exists(launch.sockets())); // its socket is swept:
        CHECK(wait_for(launch.start(1, "readlink /proc/self/ns/mnt > $OUT")) == 0);
        CHECK(tiny::read(launch.out(0)) != tiny::read(launch.out(1)));
        tiny::write(launch.out(0) + ".end", "");
        CHECK(wait_for(first) == 0);
        CHECK(nothing_left(launch));
    }
}

TEST_CASE("killed ranks are counted out, and a first start that dies is followed by the next") {
    for (const As as : kAll) {
        CAPTURE(static_cast<int>(as));
        Launch launch(as);
        std::vector<pid_t> ranks;
        for (int rank = 0; rank < 6; ++rank) {
            ranks.push_back(launch.start(rank, "exec sleep 600"));
            if (rank % 2 == 0) {
                kill(ranks.back(), SIGKILL); // at any instant of its start
            }
        }
        REQUIRE(becomes([] { return !holders().empty(); }));
        for (const pid_t pid : ranks) {
            kill(pid, SIGKILL);
            CHECK(wait_for(pid) == 128 + SIGKILL);
        }
        CHECK(nothing_left(launch));
    }
}

TEST_CASE("a failing start tells its own error, and so do those that waited for it") {
    Launch launch(As::kUser);
    launch.environment["APPTAINER_BIND"] = "/no/such/place:/mnt";
    std::vector<pid_t> ranks;
    ranks.reserve(4);
    for (int rank = 0; rank < 4; ++rank) {
        ranks.push_back(launch.start(rank, "true"));
    }
    for (const pid_t pid : ranks) {
        CHECK(wait_for(pid) == 255);
    }
    CHECK(holders().empty());
}

TEST_CASE("what others could write is not joined") {
    Launch launch(As::kUser);
    const auto told = [&] {
        Request request = trial::exec(tiny_image(), "true");
        request.global.is_verbose = true;
        request.join = Join::kAlways;
        const auto ended = trial::run(tiny_image(), request, launch.environment, As::kUser);
        CHECK(ended.code == 0);
        return ended.text;
    };
    CHECK(told().find("other ranks of this launch may join") != std::string::npos);
    CHECK(nothing_left(launch));

    // A folder that all may enter, one of another user, a link: /tmp's is used instead.
    const auto folder = [&](const Environment& environment) {
        return StateFolder::open(environment).has_value();
    };
    const std::string own = "/tmp/cybelectl-" + std::to_string(tiny::kUser);
    std::filesystem::create_directory(launch.sockets());
    CHECK(tiny::as_user([&] { // root's folder in XDG_RUNTIME_DIR
              const bool is_open = folder(Environment(launch.environment));
              const bool is_other = std::filesystem::exists(own);
              (void)rmdir(own.c_str());
              return is_open && is_other ? 0 : 1;
          }) == 0);
    REQUIRE(!std::filesystem::exists(own));
    std::filesystem::create_directory(own); // root's
    CHECK(told().find("is not private") != std::string::npos);
    std::filesystem::remove(own);
    std::filesystem::create_directory_symlink(launch.folder.path(), own);
    CHECK(told().find("in a container of its own") != std::string::npos);
    std::filesystem::remove(own);
}

TEST_CASE("a socket on which another user listens is not trusted") {
    Launch launch(As::kUser);
    REQUIRE(tiny::as_user(
                [&] { return StateFolder::open(Environment(launch.environment)) ? 0 : 1; }) == 0);
    const pid_t impostor = fork(); // root may, in anybody's folder
    if (impostor == 0) {
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        const std::string path = launch.sockets() / meeting_key("key").name;
        (void)path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
        const auto* plain = reinterpret_cast<const sockaddr*>(&address);
        const bool is_listening = bind(fd, plain, sizeof address) == 0 && listen(fd, 5) == 0 &&
                                  chmod(path.c_str(), 0777) == 0;
        tiny::write(launch.out(0), is_listening ? "ready" : "failed");
        pause();
        _exit(0);
    }
    REQUIRE(becomes([&] { return tiny::read(launch.out(0)) == "ready"; }));
    CHECK(tiny::as_user([&] {
              const Rendezvous rendezvous =
                  meet(Environment(launch.environment), meeting_key("key"));
              return !rendezvous.container && !rendezvous.first_member &&
                             rendezvous.because.find("did not let") != std::string::npos
                         ? 0
                         : 1;
          }) == 0);
    kill(impostor, SIGKILL);
    CHECK(wait_for(impostor) == 128 + SIGKILL);
}

TEST_CASE("while the holder is asked, other work is done") {
    const TempDirectory folder = tiny::make_folder();
    const Environment environment({{"XDG_RUNTIME_DIR", folder.path().string()}});
    const Rendezvous first = meet(environment, meeting_key("key"));
    REQUIRE(first.first_member.has_value());
    if (!first.first_member) {
        return;
    }
    const std::string mark = folder.path() / "mark";
    const pid_t member = fork();
    if (member == 0) {
        int calls = 0;
        const Rendezvous second = meet(environment, meeting_key("key"), [&] {
            ++calls;
            tiny::write(mark, "done");
        });
        _exit(second.container && calls == 1 ? 0 : 1);
    }
    // Answered only after that work: done later, it would never be.
    CHECK(becomes([&] { return tiny::read(mark) == "done"; }));
    const UniqueFd proc(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto own = namespaces::own_namespaces(proc.get(), false);
    const UniqueFd connection(
        accept4(first.first_member->listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(own);
    CHECK(admit(*first.first_member, *own, connection) == member);
    CHECK(wait_for(member) == 0);
}

TEST_CASE("who is a rank, and of which launch") {
    const auto rank = [](EnvironmentMap variables) {
        return read_rank(Environment(std::move(variables)));
    };
    CHECK(!rank({}).is_rank);
    for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MPI_LOCALRANKID"}) {
        CHECK(rank({{name, "0"}}).is_rank);
    }
    CHECK(!rank({{"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "7"}}).is_rank);
    CHECK(rank({{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}}).is_rank);
    CHECK(rank({{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}).is_alone);
    CHECK(!rank({{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}).is_alone);
    CHECK(rank({{"PMIX_NAMESPACE", "5"}, {"SLURM_JOB_ID", "7"}, {"PMIX_RANK", "1"}}).launch ==
          "SLURM_JOB_ID=7\nPMIX_NAMESPACE=5\n");
    EnvironmentMap variables = {{"UCX_TLS", "tcp"}};
    forbid_single_copy(variables);
    CHECK(variables["UCX_TLS"] == "tcp");
    CHECK(variables["OMPI_MCA_smsc"] == "^cma");
}

TEST_CASE("only a rank in a container of its own is told not to copy") {
    Launch launch(As::kUser);
    const std::string script = "echo ${UCX_TLS-unset} > $OUT";
    CHECK(wait_for(launch.start(0, script)) == 0);
    CHECK(tiny::read(launch.out(0)) == "unset\n");
    CHECK(nothing_left(launch));
    std::filesystem::permissions(launch.folder.path() / "run", std::filesystem::perms(0500));
    std::filesystem::create_directory("/tmp/cybelectl-65534"); // root's: no place to meet
    CHECK(wait_for(launch.start(1, script)) == 0);
    std::filesystem::remove("/tmp/cybelectl-65534");
    CHECK(tiny::read(launch.out(1)) == "^cma\n");
    Launch roots(As::kRoot);
    CHECK(wait_for(roots.start(0, script)) == 0);
    CHECK(tiny::read(roots.out(0)) == "unset\n");
    CHECK(nothing_left(roots));
}

TEST_CASE("the key tells apart what may not be shared") {
    const auto& image = tiny_image();
    Request request = trial::exec(image, "true");
    std::vector<namespaces::Mount> mounts(1);
    mounts[0].source = "/a";
    mounts[0].target = "/b";
    const auto key = [&](const std::string& launch = "l", const std::string& home = "/home") {
        return join_key(request, {mounts, home, "user", launch}).value_or("failed");
    };
    const std::string first = key();
    CHECK(first == key());
    CHECK(first != key("m"));
    CHECK(first != key("l", "/other"));
    CHECK(key("") != first);
    CHECK(key("") == key(""));
    mounts[0].is_read_only = true;
    CHECK(first != key());
    mounts[0].is_read_only = false;
    request.image.writable_tmpfs = true;
    CHECK(first != key());
    request.image.writable_tmpfs = false;
    const auto copy = image.folder.path() / "copy.sif";
    std::filesystem::copy_file(image.sif, copy);
    request.image.file = copy;
    const std::string of_copy = key();
    CHECK(of_copy != first);
    tiny::write(copy, "changed");
    CHECK(of_copy != key());
    std::filesystem::remove(copy);
    CHECK(key() == "failed");
}
