// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/here.hpp"

#include "builder/steps/libraries.hpp"
#include "launchers/documents/expand_help.hpp"
#include "launchers/plan/plan.hpp"
#include "schedulers/dialects/dialect.hpp"
#include "submission/submit/prepare.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;
using launchers::Job;
using launchers::LaunchPlan;

/// What is checked, against which environment.
struct HereCheck {
    const JobInput& input;
    const LaunchPlan& plan;
    const Environment& environment;
    Faults& faults;

    [[nodiscard]] const Job& job() const {
        return input.job;
    }
    [[nodiscard]] fs::path workdir() const {
        return place_of(job().place(job().workdir));
    }
    [[nodiscard]] std::string path() const {
        return environment.get_or("PATH", "/usr/local/bin:/usr/bin:/bin");
    }
    /// Modules and set-up bring programs, libraries and folders that are not there now.
    [[nodiscard]] bool has_setup() const {
        return !plan.modules.empty() || !plan.setup.empty();
    }
    /// A path of the Job as the script writes it.
    [[nodiscard]] fs::path expanded(const std::string& text) const {
        const bool is_home = text == "~" || text.starts_with("~/");
        return is_home ? fs::path(environment.get_or("HOME", "/")) /
                             (text.size() > 2 ? text.substr(2) : std::string())
                       : workdir() / text;
    }
};

void add_missing(const HereCheck& check,
                 const std::string& program,
                 const std::string& what,
                 const std::string& help) {
    check.faults.add(check.job().fault_at(
        "launch",
        problem("program-missing-here", "there is no " + program + " on this machine"),
        program.find('/') == std::string::npos ? what + "; it is not in PATH" : what,
        help));
}

void check_launcher(const HereCheck& check) {
    const LaunchPlan& plan = check.plan;
    if (check.has_setup()) {
        return;
    }
    if (plan.starter && !plan.launcher.empty() &&
        !find_program(plan.launcher.front(), check.path())) {
        add_missing(check,
                    plan.launcher.front(),
                    "it starts the ranks",
                    "install an MPI, or submit the Job to a cluster");
    }
    if (plan.torch && !check.job().image && !find_program("python3", check.path())) {
        add_missing(check,
                    "python3",
                    "it starts torchrun",
                    "install Python and PyTorch, or name an image that has them");
    }
}

/// The libraries that the loader would not find for a program of the host.
void check_libraries(const HereCheck& check) {
    const Job& job = check.job();
    if (job.image || job.command.empty() || check.has_setup() || !job.stage_in.empty()) {
        return;
    }
    const std::string& name = job.command.front();
    const auto found = name.find('/') != std::string::npos ? std::optional(check.workdir() / name)
                                                           : find_program(name, check.path());
    std::error_code error;
    if (!found || !fs::is_regular_file(*found, error)) {
        return;
    }
    std::vector<std::string> folders;
    const std::string library_path = check.environment.get_or("LD_LIBRARY_PATH", "");
    for (const std::string_view folder : text::split(library_path, ':')) {
        if (!folder.empty()) {
            folders.push_back((check.workdir() / folder).native());
        }
    }
    const fs::path program = fs::canonical(*found, error);
    for (const auto& missing : builder::find_missing_libraries("/", {program.native()}, folders)) {
        check.faults.add(job.fault_at(
            "command",
            problem("library-missing-here",
                    fmt::format("{} cannot start here: {} is missing",
                                printable(name),
                                printable(missing.library))),
            missing.by.empty() ? "the program asks for it, and the loader does not find it"
                               : printable(missing.by) + " asks for it",
            missing.package.empty()
                ? "install it, or name its folder in LD_LIBRARY_PATH where you submit"
                : fmt::format("install it: `apt-get install {}`", missing.package)));
    }
}

/// The script's own search for the MPI that it would bind over the image's.
void check_host_mpi(const HereCheck& check, const schedulers::Dialect& dialect) {
    if (!check.plan.bind || check.has_setup()) {
        return;
    }
    const launchers::BindPlan& bind = *check.plan.bind;
    const auto rendered = templates::render(
        dialect.templates,
        "script/bind",
        {{"bind-missing", ""},
         {"bind-missing-because", ""},
         {"bind-library", bind.library.empty() ? "libmpi.so.[0-9]*" : bind.library + "*"}});
    if (!rendered) {
        return;
    }
    Command command;
    command.argv = {"bash",
                    "-c",
                    "set -uo pipefail\n" + rendered->text + "\nhost_prefix=$1\nlist_host_mpi",
                    "bash",
                    bind.prefix.empty() ? std::string() : check.expanded(bind.prefix).native()};
    command.input = "";
    command.limit = std::chrono::seconds(10);
    const auto outcome = run_process(command);
    if (!outcome || outcome->timed_out || !outcome->output.empty()) {
        return;
    }
    check.faults.add(check.job().fault_at(
        "launch",
        problem("host-mpi-missing-here",
                fmt::format("the MPI of the host is not on this machine{}",
                            bind.prefix.empty() ? std::string()
                                                : " below '" + printable(bind.prefix) + "'")),
        fmt::format("{} of the host would be bound over the image's",
                    bind.library.empty() ? "a libmpi" : bind.library),
        "name its prefix as `host-mpi` under launch, or write `launch: mpi`"));
}

/// Whether the job itself makes the folder, or one below it (`make`).
bool is_made(const Job& job, const fs::path& source) {
    const fs::path path = source.lexically_normal();
    return std::ranges::any_of(job.folders, [&](const launchers::NodeText& folder) {
        const fs::path below = fs::path(folder.text).lexically_normal().lexically_relative(path);
        return folder.text.empty() || (!below.empty() && *below.begin() != "..");
    });
}

/// What the container's start would refuse; it ends before MPI can say a word.
void check_binds(const HereCheck& check) {
    const Job& job = check.job();
    for (std::size_t at = 0; at < job.binds.size() && job.image; ++at) {
        const std::string source = job.binds[at].substr(0, job.binds[at].find(':'));
        const fs::path place = check.expanded(source);
        const bool may_come = check.has_setup() || is_made(job, source) ||
                              job.expanded.contains(fmt::format("binds[{}]", at)) ||
                              (!job.stage_in.empty() && !source.starts_with('/'));
        std::error_code error;
        if (may_come || source.empty() || source.find(',') != std::string::npos ||
            fs::exists(place, error)) {
            continue;
        }
        const std::string expanded = launchers::expand_help(job.binds[at]);
        check.faults.add(job.fault_at(
            fmt::format("binds[{}]", at),
            problem("bind-source-missing-here",
                    "there is no '" + printable(source) + "' to bind into the container"),
            printable(place.native()) + " does not exist on this machine",
            expanded.empty()
                ? "make it: `mkdir -p " + shell_quote(place.native()) + "`, or correct the path"
                : expanded));
    }
}

void check_secrets(const HereCheck& check) {
    for (const auto& [name, path] : check.plan.secrets) {
        const fs::path place = check.expanded(path);
        const bool may_come =
            check.has_setup() || (!check.job().stage_in.empty() && !path.starts_with('/'));
        if (!may_come && path.find(launchers::kIndexMark) == std::string::npos &&
            ::access(place.c_str(), R_OK) != 0) {
            check.faults.add(check.job().fault_at(
                "environment." + name,
                problem("secret-unreadable-here",
                        fmt::format("cannot read '{}' for {}", printable(path), printable(name))),
                printable(place.native()) + ": " +
                    std::error_code(errno, std::generic_category()).message(),
                "put it there, readable to you alone"));
        }
    }
}

void check_runtime(const HereCheck& check) {
    const auto& site = check.input.site;
    if (!check.job().image || !site || check.has_setup()) {
        return;
    }
    const std::string& runtime =
        !site->runtime.path.empty() ? site->runtime.path : site->runtime.program;
    if (!runtime.empty() && runtime != "cybelectl" && !find_program(runtime, check.path())) {
        check.faults.add(check.job().fault_at(
            "image",
            problem("runtime-missing-here",
                    "there is no " + printable(runtime) + " on this machine"),
            "the Site names it as what starts containers",
            "install it, or use a Site of this machine: `cybelectl site probe`"));
    }
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
    Faults faults;
    check_root(input, plan, user, faults); // a cluster runs a job as whoever submits it
    if (input.dialect == "local") {
        const HereCheck check{input, plan, environment, faults};
        check_launcher(check);
        check_libraries(check);
        check_host_mpi(check, dialect);
        check_binds(check);
        check_secrets(check);
        check_runtime(check);
        if (plan.spark && !input.job.image &&
            !find_program("spark-submit", check.path() + ":/opt/spark/bin")) {
            add_missing(check,
                        "spark-submit",
                        "it starts the program",
                        "install Spark, or name an image that has it");
        }
    }
    return faults.has_errors() ? Result<void>(fail(faults.take())) : Result<void>();
}

} // namespace cybele::submission
