// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/job/context.hpp"
#include "cli/job/outcome.hpp"
#include "cli/job/table.hpp"
#include "submission/journal/array.hpp"
#include "submission/submit/runs.hpp"
#include "submission/submit/selection.hpp"

#include <memory>

#include <poll.h>
#include <unistd.h>

namespace cybele::cli {
namespace {

struct ListOptions {
    std::vector<std::string> ids;
    bool has_elements = false;
    bool is_with_ended = false;
    bool is_cached = false;
    std::string state;
    std::string name;
    std::string since;
    double watch_seconds = 0;
};

/// The jobs of these ids, else those of the journal.
Result<std::vector<submission::Entry>> named_or_all(const submission::JobContext& context,
                                                    const ListOptions& options,
                                                    bool is_with_ended) {
    if (options.ids.empty()) {
        return context.journal().list(is_with_ended);
    }
    std::vector<submission::Entry> entries;
    for (const std::string& id : options.ids) {
        CYBELE_TRY(submission::Entry entry, submission::find_job(context.journal(), id));
        entries.push_back(std::move(entry));
    }
    return entries;
}

std::string text_of(const std::vector<submission::Entry>& entries, const ListOptions& options) {
    return options.has_elements ? table_of_elements(entries, Session::clock())
                                : table_of(entries, Session::clock());
}

/// The jobs as their elements, or as the rows of a packed sweep.
Result<std::vector<submission::Entry>> in_rows(const Session& session,
                                               submission::JobContext& context,
                                               const std::vector<submission::Entry>& entries,
                                               bool is_cached) {
    std::vector<submission::Entry> shown;
    for (const submission::Entry& entry : entries) {
        CYBELE_TRY(auto elements, in_elements(session, context, {entry}, is_cached));
        auto rows =
            entry.is_element ? std::vector<submission::Entry>() : submission::packed_rows(entry);
        auto& more = rows.empty() ? elements : rows;
        shown.insert(shown.end(), more.begin(), more.end());
    }
    return shown;
}

Result<std::vector<submission::Entry>>
chosen_jobs(const Session& session, submission::JobContext& context, const ListOptions& options) {
    CYBELE_TRY(
        const submission::Selection selection,
        submission::read_selection(options.state, options.name, options.since, Session::clock()));
    CYBELE_TRY(std::vector<submission::Entry> entries,
               named_or_all(context, options, options.is_with_ended || selection.reaches_ended()));
    if (!options.is_cached) {
        CYBELE_CHECK(refresh(session, context, entries));
    }
    if (options.has_elements) {
        CYBELE_TRY(entries, in_rows(session, context, entries, options.is_cached));
    }
    std::erase_if(entries,
                  [&selection](const submission::Entry& entry) { return !selection.holds(entry); });
    return entries;
}

/// The line below the list.
std::string last_line(const std::vector<submission::Entry>& entries, const ListOptions& options) {
    const bool is_choice = !options.ids.empty() || !options.state.empty() ||
                           !options.name.empty() || !options.since.empty();
    if (!entries.empty()) {
        return list_line(entries, options.has_elements);
    }
    if (options.is_with_ended) {
        return is_choice ? "no such jobs" : "no job was submitted";
    }
    return std::string(is_choice ? "no such jobs" : "no job is queued or running") +
           "; `cybelectl job list --all` lists ended ones too";
}

/// Redraws in place until a signal comes.
Result<int>
watch(const Session& session, submission::JobContext& context, const ListOptions& options) {
    if (::isatty(STDOUT_FILENO) == 0) {
        return fail(ErrorCode::kUsage,
                    problem("watch-needs-terminal",
                            "--watch redraws a terminal, and standard output is none"),
                    {},
                    "drop --watch, or wait with `cybelectl job wait ID`");
    }
    const SignalWatch signals;
    constexpr double kThousand = 1000.0;
    while (true) {
        CYBELE_TRY(const auto entries, chosen_jobs(session, context, options));
        Session::print("\033[H\033[2J" + text_of(entries, options) + last_line(entries, options) +
                       "\n");
        pollfd waits{signals.fd(), POLLIN, 0};
        if (::poll(&waits, 1, static_cast<int>(options.watch_seconds * kThousand)) > 0) {
            return 0;
        }
    }
}

Result<int> list_jobs(const Session& session, const ListOptions& options) {
    CYBELE_TRY(submission::JobContext context, open_context(session));
    if (options.watch_seconds > 0) {
        return watch(session, context, options);
    }
    CYBELE_TRY(auto chosen, chosen_jobs(session, context, options));
    // Never freed: the process ends, and freeing 10,000 entries cost a tenth of its time.
    static const std::vector<submission::Entry>* entries = nullptr;
    entries = new std::vector<submission::Entry>(std::move(chosen));
    Session::print(session.is_json() ? entries_json(*entries, false) : text_of(*entries, options));
    tell_outcome(session, last_line(*entries, options));
    return 0;
}

} // namespace

void install_job_list(CLI::App& job, Session& session) {
    auto options = std::make_shared<ListOptions>();
    CLI::App* verb = add_verb(job,
                              "list",
                              "List submitted jobs, one line per job.",
                              {"cybelectl job list",
                               "cybelectl job list --elements 1234",
                               "cybelectl job list --elements --state failed --since '1 d'",
                               "cybelectl job list --state failed,timeout --since '2 d'",
                               "cybelectl job list --watch 5"});
    verb->add_option("id", options->ids, "these jobs only, ended ones too")->type_name("ID");
    verb->add_flag(
        "--elements",
        options->has_elements,
        "one line per element of an array or row of a sweep: state, exit code, node, output");
    verb->add_flag("-a,--all", options->is_with_ended, "include ended jobs");
    verb->add_flag(
        "--cached", options->is_cached, "use the last known states; do not ask the scheduler");
    verb->add_option("--state", options->state, "jobs in these states")->type_name("STATE[,STATE]");
    verb->add_option("--name", options->name, "jobs with this name")->type_name("NAME");
    verb->add_option("--since", options->since, "jobs submitted since then, including ended ones")
        ->type_name("AGE|DATE");
    verb->add_option("--watch", options->watch_seconds, "repeat every SECONDS, on a terminal")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.5, 3600.0));
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] { return list_jobs(session, *options); };
    });
}

} // namespace cybele::cli
