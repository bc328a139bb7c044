// SPDX-License-Identifier: Apache-2.0
#include "builder/files/output.hpp"
#include "builder/files/workspace.hpp"
#include "builder/pack/builder.hpp"
#include "builder/processes/apart.hpp"
#include "builder/steps/step_log.hpp"
#include "images/inspection/sources.hpp"
#include "images/sif/change.hpp"
#include "support/find.hpp"
#include "support/own_program.hpp"
#include "support/quote.hpp"

#include <array>

#include <fmt/format.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kPrograms = {"apptainer", "singularity"};
constexpr std::size_t kShownBuilderLines = 20;

Result<std::string> find_builder(const std::string& program, const Environment& environment) {
    const std::string name = fs::path(program).filename();
    if (!contains(kPrograms, name)) {
        return fail(
            ErrorCode::kUsage,
            problem("builder-unknown", fmt::format("'{}' is not a builder", printable(program))),
            {},
            "use apptainer or singularity, or leave --builder out for the embedded one");
    }
    const auto found = find_program(program, environment.get_or("PATH", "/usr/bin:/bin"));
    if (!found) {
        return fail(ErrorCode::kEnvironment,
                    problem("builder-missing", printable(program) + " is not installed"),
                    "it is not in PATH",
                    "load its module or install it, or leave --builder out for the embedded one");
    }
    if (is_own_program(*found)) {
        return fail(ErrorCode::kEnvironment,
                    problem("builder-is-own-link",
                            fmt::format("{} is a link to cybelectl", found->native())),
                    "`install-as` made it",
                    "leave --builder out for the embedded builder, or name the path of " + name);
    }
    return found->native();
}

} // namespace

Result<BuildResult> build_with(const std::string& program,
                               const BuildRequest& request,
                               const Environment& environment) {
    CYBELE_CHECK(check_output(request));
    CYBELE_TRY(const std::string builder, find_builder(program, environment));
    const SignalCatcher signals;
    CYBELE_TRY(const Workspace work,
               Workspace::make(folder_of(request.output), namespaces::IdMap::kNone));
    const fs::path definition = work.path() / "definition.def";
    const fs::path image = work.path() / "image.sif";
    CYBELE_CHECK(write_file(definition, request.source.definition.text));
    Command command;
    command.argv = {builder, "build"};
    if (!request.steps.runs_tests) {
        command.argv.emplace_back("--notest");
    }
    const fs::path here = absolute_path(request.source.directory);
    command.argv.insert(command.argv.end(),
                        {absolute_path(image).native(), absolute_path(definition).native()});
    command.directory = here; // relative sources of %files
    command.environment = environment.all();
    command.input = "";
    if (request.reporter.is_verbose) {
        command.output = Command::Stream::kInherit;
        command.errors = Command::Stream::kInherit;
    }
    request.reporter.tell(builder + " build");
    CYBELE_TRY(const Outcome outcome, run_process(command));
    CYBELE_CHECK(SignalCatcher::check());
    if (!outcome.ok()) {
        const std::string said = last_lines(outcome.output + outcome.errors, kShownBuilderLines);
        return fail(ErrorCode::kExecution,
                    problem("builder-failed",
                            fmt::format("{} build failed with exit code {}",
                                        printable(program),
                                        outcome.shell_code())),
                    said.empty() ? "" : "it said:\n" + said,
                    "build with the embedded builder: leave --builder out");
    }
    if (!request.image.sources.empty()) {
        CYBELE_CHECK(images::add_objects(
            image, {images::sources_object(request.image.sources)}, request.time.now));
    }
    return put_in_place(image, request);
}

} // namespace cybele::builder
