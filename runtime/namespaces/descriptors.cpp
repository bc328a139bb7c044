// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/descriptors.hpp"

#include <algorithm>
#include <cstdlib>

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

constexpr int kFirst = 3;          // after the standard streams
constexpr int kUsualLimit = 65536; // where nothing tells what is open

/// Kernels before 5.9: all that is listed; without /proc the usual numbers.
void close_one_by_one(const std::vector<int>& kept) {
    std::vector<int> open_now;
    if (DIR* list = opendir("/proc/self/fd"); list != nullptr) {
        while (const dirent* entry = readdir(list)) { // NOLINT(concurrency-mt-unsafe): own
            constexpr int kDecimal = 10;              // "." and ".." read as 0
            open_now.push_back(static_cast<int>(
                std::strtol(static_cast<const char*>(entry->d_name), nullptr, kDecimal)));
        }
        closedir(list);
    } else {
        for (int fd = kFirst; fd < kUsualLimit; ++fd) {
            open_now.push_back(fd);
        }
    }
    for (const int fd : open_now) {
        if (fd >= kFirst && !std::binary_search(kept.begin(), kept.end(), fd)) {
            close(fd);
        }
    }
}

bool close_ranges(const std::vector<int>& kept) {
    auto from = static_cast<unsigned>(kFirst);
    for (const int fd : kept) {
        const auto next = static_cast<unsigned>(fd);
        if (next > from && syscall(SYS_close_range, from, next - 1, 0) != 0) {
            return false;
        }
        from = std::max(from, next + 1);
    }
    return syscall(SYS_close_range, from, ~0U, 0) == 0;
}

} // namespace

void keep_only(std::vector<int> kept) {
    std::erase_if(kept, [](int fd) { return fd < kFirst; });
    std::sort(kept.begin(), kept.end());
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (null < 0) {
            close(stream);
        } else {
            dup2(null, stream);
        }
    }
    if (!close_ranges(kept)) {
        close_one_by_one(kept);
    }
}

} // namespace cybele::namespaces
