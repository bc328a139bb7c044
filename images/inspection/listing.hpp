// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/squashfs/file_node.hpp"

#include <string>
#include <string_view>

namespace cybele::images {

/// "-rwsr-xr-x", "drwxrwxrwt": the type and the rights as `ls -l` writes them.
[[nodiscard]] std::string mode_text(std::uint32_t mode);
/// "file", "directory", "link", "fifo", "socket", "character device", "block device".
[[nodiscard]] std::string_view type_name(std::uint32_t mode);
/// "2026-11-21 14:49" (UTC).
[[nodiscard]] std::string time_text(std::int64_t unix_seconds);
/// One line: mode, owner and group by number, size (of a device its numbers), time, path, and a
/// link's target. What could steer a terminal is escaped. No line end.
[[nodiscard]] std::string listing_line(const std::string& path, const FileStatus& status);

/// Does a whole path match a shell pattern? `*` and `?` stop at a slash, `**` does not; `[…]` as in
/// a shell; a pattern without a slash is matched against the last name.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view path);

} // namespace cybele::images
