// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/here.hpp"

#include "launchers/plan/plan.hpp"
#include "schedulers/dialects/dialect.hpp"
#include "support/process.hpp"

namespace cybele::submission {
namespace {

using launchers::Job;
using launchers::LaunchPlan;

void add_missing(const Job& job,
                 const std::string& program,
                 const std::string& what,
                 const std::string& help,
                 Faults& faults) {
    faults.add(
        job.fault_at("launch",
                     problem("program-missing-here", "there is no " + program + " on this machine"),
                     what + "; it is not in PATH",
                     help));
}

void check_launcher(const Job& job,
                    const LaunchPlan& plan,
                    const std::string& path,
                    Faults& faults) {
    // Modules of the Site bring programs that are not in PATH now.
    if (!plan.starter || plan.launcher.empty() || !plan.modules.empty() ||
        find_program(plan.launcher.front(), path)) {
        return;
    }
    add_missing(job,
                plan.launcher.front(),
                "it starts the ranks",
                "install an MPI, or submit the Job to a cluster",
                faults);
}

void check_root(const JobInput& input, const LaunchPlan& plan, uid_t user, Faults& faults) {
    const bool is_known = !input.job.image || input.facts;
    const bool is_openmpi = plan.starter == compatibility::MpiLauncher::kMpirunOpenmpi;
    if (user == 0 && is_known && is_openmpi && !plan.allow_root) {
        faults.add(
            input.job.fault_at("launch",
                               problem("mpirun-as-root", "mpirun does not start programs as root"),
                               "you are root, and the Job does not allow it",
                               "write `allow-root: true` under launch, or add --allow-root"));
    }
}

} // namespace

Result<void> check_here(const JobInput& input, const Environment& environment, uid_t user) {
    CYBELE_TRY(const schedulers::Dialect dialect, schedulers::find_dialect(input.dialect));
    const schedulers::RenderInput render = input.render_input();
    Faults told; // rendering tells them
    const LaunchPlan plan =
        launchers::make_plan({render.job, render.site, render.facts, dialect.place()}, told);
    const std::string path = environment.get_or("PATH", "/usr/local/bin:/usr/bin:/bin");
    Faults faults;
    check_launcher(input.job, plan, path, faults);
    check_root(input, plan, user, faults);
    if (plan.spark && !input.job.image && !find_program("spark-submit", path + ":/opt/spark/bin")) {
        add_missing(input.job,
                    "spark-submit",
                    "it starts the program",
                    "install Spark, or name an image that has it",
                    faults);
    }
    return faults.has_errors() ? Result<void>(fail(faults.take())) : Result<void>();
}

} // namespace cybele::submission
