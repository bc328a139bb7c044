// SPDX-License-Identifier: Apache-2.0
#include "support/file.hpp"
#include "support/lock.hpp"

#include <cerrno>
#include <csignal>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cybele;

namespace {

UniqueFd open_lock(const std::filesystem::path& path) {
    return UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

void ignore(int /*number*/) {}

} // namespace

TEST_CASE("a signal does not end the waiting for a lock") {
    auto folder = TempDirectory::make(std::filesystem::temp_directory_path(), "lock-test");
    REQUIRE(folder);
    const UniqueFd held = open_lock(folder->path() / "lock");
    REQUIRE(take_lock(held.get(), LOCK_EX));
    const UniqueFd other = open_lock(folder->path() / "lock");
    CHECK_FALSE(take_lock(other.get(), LOCK_EX | LOCK_NB));
    CHECK(errno == EWOULDBLOCK);

    const pid_t waiting = ::fork();
    if (waiting == 0) {
        struct sigaction action = {};
        action.sa_handler = ignore; // and no SA_RESTART: the call ends with EINTR
        ::sigaction(SIGALRM, &action, nullptr);
        const itimerval often = {{0, 10'000}, {0, 10'000}};
        ::setitimer(ITIMER_REAL, &often, nullptr);
        const UniqueFd own = open_lock(folder->path() / "lock");
        ::_exit(take_lock(own.get(), LOCK_SH) ? 7 : 1);
    }
    int status = 0;
    ::usleep(100'000);
    CHECK(::waitpid(waiting, &status, WNOHANG) == 0);
    REQUIRE(::flock(held.get(), LOCK_UN) == 0);
    REQUIRE(::waitpid(waiting, &status, 0) == waiting);
    CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("what has no locks says so") {
    CHECK_FALSE(take_lock(-1, LOCK_EX));
    CHECK(errno == EBADF);
}
