// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/resolve.hpp"

#include "runtime/namespaces/system_calls.hpp"
#include "support/quote.hpp"
#include "support/root_walk.hpp"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

UniqueFd duplicate(int fd) {
    return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

} // namespace

std::optional<UniqueFd> open_in_root(int root, const std::filesystem::path& path) {
    UniqueFd fd(open_in_root_by_kernel(root, path.string(), O_PATH));
    if (fd.valid()) {
        return fd;
    }
    if (!is_unknown_call(errno)) {
        return std::nullopt;
    }
    RootWalk walk(root, path);
    if (!walk.run()) {
        return std::nullopt;
    }
    return duplicate(walk.here());
}

Result<UniqueFd> make_in_root(int root, const std::filesystem::path& path, const Making& making) {
    const std::string shown = printable(path.string());
    RootWalk walk(root, path);
    while (!walk.run()) {
        if (errno != ENOENT) {
            return fail(
                system_error("cannot reach '" + shown + "' in the root file system", errno));
        }
        if (making.may_make_in && !making.may_make_in(walk.here(), walk.passed_link())) {
            return fail(ErrorCode::kInput,
                        problem("container-path-missing",
                                "there is no '" + shown + "' in the container",
                                shown),
                        "it would be in a directory of the host that is bound read-only, is the "
                        "system's, or is reached by a link",
                        "make it on the host, or choose another target");
        }
        const std::string name = walk.rest().front();
        const bool is_directory = making.is_directory || walk.rest().size() > 1;
        int made = 0;
        if (is_directory) {
            made = mkdirat(walk.here(), name.c_str(), 0755);
        } else {
            const int flags = O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY;
            const UniqueFd file(openat(walk.here(), name.c_str(), flags, 0644));
            made = file.valid() ? 0 : -1;
        }
        if (made != 0 && errno != EEXIST) {
            return fail(system_error("cannot make '" + shown + "' in the root file system", errno));
        }
    }
    return duplicate(walk.here());
}

Resolved resolve_in_root(int root, const std::filesystem::path& path) {
    RootWalk walk(root, path);
    (void)walk.run();
    Resolved resolved;
    resolved.existing = walk.passed();
    for (const std::string& part : walk.rest()) {
        resolved.missing /= part;
    }
    return resolved;
}

} // namespace cybele::namespaces
