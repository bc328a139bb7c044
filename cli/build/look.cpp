// SPDX-License-Identifier: Apache-2.0
// `build --shell`: looks at a step that failed.
#include "builder/pack/failure_shell.hpp"
#include "cli/build/options.hpp"
#include "cli/common/session.hpp"
#include "pipeline/document_kind.hpp"
#include "pipeline/image_source.hpp"
#include "support/file.hpp"
#include "support/text.hpp"

#include <unistd.h>

namespace cybele::cli {
namespace {

/// Commands as a step of the source: of `steps` in a Recipe, else of %post.
std::string as_step(const std::string& commands, bool is_recipe) {
    if (commands.empty()) {
        return "# nothing was changed\n";
    }
    if (!is_recipe) {
        return "%post\n" + commands;
    }
    std::string text = "steps:\n  - |\n";
    for (const std::string_view line : text::split_terminated(commands, '\n')) {
        text += (line.empty() ? "" : "    " + std::string(line)) + "\n";
    }
    return text;
}

} // namespace

Result<int> open_failure_shell(Session& session, const BuildOptions& options) {
    builder::BuildRequest request;
    CYBELE_TRY(request.source.file, pipeline::find_source(options.build.source));
    if (!pipeline::image_source(request.source.file)) {
        CYBELE_CHECK(open_for_reading(request.source.file));
    }
    request.steps.binds = options.build.steps.binds;
    request.packages = options.build.settings.packages;
    request.reporter.on_step = [&session](const std::string& line) {
        if (!session.is_quiet) {
            (void)!::write(STDERR_FILENO, (line + "\n").data(), line.size() + 1);
        }
    };
    builder::FailureShell look;
    look.tells_changes = options.look.is_keeping;
    if (::isatty(STDIN_FILENO) != 0) {
        look.terminal = session.environment.get_or("TERM", "dumb");
    }
    CYBELE_TRY(const builder::FailureShellEnd done,
               builder::open_failure_shell(request, look, options.build.settings.environment));
    if (options.look.is_keeping) {
        const bool is_recipe =
            pipeline::source_kind(request.source.file) == pipeline::SourceKind::kRecipe;
        Session::print(as_step(done.changes, is_recipe));
    }
    return done.code;
}

} // namespace cybele::cli
