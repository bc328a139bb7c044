// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/lint/lint.hpp"
#include "definitions/lint/script.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::definitions {

/// What the rules look at, and where they tell what they found.
class Lint {
public:
    Lint(std::string_view text,
         std::string_view file,
         const LintOptions& options,
         const ParseOutcome& outcome);

    /// In the file, both from 1; column 0: the line as a whole.
    struct Spot {
        std::size_t line = 0;
        std::size_t column = 0;
    };
    /// A finding at a place of the file. Texts that are empty are the rule's own.
    void tell(std::string_view rule,
              const Spot& spot,
              std::string message,
              std::string because = {},
              std::string help = {});
    /// The same at a word of a section's script.
    void tell(std::string_view rule,
              const Section& section,
              const ScriptWord& word,
              std::string message,
              std::string help = {});

    [[nodiscard]] std::string_view line(std::size_t number) const; ///< as written; "" outside
    [[nodiscard]] const std::vector<std::string_view>& lines() const {
        return lines_;
    }
    [[nodiscard]] std::string_view text() const {
        return text_;
    }
    [[nodiscard]] const LintOptions& options() const {
        return options_;
    }
    [[nodiscard]] const ParseOutcome& outcome() const {
        return outcome_;
    }
    [[nodiscard]] const std::vector<Stage>& stages() const {
        return outcome_.definition.stages;
    }
    [[nodiscard]] Findings& findings() {
        return findings_;
    }
    void stop(int signal) {
        stopped_by_ = signal;
    }
    [[nodiscard]] int stopped_by() const {
        return stopped_by_;
    }

private:
    std::string_view text_;
    std::string_view file_;
    const LintOptions& options_;
    const ParseOutcome& outcome_;
    std::vector<std::string_view> lines_;
    Findings findings_;
    int stopped_by_ = 0;
};

/// A section's script and its commands.
struct Script {
    const Stage* stage = nullptr;
    const Section* section = nullptr;
    std::vector<ScriptCommand> commands;
};
/// The sections of a stage with one of these names.
[[nodiscard]] std::vector<Script> scripts_of(const Stage& stage,
                                             std::initializer_list<std::string_view> names);

/// The files of rules, in the order of their numbers.
void lint_text(Lint& lint);        ///< bytes and lines: CD010, CD011, CD003
void lint_structure(Lint& lint);   ///< headers and sections: the rest of CD0xx
void lint_scripts(Lint& lint);     ///< CD1xx
void lint_shellcheck(Lint& lint);  ///< CD107
void lint_environment(Lint& lint); ///< CD2xx
void lint_supply(Lint& lint);      ///< CD3xx
void lint_files(Lint& lint);       ///< CD4xx, CD501
void lint_places(Lint& lint);      ///< the rest of CD5xx

} // namespace cybele::definitions
