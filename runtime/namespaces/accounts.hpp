// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

/// Accounts of the host without getpw*(), which a static program cannot use: /etc/passwd and
/// /etc/group first, then `getent` for those that a directory service knows.
namespace cybele::namespaces {

/// The line of passwd(5) or group(5) of an id, without its end.
[[nodiscard]] std::optional<std::string> passwd_line(uid_t uid);
[[nodiscard]] std::optional<std::string> group_line(gid_t gid);

/// The n-th field, from 0, of such a line; "" where there are fewer.
[[nodiscard]] std::string account_field(std::string_view line, std::size_t number);

/// A range of ids that this user may map, as in subuid(5).
struct SubordinateRange {
    unsigned long start = 0;
    unsigned long count = 0;
};
/// The first range of at least `needed` ids of the user in `file` (/etc/subuid or /etc/subgid);
/// where the file has no line, `getsubids` is asked. kEnvironment with the line that is missing.
[[nodiscard]] Result<SubordinateRange>
subordinate_range(const std::filesystem::path& file, uid_t uid, unsigned long needed);

} // namespace cybele::namespaces
