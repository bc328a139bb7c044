// SPDX-License-Identifier: Apache-2.0
#include "jobs/submit.hpp"

#include "cli/job_input.hpp"
#include "cli/session.hpp"

#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

struct Options : JobOptions {
    bool wait = false;
    bool dry_run = false;
};

Result<jobs::SubmitRequest> request_of(Session& session, const Options& options) {
    CYBELE_TRY(const project::Settings settings, session.settings());
    jobs::SubmitRequest request;
    request.job.file = options.file;
    request.job.site = options.site.empty() ? settings.get("site") : options.site;
    request.job.scheduler = options.scheduler;
    if (request.job.scheduler.empty() && request.job.site.empty()) {
        request.job.scheduler = settings.get("scheduler");
    }
    request.job.overrides = options.overrides;
    request.build.builder = settings.get("builder");
    request.build.mirror = settings.get("mirror");
    request.build.ca_file = settings.get("ca-file");
    request.build.sign_key = settings.get("sign-key");
    request.build.now = session.now();
    request.build.is_deterministic = session.is_deterministic();
    request.build.on_step = [&session](const std::string& line) { session.say(line); };
    request.wait = options.wait;
    request.dry_run = options.dry_run;
    request.program_folder = std::filesystem::path(session.program).parent_path();
    request.on_notes = [&session](const std::vector<Fault>& notes) { session.note(notes); };
    return request;
}

void tell_end(Session& session, const jobs::Submitted& submitted) {
    const jobs::ExitRecord& end = *submitted.end;
    if (session.is_json() || session.is_quiet) {
        return;
    }
    fmt::print(stderr,
               "job {} {}: exit code {}; output in {}\n",
               submitted.id,
               end.state,
               end.shell_code(),
               submitted.standard_output.native());
    if (end.state != "done") {
        fmt::print(stderr, "its errors are in {}\n", submitted.standard_error.native());
    }
}

Result<int> submit(Session& session, const Options& options) {
    CYBELE_TRY(jobs::SubmitRequest request, request_of(session, options));
    if (!session.is_json()) {
        request.on_id = [](const std::string& id) { Session::print(id + "\n"); };
    }
    CYBELE_TRY(const jobs::Submitted submitted, jobs::submit(request, session.environment));
    if (options.dry_run) {
        Session::print(submitted.script);
        return 0;
    }
    if (session.is_json()) {
        nlohmann::json document{{"format", 1},
                                {"id", submitted.id},
                                {"stdout", submitted.standard_output.native()},
                                {"stderr", submitted.standard_error.native()}};
        if (submitted.end) {
            document["state"] = submitted.end->state;
            document["code"] = submitted.end->shell_code();
        }
        Session::print(document.dump(2) + "\n");
    }
    if (!submitted.end) {
        return 0;
    }
    tell_end(session, submitted);
    return submitted.end->shell_code();
}

} // namespace

void install_submit(CLI::App& app, Session& session) {
    auto options = std::make_shared<Options>();
    CLI::App* verb = add_verb(app,
                              "submit",
                              "Build what is missing, check the Job and submit it.",
                              {"cybelectl submit demo -n 2",
                               "cybelectl submit job.yaml --scheduler local --wait",
                               "cybelectl submit job.yaml --dry-run > job.sh"});
    add_job_options(*verb, session, *options);
    add_overrides(*verb, *options);
    verb->add_flag("--wait", options->wait, "wait for the end; exit with the program's code");
    verb->add_flag("--dry-run", options->dry_run, "print the script only");
    verb->callback([&session, options] {
        session.refuses_with_255 = options->wait;
        session.action = [&session, options] { return submit(session, *options); };
    });
}

} // namespace cybele::cli
