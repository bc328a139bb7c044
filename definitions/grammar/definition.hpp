// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/dialect.hpp"
#include "definitions/grammar/finding.hpp"
#include "definitions/grammar/scan.hpp"
#include "support/error.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::definitions {

/// One `%name arguments` section of a definition file, with its text as written.
struct Section {
    std::string name; ///< lower case, without the percent sign: "post", "files", "appinstall"
    /// The rest of the section line, trimmed; that of %files as written, for blanks count there.
    std::string arguments;
    std::string text;     ///< body, each line with its LF
    std::size_t line = 0; ///< of the section line, from 1; 0 where it was made by a program
    /// Set by generators only: the body stands for itself (no shell state from sections before it,
    /// none for those after), so a builder may run it apart and keep its result.
    bool is_self_contained = false;
};

/// A line of the user's file.
struct SourceLine {
    std::size_t number = 0; ///< from 1
    std::string text;
};

/// One stage: a header and its sections, in the file's order; sections of one name may repeat.
struct Stage {
    std::vector<std::pair<std::string, std::string>> header; ///< key in lower case, value
    std::map<std::string, SourceLine> header_lines; ///< of each key; empty where a program made it
    std::vector<Section> sections;
    std::size_t line = 0;

    [[nodiscard]] std::string
    header_value(std::string_view key) const; ///< "" if absent; the last wins
    [[nodiscard]] std::string name() const {
        return header_value("stage");
    }
    /// A fault (kInput) at the line of that key of the header, else at the stage's first line;
    /// without a place where a program made the stage.
    [[nodiscard]] Fault fault_at_header(std::string_view file, std::string_view key) const;
    /// The bodies of all sections of that name, joined as Apptainer joins them.
    [[nodiscard]] std::string joined(std::string_view section) const;
    [[nodiscard]] bool has(std::string_view section) const;
};

/// A definition file after template replacement.
struct Definition {
    std::string text;          ///< what is stored in the image
    std::vector<Stage> stages; ///< at least one; the last is the image
};

/// Values for `{{ name }}`, from --build-arg and the builder.
using BuildArguments = std::map<std::string, std::string>;

/// How a definition file is read.
struct ParseOptions {
    BuildArguments arguments;     ///< --build-arg
    Dialect dialect = kApptainer; ///< whose parser
};

/// What came of reading a definition file; `refusals` is empty where the dialect accepts it.
struct ParseOutcome {
    Definition definition;
    std::vector<Finding> refusals;
    std::vector<StageText> texts;         ///< of definition.stages, after template replacement
    std::set<std::string> used_arguments; ///< names of the arguments that were replaced
};

/// Reads a definition file to its end, and tells everything that the dialect refuses.
[[nodiscard]] ParseOutcome
read_definition(std::string_view text, std::string_view file, const ParseOptions& options = {});

/// Refusals as one error; nothing where there are none.
[[nodiscard]] Result<void> as_error(const std::vector<Finding>& refusals);

/// A value for an argument that no stage uses is refused (CD027), as by Apptainer's build.
[[nodiscard]] std::vector<Finding> unused_arguments(const BuildArguments& given,
                                                    const ParseOutcome& outcome,
                                                    std::string_view text,
                                                    std::string_view file);

/// Parses as Apptainer 1.4.5's parser does, and refuses what it refuses; where it
/// panics, an error (kInput). docs/reference/def-check.md describes the format.
[[nodiscard]] Result<Definition> parse_definition(std::string_view text,
                                                  std::string_view file,
                                                  const BuildArguments& arguments = {});

/// The text of a definition that a program made: sections in Apptainer's order, LF, no blank
/// at line ends; parse_definition() of it gives the same stages. Stages of `definition.text` are
/// ignored.
[[nodiscard]] std::string print_definition(const Definition& definition);

} // namespace cybele::definitions
