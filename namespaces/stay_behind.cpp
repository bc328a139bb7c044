// SPDX-License-Identifier: Apache-2.0
#include "namespaces/title.hpp"

#include <algorithm>
#include <cstring>

#include <sys/prctl.h>

namespace cybele::namespaces {
namespace {

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

} // namespace

void set_title(const char* name) {
    (void)prctl(PR_SET_NAME, name);
    const Arguments& all = arguments();
    std::fill_n(all.first, all.room, '\0');
    std::copy_n(name, std::min(std::strlen(name), all.room), all.first);
}

} // namespace cybele::namespaces
