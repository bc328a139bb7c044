// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/batch_script.hpp"

#include <string>
#include <string_view>

namespace cybele::schedulers {

enum class OptionValue { kNothing, kValue, kMaybe };

/// An option of sbatch or qsub, with the need that it carries. `kept:` needs have no field in a Job
/// and are named by a conversion; an empty `help` says that nothing is lost without the line.
struct OptionRow {
    std::string_view readers; ///< of `slurm torque pbspro`
    std::string_view shorter; ///< `-N`; empty: none
    std::string_view longer;  ///< `--nodes`; empty: none
    OptionValue takes;
    std::string_view need;
    std::string_view help; ///< of a need without a field: what to do instead
};

/// The row of an option as it is written, without `=VALUE`; a long one may be shortened where only
/// one begins so. nullptr: the batch system does not know it.
[[nodiscard]] const OptionRow* find_option(Reader reader, std::string_view option);

/// The option that was meant by one that the batch system does not know; empty: none is near.
[[nodiscard]] std::string nearest_option(Reader reader, std::string_view option);

/// What to do about an option that the batch system does not know: the nearest that it knows.
[[nodiscard]] std::string spelling_help(Reader reader, std::string_view option);

/// The field of a Job that carries a need; empty: none.
[[nodiscard]] std::string_view field_of_need(std::string_view need);

/// Why an option has no place in the head of a script; empty: it has one.
[[nodiscard]] std::string_view reason_against(Reader reader, std::string_view need);

/// The row for a need that has no field.
[[nodiscard]] const OptionRow* find_need(Reader reader, std::string_view need);

} // namespace cybele::schedulers
