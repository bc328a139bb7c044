// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/submit.hpp"

#include "registry/store/lease.hpp"
#include "schedulers/scripts/image_place.hpp"
#include "submission/connection/make_backend.hpp"
#include "submission/local/demand.hpp"
#include "submission/submit/dependencies.hpp"
#include "submission/submit/here.hpp"
#include "submission/submit/places.hpp"
#include "submission/submit/verification.hpp"
#include "support/quote.hpp"

#include <unistd.h>

namespace cybele::submission {

namespace fs = std::filesystem;

namespace {

/// Until the job has surely ended; gc may take an image without a name only then.
Result<void> keep_image(const JobInput& input, const ImageRequest& request) {
    constexpr std::int64_t kLongest = std::int64_t{30} * 86400;
    if (!input.is_stored || !input.image_digest) {
        return {};
    }
    return registry::lease_until(
        registry::Place(request.store.path), *input.image_digest, request.clock + kLongest);
}

/// A back end that does not exist, or that cannot be reached so, is reported before anything is
/// built or copied.
Result<void> check_connection(const ResolvedJob& job, const Environment& environment) {
    const Connection& connection = job.connection;
    CYBELE_CHECK(make_backend({job.input.dialect, connection, {}, environment, {}, {}})
                     .map_error(during("choosing the scheduler")));
    if (!connection.is_here() && !job.input.job.workdir.starts_with('/')) {
        return fail(job.input.job.fault_at(
            "workdir",
            problem("job-without-remote-folder",
                    "the Job names no folder of " + printable(shown(connection))),
            "through a login, a job runs in a folder of the other machine",
            "write `workdir: /PATH`, a folder that its nodes share"));
    }
    if (connection.is_service()) {
        CYBELE_CHECK(check_address(connection));
    }
    if (connection.kind == Connection::Kind::kSsh && connection.address.starts_with('-')) {
        return fail(ErrorCode::kUsage,
                    problem("host-malformed",
                            "'" + printable(connection.address) + "' is not a valid host"),
                    "ssh would read it as an option",
                    "write HOST, USER@HOST, or a name of ~/.ssh/config");
    }
    return {};
}

/// What no image could make right is reported before an image is built.
Result<void> check_script(const JobInput& input) {
    if (!input.made) {
        return {}; // it is rendered at once, with all that is known of its image
    }
    CYBELE_CHECK(schedulers::render_script(input.render_input())
                     .map_error(during("rendering the batch script")));
    return {};
}

void tell(const TransferResult& transferred, const OnWord& on_word) {
    if (transferred.files == 0 || !on_word) {
        return;
    }
    const auto count = [](std::uint64_t number, const std::string& what) {
        return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
    };
    std::string line = "inputs: " + count(transferred.files, "file") + ", " +
                       std::to_string(transferred.sent) + " sent (" +
                       count(transferred.bytes, "byte");
    if (transferred.resumed != 0) {
        line += ", after " + std::to_string(transferred.resumed) + " that had arrived";
    }
    on_word(line + ")");
}

} // namespace

Result<ResolvedJob>
resolve_job(JobInput input, const ConnectionChoice& choice, const Environment& environment) {
    ResolvedJob resolved{std::move(input), {}};
    CYBELE_TRY(resolved.connection,
               choose_connection(resolved.input, choice)
                   .map_error(during("finding how the batch system is reached")));
    CYBELE_CHECK(resolve_dependencies(resolved.input, environment, resolved.connection)
                     .map_error(during("finding the jobs of 'after'")));
    return resolved;
}

Result<CheckedJob>
check_job(ResolvedJob resolved, const Environment& environment, std::int64_t now) {
    CYBELE_CHECK(check_connection(resolved, environment));
    const JobInput& input = resolved.input;
    if (input.dialect == "local") {
        CYBELE_CHECK(check_local(input.job, environment));
    }
    if (resolved.connection.is_here()) {
        CYBELE_CHECK(check_here(input, environment, ::geteuid()));
    }
    CYBELE_CHECK(check_places(input, environment, resolved.connection, now)
                     .map_error(during("checking the folders of the job")));
    CYBELE_CHECK(check_script(input));
    return CheckedJob{std::move(resolved.input), std::move(resolved.connection)};
}

Result<BuiltJob>
build_job(CheckedJob checked, const ImageRequest& request, const Environment& environment) {
    BuiltJob built{std::move(checked.input), std::move(checked.connection), {}, {}};
    JobInput& input = built.input;
    const Connection& connection = built.connection;
    CYBELE_TRY(built.notes,
               provide_image(input, request, environment, connection)
                   .map_error(during("providing the image of the job")));
    if (connection.is_here()) { // more is known of an image that was just built
        CYBELE_CHECK(check_here(input, environment, ::geteuid()));
    }
    CYBELE_CHECK(verify_image(input, environment, connection, request.build.settings.time.now)
                     .map_error(during("verifying the image of the job")));
    CYBELE_CHECK(keep_image(input, request));
    CYBELE_TRY(built.transfers, pack(input, connection, environment));
    CYBELE_CHECK(find_image_digest(input, request.build.settings.environment, connection));
    return built;
}

Result<BuiltJob> plan_job(ResolvedJob resolved, const Environment& environment) {
    BuiltJob built{std::move(resolved.input), std::move(resolved.connection), {}, {}};
    CYBELE_TRY(built.transfers, pack(built.input, built.connection, environment));
    return built;
}

Result<RenderedJob> render_job(BuiltJob built) {
    schedulers::RenderInput render = built.input.render_input();
    if (render.dialect == "local" && schedulers::is_beside_workdir(render)) {
        // The local scheduler starts the script in `workdir`, and tells it no other folder.
        render.image = fs::absolute(built.input.image_file).lexically_normal().native();
    }
    CYBELE_TRY(schedulers::RenderedScript script,
               schedulers::render_script(render).map_error(during("rendering the batch script")));
    std::vector<Fault> notes = std::move(built.notes);
    for (const auto& more : {image_notes(built.input), script.notes}) {
        notes.insert(notes.end(), more.begin(), more.end());
    }
    return RenderedJob{std::move(built.input),
                       std::move(built.connection),
                       std::move(built.transfers),
                       std::move(script.text),
                       {},
                       std::move(notes)};
}

Result<void>
bring_inputs(const RenderedJob& job, const OnWord& on_word, const Environment& environment) {
    CYBELE_TRY(const TransferResult transferred,
               bring(job.transfers, job.input.job, environment)
                   .map_error(during("bringing the inputs to where the job runs")));
    tell(transferred, on_word);
    return {};
}

} // namespace cybele::submission
