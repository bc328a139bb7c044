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

/// Whether the option is one of the names, of which hydra has each in several spellings.
[[nodiscard]] bool
is_option_named(Starter starter, std::string_view option, std::string_view names);

/// Whether `mpirun` of the script may get options of Open MPI 2 or later: the script names no other
/// MPI, in a module or a path, and it names this one or has an image, whose guard shows a mismatch.
[[nodiscard]] bool may_be_open_mpi(const BatchScript& script, bool has_image);

/// Whether it is hydra's: the script names MPICH, MVAPICH or Intel MPI, and no other MPI.
[[nodiscard]] bool is_of_hydra(const BatchScript& script);

} // namespace cybele::schedulers
