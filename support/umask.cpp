// SPDX-License-Identifier: Apache-2.0
#include "support/umask.hpp"

#include "support/file.hpp"

#include <charconv>

#include <sys/stat.h>

namespace cybele {

mode_t own_umask() {
    constexpr std::string_view kLine = "\nUmask:\t";
    constexpr int kOctal = 8;
    const auto status = read_file("/proc/self/status");
    const std::size_t at = status ? status->find(kLine) : std::string::npos;
    mode_t mask = 0;
    if (at != std::string::npos) {
        const char* const begin = status->data() + at + kLine.size();
        if (std::from_chars(begin, status->data() + status->size(), mask, kOctal).ec ==
            std::errc()) {
            return mask;
        }
    }
    // Linux before 4.7, or no /proc.
    mask = ::umask(0);
    (void)::umask(mask);
    return mask;
}

} // namespace cybele
