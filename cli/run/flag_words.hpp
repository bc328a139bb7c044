// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Words of a command line as programs written with Go's pflag read them, which Apptainer is.
namespace cybele::cli {

struct FlagWord {
    std::string name;                 ///< "--bind" or "-B"
    std::optional<std::string> value; ///< of a switch only where it was written: "--nv=false"
};

struct FlagWords {
    std::vector<FlagWord> flags;
    std::vector<std::string> rest;
};

/// Whether a flag of this name takes a value; nothing for an unknown name.
using TakesValue = std::function<std::optional<bool>(std::string_view name)>;

/// Reads from `at` on: several letters after one hyphen, values after `=` or as the next word.
/// Unless `is_mixed`, all from the first word that is no flag is `rest`. `--` ends the flags.
/// kUsage with pflag's words for what cannot be read.
[[nodiscard]] Result<FlagWords> read_flag_words(const std::vector<std::string>& words,
                                                std::size_t at,
                                                const TakesValue& takes_value,
                                                bool is_mixed);

/// A switch's value: true where none was written. kUsage for one that is neither.
[[nodiscard]] Result<bool> read_switch(const FlagWord& flag, std::string_view names = {});

/// The parts of a list with commas, in which double quotes protect commas.
[[nodiscard]] std::vector<std::string> read_list(std::string_view text);

/// "--pid,-p" and "-p,--pid" as "-p, --pid".
[[nodiscard]] std::string title_of(std::string_view names);

} // namespace cybele::cli
