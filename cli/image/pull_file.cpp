// SPDX-License-Identifier: Apache-2.0
#include "cli/common/progress.hpp"
#include "cli/image/start_image.hpp"
#include "registry/oci/images.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"
#include "support/umask.hpp"

#include <filesystem>

#include <sys/stat.h>

namespace cybele::cli {

namespace fs = std::filesystem;

namespace {

constexpr mode_t kImageMode = 0777;
constexpr mode_t kFileMode = 0666; ///< of one that is downloaded past the cache, as there

/// The image as a directory: a build of what was pulled.
Result<int>
pull_sandbox(const Session& session, const FilePullRequest& wish, const StartOptions& options) {
    CYBELE_TRY(const std::string path, start_image(session, options));
    Command command;
    command.argv = {
        session.program, "build", path, "--output=" + wish.output, "--sandbox", "--notest"};
    if (wish.is_forced) {
        command.argv.emplace_back("--force");
    }
    command.environment = environment_of_pull(session, options).all();
    command.output = Command::Stream::kDiscard;
    command.errors = Command::Stream::kInherit;
    session.inform_as_apptainer("Starting build...");
    CYBELE_TRY(const Outcome outcome, run_process(command));
    if (outcome.ok()) {
        for (const std::string& line : {std::string("Extracting local image..."),
                                        std::string("Creating sandbox directory..."),
                                        "Build complete: " + printable(wish.output)}) {
            session.inform_as_apptainer(line);
        }
    }
    return outcome.shell_code();
}

} // namespace

Result<int> pull_file(const Session& session, const FilePullRequest& wish) {
    std::error_code failed;
    const bool is_link = fs::is_symlink(wish.output, failed);
    const bool is_free = is_link && !fs::exists(wish.output, failed); // it leads nowhere
    const registry::Output output{.path = wish.output, .is_forced = wish.is_forced || is_free};
    if (!wish.is_sandbox) {
        CYBELE_CHECK(registry::check_output(output));
    }
    StartOptions options = wish.options;
    options.image = wish.source;
    if (!has_scheme(options.image)) {
        return fail(ErrorCode::kInput,
                    problem("pull-source-malformed", "cannot pull " + printable(wish.source))
                        .about(wish.source),
                    "it names no registry",
                    "write docker://, oras://, library:// or https:// before the name");
    }
    if (wish.is_sandbox) {
        return pull_sandbox(session, wish, options);
    }
    CYBELE_TRY(const std::string path, start_image(session, options));
    if (is_link) { // the image takes its place, as there
        fs::remove(wish.output, failed);
    }
    CYBELE_CHECK(registry::put_out(path, output, progress(session, "copying")));
    // As Apptainer: whoever may read it may start it as a program.
    const bool is_download = wish.options.has_no_cache && wish.source.starts_with("oras://");
    (void)::chmod(wish.output.c_str(), (is_download ? kFileMode : kImageMode) & ~own_umask());
    return 0;
}

} // namespace cybele::cli
