// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/batch_script.hpp"
#include "submission/backends/command_backend.hpp"

#include <map>

namespace cybele::submission {

/// A job of `qstat -f`: names as the product writes them, nested ones joined by a dot
/// (`Resource_List.walltime`).
struct PbsJob {
    std::string id;
    std::map<std::string, std::string> attributes;

    [[nodiscard]] std::string get(const std::string& name) const;
};

/// `qstat -f` of TORQUE, OpenPBS and of Slurm's wrapper; folded lines are joined.
[[nodiscard]] std::vector<PbsJob> read_qstat_text(std::string_view text);

[[nodiscard]] JobStatus status_of(const PbsJob& job);

/// The ids of which `qstat` said that it knows no such job.
[[nodiscard]] std::vector<std::string> unknown_ids(std::string_view errors);

/// What TORQUE and OpenPBS share; a product says how its history is asked for.
class Pbs : public Commands {
public:
    [[nodiscard]] Call submission(const Submission& submission) const override;
    [[nodiscard]] Receipt receipt(const Outcome& outcome) const override;
    [[nodiscard]] std::vector<Call> query(const std::vector<std::string>& ids) const override;
    [[nodiscard]] Result<std::vector<JobStatus>>
    statuses(const std::vector<Outcome>& outcomes) const override;
    [[nodiscard]] std::vector<Call> inquiry(const std::vector<std::string>& ids) const override;
    [[nodiscard]] std::vector<JobStatus>
    findings(const std::vector<Outcome>& outcomes) const override;
    [[nodiscard]] Call search() const override;
    [[nodiscard]] std::vector<Call>
    cancellation(const std::vector<std::string>& ids) const override;
    [[nodiscard]] std::vector<Call> holding(const std::vector<std::string>& ids,
                                            bool is_held) const override;
    [[nodiscard]] std::vector<Call> releasing(const std::vector<std::string>& ids) const override;
    [[nodiscard]] bool is_over_already(const Outcome& outcome) const override;
    [[nodiscard]] std::string words_file(const JobRef& job) const override;
    [[nodiscard]] std::optional<JobStatus> end_in_words(std::string_view words) const override;

protected:
    /// Between a job's number and an element's in the name of a file of output.
    [[nodiscard]] virtual char before_index() const = 0;
    /// `qstat` with the options of this product.
    [[nodiscard]] virtual std::vector<std::string> qstat() const = 0;
    /// `qsub` with the options of this product for the job.
    /// Whose directives the scripts have.
    [[nodiscard]] virtual schedulers::Reader reader() const {
        return schedulers::Reader::kTorque;
    }
    [[nodiscard]] virtual std::vector<std::string> qsub(const launchers::Job& job) const = 0;
};

} // namespace cybele::submission
