// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/batch_fields.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cybele::schedulers {

/// A body of which every line is understood: set-up that a Job has fields for, and one launch.
struct TypedLaunch {
    std::string kind; ///< serial, mpi
    std::string launcher;
    std::string pmi;
    std::string binding;
    std::string image;
    std::vector<std::string> options; ///< of the launcher
    std::vector<std::string> binds;
    std::vector<std::string> command;
    std::vector<std::string> modules;
    std::string setup;              ///< lines that say something, or prepare the shell
    std::vector<std::string> shell; ///< in place of `command`: what reads …
    std::string script;             ///< … the body as it is
    bool is_exact = false;          ///< what is asked for stays as it is written
    bool folds_slots = false;       ///< `ppn` of TORQUE are cores of the one process
    std::string threads;            ///< a number, `own`, or empty: those of the task
    std::map<std::string, std::string> environment;
};

/// Unset where a single line is not understood, or where a launch of ours would not start exactly
/// what the script starts; `why` says which line that is.
[[nodiscard]] std::optional<TypedLaunch>
typed_launch(const BatchScript& script, const BatchOptions& options, std::vector<Remainder>& why);

} // namespace cybele::schedulers
