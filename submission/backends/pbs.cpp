// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/pbs.hpp"

#include "submission/backends/script_words.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace cybele::submission {
namespace {

constexpr int kUnknownJob = 153; ///< of both products: error number 15001, modulo 256
constexpr int kFinished = 35;    ///< OpenPBS: the job is in the history only

Call pbs_question(std::vector<std::string> argv) {
    Call call;
    call.argv = std::move(argv);
    call.set = {{"LC_ALL", "C"}};
    return call;
}

/// Whether the last job's text came to its end; Slurm's wrapper, which indents by a tab, has no
/// such line.
bool is_whole_listing(std::string_view text) {
    const std::size_t last = text.rfind("Job Id:");
    return last == std::string_view::npos || text.substr(last).starts_with("Job Id:\t") ||
           text.ends_with("\n\n");
}

/// `12`, `12.server`, `12[].server`, `12[4].server`.
bool is_id(std::string_view text) {
    const std::size_t digits = text.find_first_not_of("0123456789");
    if (text.empty() || digits == 0) {
        return false;
    }
    const std::string_view rest = digits == std::string_view::npos ? "" : text.substr(digits);
    return rest.empty() || rest.front() == '.' || rest.front() == '[';
}

} // namespace

Call Pbs::submission(const Submission& submission) const {
    Call call;
    // By value: OpenPBS refuses a name that is not set. A UUID and a plain path need no quoting.
    std::string variables = "CYBELE_JOB=" + submission.uuid;
    if (!submission.own) {
        call.argv = qsub(*submission.job);
        const ScriptWords words = words_of_script(submission.script_text, reader());
        const auto rerun = std::ranges::find(call.argv, "-r");
        if (words.says_rerun && rerun != call.argv.end()) { // the script's own counts
            call.argv.erase(rerun, rerun + 2);
        }
        variables += words.variables.empty() ? "" : "," + words.variables;
    } else {
        call.argv = {"qsub"};
        // Given on the command line, `-v` replaces that of the script.
        variables += submission.own->variables.empty() ? "" : "," + submission.own->variables;
        const std::string arguments = text::joined(submission.own->arguments, " ");
        if (!arguments.empty()) {
            call.argv.insert(call.argv.end(), {"-F", arguments});
        }
    }
    if (submission.is_held) {
        call.argv.emplace_back("-h");
    }
    call.argv.insert(call.argv.end(), {"-v", variables, submission.script.native()});
    return call;
}

Receipt Pbs::receipt(const Outcome& outcome) const {
    const std::string_view said = text::trimmed(outcome.output);
    const std::size_t line = said.rfind('\n');
    const std::string_view id =
        line == std::string_view::npos ? said : said.substr(line + 1); // below a site's greeting
    if (outcome.ok() && is_id(id)) {
        return {
            Receipt::Kind::kAccepted, std::string(id), std::string(text::trimmed(outcome.errors))};
    }
    const std::string words = words_of(outcome);
    if (text::contains_any(words,
                           {"annot connect to server",
                            "onnection refused",
                            "(connect failure)",
                            "Could not establish a configuration source"})) {
        return {Receipt::Kind::kUnreachable, {}, words};
    }
    if (outcome.ok() || text::trimmed(outcome.errors).empty() ||
        text::contains_any(words,
                           {"timed out",
                            "End of File",
                            "Communication failure",
                            "Protocol",
                            "Connection reset",
                            "errno=111",
                            "15012"})) {
        return {Receipt::Kind::kUnclear, {}, words};
    }
    return {Receipt::Kind::kRefused, {}, words};
}

std::vector<Call> Pbs::query(const std::vector<std::string>& ids) const {
    std::vector<std::string> argv = qstat();
    const bool has_array = std::ranges::any_of(
        ids, [](const std::string& id) { return id.find("[]") != std::string::npos; });
    if (has_array) {
        argv.emplace_back("-t"); // its elements
    }
    argv.insert(argv.end(), ids.begin(), ids.end());
    return {pbs_question(std::move(argv))};
}

Result<std::vector<JobStatus>> Pbs::statuses(const std::vector<Outcome>& outcomes) const {
    const Outcome& outcome = outcomes.front();
    // Jobs that it does not know are told by these codes; those that it knows are listed all the
    // same.
    const bool is_answer =
        outcome.signal == 0 && !outcome.timed_out &&
        (outcome.code == 0 || outcome.code == kUnknownJob || outcome.code == kFinished);
    if (!is_answer) {
        return fail(ErrorCode::kEnvironment,
                    problem("batch-server-silent", "the batch server does not answer"),
                    printable(words_of(outcome)),
                    "the job continues; ask again with `cybelectl job status`");
    }
    if (!is_whole_listing(outcome.output)) {
        return fail(ErrorCode::kEnvironment,
                    problem("batch-server-answer-cut", "the batch server's answer is cut"),
                    "a blank line ends each job that qstat shows, and the last has none",
                    "the job continues; ask again with `cybelectl job status`");
    }
    const std::vector<PbsJob> listed = read_qstat_text(outcome.output);
    std::vector<JobStatus> found;
    found.reserve(listed.size());
    for (const PbsJob& job : listed) {
        found.push_back(status_of(job));
    }
    for (std::string& id : unknown_ids(outcome.errors)) {
        JobStatus unknown;
        unknown.id = std::move(id);
        unknown.is_unknown = true;
        found.push_back(std::move(unknown));
    }
    return found;
}

std::vector<Call> Pbs::inquiry(const std::vector<std::string>& ids) const {
    return query(ids);
}

std::vector<JobStatus> Pbs::findings(const std::vector<Outcome>& outcomes) const {
    return statuses(outcomes).value_or(std::vector<JobStatus>{});
}

Call Pbs::search() const {
    return query({}).front();
}

std::vector<Call> Pbs::cancellation(const std::vector<std::string>& ids) const {
    return with_each(pbs_question({"qdel"}), ids);
}

std::vector<Call> Pbs::holding(const std::vector<std::string>& ids, bool is_held) const {
    return with_each(pbs_question({is_held ? "qhold" : "qrls"}), ids);
}

std::vector<Call> Pbs::releasing(const std::vector<std::string>& ids) const {
    constexpr std::size_t kMostIds = 100;
    std::vector<Call> calls;
    for (std::size_t at = 0; at < ids.size(); ++at) {
        if (at % kMostIds == 0) {
            calls.push_back(pbs_question({"qrls"}));
        }
        calls.back().argv.push_back(ids[at]);
    }
    return calls;
}

bool Pbs::is_over_already(const Outcome& outcome) const {
    return outcome.code == kUnknownJob || outcome.code == kFinished ||
           text::contains_any(
               outcome.errors,
               {"COMPLETE", "Job has finished", "Unknown Job", "nonexistent", "Invalid job id"});
}

/// Standard output and standard error are one file: the head of each script asks for that.
std::string Pbs::words_file(const JobRef& job) const {
    std::string number = job.id.substr(0, job.id.find('.'));
    const std::size_t bracket = number.find('[');
    if (bracket != std::string::npos) {
        number = number.substr(0, bracket) + before_index() +
                 number.substr(bracket + 1, number.find(']') - bracket - 1);
    }
    return job.name.empty() ? std::string() : job.name + ".o" + number;
}

std::optional<JobStatus> Pbs::end_in_words(std::string_view words) const {
    constexpr std::string_view kKilled = "=>> PBS: job killed: ";
    constexpr int kKill = 9;
    const std::size_t at = words.rfind(kKilled);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view why = words.substr(at + kKilled.size());
    JobStatus end;
    end.reason = why.substr(0, why.find('\n'));
    end.state = why.starts_with("walltime") ? State::kTimeout : State::kFailed;
    end.signal = end.state == State::kFailed ? kKill : 0;
    return end;
}

} // namespace cybele::submission
