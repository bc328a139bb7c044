// SPDX-License-Identifier: Apache-2.0
#include "jobs/backends/pbs.hpp"

namespace cybele::jobs {
namespace {

/// OpenPBS and PBS Pro show finished jobs, from their history, with `-x` alone.
class Pbspro : public Pbs {
protected:
    [[nodiscard]] std::vector<std::string> qstat() const override {
        return {"qstat", "-x", "-f"};
    }
    /// OpenPBS refuses an array that must not be run again.
    [[nodiscard]] std::vector<std::string> qsub(const launchers::Job& job) const override {
        return job.array.empty() ? std::vector<std::string>{"qsub", "-r", "n"}
                                 : std::vector<std::string>{"qsub"};
    }
    [[nodiscard]] char before_index() const override {
        return '.';
    }
};

} // namespace

std::unique_ptr<Commands> pbspro_commands() {
    return std::make_unique<Pbspro>();
}

} // namespace cybele::jobs
