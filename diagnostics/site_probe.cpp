// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/site_probe.hpp"

#include "diagnostics/examine.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "support/file.hpp"
#include "support/own_program.hpp"
#include "support/process.hpp"

#include <algorithm>
#include <array>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace cybele::diagnostics {
namespace {

namespace fs = std::filesystem;

enum class Exit { kZero, kAny };

/// What a program prints, on both streams; empty where it is missing, fails or takes too long.
std::string ask(const std::vector<std::string>& argv, Exit exit = Exit::kZero) {
    if (!find_program(argv.front())) {
        return {};
    }
    Command command;
    command.argv = argv;
    command.input = "";
    command.limit = std::chrono::seconds(5);
    const auto outcome = run_process(command);
    if (!outcome || outcome->timed_out || (exit == Exit::kZero && !outcome->ok())) {
        return {};
    }
    return outcome->output + outcome->errors;
}

void say(ProbedSite& probed, std::string field, std::string origin) {
    probed.origins.emplace_back(std::move(field), std::move(origin));
}

struct Scheduler {
    const char* program;
    const char* sign; ///< in what `--version` prints; empty: any
    const char* dialect;
};
// Slurm brings a qsub of its own, so it is asked first.
constexpr Scheduler kSchedulers[] = {
    {"sbatch", "", "slurm"},
    {"qsub", "pbs_version", "pbspro"},
    {"qsub", "Version:", "torque"},
};

void probe_scheduler(ProbedSite& probed) {
    launchers::Site& site = probed.site;
    site.dialect = "local";
    for (const Scheduler& row : kSchedulers) {
        if (!find_program(row.program)) {
            continue;
        }
        const std::string text = ask({row.program, "--version"}, Exit::kAny);
        if (text.find(row.sign) == std::string::npos) {
            continue;
        }
        site.dialect = row.dialect;
        site.scheduler_version = read_version(text);
        say(probed, "scheduler", fmt::format("`{} --version`", row.program));
        return;
    }
    say(probed, "scheduler", "neither sbatch nor qsub is here");
}

void probe_slurm(ProbedSite& probed) {
    if (probed.site.dialect != "slurm") {
        return;
    }
    const std::string list = ask({"srun", "--mpi=list"});
    if (list.empty()) {
        probed.notes.emplace_back("`srun --mpi=list` gave no answer, so `pmi` is not known");
    } else {
        probed.site.pmi = read_pmi_list(list);
        say(probed, "pmi", "`srun --mpi=list`");
    }
    probed.site.queues = read_partitions(ask({"sinfo", "-h", "-o", "%P|%D|%c|%m|%l|%G|%f"}));
    if (probed.site.queues.empty()) {
        probed.notes.emplace_back("`sinfo` lists no partition, so limits are not known");
    } else {
        say(probed, "queues", "`sinfo`");
    }
}

/// Setuid where its starter is, else by user namespaces, else root's only.
std::string runtime_mode(const fs::path& program, std::string_view name) {
    std::error_code error;
    const fs::path prefix = fs::canonical(program, error).parent_path().parent_path();
    for (const auto& folder : {prefix / "libexec", prefix / "lib", fs::path("/usr/libexec")}) {
        struct stat status {};
        const fs::path starter = folder / name / "bin" / "starter-suid";
        if (::stat(starter.c_str(), &status) == 0 && (status.st_mode & S_ISUID) != 0) {
            return "setuid";
        }
    }
    return namespaces::probe_abilities().user_namespaces ? "userns" : "root";
}

void probe_runtime(ProbedSite& probed) {
    launchers::SiteRuntime& runtime = probed.site.runtime;
    for (const char* name : {"apptainer", "singularity", "cybelectl"}) {
        const auto path = find_program(name);
        if (!path || (std::string_view(name) != "cybelectl" && is_own_program(*path))) {
            continue;
        }
        runtime.program = name;
        runtime.version = read_version(ask({path->native(), "--version"}));
        runtime.mode = runtime_mode(*path, name);
        say(probed, "runtime", fmt::format("{}", path->native()));
        return;
    }
    probed.notes.emplace_back(
        "no container runtime is in PATH; scripts look for one when they run");
}

void probe_mpi(ProbedSite& probed) {
    launchers::SiteMpi mpi = read_mpirun_version(ask({"mpirun", "--version"}));
    if (mpi.family.empty()) {
        probed.notes.emplace_back(
            "no mpirun is in PATH: load the site's MPI module and probe again");
        return;
    }
    std::string origin = "`mpirun --version`";
    const std::string info = ask({"ompi_info", "--parsable", "--path", "prefix"});
    constexpr std::string_view kPrefix = "path:prefix:";
    const auto at = info.find(kPrefix);
    if (mpi.family == "openmpi" && at != std::string::npos) {
        mpi.prefix = info.substr(at + kPrefix.size());
        mpi.prefix = mpi.prefix.substr(0, mpi.prefix.find('\n'));
        origin += ", `ompi_info`";
    }
    // In PATH anyway, a prefix of the system says nothing.
    if (mpi.prefix == "/usr" || mpi.prefix == "/") {
        mpi.prefix.clear();
    }
    probed.site.mpi.push_back(std::move(mpi));
    say(probed, "mpi", origin);
}

void probe_libpmix(ProbedSite& probed) {
    const std::string list = ask({"/sbin/ldconfig", "-p"});
    const auto name = list.find("libpmix.so.");
    if (name == std::string::npos) {
        return;
    }
    const auto arrow = list.find("=> ", name);
    const std::string path = list.substr(arrow + 3, list.find('\n', arrow) - arrow - 3);
    const std::string info = ask({"pmix_info", "--parsable", "--version"});
    probed.libpmix = read_version(info);
    if (probed.libpmix.empty()) {
        probed.libpmix = path;
    }
}

void probe_node(ProbedSite& probed) {
    utsname names{};
    if (::uname(&names) == 0) {
        constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kNames{
            {{"x86_64", "amd64"}, {"aarch64", "arm64"}, {"ppc64le", "ppc64el"}}};
        probed.site.node_arch = names.machine;
        for (const auto& [machine, name] : kNames) {
            if (machine == names.machine) {
                probed.site.node_arch = name;
            }
        }
    }
    probed.site.node_glibc = read_version(ask({"getconf", "GNU_LIBC_VERSION"}));
    say(probed, "node", "this machine; compute nodes may differ");
}

void probe_interconnect(ProbedSite& probed) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/sys/class/infiniband", error)) {
        probed.site.interconnect =
            entry.path().filename().string().starts_with("hfi") ? "omni-path" : "infiniband";
        say(probed, "interconnect", "/sys/class/infiniband");
        return;
    }
}

} // namespace

ProbedSite probe_site(const Environment& environment) {
    ProbedSite probed;
    probed.site.name = "here";
    probe_scheduler(probed);
    probe_slurm(probed);
    probe_runtime(probed);
    probe_mpi(probed);
    probe_libpmix(probed);
    probe_node(probed);
    probe_interconnect(probed);
    if (const auto scratch = environment.get("TMPDIR")) {
        probed.site.scratch_node.text = *scratch;
        say(probed, "scratch", "$TMPDIR");
    }
    return probed;
}

} // namespace cybele::diagnostics
