// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <optional>
#include <string>
#include <vector>

#include <linux/filter.h>
#include <sys/types.h>

/// --security: ids and a seccomp profile of the program.
namespace cybele::runtime {

struct Security {
    std::optional<uid_t> uid;
    std::vector<gid_t> gids;         ///< the first is the own one
    std::vector<sock_filter> filter; ///< empty: none

    [[nodiscard]] bool is_empty() const {
        return !uid && gids.empty() && filter.empty();
    }
};

/// Reads "uid:N", "gid:N" and "seccomp:FILE". kUsage for a wrong word (where it is compatible,
/// Apptainer ignores that), kEnvironment for what is not supported (apparmor, selinux), kInput for
/// a profile that cannot be used.
[[nodiscard]] Result<Security> read_security(const std::vector<std::string>& words,
                                             bool follows_apptainer = false);

/// For the process that becomes the program. Only root takes other ids here; a user has them by the
/// map of the container's ids.
[[nodiscard]] Result<void> apply_security(const Security& security, bool is_root);

} // namespace cybele::runtime
