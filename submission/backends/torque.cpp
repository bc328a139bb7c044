// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/pbs.hpp"

namespace cybele::submission {
namespace {

/// TORQUE keeps a finished job in state C for `keep_completed` seconds, in the same list.
class Torque : public Pbs {
protected:
    [[nodiscard]] std::vector<std::string> qstat() const override {
        return {"qstat", "-f"};
    }
    [[nodiscard]] std::vector<std::string> qsub(const launchers::Job& /*job*/) const override {
        return {"qsub", "-r", "n"};
    }
    [[nodiscard]] char before_index() const override {
        return '-';
    }
};

/// The qsub and qstat that Slurm brings: no `-r`, and an end without an exit status.
class SlurmTorque : public Pbs {
public:
    [[nodiscard]] Result<std::vector<JobStatus>>
    statuses(const std::vector<Outcome>& outcomes) const override {
        CYBELE_TRY(std::vector<JobStatus> found, Pbs::statuses(outcomes));
        for (JobStatus& seen : found) {
            seen.code.reset();
            seen.signal = 0;
            if (seen.native == "C") { // of every end, good or bad
                seen.state = State::kLost;
            } else if (seen.native == "U") { // of what it has no letter for, as COMPLETING
                seen.state = State::kRunning;
            }
        }
        return found;
    }

protected:
    [[nodiscard]] std::vector<std::string> qstat() const override {
        return {"qstat", "-f"};
    }
    [[nodiscard]] std::vector<std::string> qsub(const launchers::Job& /*job*/) const override {
        return {"qsub", "-V"}; // else `-v` would take all other variables away
    }
    [[nodiscard]] char before_index() const override {
        return '-';
    }
};

} // namespace

std::unique_ptr<Commands> torque_commands() {
    return std::make_unique<Torque>();
}

std::unique_ptr<Commands> slurm_torque_commands() {
    return std::make_unique<SlurmTorque>();
}

} // namespace cybele::submission
