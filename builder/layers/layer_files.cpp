// SPDX-License-Identifier: Apache-2.0
#include "builder/layers/layer_files.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

constexpr int kDeepestRemoval =
    512; ///< folders in folders that are removed; each holds a descriptor

Result<void> remove_deep(int folder, const std::string& name, const std::string& path, int depth) {
    if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) {
        return {};
    }
    if (errno != EISDIR && errno != EPERM) {
        return fail(system_error("cannot replace /" + printable(path), errno));
    }
    UniqueFd fd(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid() || depth == kDeepestRemoval) {
        return fail(
            system_error("cannot replace /" + printable(path), fd.valid() ? ENAMETOOLONG : errno));
    }
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd.get()), &::closedir);
    if (!directory) {
        return fail(system_error("cannot replace /" + printable(path), errno));
    }
    const int own = fd.release();
    while (const dirent* entry = ::readdir(directory.get())) { // NOLINT(concurrency-mt-unsafe)
        const std::string child = static_cast<const char*>(entry->d_name);
        if (child != "." && child != "..") {
            CYBELE_CHECK(remove_deep(own, child, path, depth + 1));
        }
    }
    if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
        return fail(system_error("cannot replace /" + printable(path), errno));
    }
    return {};
}

} // namespace

Result<void> remove_at(int folder, const std::string& name, const std::string& path) {
    return remove_deep(folder, name, path, 0);
}

Result<void>
write_block(int fd, std::string_view bytes, std::int64_t offset, const std::string& path) {
    const bool is_hole = std::ranges::all_of(bytes, [](char c) { return c == '\0'; });
    while (!bytes.empty() && !is_hole) {
        const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), offset);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return fail(system_error("cannot unpack /" + printable(path), errno));
        }
        bytes.remove_prefix(static_cast<std::size_t>(count));
        offset += count;
    }
    return {};
}

bool set_attribute_at(int folder, const std::string& name, const Attribute& attribute) {
    const UniqueFd fd(
        ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    return fd.valid() &&
           ::fsetxattr(fd.get(), attribute.name, attribute.value, attribute.size, 0) == 0;
}

} // namespace cybele::builder
