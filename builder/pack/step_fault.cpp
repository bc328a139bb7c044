// SPDX-License-Identifier: Apache-2.0
#include "builder/pack/step_fault.hpp"

#include "builder/steps/step_log.hpp"
#include "definitions/grammar/scan.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNothingPrinted = "it printed nothing";

/// A step whose end is cached can be looked at, whatever else helps.
void add_usual_help(Fault& fault, const BuildRequest& request, bool is_cached) {
    const std::string look =
        "cybelectl build " + shell_quote(request.source.file.native()) + " --shell";
    if (is_cached) {
        fault.help += fault.help.empty() ? look : "; to look at the step: `" + look + "`";
    } else if (fault.help.empty() && request.reporter.output == StepOutput::kKept) {
        fault.help = fault.because == kNothingPrinted
                         ? "add `set -x` to it, which prints each command"
                         : "-v shows the complete output";
    }
}

/// A line of the user's file; empty where it is not to be read.
std::string line_of(const fs::path& file, std::size_t number) {
    const std::string text = read_file(file).value_or(std::string());
    std::string_view rest = text;
    for (; number > 1 && !rest.empty(); --number) {
        rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
    }
    return std::string(rest.substr(0, rest.find('\n')));
}

/// In the user's words: a Recipe has steps and a test, no sections.
std::string shown_name(const BuildRequest& request, const FailedScript& failed) {
    if (!request.source.has_context_rules || failed.section.line == 0) {
        return failed.name;
    }
    return failed.section.name == "test" ? "`test`" : "the step";
}

/// What the end of a step's output shows: a name, and a remedy, of its own.
void explain_output(Fault& fault, const std::string& name, const FailedScript& failed) {
    const std::string& lines = failed.end.last_lines;
    const std::string refused = refused_repository(lines);
    const std::string package = first_missing_package(lines);
    fault.code = ErrorCode::kExecution;
    if (!refused.empty()) {
        fault.code = ErrorCode::kVerification;
        fault.set(
            problem("step-repository-refused", fmt::format("{}: {}", name, printable(refused))));
        fault.subject = refused;
        fault.help = "use a repository that its owner signs and keeps up to date, with its key";
    } else if (!package.empty()) {
        fault.set(
            is_version_missing(lines)
                ? problem("step-version-missing",
                          fmt::format("{}: the version that is asked for of package '{}' was "
                                      "not found",
                                      name,
                                      printable(package)))
                : problem("step-package-missing",
                          fmt::format("{}: package '{}' was not found", name, printable(package))));
        fault.subject = package;
        fault.help = "correct its name or version under `packages`, or in the step";
    } else if (differs_from_lock(lines)) {
        fault.set(problem("step-version-differs",
                          fmt::format("{}: a package differs from the Lock", name)));
    } else if (is_certificate_fault(lines)) {
        fault.set(problem("step-certificate-unknown", std::move(fault.message)));
        fault.help =
            "name the certificates that this network needs: `--ca-file " +
            (failed.certificates.empty() ? "FILE" : printable(failed.certificates.native())) + "`" +
            (failed.certificates.empty() ? "" : " has those of this machine");
    } else if (is_network_fault(lines)) {
        fault.set(problem("step-without-network", std::move(fault.message)));
        fault.help = fault.help.empty()
                         ? "build where the network is reached, and check https_proxy"
                         : fault.help;
    }
}

} // namespace

Error step_fault(const BuildRequest& request, const FailedScript& failed) {
    const auto& section = failed.section;
    const auto& end = failed.end;
    const std::string name = shown_name(request, failed);
    Fault fault;
    fault.code = ErrorCode::kExecution;
    fault.set(problem(end.code > 128 ? "step-killed" : "step-failed",
                      end.code > 128
                          ? fmt::format("{} was killed by signal {}", name, end.code - 128)
                          : fmt::format("{} failed with exit code {}", name, end.code),
                      section.name)
                  .about(std::to_string(end.code)));
    if (end.code == namespaces::kTimeIsUp) {
        fault.set(problem("step-too-slow",
                          fmt::format("{} did not end within {} s", name, request.steps.timeout)));
        fault.help = "give it more with --timeout";
    }
    if (!end.last_lines.empty()) {
        // What the user has seen is not repeated.
        if (request.reporter.output == StepOutput::kKept) {
            fault.because = output_because("the end of its output", end.last_lines);
        } else if (is_network_fault(end.last_lines)) {
            fault.because = "the network was not reached";
        }
        explain_output(fault, name, failed);
    } else if (fault.help.empty() && request.reporter.output == StepOutput::kKept) {
        fault.because = kNothingPrinted;
    }
    constexpr std::uint64_t kFull = std::uint64_t{1} << 20U;
    if (end.last_lines.find("No space left on device") != std::string::npos ||
        free_space(failed.root).value_or(kFull) < kFull) {
        fault.set(problem("step-without-space", std::move(fault.message)));
        fault.help = "set CYBELE_TMPDIR to a folder with more space, on a local disk";
    }
    add_usual_help(fault, request, failed.is_cached);
    if (section.line > 0) {
        const std::string text =
            request.source.has_context_rules
                ? line_of(request.source.file, section.line)
                : "%" + section.name + (section.arguments.empty() ? "" : " " + section.arguments);
        fault.where = definitions::fault_at(request.source.file.native(), section.line, text).where;
    }
    return Error(std::move(fault));
}

} // namespace cybele::builder
