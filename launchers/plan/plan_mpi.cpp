// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/facts.hpp"
#include "launchers/mpi/judge.hpp"
#include "launchers/plan/plan_parts.hpp"
#include "launchers/plan/site_pmi.hpp"
#include "support/counted.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace cybele::launchers {
namespace {

using compatibility::MpiLauncher;
using compatibility::Outcome;

/// Spelling of mpirun's options by family and version. `{m}` ranks a node, `{t}` cores a rank.
struct MpirunForm {
    MpiLauncher launcher;
    std::string_view family;  ///< of the host's MPI; empty: any
    std::uint32_t last_major; ///< for this version and older ones; 0: the last row
    std::string_view plain;
    std::string_view bound;
    std::string_view oversubscribed;
};

// The default binding is never left to mpirun: it puts all threads of a rank on one core.
// Intel's hydra takes -bind-to and pins by its own rules all the same (seen with 2021.19).
constexpr std::array<MpirunForm, 4> kForms{{
    {MpiLauncher::kMpirunOpenmpi,
     {},
     4,
     "--map-by ppr:{m}:node --bind-to none",
     "--map-by ppr:{m}:node:PE={t} --bind-to core",
     "--map-by ppr:{m}:node --bind-to none --oversubscribe"},
    {MpiLauncher::kMpirunOpenmpi,
     {},
     0,
     "--map-by ppr:{m}:node --bind-to none",
     "--map-by ppr:{m}:node:PE={t} --bind-to core",
     "--map-by ppr:{m}:node:OVERSUBSCRIBE --bind-to none"},
    {MpiLauncher::kMpirunMpich,
     "intel",
     0,
     "-ppn {m} -genv I_MPI_PIN 0",
     "-ppn {m} -genv I_MPI_PIN_DOMAIN {t}:compact",
     "-ppn {m} -genv I_MPI_PIN 0"},
    {MpiLauncher::kMpirunMpich,
     {},
     0,
     "-ppn {m} -bind-to none",
     "-ppn {m} -bind-to core:{t}",
     "-ppn {m} -bind-to none"},
}};

/// Words that take away what a launch stands on, with the reason.
struct ForbiddenWord {
    std::string_view word;
    std::string_view because;
    std::string_view help;
};
constexpr std::array<ForbiddenWord, 4> kForbidden{{
    {"--allow-run-as-root", "root is allowed by a field of its own", "write `allow-root: true`"},
    {"--oversubscribe", "it is a field of its own", "write `oversubscribe: true`"},
    {"--hostfile", "hosts come from the allocation", "drop the option"},
    {"--host", "hosts come from the allocation", "drop the option"},
}};

void append_words(std::vector<std::string>& into, std::string_view text) {
    while (!text.empty()) {
        const auto blank = text.find(' ');
        into.emplace_back(text.substr(0, blank));
        text = blank == std::string_view::npos ? "" : text.substr(blank + 1);
    }
}

bool is_srun(MpiLauncher launcher) {
    return launcher == MpiLauncher::kSrunPmix || launcher == MpiLauncher::kSrunPmi2;
}

/// `pmi: default`: srun decides by the settings of its cluster, also which cores a rank has where
/// the Job does not say it, and whether the end of one rank ends the others.
constexpr std::string_view kDefaultPmi = "default";

/// The launcher that the Job names, or the one that suits image and Site: mpirun, unless the Site's
/// srun is known to speak what the image's MPI wants.
MpiLauncher choose(const PlanInput& input, const LaunchPlan& plan, std::string& pmi) {
    const Launch& launch = input.job->launch;
    const bool is_mpich =
        compatibility::mpirun_of(plan.image_mpi.family) == MpiLauncher::kMpirunMpich;
    const std::string wanted = launch.pmi != "auto" ? launch.pmi : is_mpich ? "pmi2" : "pmix";
    pmi = wanted == kDefaultPmi ? wanted : pmi_name(input.site, wanted);
    const bool is_offered = input.site != nullptr && input.site->pmi.has_value() && !pmi.empty();
    const bool takes_srun = launch.launcher == "srun" ||
                            (launch.launcher == "auto" && input.place.has_srun &&
                             (launch.pmi != "auto" || (is_offered && plan.image_mpi.is_known())));
    if (takes_srun) {
        return wanted == "pmi2" ? MpiLauncher::kSrunPmi2 : MpiLauncher::kSrunPmix;
    }
    return launch.launcher == "hydra" ? MpiLauncher::kMpirunMpich
                                      : compatibility::mpirun_of(plan.host_mpi.family);
}

void check_srun(const PlanInput& input, const std::string& pmi, Faults& faults) {
    const Job& job = *input.job;
    if (!input.place.has_srun) {
        faults.add(job.fault_at(
            "launch.launcher",
            problem("srun-needs-slurm",
                    fmt::format("`srun` does not exist under {}", input.place.dialect)),
            "it is Slurm's launcher",
            "write `launcher: mpirun`, or drop the line"));
    } else if (pmi.empty()) {
        faults.add(job.fault_at(
            "launch.pmi",
            problem("srun-pmi-missing", "the Site's srun does not offer that PMI"),
            fmt::format("site '{}' lists {}",
                        input.site->name,
                        fmt::join(input.site->pmi.value_or(std::vector<std::string>{}), ", ")),
            "write `launcher: mpirun`, or fix the Site's `pmi`"));
    }
}

/// What plan_mpi() chose.
MpiLauncher starter_of(const LaunchPlan& plan) {
    return plan.starter.value_or(MpiLauncher::kNoLauncher);
}

/// What the Site says of the hosts, beside the launcher that was chosen.
compatibility::Host host_side(const PlanInput& input, const LaunchPlan& plan) {
    compatibility::Host host;
    host.launcher = starter_of(plan);
    host.mpi = plan.host_mpi;
    host.model = plan.bind ? compatibility::Model::kBind : compatibility::Model::kHybrid;
    host.has_several_nodes = plan.nodes > 1;
    if (starter_of(plan) == MpiLauncher::kSrunPmix) {
        host.pmix = plan.pmi;
    }
    if (input.site != nullptr) {
        host.slurm = input.site->dialect == "slurm" ? input.site->scheduler_version : "";
        host.libc = input.site->node_glibc;
        host.architecture = input.site->node_arch;
    }
    return host;
}

compatibility::Image image_side(const PlanInput& input, const LaunchPlan& plan) {
    compatibility::Image image;
    image.mpi = plan.image_mpi;
    if (input.facts != nullptr) {
        image.pmi = input.facts->pmi;
        image.libc = input.facts->libc;
        image.architecture = input.facts->architecture;
    }
    return image;
}

void judge_pair(const PlanInput& input, LaunchPlan& plan, Faults& faults) {
    const Job& job = *input.job;
    if (!job.image || !plan.image_mpi.is_known() || plan.pmi == kDefaultPmi ||
        (plan.bind && !plan.host_mpi.is_known())) {
        return;
    }
    const auto verdict = judge_plan(input, plan, {});
    plan.verdict = verdict.text();
    const std::string pair = plan.bind ? fmt::format("{} of the host, bound over {} in the image,",
                                                     plan.host_mpi.text(),
                                                     plan.image_mpi.text())
                                       : fmt::format("{} with {} in the image",
                                                     launcher_text(starter_of(plan)),
                                                     plan.image_mpi.text());
    if (verdict.outcome == Outcome::kSingletons || verdict.outcome == Outcome::kAborts) {
        faults.add(job.fault_at(
            plan.bind ? "launch.kind" : "launch.launcher",
            problem("mpi-pair-fails", fmt::format("{} {}", pair, outcome_text(verdict.outcome))),
            std::string(verdict.worst().because),
            std::string(verdict.worst().help)));
        return;
    }
    for (const auto& [variable, value] : verdict.options) {
        const bool is_known =
            !value.empty() || (input.site != nullptr && !input.site->interconnect_network.empty());
        if (is_known) {
            plan.variables.emplace_back(
                variable, value.empty() ? input.site->interconnect_network : std::string(value));
            continue;
        }
        Fault note =
            job.fault_at("launch",
                         problem("mpi-pair-risky", fmt::format("{} may fail between nodes", pair)),
                         std::string(verdict.worst().because),
                         std::string(verdict.worst().help));
        note.is_warning = true;
        faults.add(std::move(note));
    }
}

/// Whether the Job itself decides that ranks are bound to cores; else it is the nodes' use.
std::optional<bool> binding_of(const Job& job) {
    if (job.launch.oversubscribe) {
        return false;
    }
    if (job.launch.binding != "auto") {
        return job.launch.binding == "core";
    }
    // Horovod talks in a thread of its own, which would take turns with the one that computes.
    if (job.launch.kind == LaunchKind::kHorovod && job.resources.cpus_per_task == 1) {
        return false;
    }
    return std::nullopt;
}

/// Where jobs share a node without cpusets, two jobs would be bound to the same cores.
bool binds_to_cores(const PlanInput& input) {
    const Job& job = *input.job;
    return binding_of(job).value_or(input.place.binds_cores || job.resources.exclusive);
}

void write_mpirun(const PlanInput& input, LaunchPlan& plan) {
    std::string program = "mpirun";
    // `launcher: hydra` next to an Open MPI of the Site is another mpirun, which modules bring.
    const bool is_of_site = starter_of(plan) == compatibility::mpirun_of(plan.host_mpi.family);
    if (is_of_site && input.site != nullptr && !input.site->mpi.empty()) {
        const SiteMpi& mpi = input.site->mpi.front();
        program = mpi.launcher.empty() || mpi.launcher == "srun" ? program : mpi.launcher;
        if (!mpi.prefix.empty() && !program.starts_with('/')) {
            program = mpi.prefix + "/bin/" + program;
        }
    }
    if (input.job->launch.host_mpi) {
        program = *input.job->launch.host_mpi + "/bin/mpirun";
    }
    plan.launcher = {program, "-np", std::to_string(plan.ranks)};
    const auto fits = [&](const MpirunForm& form) {
        return form.launcher == starter_of(plan) &&
               (form.family.empty() || form.family == plan.host_mpi.family) &&
               (form.last_major == 0 || plan.host_mpi.major <= form.last_major);
    };
    const MpirunForm& form = *std::ranges::find_if(kForms, fits);
    const auto chosen = plan.is_oversubscribed  ? form.oversubscribed
                        : binds_to_cores(input) ? form.bound
                                                : form.plain;
    append_words(plan.launcher,
                 fmt::format(fmt::runtime(chosen),
                             fmt::arg("m", plan.ranks_per_node),
                             fmt::arg("t", plan.cpus_per_task)));
    plan.shares_cores = input.place.has_queues && !binding_of(*input.job) && !binds_to_cores(input);
    plan.uses_node_file = input.place.has_node_file;
}

void write_srun(const PlanInput& input, const std::string& pmi, LaunchPlan& plan) {
    // A step keeps the allocation's CPUs a task only when told so (Slurm 22.05 to 23.02), and one
    // dead rank must end the others.
    const bool is_default = pmi == kDefaultPmi;
    append_words(plan.launcher,
                 fmt::format("srun {}--nodes={} --ntasks={} --ntasks-per-node={}",
                             is_default ? "" : fmt::format("--mpi={} ", pmi),
                             plan.nodes,
                             plan.ranks,
                             plan.ranks_per_node));
    if (!is_default || input.job->says("resources.cpus-per-task")) {
        plan.launcher.push_back(fmt::format("--cpus-per-task={}", plan.cpus_per_task));
    }
    if (!is_default) {
        plan.launcher.emplace_back("--kill-on-bad-exit=1");
    }
    if (plan.is_oversubscribed) {
        plan.launcher.emplace_back("--overcommit");
    }
    if (input.job->launch.binding != "auto") {
        plan.launcher.emplace_back(binds_to_cores(input) ? "--cpu-bind=cores" : "--cpu-bind=none");
    }
}

void check_options(const Job& job, Faults& faults) {
    for (std::size_t index = 0; index < job.launch.options.size(); ++index) {
        for (const auto& [word, because, help] : kForbidden) {
            const std::string& option = job.launch.options[index];
            if (option == word || option.starts_with(std::string(word) + "=")) {
                faults.add(job.fault_at(
                    fmt::format("launch.options[{}]", index),
                    problem("mpirun-option-refused", fmt::format("`{}` cannot be an option", word)),
                    std::string(because),
                    std::string(help)));
            }
        }
    }
}

void plan_guard(const PlanInput& input, LaunchPlan& plan, Faults& faults) {
    const Job& job = *input.job;
    if (!job.launch.guard) {
        return;
    }
    if (job.image && input.facts != nullptr && !input.facts->mpi_probe.empty()) {
        plan.probe = input.facts->mpi_probe;
        return;
    }
    const std::string because = !job.image ? "the program is the host's, which brings no probe"
                                : input.facts == nullptr && !job.image->recipe.empty()
                                    ? "the image is not built yet, or what it is built from "
                                      "changed since, so what it holds is unknown"
                                : input.facts == nullptr
                                    ? "the image is not here, so what it holds is unknown"
                                    : "the image brings no probe (label cybelectl.mpi-probe)";
    const std::string help =
        !job.image ? "write `guard: false` where that is meant"
        : input.facts == nullptr && !job.image->recipe.empty()
            ? "build it first, `cybelectl build " +
                  shell_quote((job.folder / job.image->recipe).native()) + "`, or submit"
        : input.facts == nullptr ? "render where the image is, or name its Recipe (`image: "
                                   "{recipe: FILE}`)"
                                 : "build the image from a Recipe with `mpi`";
    Fault note = job.fault_at(
        "launch",
        problem("launch-without-guard", "cannot check that the ranks will find each other"),
        because,
        help);
    note.is_warning = true;
    faults.add(std::move(note));
}

/// The bind model: where the host's MPI is, and the name by which the image's programs ask for it.
void plan_bind(const PlanInput& input, LaunchPlan& plan, Faults& faults) {
    const Job& job = *input.job;
    BindPlan bind;
    if (job.launch.host_mpi) {
        bind.prefix = *job.launch.host_mpi;
    } else if (input.site != nullptr && !input.site->mpi.empty()) {
        bind.prefix = input.site->mpi.front().prefix;
    }
    bind.library = compatibility::library_of(plan.image_mpi);
    plan.bind = std::move(bind);
    if (!plan.host_mpi.is_known() || !plan.image_mpi.is_known()) {
        Fault note = job.fault_at(
            "launch.kind",
            problem("host-mpi-unknown",
                    "whether the host's MPI fits the image is not known before the job starts"),
            !plan.image_mpi.is_known() ? "the image does not say which MPI it was built with"
                                       : "no Site names the host's MPI",
            !plan.image_mpi.is_known() ? "build the image from a Recipe with `mpi`"
                                       : "name a Site with `mpi` and `node.glibc`");
        note.is_warning = true;
        faults.add(std::move(note));
    }
}

/// An image that a Recipe of ours made says all that it holds: no MPI means none.
void check_image_has_mpi(const PlanInput& input, Faults& faults) {
    if (input.job->image && input.facts != nullptr && input.facts->mpi.empty() &&
        input.facts->labels.contains("cybelectl.recipe")) {
        faults.add(input.job->fault_at("launch.kind",
                                       problem("image-without-mpi", "the image has no MPI"),
                                       "the Recipe that it was built from names none, so each "
                                       "rank would be alone",
                                       "add `mpi` to the Recipe and build the image again, or "
                                       "write `launch: serial`"));
    }
}

/// Horovod's own messages go by the MPI that starts it.
void add_horovod(LaunchPlan& plan) {
    plan.variables.emplace_back("HOROVOD_CONTROLLER", "mpi");
    plan.variables.emplace_back("HOROVOD_CPU_OPERATIONS", "mpi");
}

} // namespace

void note_oversubscription(const PlanInput& input, Faults& faults) {
    if (!input.job->launch.oversubscribe || !input.place.has_queues) {
        return;
    }
    Fault note = input.job->fault_at(
        "launch.oversubscribe",
        problem("oversubscribe-on-cluster",
                fmt::format("{} may share cores in {}, too",
                            input.job->launch.kind == LaunchKind::kOpenmp ? "threads" : "ranks",
                            input.place.dialect)),
        "with `oversubscribe` they are not bound to cores, and their number is not checked",
        "remove it for a cluster, or keep it where more ranks than cores are meant");
    note.is_warning = true;
    faults.add(std::move(note));
}

compatibility::Judgement judge_plan(const PlanInput& input,
                                    const LaunchPlan& plan,
                                    std::vector<compatibility::Circumstance> circumstances) {
    compatibility::Host host = host_side(input, plan);
    host.circumstances = std::move(circumstances);
    return compatibility::judge(image_side(input, plan), host);
}

void plan_mpi(const PlanInput& input, LaunchPlan& plan, Faults& faults) {
    const Job& job = *input.job;
    if (input.site != nullptr && !input.site->mpi.empty()) {
        const SiteMpi& mpi = input.site->mpi.front();
        plan.host_mpi = compatibility::parse_mpi(mpi.family + " " + mpi.version);
    }
    if (job.launch.kind != LaunchKind::kMpiBind) {
        check_image_has_mpi(input, faults);
    }
    plan.allow_root = job.launch.allow_root;
    plan.is_oversubscribed = job.launch.oversubscribe;
    note_oversubscription(input, faults);
    const std::uint32_t multiple = job.launch.ranks_multiple_of;
    if (multiple > 1 && plan.ranks % multiple != 0) {
        faults.add(
            job.fault_at("launch.ranks-multiple-of",
                         problem("ranks-not-multiple",
                                 fmt::format("{} {} not a multiple of {}",
                                             counted(plan.ranks, "rank"),
                                             plan.ranks == 1 ? "is" : "are",
                                             multiple)),
                         "the program needs one",
                         fmt::format("ask for {} tasks", (plan.ranks / multiple + 1) * multiple)));
    }
    std::string pmi;
    plan.starter = choose(input, plan, pmi);
    if (is_srun(starter_of(plan))) {
        plan.pmi = pmi;
        check_srun(input, pmi, faults);
        write_srun(input, pmi, plan);
    } else {
        write_mpirun(input, plan);
    }
    check_options(job, faults);
    plan.launcher.insert(plan.launcher.end(), job.launch.options.begin(), job.launch.options.end());
    if (job.launch.kind == LaunchKind::kMpiBind) {
        plan_bind(input, plan, faults);
    } else if (job.launch.kind == LaunchKind::kHorovod) {
        add_horovod(plan);
    }
    judge_pair(input, plan, faults);
    plan_guard(input, plan, faults);
}

} // namespace cybele::launchers
