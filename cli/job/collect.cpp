// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/collect.hpp"

#include "cli/common/cli11.hpp"
#include "cli/job/context.hpp"
#include "cli/job/outcome.hpp"
#include "cli/job/table.hpp"
#include "submission/journal/array.hpp"

#include <memory>

namespace cybele::cli {
namespace {

struct CollectOptions {
    std::string name;
    std::string to;
    std::vector<std::string> patterns;
};

Result<int> collect_results(Session& session, const CollectOptions& options) {
    CYBELE_TRY(submission::JobContext context, open_context(session));
    CYBELE_TRY(submission::Entry entry, submission::find_job(context.journal(), options.name));
    std::vector<submission::Entry> entries{entry};
    CYBELE_TRY(const submission::Round round, submission::ask(context, entries));
    entry = entries.front();
    if (entry.ended == 0) {
        return fail(ErrorCode::kInput,
                    problem("job-not-ended",
                            "job " + entry.id + " has not ended: it is " +
                                std::string(submission::state_text(entry.state))),
                    round.failure ? round.failure->faults().front().because
                                  : "its results may still change",
                    "wait for it: cybelectl job wait " + entry.id);
    }
    submission::CollectRequest request{
        entry, {}, options.patterns, options.to, session.environment};
    if (!entry.array.empty() && !entry.is_element) {
        CYBELE_TRY(request.elements, in_elements(session, context, {entry}));
    }
    session.doing("copying the results of job " + entry.id);
    CYBELE_TRY(const submission::Collected collected,
               submission::collect(request).map_error(during("collecting the results of jobs")));
    session.note(collected.notes);
    if (session.is_json()) {
        Session::print(collected.record);
        return 0;
    }
    for (const submission::ResultFile& file : collected.files) {
        Session::print(file.name + "\n");
    }
    tell_outcome(session, collect_line(entry, collected));
    return 0;
}

} // namespace

void install_job_collect(CLI::App& job, Session& session) {
    auto options = std::make_shared<CollectOptions>();
    CLI::App* verb =
        add_verb(job,
                 "collect",
                 "Copy a job's results, with a record from which it can be run again.",
                 {"cybelectl job collect 1234",
                  "cybelectl job collect 1234_7",
                  "cybelectl job collect 1234 --to results-2 --results 'tiles/*.csv'"});
    verb->add_option("id", options->name, kIdHelp)->required()->type_name("ID");
    verb->add_option("--to",
                     options->to,
                     "folder for the results (default: the Job's, next to its document)")
        ->type_name("DIR");
    verb->add_option("--results", options->patterns, "patterns of files (default: the Job's)")
        ->type_name("PATTERN");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] { return collect_results(session, *options); };
    });
}

} // namespace cybele::cli
