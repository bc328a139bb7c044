// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/forms/ledger.hpp"
#include "recipes/import/commands.hpp"
#include "recipes/import/dockerfile_lines.hpp"
#include "recipes/import/dockerfile_words.hpp"
#include "recipes/import/draft.hpp"
#include "recipes/import/import.hpp"
#include "recipes/tables/tables.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cybele::recipes::dockerfile {

/// ENTRYPOINT or CMD.
struct Program {
    std::vector<std::string> words; ///< of the exec form; else
    std::string shell;              ///< the shell form
    Lines lines;
    bool is_set = false;
};

/// A stage while its instructions are carried, one after the other; a stage that is made FROM it
/// begins with a copy.
struct State {
    DraftStage draft;
    std::string image; ///< the base as a builder sees it
    std::map<std::string, Value, std::less<>> environment;
    std::map<std::string, Value, std::less<>> arguments; ///< visible here
    /// Of arguments that cannot be the Recipe's: set by each step.
    std::map<std::string, std::string> local;
    Value workdir{"/", "/"};
    bool has_workdir = false;
    std::vector<std::string> shell{"/bin/sh", "-c"};
    bool has_steps = false; ///< others than those that make a WORKDIR
    std::set<std::string> made;
    std::size_t copies = 0;
    Program entrypoint;
    Program command;
    std::map<std::string, std::string> labels;
};

/// What the instructions of all stages share.
struct File {
    const ImportRequest& request;
    Ledger& ledger;
    char escape = '\\';
    /// Arguments that are the Recipe's too: Dockerfile's name → Recipe's.
    std::map<std::string, std::string, std::less<>> shared;
    std::map<std::string, Value, std::less<>> global; ///< ARGs before the first FROM
    /// COPY --from: what is written there → the stage's name in the Recipe.
    std::map<std::string, std::string, std::less<>> stages;
};

/// The variables that a stage's instructions see.
[[nodiscard]] Lookup lookup_of(const State& state);

/// The value that the request gives to an argument, else its default.
[[nodiscard]] std::string
declared_value(const File& file, const std::string& name, const std::string& by_default);
/// `NAME[=DEFAULT]`, several in one ARG.
[[nodiscard]] std::vector<std::pair<std::string, std::optional<Word>>>
argument_pairs(const File& file, const Instruction& own);
[[nodiscard]] std::optional<Value> find_value(const std::map<std::string, Value, std::less<>>& map,
                                              std::string_view name);
/// Comments of an instruction that becomes no step go to the Recipe's head.
void keep_comments(const File& file, const Instruction& instruction);

/// Carries one instruction, or names it; COPY and ADD, RUN, all others.
void carry_copy(const File& file, const Instruction& instruction, State& state);
void carry_run(const File& file, const Instruction& instruction, State& state);
void carry_other(const File& file, const Instruction& instruction, State& state);

/// The Recipe's `run` out of ENTRYPOINT and CMD.
void carry_program(const File& file, const State& state, Draft& draft);

/// Adds a step; in the stage's workdir unless it names one.
void add_step(State& state, DraftStep step);

/// The release that the stage's base is; nullptr where its name does not tell.
[[nodiscard]] const DistributionRow* row_of(const State& state);

/// A value that the instruction needs; a variable that nothing sets is named, and nullopt.
[[nodiscard]] std::optional<Value>
value_of(const File& file, const Instruction& instruction, const Word& word, const State& state);

/// "/bin/x" seen from the stage's WORKDIR: absolute, without `.` and `..`.
[[nodiscard]] Value absolute(const State& state, const Value& path);

/// Instructions that mean nothing to an image of a batch job; nullptr: it is none of them.
[[nodiscard]] const Words* words_of_lost(std::string_view keyword);
[[nodiscard]] std::vector<std::string_view> known_keywords();

/// Takes a Dockerfile apart; what cannot be read is refused by the ledger.
[[nodiscard]] Draft import_dockerfile(const ImportRequest& request, Ledger& ledger);

} // namespace cybele::recipes::dockerfile
