// SPDX-License-Identifier: Apache-2.0
#include "images/squashfs/tree_ahead.hpp"

#include "support/directory.hpp"
#include "support/file.hpp"

#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

namespace cybele::images {
namespace {

constexpr int kDeepestReadAhead = 100; // each level holds a descriptor

UniqueFd open_directory_at(int directory, const char* name) {
    return UniqueFd(::openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

} // namespace

TreeAhead::TreeAhead(const std::filesystem::path& root) {
    try {
        thread_ = std::thread([this, root] {
            if (const UniqueFd fd = open_directory_at(AT_FDCWD, root.c_str()); fd.valid()) {
                go(fd.get(), 0);
            }
        });
    } catch (const std::system_error&) {
        // Without a thread the reader looks up by itself.
    }
}

TreeAhead::~TreeAhead() {
    is_ending_ = true;
    if (thread_.joinable()) {
        thread_.join();
    }
}

/// In the reader's order: all names of a directory, then those below.
void TreeAhead::go(int directory, int depth) {
    const auto names = names_in(directory, {});
    if (!names || depth == kDeepestReadAhead) {
        return;
    }
    std::vector<std::string> inner;
    for (const std::string& name : *names) {
        struct statx status {};
        const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
        if (is_ending_) {
            return;
        }
        if (::statx(directory, name.c_str(), flags, STATX_BASIC_STATS, &status) == 0 &&
            S_ISDIR(status.stx_mode) && (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0) {
            inner.push_back(name);
        }
    }
    for (const std::string& name : inner) {
        if (const UniqueFd fd = open_directory_at(directory, name.c_str()); fd.valid()) {
            go(fd.get(), depth + 1);
        }
    }
}

} // namespace cybele::images
