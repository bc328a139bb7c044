// SPDX-License-Identifier: Apache-2.0
// A build in a private folder, as root and as a user with subordinate ids.
#pragma once

#include "builder/pack/builder.hpp"
#include "support/process.hpp"
#include "temporary.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::builder {

namespace fs = std::filesystem;

inline constexpr const char* kUser = "cybele-test";

inline std::string output_of(std::vector<std::string> argv) {
    Command command;
    command.argv = std::move(argv);
    const auto outcome = run_process(command);
    return outcome && outcome->ok() ? outcome->output : std::string();
}

/// Of this program, also where a child of it asks.
inline const pid_t kOwnProcess = ::getpid();

/// A `sleep` that is found by its words, and is not taken for that of another run of the test.
inline std::string own_sleep(int seconds) {
    return "sleep " + std::to_string(seconds) + "." + std::to_string(kOwnProcess);
}

inline bool sleeps(int seconds) {
    return !output_of({"pgrep", "-fx", own_sleep(seconds)}).empty();
}

/// Does `work` as an ordinary user with subordinate ids, in a child: this user, or where the tests
/// run as root, a user made for them. Gives the child's exit code.
inline int as_user(const fs::path& directory, const std::function<int()>& work) {
    if (::geteuid() == 0 && output_of({"id", "-u", kUser}).empty()) {
        (void)output_of({"useradd", "--create-home", kUser});
    }
    const bool is_root = ::geteuid() == 0;
    const auto uid =
        is_root ? static_cast<uid_t>(std::stoul(output_of({"id", "-u", kUser}))) : ::getuid();
    const auto gid =
        is_root ? static_cast<gid_t>(std::stoul(output_of({"id", "-g", kUser}))) : ::getgid();
    if (is_root) {
        REQUIRE(::chown(directory.c_str(), uid, gid) == 0);
    }
    const pid_t child = ::fork();
    if (child == 0) {
        if (is_root && (::setgroups(0, nullptr) != 0 || ::setgid(gid) != 0 || ::setuid(uid) != 0)) {
            ::_exit(99);
        }
        // newuidmap looks at the owner of /proc/PID, which is root's after setuid().
        ::prctl(PR_SET_DUMPABLE, 1);
        ::_exit(work());
    }
    return wait_for(child);
}

/// A build in a private folder.
struct Bench {
    TempDirectory directory = temporary();
    fs::path here = directory.path();
    Environment environment{{{"PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"},
                             {"HOME", here.native()},
                             {"CYBELE_CACHE_DIR", (here / "cache").native()},
                             {"CYBELE_TMPDIR", (here / "tmp").native()}}};
    std::vector<std::string> steps;

    BuildRequest request(const std::string& text, const std::string& output = "out.sif") {
        BuildRequest request;
        auto parsed = definitions::parse_definition(text, "test.def");
        REQUIRE(parsed);
        request.source.definition = std::move(*parsed);
        request.source.file = "test.def";
        request.source.directory = here;
        request.output = here / output;
        request.time.now = 1700000000;
        request.time.is_deterministic = true;
        request.reporter.on_step = [this](const std::string& step) { steps.push_back(step); };
        return request;
    }
    /// No folder of a build and no mount is left.
    void check_clean() const {
        for (const fs::path& place : {here, here / "tmp"}) {
            std::error_code error;
            for (const auto& entry : fs::directory_iterator(place, error)) {
                CHECK_FALSE(entry.path().filename().native().starts_with(".cybelectl-build"));
            }
        }
        CHECK(content("/proc/self/mounts").find(here.native()) == std::string::npos);
    }
};

inline const std::string kBase =
    "Bootstrap: scratch\n%files\n/bin/busybox /bin/busybox\n/bin/busybox /bin/sh\n";
inline const std::string kInstall = "%post\n/bin/busybox --install -s /bin\n";

} // namespace cybele::builder
