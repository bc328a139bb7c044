// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/invariants.hpp"

namespace cybele::schedulers {

/// A script under judgement.
struct RuleContext {
    const BatchScript& script;
    const Asked& asked;
    lint::Findings& breaks;

    [[nodiscard]] bool is_slurm() const {
        return script.reader == Reader::kSlurm;
    }
    [[nodiscard]] bool is_pbs() const {
        const bool is_read_by_pbs =
            script.reader == Reader::kTorque || script.reader == Reader::kPbspro;
        return is_read_by_pbs && line_with("SLURM_SUBMIT_DIR") == 0; // Slurm's qsub
    }
    [[nodiscard]] bool has_directives() const {
        return !script.directives.empty();
    }
    /// Line 0: the script as a whole.
    void tell(std::string_view id, std::size_t line, std::string what, std::string help) const;
    /// The first line with the text in code, comments left out, and without the other text; 0:
    /// nowhere.
    [[nodiscard]] std::size_t line_with(std::string_view text, std::string_view without = {}) const;
};

/// The text with `{OMP,MKL}_NUM_THREADS=2` written as `OMP_NUM_THREADS=2 MKL_NUM_THREADS=2`.
[[nodiscard]] std::string with_each_thread_name(std::string_view text);

/// A reading that finds breaks of some invariants.
struct BreakRule {
    std::string_view ids; ///< `B5 H6`
    void (*judge)(const RuleContext&);
};

[[nodiscard]] std::span<const BreakRule> head_rules();
[[nodiscard]] std::span<const BreakRule> body_rules();
[[nodiscard]] std::span<const BreakRule> launch_rules();

} // namespace cybele::schedulers
