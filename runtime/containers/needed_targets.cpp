// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/plan.hpp"

#include <algorithm>

#include <sys/stat.h>

namespace cybele::runtime {

bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder) {
    const auto [in_folder, in_path] =
        std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
    return in_folder == folder.end() && in_path != path.end();
}

std::vector<NeededTarget> needed_targets(const std::vector<namespaces::Mount>& mounts) {
    std::vector<NeededTarget> needed;
    for (std::size_t i = 0; i < mounts.size(); ++i) {
        const namespaces::Mount& mount = mounts[i];
        const auto path = mount.target.lexically_normal();
        const bool lies_on_mount = std::any_of(mounts.begin(),
                                               mounts.begin() + static_cast<std::ptrdiff_t>(i),
                                               [&](const namespaces::Mount& earlier) {
                                                   const auto folder =
                                                       earlier.target.lexically_normal();
                                                   return lies_in(path, folder) && path != folder;
                                               });
        if (lies_on_mount) {
            continue;
        }
        NeededTarget target;
        target.path = path;
        target.is_optional = mount.is_optional;
        struct stat status = {};
        if (mount.source_fd >= 0 && fstat(mount.source_fd, &status) == 0) {
            target.is_directory = S_ISDIR(status.st_mode);
        }
        needed.push_back(std::move(target));
    }
    return needed;
}

} // namespace cybele::runtime
