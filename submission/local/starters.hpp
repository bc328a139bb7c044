// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/records/process_identity.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cybele::submission {

/// Processes that are to become supervisors. They are there, and known, before anything is written
/// down, and do nothing until they are told to: who starts them may be killed at any instant, and
/// no job is started that is not in the queue, none twice.
class Starters {
public:
    /// Forks so many, in sessions of their own, no children of this process; TERM, INT and HUP
    /// wait in them. Returns in each of them too: there child() tells which it is.
    /// `home`: the control group that they belong in, where this process is in a job's.
    [[nodiscard]] static Result<Starters> fork(std::size_t count, const std::string& home);

    [[nodiscard]] const std::optional<std::size_t>& child() const {
        return child_;
    }
    [[nodiscard]] const std::vector<ProcessIdentity>& ids() const {
        return ids_;
    }
    /// Lets them begin. Without it they end when this object goes.
    void go() const;
    /// In a child: waits for go(); false: it never comes.
    [[nodiscard]] bool may_begin() const;

private:
    Starters() = default;
    Result<void> learn_ids(std::size_t count, pid_t launcher);
    std::optional<std::size_t> child_;
    std::vector<ProcessIdentity> ids_;
    UniqueFd line_;
};

} // namespace cybele::submission
