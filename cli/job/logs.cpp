// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/job/context.hpp"
#include "submission/follow/begun.hpp"
#include "submission/journal/array.hpp"
#include "submission/submit/runs.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <filesystem>
#include <memory>

namespace cybele::cli {
namespace {

struct LogsOptions {
    std::string name;
    bool follow = false;
    bool is_errors = false;
    FollowChoice choice;
};

/// Whether what lies there is this job's: before it begins, it may be another one's.
Result<bool> is_its_own(submission::JobContext& context,
                        submission::Backend& backend,
                        submission::Entry& entry) {
    CYBELE_TRY(const auto marks, backend.read({submission::mark_of_begin(entry)}));
    if (marks.front().exists) {
        return true;
    }
    std::vector<submission::Entry> entries{entry};
    CYBELE_TRY(const submission::Round round, submission::ask(context, entries));
    entry = entries.front();
    return submission::has_begun(entry, false, submission::kSilentBegin);
}

Result<int> print_file(submission::Backend& backend,
                       const submission::Entry& entry,
                       const std::string& file,
                       bool is_own = true) {
    constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;
    std::uint64_t offset = 0;
    while (true) {
        CYBELE_TRY(const auto pieces, backend.read({{file, offset, kPiece}}));
        const submission::ReadBack& back = pieces.front();
        if ((!back.exists || !is_own) && entry.ended != 0) {
            return fail(
                ErrorCode::kInput,
                problem("job-output-missing",
                        "the output of job " + entry.id + " is not there: " + printable(file)),
                "it was removed, or the job never started",
                "see `cybelectl job status --details " + entry.id + "`");
        }
        if (back.bytes.empty()) {
            return 0;
        }
        Session::print(back.bytes);
        offset += back.bytes.size();
    }
}

Result<int> print_logs(const Session& session,
                       submission::JobContext& context,
                       submission::Entry entry,
                       bool is_errors) {
    CYBELE_TRY(submission::Backend * backend, context.backend(entry));
    CYBELE_TRY(const bool is_own, is_its_own(context, *backend, entry));
    const std::string& file = is_errors ? entry.standard_error : entry.standard_output;
    if (file == "/dev/null") {
        tell(session, "cybelectl: job " + entry.id + " writes to /dev/null, which keeps nothing");
        return 0;
    }
    if (!is_own && entry.ended == 0) {
        tell(session, "cybelectl: job " + entry.id + " has not begun, and has written nothing");
        return 0;
    }
    return print_file(*backend, entry, file, is_own);
}

/// What a job or an element has written, and goes on to write until its end.
Result<int> follow_logs(Session& session,
                        submission::JobContext& context,
                        const submission::Entry& entry,
                        const LogsOptions& options) {
    const SignalWatch signals;
    submission::FollowOptions how = follow_options(session, options.choice);
    how.has_logs = true;
    if (options.is_errors && entry.standard_error != entry.standard_output) {
        how.on_output = [](submission::Stream stream, const std::string& text) {
            if (stream == submission::Stream::kErrors) {
                Session::print(text);
            }
        };
    }
    CYBELE_TRY(const submission::Followed followed,
               follow_jobs(session, context, {entry}, how, signals));
    constexpr int kSignals = 128;
    return followed.left_by == 0 ? 0 : kSignals + followed.left_by;
}

/// Of an element of an array.
Result<int> print_element(Session& session,
                          submission::JobContext& context,
                          const submission::Entry& element,
                          const LogsOptions& options) {
    const std::string& file = options.is_errors ? element.standard_error : element.standard_output;
    if (file.empty()) {
        return fail(
            ErrorCode::kInput,
            problem("element-output-unnamed",
                    "the output of " + element.id + " has a name that only its scheduler knows"),
            "the Job's `output` has no `%a` for the index",
            "write one: `output: {stdout: '%x-%j-%a.out'}`");
    }
    if (options.follow && element.ended == 0) {
        return follow_logs(session, context, element, options);
    }
    CYBELE_TRY(submission::Backend * backend, context.backend(element));
    submission::Entry asked = element;
    CYBELE_TRY(const bool is_own, is_its_own(context, *backend, asked));
    if (!is_own) {
        tell(session, "cybelectl: " + element.id + " has not begun, and has written nothing");
        return 0;
    }
    return print_file(*backend, element, file);
}

/// Of a row of a packed sweep, whose record names its files.
Result<int> print_row(Session& session,
                      submission::JobContext& context,
                      const submission::Entry& row,
                      const LogsOptions& options) {
    const std::string& file = options.is_errors ? row.standard_error : row.standard_output;
    if (file.empty()) {
        tell(session, "cybelectl: " + row.id + " has not begun, and has written nothing");
        return 0;
    }
    if (options.follow && row.ended == 0) {
        return fail(ErrorCode::kUsage,
                    problem("row-not-followed", "the output of a row is not followed"),
                    "rows are processes of one job, whose scheduler does not know them",
                    "follow the file itself: tail -f " + shell_quote(file));
    }
    CYBELE_TRY(submission::Backend * backend, context.backend(row));
    return print_file(*backend, row, file);
}

Result<int> logs(Session& session, const LogsOptions& options) {
    CYBELE_TRY(submission::JobContext context, open_context(session));
    CYBELE_TRY(const auto row, submission::find_sweep_row(context.journal(), options.name));
    if (row) {
        return print_row(session, context, *row, options);
    }
    CYBELE_TRY(const auto element, submission::find_element(context.journal(), options.name));
    if (element) {
        return print_element(session, context, *element, options);
    }
    CYBELE_TRY(submission::Entry entry, context.journal().find(options.name));
    if (!entry.array.empty() && !options.follow) {
        return fail(
            ErrorCode::kInput,
            problem("job-is-array",
                    "job " + entry.id +
                        " is an array, whose elements write into files of their own"),
            "its indices are " + entry.array,
            "name one: cybelectl job logs " +
                submission::element_id(entry.id, submission::array_indices(entry.array).front()));
    }
    if (entry.id.empty()) {
        return fail(ErrorCode::kInput,
                    problem("job-without-output",
                            "job " + entry.uuid + " has written nothing: it has no id yet"),
                    "its submission was not acknowledged",
                    "reattach to it with `cybelectl job attach " + entry.uuid + "`");
    }
    if (!options.follow || entry.ended != 0) {
        return print_logs(session, context, entry, options.is_errors);
    }
    return follow_logs(session, context, entry, options);
}

} // namespace

void install_job_logs(CLI::App& job, Session& session) {
    auto options = std::make_shared<LogsOptions>();
    CLI::App* verb = add_verb(job,
                              "logs",
                              "Show the output of a job.",
                              {"cybelectl job logs 1234",
                               "cybelectl job logs 1234 --stderr",
                               "cybelectl job logs 1234_7",
                               "cybelectl job logs '68[2].head'",
                               "cybelectl job logs 1234 --follow",
                               "cybelectl job logs 1234_7 --follow"});
    verb->add_option("id", options->name, kIdHelp)->required()->type_name("ID");
    verb->add_flag("-f,--follow", options->follow, "continue until the job ends");
    verb->add_flag(
        "--stderr", options->is_errors, "show standard error instead of standard output");
    add_follow_options(*verb, options->choice);
    verb->callback([&session, options] {
        session.action = [&session, options] { return logs(session, *options); };
    });
}

} // namespace cybele::cli
