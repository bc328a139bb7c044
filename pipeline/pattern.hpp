// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace cybele::pipeline {

/// The files below `folder` that a pattern of a Project names, relative to it and sorted: `*` and
/// `?` stand for characters of one part of a path, as a shell reads them, but not at a part's
/// beginning for a dot.
[[nodiscard]] std::vector<std::filesystem::path> find_files(const std::filesystem::path& folder,
                                                            std::string_view pattern);

} // namespace cybele::pipeline
