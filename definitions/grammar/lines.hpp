// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/definition.hpp"
#include "definitions/grammar/dialect.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The sections whose lines are data and no script: %files, %labels, %arguments.
namespace cybele::definitions {

/// One line of %files.
struct FileLine {
    std::string source;
    std::string destination; ///< empty: the same path as the source
    std::size_t line = 0;    ///< in the definition file
    std::string text;        ///< the line as written
};

/// The words of a %files line: blanks separate; double quotes protect them, and so do the braces of
/// a template; other quotes do not. Words after the second mean nothing. Nothing where the line has
/// no word (Apptainer panics).
[[nodiscard]] std::optional<std::pair<std::string, std::string>>
split_file_line(std::string_view line);

/// The lines of a %files section; blank lines and those that begin with `#` are left out.
[[nodiscard]] std::vector<FileLine> file_lines(const Section& section);

/// What the argument of %files says, without what follows `#`.
struct FilesOrigin {
    enum class Kind {
        kHost,   ///< no argument
        kStage,  ///< two words: the second names the stage, whatever the first one is
        kSkipped ///< anything else, blanks alone too: Apptainer passes such a section over
    };
    Kind kind = Kind::kHost;
    std::string stage;
};
[[nodiscard]] FilesOrigin files_origin(const Section& section);

/// `key value` lines of %labels; the key ends at the first space, the last of equal keys wins.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> label_lines(std::string_view text);

/// `key=value` lines of %arguments, both trimmed; a line that is none is passed over.
[[nodiscard]] BuildArguments argument_lines(std::string_view text,
                                            const Dialect& dialect = kApptainer);

} // namespace cybele::definitions
