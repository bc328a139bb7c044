// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/run/start_options.hpp"

#include <memory>

namespace cybele::cli {

/// `[GLOBAL FLAGS] exec|run|shell|test [FLAGS] IMAGE [WORDS…]` by the name of Apptainer.
struct StartAs {
    StartOptions options;
    std::vector<std::string> warnings;
    std::vector<std::string> notes; ///< on names of variables
    int verbosity = 0;
    bool is_quiet = false;
    bool is_silent = false; ///< errors only
};

/// The flags that Apptainer takes before its verb, from words[0] on, and what variables set of
/// them; `at` is left at the verb. kUsage: a flag that it does not know; kInput: a variable's
/// value.
struct GlobalFlags {
    int verbosity = 0;
    bool is_quiet = false;
    bool is_silent = false; ///< errors only
    bool wants_version = false;
    bool wants_help = false;
    bool has_end = false; ///< whether `--` was read: no verb follows it
    std::string config;   ///< --config
    std::size_t at = 0;
    std::string group_file; ///< of `remote --config FILE VERB`
};
[[nodiscard]] Result<GlobalFlags> read_global_flags(const std::vector<std::string>& words,
                                                    const Environment& environment);

/// The flags and the image of a start: `verb` is one of the four, `at` the word after it. kUsage
/// for what Apptainer refuses; nothing where help is asked for.
[[nodiscard]] Result<std::optional<StartAs>> read_start_as(const Session& session,
                                                           runtime::Action action,
                                                           std::size_t at,
                                                           std::size_t least_words,
                                                           bool is_instance = false);

/// The action of a verb, and the words that it needs.
struct StartVerb {
    std::string_view name;
    runtime::Action action;
    std::size_t least_words;
};
[[nodiscard]] const StartVerb* start_verb(std::string_view name);

/// Takes what was read into the session: its action starts the container.
void use_start(Session& session, StartAs read);

} // namespace cybele::cli
