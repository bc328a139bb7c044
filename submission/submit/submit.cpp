// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/submit.hpp"

#include "registry/store/lease.hpp"
#include "submission/backends/connection.hpp"
#include "submission/connection/make_backend.hpp"
#include "submission/local/demand.hpp"
#include "submission/submit/dependencies.hpp"
#include "submission/submit/here.hpp"
#include "submission/submit/image.hpp"
#include "submission/submit/places.hpp"
#include "submission/submit/stage.hpp"
#include "submission/submit/verification.hpp"
#include "support/file.hpp"
#include "support/own_path.hpp"
#include "support/quote.hpp"

#include <unistd.h>

namespace cybele::submission {

namespace fs = std::filesystem;

namespace {

/// Until the job has surely ended; gc may take an image without a name only then.
Result<void> keep_image(const JobInput& input, const SubmitRequest& request) {
    constexpr std::int64_t kLongest = std::int64_t{30} * 86400;
    if (!input.is_stored || !input.image_digest) {
        return {};
    }
    return registry::lease_until(
        registry::Place(request.store.path), *input.image_digest, request.clock + kLongest);
}

Result<std::string> login_asked(const JobInput& input, const SubmitRequest& request) {
    CYBELE_TRY(const std::string login,
               request.login.empty() ? login_of(input, !request.token_command.empty())
                                     : Result<std::string>(request.login));
    if (request.token_command.empty()) {
        return login;
    }
    CYBELE_TRY(Connection connection, read_connection(login));
    if (connection.kind != Connection::Kind::kSlurmrestd &&
        connection.kind != Connection::Kind::kRimrock) {
        return fail(ErrorCode::kUsage,
                    problem("token-command-unused", "--token-command is for REST services"),
                    "the Site reaches its scheduler by commands or ssh, which use no token",
                    "drop it, or name a Site with `through: {slurmrestd: URL}`");
    }
    connection.token_command = request.token_command;
    return text_of(connection);
}

Result<ReadyJob> render(JobInput input, const SubmitRequest& request) {
    CYBELE_TRY(schedulers::RenderedScript script, schedulers::render_script(input.render_input()));
    if (request.on_notes) {
        request.on_notes(image_notes(input));
        request.on_notes(script.notes);
    }
    return ReadyJob{std::move(input), std::move(script.text), {}, {}};
}

void tell(const TransferResult& transferred, const SubmitRequest& request) {
    if (transferred.files == 0 || !request.on_word) {
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
    request.on_word(line + ")");
}

} // namespace

namespace {

/// A Site's command runs as the user, and its login gets the user's files: only from a file that
/// others cannot have written.
Result<void>
check_own_site(const launchers::Site& site, const std::string& what, const std::string& option) {
    const auto opened = open_own(site.source.file(), {.group_above = true});
    if (opened) {
        return {};
    }
    const Fault& fault = opened.error().faults().front();
    return fail(ErrorCode::kEnvironment,
                problem("site-command-not-trusted",
                        "the `" + what + "` of " + printable(site.source.file()) + " is not used"),
                fault.because.empty() ? fault.message : fault.because,
                "give it yourself (" + option + "), or copy the Site into a folder of your own");
}

} // namespace

Result<std::string> login_of(const JobInput& input, bool has_command) {
    if (!input.site || input.site->through == "commands") {
        return std::string();
    }
    const auto host = input.site->through_settings.find("ssh");
    if (input.site->through == "ssh" && host != input.site->through_settings.end()) {
        CYBELE_CHECK(check_own_site(*input.site, "ssh", "--host"));
        return host->second;
    }
    const auto setting = [&input](const std::string& name) {
        const auto found = input.site->through_settings.find(name);
        return found == input.site->through_settings.end() ? std::string() : found->second;
    };
    Connection connection;
    connection.kind = input.site->through == "rimrock" ? Connection::Kind::kRimrock
                                                       : Connection::Kind::kSlurmrestd;
    connection.address = setting(input.site->through);
    connection.host = setting("host");
    connection.token_command = setting("token-command");
    if (!connection.token_command.empty() && !has_command) {
        CYBELE_CHECK(check_own_site(*input.site, "token-command", "--token-command"));
    }
    CYBELE_CHECK(check_address(connection));
    return text_of(connection);
}

Result<ReadyJob> render_job(const SubmitRequest& request, const Environment& environment) {
    JobInput input = request.input;
    CYBELE_TRY(const std::string login, login_asked(input, request));
    CYBELE_CHECK(resolve_dependencies(input, environment, login)
                     .map_error(during("finding the jobs of 'after'")));
    CYBELE_CHECK(pack(input, login, environment));
    return render(std::move(input), request).map_error(during("rendering the batch script"));
}

Result<ReadyJob> ready_job(const SubmitRequest& request, const Environment& environment) {
    JobInput input = request.input;
    CYBELE_TRY(std::string login, login_asked(input, request));
    // A back end that there is not is told before anything is built or copied.
    CYBELE_CHECK(make_backend({input.dialect, login, {}, environment, {}, {}})
                     .map_error(during("choosing the scheduler")));
    if (!login.empty() && !input.job.workdir.starts_with('/')) {
        return fail(Error(
            input.job.fault_at("workdir",
                               problem("job-without-remote-folder",
                                       "the Job names no folder of " + printable(shown(login))),
                               "through a login, a job runs in a folder of the other machine",
                               "write `workdir: /PATH`, a folder that its nodes share")));
    }
    CYBELE_TRY(const Connection connection, read_connection(login));
    if (connection.kind == Connection::Kind::kRimrock ||
        connection.kind == Connection::Kind::kSlurmrestd) {
        CYBELE_CHECK(check_address(connection));
    }
    if (login.starts_with('-')) {
        return fail(ErrorCode::kUsage,
                    problem("host-malformed", "'" + printable(login) + "' is not a valid host"),
                    "ssh would read it as an option",
                    "write HOST, USER@HOST, or a name of ~/.ssh/config");
    }
    CYBELE_CHECK(resolve_dependencies(input, environment, login));
    if (input.dialect == "local") {
        CYBELE_CHECK(check_local(input.job, environment));
    }
    if (login.empty()) {
        CYBELE_CHECK(check_here(input, environment, ::geteuid()));
    }
    CYBELE_CHECK(check_places(input, environment, login, request.build.now)
                     .map_error(during("checking the folders of the job")));
    CYBELE_CHECK(provide_image(input, request, environment, login)
                     .map_error(during("providing the image of the job")));
    if (login.empty()) { // more is known of an image that was just built
        CYBELE_CHECK(check_here(input, environment, ::geteuid()));
    }
    CYBELE_CHECK(verify_image(input, environment, login, request.build.now)
                     .map_error(during("verifying the image of the job")));
    CYBELE_CHECK(keep_image(input, request));
    CYBELE_TRY(const TransferSet transfers, pack(input, login, environment));
    CYBELE_CHECK(find_image_digest(input, request.build.environment, login));
    CYBELE_TRY(ReadyJob ready, render(std::move(input), request));
    ready.login = login;
    CYBELE_TRY(const TransferResult transferred,
               bring(transfers, ready.input.job, environment)
                   .map_error(during("bringing the inputs to where the job runs")));
    tell(transferred, request);
    return ready;
}

} // namespace cybele::submission
