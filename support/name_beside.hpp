// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace cybele {

/// A name in the same folder that begins like the file's and has this ending. The beginning is
/// shorter where both together would be longer than a name can be.
[[nodiscard]] std::filesystem::path name_beside(const std::filesystem::path& file,
                                                std::string_view ending);

} // namespace cybele
