// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::pipeline {

/// The regular files of a folder with somebody's source, as `init --from` looks at them: sorted by
/// their bytes, without links, hidden names but .binder, build folders and environments of Python.
struct SourceFolder {
    std::filesystem::path root;
    std::vector<std::string> files;   ///< relative, `src/main.c`
    std::vector<std::string> skipped; ///< what was not looked at, with the reason
    std::string config{}; ///< where repo2docker's files count: "binder/", ".binder/" or "", the top

    [[nodiscard]] bool has(std::string_view file) const;
};

/// Bounded: at most kMostSourceFiles files, kDeepestSource folders below each other. kInput where
/// `root` is not a folder, cannot be read, or holds more.
[[nodiscard]] Result<SourceFolder> read_source_folder(const std::filesystem::path& root);

inline constexpr std::size_t kMostSourceFiles = 50'000;
inline constexpr std::size_t kDeepestSource = 16;

/// The start of one of its files, at most `limit` bytes, cut at a line's end where it is longer.
/// kInput where it cannot be read or is not text.
[[nodiscard]] Result<std::string> read_source_text(const SourceFolder& folder,
                                                   const std::string& file,
                                                   std::size_t limit = std::size_t{256} << 10U);

} // namespace cybele::pipeline
