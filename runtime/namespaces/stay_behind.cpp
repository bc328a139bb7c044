// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/stay_behind.hpp"

#include "runtime/namespaces/descriptors.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <utility>

#include <sys/prctl.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

constexpr std::array kIgnored = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE};

/// Where the first program's command line lies.
struct Arguments {
    char* first = nullptr;
    std::size_t room = 0;
};

Arguments& arguments() {
    static Arguments found;
    return found;
}

/// The C library hands the program's arguments to such functions, too; they lie one behind the
/// other, see proc_pid_cmdline(5).
[[gnu::constructor]] void find_arguments(int count, char** values, char** /*environment*/) {
    if (count > 0 && values != nullptr) {
        const char* const last = values[count - 1];
        const auto before = static_cast<std::size_t>(last - values[0]);
        arguments() = {values[0], before + std::strlen(last)};
    }
}

void set_title(const char* name) {
    (void)prctl(PR_SET_NAME, name);
    const Arguments& all = arguments();
    std::fill_n(all.first, all.room, '\0');
    std::copy_n(name, std::min(std::strlen(name), all.room), all.first);
}

} // namespace

void stay_behind(const char* name, std::vector<int> kept) {
    setsid();
    set_title(name);
    for (const int number : kIgnored) {
        (void)std::signal(number, SIG_IGN); // NOLINT: it ends by itself
    }
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, nullptr); // NOLINT(concurrency-mt-unsafe): one thread
    (void)chdir("/");
    keep_only(std::move(kept));
}

} // namespace cybele::namespaces
