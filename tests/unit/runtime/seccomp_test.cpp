// SPDX-License-Identifier: Apache-2.0
// Profiles of --security seccomp, installed in a process of their own.
#include "runtime/containers/security.hpp"
#include "runtime/namespaces/seccomp_profile.hpp"
#include "tests/unit/runtime/trial.hpp"

#include <cerrno>
#include <csignal>
#include <string>

#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

constexpr int kOwnErrno = 77;
constexpr int kNotInstalled = 99;

/// The errno (0: none) of personality(argument) under a profile, as a process of its own sees it;
/// 1000 and the signal where that ended it.
int call_under(const std::string& profile, unsigned long argument) {
    const auto program = compile_seccomp_profile(profile, "test.json");
    REQUIRE(program.has_value());
    const pid_t child = fork();
    if (child == 0) {
        if (!install_seccomp_profile(*program)) {
            _exit(kNotInstalled);
        }
        errno = 0;
        const long answer = syscall(SYS_personality, argument);
        _exit(answer < 0 ? errno : 0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string rule(const std::string& more) {
    return fmt::format(
        R"({{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{{"names":["nosuch","personality"],)"
        R"("action":"SCMP_ACT_ERRNO","errnoRet":{}{}}}]}})",
        kOwnErrno,
        more);
}

} // namespace

TEST_CASE("a seccomp profile refuses the calls that it names, and no others") {
    CHECK(call_under(rule(""), 0) == kOwnErrno);
    CHECK(call_under(R"({"defaultAction":"SCMP_ACT_ALLOW"})", 0) == 0);
    CHECK(
        call_under(
            R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"name":"mkdir","action":"SCMP_ACT_KILL"}]})",
            0) == 0);
    CHECK(
        call_under(
            R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"name":"personality","action":"SCMP_ACT_KILL_PROCESS"}]})",
            0) == 1000 + SIGSYS);
    // Without a number the errno is EPERM; what is not listed has the default.
    CHECK(
        call_under(
            R"({"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["exit_group","exit"],"action":"SCMP_ACT_ALLOW"}]})",
            0) == EPERM);
}

TEST_CASE("the conditions of a seccomp profile compare 64 bits") {
    struct Row {
        const char* op;
        unsigned long value;
        unsigned long other;
        unsigned long argument;
        bool is_refused;
    };
    constexpr unsigned long kHigh = 1UL << 32U;
    constexpr Row kRows[] = {
        {"EQ", 5, 0, 5, true},
        {"EQ", 5, 0, 4, false},
        {"EQ", 5, 0, kHigh + 5, false},
        {"EQ", kHigh + 5, 0, kHigh + 5, true},
        {"NE", 5, 0, 5, false},
        {"NE", 5, 0, 6, true},
        {"NE", 5, 0, kHigh + 5, true},
        {"GT", 5, 0, 5, false},
        {"GT", 5, 0, 6, true},
        {"GT", kHigh + 5, 0, 6, false},
        {"GT", 5, 0, kHigh, true},
        {"GE", 5, 0, 5, true},
        {"GE", 5, 0, 4, false},
        {"GE", kHigh, 0, kHigh, true},
        {"LT", 5, 0, 5, false},
        {"LT", 5, 0, 4, true},
        {"LT", 5, 0, kHigh, false},
        {"LT", kHigh, 0, 7, true},
        {"LE", 5, 0, 5, true},
        {"LE", 5, 0, 6, false},
        {"LE", kHigh + 1, 0, kHigh + 2, false},
        {"MASKED_EQ", 6, 4, 5, true},
        {"MASKED_EQ", 6, 4, 7, false},
        {"MASKED_EQ", kHigh | 1, kHigh | 1, 1, false},
        {"MASKED_EQ", kHigh | 1, kHigh | 1, kHigh | 3, true},
    };
    for (const Row& row : kRows) {
        const std::string profile = rule(
            fmt::format(R"(,"args":[{{"index":0,"op":"SCMP_CMP_{}","value":{},"valueTwo":{}}}])",
                        row.op,
                        row.value,
                        row.other));
        INFO(row.op, " ", row.value, " ", row.other, " ", row.argument);
        CHECK(call_under(profile, row.argument) == (row.is_refused ? kOwnErrno : 0));
    }
}

TEST_CASE("conditions on one argument are alternatives, on several all must hold") {
    const std::string either =
        R"({"index":0,"op":"SCMP_CMP_EQ","value":3},{"index":0,"op":"SCMP_CMP_EQ","value":4})";
    for (const unsigned long argument : {2UL, 3UL, 4UL}) {
        CHECK(call_under(rule(",\"args\":[" + either + "]"), argument) ==
              (argument > 2 ? kOwnErrno : 0));
    }
    const std::string both =
        R"({"index":0,"op":"SCMP_CMP_EQ","value":3},{"index":5,"op":"SCMP_CMP_NE","value":0})";
    CHECK(call_under(rule(",\"args\":[" + both + "]"), 4) == 0);
}

TEST_CASE("a seccomp profile that cannot be used is an error") {
    for (
        const char* text :
        {"",
         "[]",
         "{",
         R"({"defaultAction":"ALLOW"})",
         R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":[1]})",
         R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"action":"SCMP_ACT_KILL"}]})",
         R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["read"],"action":"x"}]})",
         R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["read"],"action":"SCMP_ACT_KILL","args":[{"index":6,"op":"SCMP_CMP_EQ"}]}]})",
         R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["read"],"action":"SCMP_ACT_KILL","args":[{"index":0,"op":"EQ"}]}]})"}) {
        INFO(text);
        CHECK_FALSE(compile_seccomp_profile(text, "test.json").has_value());
    }
}

} // namespace cybele::namespaces

namespace cybele::runtime {

TEST_CASE("--security: what cannot be read is refused") {
    for (const char* word : {"",
                             "uid",
                             "uid:",
                             "uid:-1",
                             "uid:x",
                             "uid:4294967295",
                             "gid:9x",
                             "seccomp:",
                             "nosuch:1"}) {
        const auto read = read_security({word});
        INFO(word);
        REQUIRE_FALSE(read.has_value());
        CHECK(read.error().code() == ErrorCode::kUsage);
    }
    CHECK(read_security({"seccomp:/nosuch"}).error().code() != ErrorCode::kUsage);
    CHECK(read_security({"apparmor:x"}).error().code() == ErrorCode::kEnvironment);
    const auto read = read_security({"uid:7", "gid:8"});
    REQUIRE(read.has_value());
    CHECK(read->uid == uid_t{7});
    CHECK(read->gids == std::vector<gid_t>{8});
}

} // namespace cybele::runtime
