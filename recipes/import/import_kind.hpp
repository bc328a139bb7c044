// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::recipes {

/// Longer than what people write by hand.
inline constexpr std::size_t kLongestImportByHand = std::size_t{1} << 20U;

/// What can be made into a Recipe (docs/reference/recipe-import.md).
enum class ImportKind {
    kDockerfile,
    kConda,
    kRequirements,
    kSpack,
    kCondaLock,
    kDefinition,
    kPyproject,
    kUvLock,
    kPoetryLock,
    kPixiLock,
    kRenvLock,
    kPipfile,
    kPipfileLock,
    kHpccm ///< a program that writes a definition file: the caller runs it
};

/// "dockerfile", "conda", "requirements", …: the words of `--kind`.
[[nodiscard]] std::string_view import_word(ImportKind kind);
[[nodiscard]] std::vector<std::string> import_words();
/// "a Dockerfile": for the Recipe's first comment.
[[nodiscard]] std::string_view import_title(ImportKind kind);
/// kUsage for an unknown word, and for one that earlier versions knew.
[[nodiscard]] Result<ImportKind> find_import_kind(std::string_view word);

/// By the file's name, else by what stands in it; kUsage where neither tells.
[[nodiscard]] Result<ImportKind> detect_import_kind(const std::filesystem::path& file,
                                                    std::string_view text);

} // namespace cybele::recipes
