// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/examine.hpp"
#include "support/own_program.hpp"
#include "support/process.hpp"

#include <fmt/format.h>

namespace cybele::diagnostics {

namespace {

/// A program that is looked for in PATH.
struct ProgramRow {
    const char* name;
    const char* version_option;
    const char* follows; ///< where it is missing
    const char* help;
    bool is_needed;
};

constexpr ProgramRow kPrograms[] = {
    {"mmdebstrap",
     "--version",
     "no base can be bootstrapped; images that exist already run",
     "apt-get install mmdebstrap; or build on a machine that has it and copy the image",
     true},
    {"newuidmap",
     "",
     "an ordinary user cannot build",
     "apt-get install uidmap (Debian), dnf install shadow-utils (RHEL)",
     false},
    {"pip3",
     "",
     "Recipes with Python packages (`packages.pip`) cannot be locked",
     "apt-get install python3-pip (23 or newer)",
     false},
    {"apptainer",
     "--version",
     "`build --builder apptainer` is not offered; the embedded runtime starts images",
     "nothing needs it",
     false},
    {"singularity",
     "--version",
     "`build --builder singularity` is not offered; the embedded runtime starts images",
     "nothing needs it",
     false},
    {"kubectl",
     "",
     "Kubernetes objects are rendered, not tried",
     "install kubectl where objects are applied",
     false},
};

Finding examine_program(const ProgramRow& row) {
    const auto path = find_program(row.name);
    if (path && is_own_program(*path)) {
        return lacks(row.name,
                     fmt::format("{} is a link to cybelectl (install-as)", path->native()),
                     row.follows,
                     row.help);
    }
    if (!path) {
        return (row.is_needed ? fails
                              : lacks)(row.name, "not found in PATH", row.follows, row.help);
    }
    Finding finding = works(row.name, path->native());
    if (row.version_option[0] == '\0') {
        return finding;
    }
    Command command;
    command.argv = {path->native(), row.version_option};
    command.input = "";
    command.limit = std::chrono::seconds(5);
    const auto outcome = run_process(command);
    if (outcome && outcome->timed_out) { // a busy machine, not a broken program
        return finding;
    }
    if (!outcome || !outcome->ok()) {
        return (row.is_needed ? fails : lacks)(
            row.name, path->native() + " does not start", row.follows, row.help);
    }
    finding.what += ": " + outcome->output.substr(0, outcome->output.find('\n'));
    return finding;
}

} // namespace

void examine_programs(Findings& findings) {
    for (const ProgramRow& row : kPrograms) {
        findings.push_back(examine_program(row));
    }
}

} // namespace cybele::diagnostics
