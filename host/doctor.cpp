// SPDX-License-Identifier: Apache-2.0
#include "host/doctor.hpp"

#include "builder/builder.hpp"
#include "namespaces/sandbox.hpp"
#include "runtime/runtime.hpp"
#include "support/file.hpp"
#include "support/process.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace cybele::host {

namespace {

using State = Finding::State;

/// A program that is looked for in PATH.
struct ProgramRow {
    const char* name;
    const char* version_option;
    const char* follows; ///< where it is missing
    const char* help;
    bool is_needed;
};

constexpr ProgramRow kPrograms[] = {
    {"mmdebstrap", "--version", "no base can be bootstrapped", "apt-get install mmdebstrap", true},
    {"mpirun",
     "--version",
     "no MPI job runs on this machine itself",
     "apt-get install openmpi-bin",
     true},
    {"newuidmap", "", "an ordinary user cannot build", "apt-get install uidmap", false},
    {"squashfuse_ll",
     "",
     "an ordinary user's images are unpacked instead of mounted",
     "apt-get install squashfuse",
     false},
    {"apptainer", "--version", "`build --builder apptainer` is not offered", "", false},
    {"singularity", "--version", "`build --builder singularity` is not offered", "", false},
    {"sbatch", "--version", "jobs for Slurm are rendered, not tried", "", false},
    {"qsub", "", "jobs for TORQUE and PBS are rendered, not tried", "", false},
    {"kubectl", "", "Kubernetes objects are rendered, not tried", "", false},
};

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

Finding examine_program(const ProgramRow& row) {
    Finding finding;
    finding.subject = row.name;
    finding.is_needed = row.is_needed;
    const auto path = find_program(row.name);
    if (!path) {
        finding.state = row.is_needed ? State::kMissing : State::kNote;
        finding.what = "not found in PATH";
        finding.follows = row.follows;
        finding.help = row.help;
        return finding;
    }
    finding.what = path->native();
    if (row.version_option[0] != '\0') {
        Command command;
        command.argv = {path->native(), row.version_option};
        command.limit = std::chrono::seconds(5);
        const auto outcome = run_process(command);
        if (outcome && outcome->ok()) {
            finding.what += ": " + first_line(outcome->output);
        }
    }
    return finding;
}

Finding examine_kernel() {
    Finding finding;
    finding.subject = "kernel";
    utsname names{};
    if (::uname(&names) != 0) {
        finding.what = "unknown";
        finding.state = State::kNote;
        return finding;
    }
    finding.what = fmt::format("{} {} on {}", names.sysname, names.release, names.machine);
    return finding;
}

Finding ability(const char* subject, bool has, const std::string& because, const char* follows) {
    Finding finding;
    finding.subject = subject;
    finding.what = has ? "work" : because;
    if (!has) {
        finding.state = State::kNote;
        finding.follows = follows;
    }
    return finding;
}

void examine_namespaces(const Environment& environment, std::vector<Finding>& findings) {
    const namespaces::Abilities abilities = namespaces::probe_abilities();
    Finding user;
    user.subject = "user";
    user.what = abilities.is_root ? "root" : fmt::format("user {}", ::getuid());
    findings.push_back(user);
    Finding spaces = ability("user namespaces",
                             abilities.user_namespaces,
                             abilities.user_namespaces_because,
                             "an ordinary user can start no container");
    spaces.is_needed = !abilities.is_root;
    if (!abilities.user_namespaces && !abilities.is_root) {
        spaces.state = State::kMissing;
        spaces.help = "ask the administrator to allow unprivileged user namespaces";
    }
    findings.push_back(spaces);
    if (!abilities.is_root) {
        Finding range = ability("subordinate ids",
                                abilities.subordinate_ids,
                                abilities.subordinate_ids_because,
                                "`build` with packages cannot work");
        range.is_needed = true;
        if (!abilities.subordinate_ids) {
            range.state = State::kMissing;
            range.help = "ask for a line USER:100000:65536 in /etc/subuid and /etc/subgid, and the "
                         "package uidmap";
        }
        findings.push_back(range);
    }
    findings.push_back(ability("FUSE",
                               abilities.fuse,
                               abilities.fuse_because,
                               "images are unpacked instead of mounted by users"));
    if (abilities.is_root) {
        findings.push_back(ability("loop devices",
                                   abilities.loop,
                                   abilities.loop_because,
                                   "root mounts images by FUSE or unpacks them"));
    }
    const runtime::MountChoice choice = runtime::choose_mount(environment);
    Finding mount;
    mount.subject = "images";
    mount.is_needed = true;
    mount.what = choice.way.empty() ? choice.because : choice.way + ": " + choice.because;
    mount.state = choice.way.empty() ? State::kMissing : State::kOk;
    findings.push_back(mount);
}

Finding examine_mirror() {
    Finding finding;
    finding.subject = "package mirror";
    finding.is_needed = true;
    const auto mirror = builder::machine_mirror();
    if (mirror) {
        finding.what = *mirror;
        return finding;
    }
    finding.state = State::kMissing;
    finding.what = mirror.error().message();
    finding.follows = "bases cannot be bootstrapped without --mirror";
    finding.help = "give --mirror URL, or set it: `mirror: URL` in the user's config.yaml";
    return finding;
}

Finding examine_space(const Environment& environment) {
    constexpr std::uint64_t kComfortable = std::uint64_t{4} << 30U;
    Finding finding;
    finding.subject = "temporary space";
    const auto place = environment.temporary_directory();
    const auto free = free_space(place);
    finding.what = fmt::format(
        "{}: {:.1f} GiB free", place.native(), static_cast<double>(free.value_or(0)) / (1U << 30U));
    if (free.value_or(0) < kComfortable) {
        finding.state = State::kNote;
        finding.follows = "large images may not fit while they are built";
        finding.help = "set CYBELE_TMPDIR to a folder with more space";
    }
    return finding;
}

} // namespace

std::vector<Finding> examine_host(const Environment& environment) {
    std::vector<Finding> findings;
    findings.push_back(examine_kernel());
    examine_namespaces(environment, findings);
    for (const ProgramRow& row : kPrograms) {
        findings.push_back(examine_program(row));
    }
    findings.push_back(examine_mirror());
    findings.push_back(examine_space(environment));
    return findings;
}

bool can_do_main_job(const std::vector<Finding>& findings) {
    return std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.is_needed && finding.state == State::kMissing;
    });
}

} // namespace cybele::host
