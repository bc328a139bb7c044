// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/asked.hpp"

namespace cybele::schedulers {

/// What a script asks for, while its directives are read.
struct AskedReading {
    const BatchScript& script;
    Asked asked;
    std::optional<std::uint64_t> memory_of_job; ///< PBS's `mem`: bytes of all nodes
    bool is_joined = false;

    [[nodiscard]] bool is_slurm() const {
        return script.reader == Reader::kSlurm;
    }
    void leave(const Directive& directive, std::string because, std::string help);
};

[[nodiscard]] std::optional<std::uint64_t> whole_number(std::string_view text);

/// TORQUE's `nodes=2:ppn=4:gpus=1:ib`.
void take_node_list(AskedReading& reading, const Directive& directive);
/// OpenPBS's `select=2:ncpus=8:mpiprocs=4:ompthreads=2:mem=4gb`.
void take_select(AskedReading& reading, const Directive& directive);
/// OpenPBS's `place=scatter:excl`.
void take_place(AskedReading& reading, const Directive& directive);

} // namespace cybele::schedulers
