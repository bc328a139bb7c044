// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/command_backend.hpp"

#include "submission/journal/array.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>

namespace cybele::submission {

namespace {
constexpr int kNoProgram = 127; ///< of a shell that did not find it: nothing was started
}

std::vector<Call> with_each(const Call& call, const std::vector<std::string>& ids) {
    std::vector<Call> calls(ids.size(), call);
    for (std::size_t at = 0; at < ids.size(); ++at) {
        calls[at].argv.push_back(ids[at]);
    }
    return calls;
}

std::string words_of(const Outcome& outcome) {
    if (outcome.timed_out) {
        return "no answer within the time limit";
    }
    const std::string_view said = text::trimmed(outcome.errors);
    std::string words;
    std::string_view last;
    for (const std::string_view line :
         text::split(said.empty() ? text::trimmed(outcome.output) : said, '\n')) {
        if (const std::string_view text = text::trimmed(line); !text.empty() && text != last) {
            words.append(words.empty() ? "" : "; ").append(text);
            last = text;
        }
    }
    if (words.empty()) {
        words = "it ended with " + std::to_string(outcome.shell_code()) + " and said nothing";
    }
    return words;
}

namespace {

std::vector<std::string> ids_of(const std::vector<JobRef>& jobs) {
    std::vector<std::string> ids;
    ids.reserve(jobs.size());
    for (const JobRef& job : jobs) {
        ids.push_back(job.id);
    }
    return ids;
}

/// Where the script, or an element of an array, writes the id that it runs under.
std::vector<Reading> places_of_id(const JobRef& job) {
    constexpr std::size_t kMostElements = 64;
    constexpr std::uint64_t kMostBytes = 256;
    if (job.array.empty()) {
        return {{job.record + "/started/id", 0, kMostBytes}};
    }
    std::vector<std::uint32_t> indices = array_indices(job.array);
    indices.resize(std::min(indices.size(), kMostElements));
    std::vector<Reading> places;
    places.reserve(indices.size());
    for (const std::uint32_t index : indices) {
        places.push_back({job.record + "/" + std::to_string(index) + "/started/id", 0, kMostBytes});
    }
    return places;
}

/// The id of the job, where that of an element was seen: `12` of `12_3`, `12[].server` of
/// `12[3].server`.
std::string job_id(const std::string& id) {
    const bool is_of_slurm = id.find('.') == std::string::npos;
    return id.find('[') != std::string::npos || is_of_slurm ? array_id(id) : id;
}

/// Of a submission that did not reach the scheduler; empty: nothing better is known than to repeat
/// it.
std::string help_after(const Fault& fault, const Submission& submission) {
    if (!submission.files.empty()) {
        return fault.help; // of the connection
    }
    return fault.id == "program-missing" ? "log in where its commands are, or run it on this "
                                           "machine: `--scheduler local`"
                                         : "";
}

class CommandBackend : public Backend {
public:
    CommandBackend(std::unique_ptr<Commands> commands, std::unique_ptr<Host> host)
        : commands_(std::move(commands)), host_(std::move(host)) {}

    Receipt submit(const Submission& submission) override {
        Call call = commands_->submission(submission);
        call.directory = submission.folder;
        call.set["CYBELE_JOB"] = submission.uuid;
        call.set["CYBELE_JOB_DIR"] = submission.record.native();
        if (!submission.search_path.empty()) {
            call.set["PATH"] = submission.search_path;
        }
        call.unset.insert(call.unset.end(), submission.unset.begin(), submission.unset.end());
        call.files = submission.files;
        const auto answers = host_->exchange({call}, {});
        if (!answers) {
            // What a broken connection did not tell is not known.
            const Fault& fault = answers.error().faults().front();
            return {answers.error().code() == ErrorCode::kEnvironment ? Receipt::Kind::kUnreachable
                                                                      : Receipt::Kind::kUnclear,
                    {},
                    fault.message + ": " + fault.because,
                    help_after(fault, submission)};
        }
        const Outcome& outcome = answers->outcomes.front();
        if (outcome.timed_out || outcome.signal != 0) {
            return {Receipt::Kind::kUnclear, {}, words_of(outcome)};
        }
        if (outcome.code == kNoProgram && outcome.output.empty()) {
            return {Receipt::Kind::kUnreachable,
                    {},
                    words_of(outcome),
                    "set PATH in ~/.profile of that login, or ask the site where the command is"};
        }
        return commands_->receipt(outcome);
    }

    QueryResult look(const std::vector<JobRef>& jobs, const std::vector<Reading>& files) override {
        return query_result(commands_->query(ids_of(jobs)), files);
    }

    QueryResult inquire(const std::vector<JobRef>& jobs) override {
        QueryResult query_result;
        std::vector<const JobRef*> with_words;
        std::vector<Reading> words;
        for (const JobRef& job : jobs) {
            const std::string file = job.folder.empty() ? "" : commands_->words_file(job);
            if (!file.empty()) {
                with_words.push_back(&job);
                words.push_back({job.folder + "/" + file});
            }
        }
        auto answers = ask(commands_->inquiry(ids_of(jobs)), words);
        if (!answers) {
            query_result.failure = std::move(answers).error();
            return query_result;
        }
        query_result.seen = commands_->findings(answers->outcomes);
        for (std::size_t at = 0; at < with_words.size(); ++at) {
            add_words(*with_words[at], answers->files[at].bytes, query_result.seen);
        }
        return query_result;
    }

    Result<std::optional<std::string>> find(const JobRef& job) override {
        // The script writes the id that it runs under: so is found what the queue does not show.
        const QueryResult all = query_result({commands_->search()}, places_of_id(job));
        if (all.failure) {
            return fail(*all.failure);
        }
        for (const JobStatus& seen : all.seen) {
            if (seen.uuid == job.uuid) {
                return std::optional(job_id(seen.id));
            }
        }
        for (const ReadBack& file : all.files) {
            if (const std::string id(text::trimmed(file.bytes)); !id.empty()) {
                return std::optional(job_id(id));
            }
        }
        return std::nullopt;
    }

    Result<void> cancel(const std::vector<JobRef>& jobs) override {
        CYBELE_TRY(const Answers answers,
                   host_->exchange(commands_->cancellation(ids_of(jobs)), {})
                       .map_error(during("asking the scheduler to cancel")));
        for (const Outcome& outcome : answers.outcomes) {
            if (!outcome.ok() && !commands_->is_over_already(outcome)) {
                return fail(
                    ErrorCode::kExecution,
                    problem("cancel-refused", "the scheduler did not accept the request to cancel"),
                    printable(words_of(outcome)),
                    "try again: `cybelectl job cancel ID`");
            }
        }
        return {};
    }

    QueryResult look_at_all() override {
        QueryResult all;
        const auto answers = ask(commands_->query_all(), {});
        if (!answers) {
            all.failure = answers.error();
            return all;
        }
        auto seen = commands_->all_statuses(answers->outcomes);
        if (seen) {
            all.seen = std::move(*seen);
        } else {
            all.failure = std::move(seen).error();
        }
        return all;
    }

    /// What each call says is not looked at: one unknown job makes it fail for all.
    Result<void> release(const std::vector<std::string>& ids) override {
        if (!ids.empty()) {
            CYBELE_CHECK(host_->exchange(commands_->releasing(ids), {})
                             .map_error(during("asking the scheduler to release held jobs")));
        }
        return {};
    }

    Result<void> hold(const std::vector<JobRef>& jobs, bool is_held) override {
        CYBELE_TRY(const Answers answers,
                   host_->exchange(commands_->holding(ids_of(jobs), is_held), {})
                       .map_error(during("asking the scheduler to hold or release")));
        for (const Outcome& outcome : answers.outcomes) {
            if (!outcome.ok()) {
                return fail(ErrorCode::kExecution,
                            problem("hold-refused",
                                    std::string("the scheduler did not accept the request to ") +
                                        (is_held ? "hold" : "release")),
                            printable(words_of(outcome)),
                            "see how the job is: `cybelectl job status ID`");
            }
        }
        return {};
    }

    Result<std::vector<AccountedUse>> spent(const std::vector<JobRef>& jobs) override {
        const auto call = commands_->accounts(ids_of(jobs));
        if (!call) {
            return std::vector<AccountedUse>();
        }
        CYBELE_TRY(
            const Answers answers,
            host_->exchange({*call}, {}).map_error(during("asking the scheduler what jobs used")));
        return commands_->spent(answers.outcomes.front());
    }

    Result<std::vector<ReadBack>> read(const std::vector<Reading>& files) override {
        CYBELE_TRY(
            Answers answers,
            host_->exchange({}, files).map_error(during("reading files where the job runs")));
        return std::move(answers.files);
    }

private:
    /// Of a job that the scheduler no longer knows, its last words count.
    void
    add_words(const JobRef& job, const std::string& words, std::vector<JobStatus>& seen) const {
        const bool is_known = std::ranges::any_of(
            seen, [&job](const JobStatus& one) { return one.id == job.id && !one.is_unknown; });
        std::optional<JobStatus> end = is_known ? std::nullopt : commands_->end_in_words(words);
        if (end) {
            end->id = job.id;
            seen.insert(seen.begin(), std::move(*end));
        }
    }

    Result<Answers> ask(const std::vector<Call>& calls, const std::vector<Reading>& files) {
        CYBELE_TRY(Answers answers,
                   host_->exchange(calls, files)
                       .map_error(during("asking the scheduler for the state of jobs")));
        const std::vector<Call> others = commands_->instead_of(calls, answers.outcomes);
        if (others.empty()) {
            return answers;
        }
        return host_->exchange(others, files); // a record must not be older than what is listed
    }

    QueryResult query_result(const std::vector<Call>& calls, const std::vector<Reading>& files) {
        QueryResult query_result;
        auto answers = ask(calls, files);
        if (!answers) {
            query_result.failure = std::move(answers).error();
            query_result.files.resize(files.size());
            return query_result;
        }
        query_result.files = std::move(answers->files);
        auto seen = commands_->statuses(answers->outcomes);
        if (seen) {
            query_result.seen = std::move(*seen);
        } else {
            query_result.failure = std::move(seen).error();
        }
        return query_result;
    }

    std::unique_ptr<Commands> commands_;
    std::unique_ptr<Host> host_;
};

} // namespace

std::unique_ptr<Backend> command_backend(std::unique_ptr<Commands> commands,
                                         std::unique_ptr<Host> host) {
    return std::make_unique<CommandBackend>(std::move(commands), std::move(host));
}

} // namespace cybele::submission
