// SPDX-License-Identifier: Apache-2.0
#include "submission/local/own_variables.hpp"

#include "submission/records/record_folder.hpp"

#include <sys/utsname.h>

namespace cybele::submission {
namespace {

void set_slurm(const Submission& submission, EnvironmentMap& variables) {
    const launchers::Resources& resources = submission.job->resources;
    const std::string cpus =
        std::to_string(std::uint64_t{resources.tasks} * resources.cpus_per_task);
    variables["SLURM_SUBMIT_DIR"] = submission.folder.native();
    variables["SLURM_JOB_NAME"] = submission.name;
    variables["SLURM_NTASKS"] = variables["SLURM_NPROCS"] = std::to_string(resources.tasks);
    variables["SLURM_CPUS_PER_TASK"] = std::to_string(resources.cpus_per_task);
    variables["SLURM_CPUS_ON_NODE"] = variables["SLURM_JOB_CPUS_PER_NODE"] = cpus;
    variables["SLURM_NNODES"] = variables["SLURM_JOB_NUM_NODES"] = "1";
}

Result<void> set_pbs(const Submission& submission, EnvironmentMap& variables) {
    const launchers::Resources& resources = submission.job->resources;
    const std::uint64_t cpus = std::uint64_t{resources.tasks} * resources.cpus_per_task;
    variables["PBS_O_WORKDIR"] = submission.folder.native();
    variables["PBS_JOBNAME"] = submission.name;
    variables["PBS_NUM_NODES"] = "1";
    variables["PBS_NP"] = variables["PBS_NUM_PPN"] = variables["NCPUS"] = std::to_string(cpus);
    utsname names{};
    const std::string host = ::uname(&names) == 0 ? names.nodename : "localhost";
    std::string nodes;
    for (std::uint64_t rank = 0; rank < resources.tasks; ++rank) {
        nodes += host + "\n";
    }
    CYBELE_TRY(const RecordFolder record, RecordFolder::open(submission.record));
    CYBELE_CHECK(record.write({{"nodes", nodes, 0600}}));
    variables["PBS_NODEFILE"] = (submission.record / "nodes").native();
    return {};
}

} // namespace

Result<void> set_own_variables(const Submission& submission, EnvironmentMap& variables) {
    for (const char* known_by : {"SLURM_SUBMIT_DIR", "PBS_O_WORKDIR"}) {
        variables.erase(known_by); // of a job in which this one is submitted
    }
    if (submission.own->reader == "slurm") {
        set_slurm(submission, variables);
    } else if (submission.own->reader != "none") {
        return set_pbs(submission, variables);
    }
    return {};
}

} // namespace cybele::submission
