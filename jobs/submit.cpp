// SPDX-License-Identifier: Apache-2.0
#include "jobs/submit.hpp"

#include "jobs/backends/way.hpp"
#include "jobs/dependencies.hpp"
#include "jobs/local/demand.hpp"
#include "jobs/places.hpp"
#include "jobs/remote_image.hpp"
#include "jobs/staging/stage.hpp"
#include "jobs/verification.hpp"
#include "recipes/recipe.hpp"
#include "registry/store/lease.hpp"
#include "support/file.hpp"
#include "support/own_path.hpp"
#include "support/quote.hpp"

namespace cybele::jobs {

namespace fs = std::filesystem;

namespace {

Result<bool> is_current(const JobInput& input) {
    if (!input.facts) {
        return false;
    }
    CYBELE_TRY(std::string text, read_file(input.recipe_file));
    CYBELE_TRY(const recipes::Recipe recipe,
               recipes::read_recipe(std::move(text), input.recipe_file));
    const auto label = input.facts->labels.find("cybelectl.recipe");
    return label != input.facts->labels.end() &&
           label->second.find(recipe.digest) != std::string::npos;
}

/// What a Job names by `…://`, and this version does not bring to where it runs.
Result<void> judge_remote(const JobInput& input, const std::string& login) {
    CYBELE_TRY(const Way way, read_way(login));
    if (!is_remote(input)) {
        return fail(Error(input.job.fault_at(
            "image",
            "an OCI image is no image that a job can start",
            printable(input.image) + " is converted by a build, which a submission does not do",
            "name it as base of a Recipe, and the Recipe here: `image: {recipe: app.yaml}`")));
    }
    if (way.kind == Way::Kind::kSlurmrestd || way.kind == Way::Kind::kRimrock) {
        return fail(Error(input.job.fault_at(
            "image",
            printable(input.image) + " would not come to " + printable(shown(login)),
            "it is pulled into this machine's store, and the job runs there",
            "pull it there, and name its path there")));
    }
    return {};
}

/// Makes sure that the image is there; builds it where the Job names a Recipe.
Result<void> provide_image(JobInput& input,
                           const SubmitRequest& request,
                           const Environment& environment,
                           const std::string& login) {
    if (!input.job.image) {
        return {};
    }
    if (!input.recipe_file.empty()) {
        CYBELE_TRY(const bool current, is_current(input));
        if (!current) {
            project::ImageBuild build = request.build;
            build.source = input.recipe_file;
            build.output = input.image_file;
            CYBELE_CHECK(project::build_image(build, build.environment));
        }
        return read_image_facts(input);
    }
    if (input.image.find("://") != std::string::npos) {
        CYBELE_CHECK(judge_remote(input, login));
        return request.transport == nullptr
                   ? Result<void>()
                   : fetch_image(
                         input,
                         {request.transport, request.store, request.clock, request.build.now},
                         environment);
    }
    std::error_code error;
    if (!login.empty() && input.image.starts_with('/')) {
        return {}; // it lies on the other machine; the script says where it does not
    }
    if (!fs::exists(input.image_file, error)) {
        return fail(
            Error(input.job.fault_at("image",
                                     "the image " + printable(input.image) + " is not there",
                                     "it would be " + printable(input.image_file.native()),
                                     "build it first: cybelectl build RECIPE -o " +
                                         shell_quote(input.image_file.native()))));
    }
    return {};
}

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
    CYBELE_TRY(Way way, read_way(login));
    if (way.kind != Way::Kind::kSlurmrestd && way.kind != Way::Kind::kRimrock) {
        return fail(ErrorCode::kUsage,
                    "--token-command is for REST services",
                    "the Site reaches its scheduler by commands or ssh, which take no token",
                    "drop it, or name a Site with `through: {slurmrestd: URL}`");
    }
    way.token_command = request.token_command;
    return text_of(way);
}

Result<ReadyJob> render(JobInput input, const SubmitRequest& request) {
    CYBELE_TRY(schedulers::RenderedScript script, schedulers::render_script(input.render_input()));
    if (request.on_notes) {
        request.on_notes(script.notes);
    }
    return ReadyJob{std::move(input), std::move(script.text), {}};
}

void tell(const Brought& brought, const SubmitRequest& request) {
    if (brought.files == 0 || !request.on_word) {
        return;
    }
    const auto count = [](std::uint64_t number, const std::string& what) {
        return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
    };
    std::string line = "inputs: " + count(brought.files, "file") + ", " +
                       std::to_string(brought.sent) + " sent (" + count(brought.bytes, "byte");
    if (brought.resumed != 0) {
        line += ", after " + std::to_string(brought.resumed) + " that had arrived";
    }
    request.on_word(line + ")");
}

} // namespace

namespace {

/// A Site's command runs as the user: only from a file that nobody else can have written.
Result<void> check_command(const launchers::Site& site) {
    const auto opened = open_own(site.source.file(), {.group_above = true});
    if (opened) {
        return {};
    }
    const Fault& fault = opened.error().faults().front();
    return fail(ErrorCode::kEnvironment,
                "the `token-command` of " + printable(site.source.file()) + " is not run",
                fault.because.empty() ? fault.message : fault.because,
                "give the command yourself (--token-command), or copy the Site into a folder of "
                "your own");
}

} // namespace

Result<std::string> login_of(const JobInput& input, bool has_command) {
    if (!input.site || input.site->through == "commands") {
        return std::string();
    }
    const auto host = input.site->through_settings.find("ssh");
    if (input.site->through == "ssh" && host != input.site->through_settings.end()) {
        return host->second;
    }
    const auto setting = [&input](const std::string& name) {
        const auto found = input.site->through_settings.find(name);
        return found == input.site->through_settings.end() ? std::string() : found->second;
    };
    Way way;
    way.kind = input.site->through == "rimrock" ? Way::Kind::kRimrock : Way::Kind::kSlurmrestd;
    way.address = setting(input.site->through);
    way.host = setting("host");
    way.token_command = setting("token-command");
    if (!way.token_command.empty() && !has_command) {
        CYBELE_CHECK(check_command(*input.site));
    }
    CYBELE_CHECK(check_address(way));
    return text_of(way);
}

Result<ReadyJob> render_job(const SubmitRequest& request, const Environment& environment) {
    JobInput input = request.input;
    CYBELE_TRY(const std::string login, login_asked(input, request));
    CYBELE_CHECK(resolve_dependencies(input, environment, login));
    CYBELE_CHECK(pack(input, login, environment));
    return render(std::move(input), request);
}

Result<ReadyJob> ready_job(const SubmitRequest& request, const Environment& environment) {
    JobInput input = request.input;
    CYBELE_TRY(std::string login, login_asked(input, request));
    // A back end that there is not is told before anything is built or copied.
    CYBELE_CHECK(make_backend({input.dialect, login, {}, environment, {}, {}}));
    if (!login.empty() && !input.job.workdir.starts_with('/')) {
        return fail(
            Error(input.job.fault_at("workdir",
                                     "the Job names no folder of " + printable(shown(login)),
                                     "behind a login, a job runs in a folder of the other machine",
                                     "write `workdir: /PATH`, a folder that its nodes share")));
    }
    CYBELE_TRY(const Way way, read_way(login));
    if (way.kind == Way::Kind::kRimrock || way.kind == Way::Kind::kSlurmrestd) {
        CYBELE_CHECK(check_address(way));
    }
    if (login.starts_with('-')) {
        return fail(ErrorCode::kUsage,
                    "'" + printable(login) + "' is no host",
                    "ssh would read it as an option",
                    "write HOST, USER@HOST, or a name of ~/.ssh/config");
    }
    CYBELE_CHECK(resolve_dependencies(input, environment, login));
    if (input.dialect == "local") {
        CYBELE_CHECK(check_local(input.job, environment));
    }
    CYBELE_CHECK(check_places(input, environment, login, request.build.now));
    CYBELE_CHECK(provide_image(input, request, environment, login));
    CYBELE_CHECK(verify_image(input, environment, login, request.build.now));
    CYBELE_CHECK(keep_image(input, request));
    CYBELE_TRY(const Luggage luggage, pack(input, login, environment));
    CYBELE_TRY(ReadyJob ready, render(std::move(input), request));
    ready.login = login;
    CYBELE_TRY(const Brought brought, bring(luggage, ready.input.job, environment));
    tell(brought, request);
    return ready;
}

} // namespace cybele::jobs
