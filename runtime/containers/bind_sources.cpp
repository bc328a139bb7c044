// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/bind_sources.hpp"

#include "support/quote.hpp"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>

namespace cybele::runtime {
namespace {

using namespaces::Mount;

/// Where the words of a bind were swapped, what lies on this machine is the second one.
std::string help_for_bind(const Mount& mount, int failed) {
    std::error_code error;
    const bool is_swapped = failed == ENOENT && std::filesystem::exists(mount.target, error);
    return is_swapped ? "write `" + printable(mount.target.string() + ":" + mount.source.string()) +
                            "` in place of `" +
                            printable(mount.source.string() + ":" + mount.target.string()) + "`"
                      : "check the source of the bind";
}

} // namespace

Result<std::vector<UniqueFd>> open_sources(std::vector<Mount>& mounts) {
    std::vector<UniqueFd> opened;
    std::vector<Mount> found;
    for (Mount& mount : mounts) {
        if (mount.kind == Mount::Kind::kBind && mount.image_source.empty()) {
            UniqueFd fd(open(mount.source.c_str(), O_PATH | O_CLOEXEC));
            if (!fd.valid() && mount.is_optional) {
                continue;
            }
            if (!fd.valid()) {
                const int saved_errno = errno;
                return fail(
                    ErrorCode::kInput,
                    problem(saved_errno == ENOENT ? "bind-source-missing" : "bind-source-failed",
                            "cannot bind '" + printable(mount.source.string()) + "'")
                        .about(mount.target.native(), mount.source.native()),
                    system_error("", saved_errno).faults().front().because,
                    help_for_bind(mount, saved_errno));
            }
            mount.source_fd = fd.get();
            opened.push_back(std::move(fd));
        }
        found.push_back(mount);
    }
    mounts = std::move(found);
    return opened;
}

} // namespace cybele::runtime
