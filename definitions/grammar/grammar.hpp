// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/dialect.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

/// The words of the definition file format, each with the releases that know it.
namespace cybele::definitions {

/// A header key: as people write it, in the lower case that Stage::header holds, and since when.
struct HeaderKey {
    std::string_view key;
    std::string_view spelling;
    Since since;
    std::string_view agents; ///< that read it, each between blanks; empty: all
};
[[nodiscard]] std::span<const HeaderKey> header_keys();
/// Whether a header key (lower case) says anything to a bootstrap agent.
[[nodiscard]] bool agent_reads(std::string_view agent, std::string_view key);
/// Whether a key (lower case) may stand in a header; `otherurl1`, `otherurl2` … too.
[[nodiscard]] bool is_header_key(std::string_view key, const Dialect& dialect = kApptainer);
/// "MirrorURL" for "mirrorurl".
[[nodiscard]] std::string header_spelling(std::string_view key);

/// A section; those of applications take the application's name: `%appinstall NAME`.
struct SectionName {
    std::string_view name;
    bool is_app = false;
    Since since;
};
/// Sections in the order in which a definition is printed; those of applications come last.
[[nodiscard]] std::span<const SectionName> section_names();
/// A section of the definition itself.
[[nodiscard]] bool is_section(std::string_view name, const Dialect& dialect = kApptainer);
/// %appinstall NAME and its like.
[[nodiscard]] bool is_app_section(std::string_view name, const Dialect& dialect = kApptainer);

/// A bootstrap agent; its name is case-sensitive.
struct Agent {
    std::string_view name;
    Since since;
};
[[nodiscard]] std::span<const Agent> agents();
[[nodiscard]] bool is_agent(std::string_view name, const Dialect& dialect = kApptainer);

/// Since when a word is known, or nothing where no release knows it.
[[nodiscard]] const Since* header_since(std::string_view key);
[[nodiscard]] const Since* section_since(std::string_view name);
[[nodiscard]] const Since* agent_since(std::string_view name);

/// Length in bytes of the blank (in Unicode's sense) at the beginning of `text`; 0 if there is
/// none.
[[nodiscard]] std::size_t blank_length(std::string_view text);
/// Without Unicode blanks at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);
/// In lower case: ASCII letters, and the two others whose lower case is ASCII (U+0130, U+212A).
[[nodiscard]] std::string lower(std::string_view text);

} // namespace cybele::definitions
