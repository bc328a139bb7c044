// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

/// The words of the definition file format, as the reference parser of Apptainer 1.4.5 knows them.
namespace cybele::definitions {

/// A header key: as people write it, and in the lower case that Stage::header holds.
struct HeaderKey {
    std::string_view key;
    std::string_view spelling;
};
[[nodiscard]] std::span<const HeaderKey> header_keys();
/// Whether a key (lower case) may stand in a header; `otherurl1`, `otherurl2` … too.
[[nodiscard]] bool is_header_key(std::string_view key);
/// "MirrorURL" for "mirrorurl".
[[nodiscard]] std::string header_spelling(std::string_view key);

/// Sections in the order in which a definition is printed.
[[nodiscard]] std::span<const std::string_view> section_names();
[[nodiscard]] bool is_section(std::string_view name);
/// %appinstall NAME and its like.
[[nodiscard]] bool is_app_section(std::string_view name);

/// Bootstrap agents; their names are case-sensitive.
[[nodiscard]] std::span<const std::string_view> agents();
[[nodiscard]] bool is_agent(std::string_view name);

/// Length in bytes of the blank (in Unicode's sense) at the beginning of `text`; 0 if there is
/// none.
[[nodiscard]] std::size_t blank_length(std::string_view text);
/// Without Unicode blanks at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);
/// ASCII letters in lower case.
[[nodiscard]] std::string lower(std::string_view text);

} // namespace cybele::definitions
