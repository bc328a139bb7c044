// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/shell_words.hpp"
#include "support/error.hpp"
#include "support/yaml.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::schedulers {

/// Who reads the directives of a script.
enum class Reader { kSlurm, kTorque, kPbspro, kNone };
[[nodiscard]] std::string_view reader_text(Reader reader);

/// One option of a directive line, as the batch system reads it.
struct Directive {
    std::size_t line = 0;
    std::string option; ///< as a table row names it: `--nodes`, `-l nodes`; as written if unknown
    std::string need;   ///< what it asks for (option_table.hpp); empty: not known
    std::string value;
    bool has_value = false;
};

/// Why a line that looks like a directive is none, or is read otherwise than it looks.
struct SuspectLine {
    enum class Why {
        kLate,     ///< behind the first command
        kIndented, ///< Slurm does not read it
        kComment,  ///< `##SBATCH`, `# PBS`
        kPrefix,   ///< `#PBSX`: TORQUE reads it, OpenPBS refuses it
        kOther,    ///< of the other family
        kForeign,  ///< of a batch system that is not read, in a script without other directives
        kExtra,    ///< words that no option takes
    };
    std::size_t line = 0;
    Why why = Why::kLate;
    std::string text;
};

/// A batch script as its batch system reads it.
struct BatchScript {
    yaml::Source source{"", ""};
    Reader reader = Reader::kNone;
    std::vector<Directive> directives;
    std::vector<SuspectLine> odd;
    std::vector<std::string> lines; ///< without their ends; the first is line 1
    std::size_t first_command = 0;  ///< its line; 0: there is none
    std::vector<ShellCommand> commands;

    /// The last directive for a need, since that one counts; nullptr: none.
    [[nodiscard]] const Directive* find(std::string_view need) const;
    [[nodiscard]] std::size_t line_of(std::string_view need) const;
};

/// The first line for a burst buffer of Slurm (`#DW`, `#BB`), which counts in the head of a script
/// only; 0: none.
[[nodiscard]] std::size_t line_of_burst_buffer(const BatchScript& script);

/// A comment after the options of a line, which TORQUE ignores.
[[nodiscard]] bool is_ignored_comment(const BatchScript& script, const SuspectLine& odd);

/// Reads a script by the rules of its batch system: Slurm where there are `#SBATCH` lines, else
/// OpenPBS for `select`, else TORQUE; `reader` says it instead unless it is kNone. Pure. A text
/// that is no script (NUL bytes) is kInput.
[[nodiscard]] Result<BatchScript>
read_batch_script(std::string text, const std::string& file, Reader reader = Reader::kNone);

} // namespace cybele::schedulers
