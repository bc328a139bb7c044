// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/examine.hpp"
#include "diagnostics/site_probe.hpp"
#include "support/process.hpp"

#include <fmt/format.h>

namespace cybele::diagnostics {

namespace {

Finding mpirun(const launchers::Site& site) {
    const auto path = find_program("mpirun");
    if (!path) {
        return fails("mpirun",
                     "not found in PATH",
                     "no MPI job runs on this machine itself",
                     "load the site's module (`module load openmpi`), or apt-get install "
                     "openmpi-bin");
    }
    if (site.mpi.empty()) {
        return lacks("mpirun",
                     path->native() + ": of a family that is not known",
                     "whether an image's MPI works under it is not known before it runs",
                     "keep the guard on; it asks the image's MPI first");
    }
    return works(
        "mpirun",
        fmt::format(
            "{}: {} {}", path->native(), site.mpi.front().family, site.mpi.front().version));
}

Finding pmi(const ProbedSite& probed) {
    std::string offers;
    for (const std::string& name : probed.site.pmi.value_or(std::vector<std::string>{})) {
        offers += (offers.empty() ? "" : ", ") + name;
    }
    if (!offers.empty()) {
        return works("PMI", "srun offers " + offers);
    }
    const bool is_slurm = probed.site.dialect == "slurm";
    return lacks("PMI",
                 is_slurm ? "`srun --mpi=list` gave no answer" : "no srun, so no PMI of its own",
                 "ranks are started by mpirun",
                 is_slurm ? "ask whether Slurm here was built with PMIx"
                          : "nothing needs it where mpirun works");
}

Finding pmix(const ProbedSite& probed) {
    return probed.libpmix.empty()
               ? lacks("PMIx",
                       "no libpmix of the machine's own",
                       "whether it fits an image's is decided by the MPI's version alone",
                       "nothing needs it where mpirun brings its own")
               : works("PMIx", probed.libpmix);
}

Finding scheduler(const ProbedSite& probed) {
    const launchers::Site& site = probed.site;
    if (site.dialect == "local") {
        return lacks("scheduler",
                     "neither sbatch nor qsub is in PATH",
                     "`submit` runs jobs on this machine by the embedded scheduler; scripts for "
                     "others are rendered, not tried",
                     "log in where the batch system's commands are");
    }
    const std::string what =
        site.dialect + (site.scheduler_version.empty() ? "" : " " + site.scheduler_version);
    if (site.dialect == "slurm" && site.queues.empty()) {
        return lacks("scheduler",
                     what + ": `sinfo` lists no partition",
                     "nothing can be submitted to it now",
                     "ask whether slurmctld runs, or `submit --scheduler local`");
    }
    return works("scheduler",
                 site.queues.empty() ? what
                                     : fmt::format("{}, {} queues", what, site.queues.size()));
}

} // namespace

void examine_launch(const DoctorInput& input, Findings& findings) {
    const ProbedSite probed = probe_site(input.environment);
    findings.push_back(mpirun(probed.site));
    findings.push_back(pmi(probed));
    findings.push_back(pmix(probed));
    findings.push_back(scheduler(probed));
    findings.push_back(works("interconnect", probed.site.interconnect));
}

} // namespace cybele::diagnostics
