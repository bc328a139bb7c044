// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/batch_script.hpp"
#include "schedulers/reading/option_table.hpp"

#include <string_view>

namespace cybele::schedulers {

/// A program that starts others, with the options that it reads before theirs.
enum class Starter { kSrun, kOpenMpi, kHydra, kContainer };

struct StarterOption {
    Starter starter;
    std::string_view names; ///< all spellings, with blanks between
    int words;              ///< how many words follow; those with `=` bring their own
};

/// The option as it is written, without `=VALUE`; nullptr: the starter does not know it.
[[nodiscard]] const StarterOption* find_starter_option(Starter starter, std::string_view option);

/// Whether the script says that its `mpirun` is that of Open MPI 2 or later: it names this MPI, in
/// a module or a path, and no other one.
[[nodiscard]] bool names_open_mpi(const BatchScript& script);

} // namespace cybele::schedulers
