// SPDX-License-Identifier: Apache-2.0
#include "namespaces/title.hpp"

#include <algorithm>
#include <cstring>

#include <sys/prctl.h>

namespace cybele::namespaces {
namespace {

char* arguments = nullptr;
std::size_t room = 0;

/// The C library hands the program's arguments to such functions, too; they lie one behind the
/// other, see proc_pid_cmdline(5).
[[gnu::constructor]] void find_arguments(int count, char** values, char** /*environment*/) {
    if (count > 0 && values != nullptr) {
        arguments = values[0];
        char* const last = values[count - 1];
        room = static_cast<std::size_t>(last - arguments) + std::strlen(last);
    }
}

} // namespace

void set_title(const char* name) {
    (void)prctl(PR_SET_NAME, name);
    const std::size_t length = std::min(std::strlen(name), room);
    if (arguments != nullptr) {
        std::memset(arguments, 0, room);
        std::memcpy(arguments, name, length);
    }
}

} // namespace cybele::namespaces
