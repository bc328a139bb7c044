// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/command_backend.hpp"
#include "submission/backends/script_words.hpp"
#include "submission/backends/slurm_accounting.hpp"
#include "submission/backends/slurm_queue.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace cybele::submission {
namespace {

constexpr std::string_view kMark = "cybelectl:"; ///< in front of the UUID in a job's comment

/// A user's own settings of these would change the columns and the rows of an answer.
const std::vector<std::string>& settings_of_queries() {
    static const std::vector<std::string> names{
        "SQUEUE_ACCOUNT",  "SQUEUE_ALL",        "SQUEUE_ARRAY",     "SQUEUE_ARRAY_UNIQUE",
        "SQUEUE_CLUSTERS", "SQUEUE_FEDERATION", "SQUEUE_FORMAT",    "SQUEUE_FORMAT2",
        "SQUEUE_LICENSES", "SQUEUE_LOCAL",      "SQUEUE_NAMES",     "SQUEUE_PARTITION",
        "SQUEUE_PRIORITY", "SQUEUE_QOS",        "SQUEUE_SIBLING",   "SQUEUE_SORT",
        "SQUEUE_STATES",   "SQUEUE_USERS",      "SACCT_FEDERATION", "SACCT_LOCAL"};
    return names;
}

Call slurm_question(std::vector<std::string> argv) {
    Call call;
    call.argv = std::move(argv);
    call.set = {{"LC_ALL", "C"}, {"SLURM_TIME_FORMAT", "%s"}};
    call.unset = settings_of_queries();
    return call;
}

/// squeue's line: id, id of the array, state, reason, start (estimated while it waits), nodes,
/// comment (which may hold anything, so it is the last).
constexpr std::string_view kColumns = "%i|%F|%T|%r|%S|%N|%k";
constexpr std::size_t kColumnCount = 7;

/// The UUID in a job's comment, which one of the script may follow.
std::string uuid_in(std::string_view comment) {
    if (!comment.starts_with(kMark)) {
        return {};
    }
    const std::string_view text = comment.substr(kMark.size());
    return std::string(text.substr(0, text.find(' ')));
}

std::optional<JobStatus> read_line(std::string_view line) {
    const auto columns = text::split(line, '|');
    if (columns.size() < kColumnCount) {
        return std::nullopt;
    }
    JobStatus seen;
    seen.id = columns[0];
    seen.native = columns[2];
    seen.reason = columns[3] == "None" ? "" : std::string(columns[3]);
    // A word that is not known belongs to a job that is listed, so it lives.
    seen.state = state_of_slurm(columns[2]).value_or(State::kRunning);
    if (seen.state == State::kPending) {
        if (seen.reason.starts_with("JobHeld")) {
            seen.state = State::kHeld;
        }
        if (text::number(columns[4])) {
            seen.start = columns[4];
        }
    } else {
        seen.began = text::number(columns[4]).value_or(0);
    }
    seen.node = columns[5];
    seen.uuid = uuid_in(columns[6]);
    return seen;
}

/// `3:0`, the code and the signal.
void read_exit_code(std::string_view text, JobStatus& into) {
    const auto parts = text::split(text, ':');
    if (parts.size() != 2 || !is_over(into.state)) {
        return;
    }
    const auto code = text::number(parts[0]);
    const auto signal = text::number(parts[1]);
    if (!code || !signal) {
        return;
    }
    into.signal = *signal;
    // Killed from outside, a job has no code of its own: Slurm shows 0.
    if (*signal == 0 && (into.state == State::kDone || into.state == State::kFailed)) {
        into.code = *code;
    }
}

std::string_view field_of(std::string_view line, std::string_view name) {
    const std::string key = " " + std::string(name) + "=";
    const std::size_t at = line.find(key);
    if (at == std::string_view::npos) {
        return {};
    }
    const std::string_view rest = line.substr(at + key.size());
    return rest.substr(0, rest.find_first_of(" \n"));
}

/// Whether a value that users choose (a name, a comment, a path) has the form of a field that is
/// read: `--job-name='x JobState=COMPLETED'`. scontrol quotes nothing, so which of the
/// two is Slurm's cannot be known.
bool is_ambiguous(std::string_view line) {
    constexpr std::string_view kRead[] = {" ArrayJobId=",
                                          " ArrayTaskId=",
                                          " Comment=",
                                          " ExitCode=",
                                          " JobState=",
                                          " NodeList=",
                                          " Reason=",
                                          " Restarts=",
                                          " StartTime=",
                                          " UserId="};
    return std::ranges::any_of(
        kRead, [&](std::string_view key) { return line.find(key) != line.rfind(key); });
}

/// A line of `scontrol -o show job`; one that can be read in two ways is not read.
std::optional<JobStatus> read_shown(std::string_view line) {
    const auto state = state_of_slurm(field_of(line, "JobState"));
    if (!line.starts_with("JobId=") || !state || is_ambiguous(line)) {
        return std::nullopt;
    }
    JobStatus seen;
    seen.id = line.substr(6, line.find(' ') - 6);
    const std::string_view before_name = line.substr(0, line.find(" JobName="));
    const std::string_view array = field_of(before_name, "ArrayJobId");
    const std::string_view element = field_of(before_name, "ArrayTaskId");
    if (!array.empty() && text::number(element)) {
        seen.id = std::string(array) + "_" + std::string(element);
    }
    seen.native = field_of(line, "JobState");
    seen.state = *state;
    const std::string_view reason = field_of(line, "Reason");
    seen.reason = reason == "None" ? "" : std::string(reason);
    const std::string_view node = field_of(line, "NodeList");
    seen.node = node == "(null)" ? "" : std::string(node);
    const std::string_view user = field_of(line, "UserId"); // alice(1000)
    seen.owner = user.substr(0, user.find('('));
    seen.uuid = uuid_in(field_of(line, "Comment"));
    seen.restarts = text::number(field_of(line, "Restarts")).value_or(0);
    const bool has_begun = seen.state != State::kPending && seen.state != State::kHeld;
    seen.began = has_begun ? text::number(field_of(line, "StartTime")).value_or(0) : 0;
    read_exit_code(field_of(line, "ExitCode"), seen);
    return seen;
}

/// A line of sacct: id, state, exit code, reason, owner, start, and the comment, which may hold
/// anything and which not every site stores.
constexpr std::string_view kAccountedColumns = "JobID,State,ExitCode,Reason,User,Start,Comment";
constexpr std::size_t kAccountedCount = 7;

std::optional<JobStatus> read_accounted(std::string_view line) {
    const auto columns = text::split(line, '|');
    if (columns.size() < kAccountedCount) {
        return std::nullopt;
    }
    const auto state = state_of_slurm(columns[1]);
    if (!state) {
        return std::nullopt;
    }
    JobStatus seen;
    seen.id = columns[0];
    seen.native = columns[1];
    seen.state = *state;
    seen.reason = columns[3] == "None" ? "" : std::string(columns[3]);
    seen.owner = columns[4];
    seen.began = text::number(columns[5]).value_or(0);
    seen.uuid = uuid_in(columns[6]);
    read_exit_code(columns[2], seen);
    return seen;
}

class Slurm : public Commands {
public:
    [[nodiscard]] Call submission(const Submission& submission) const override {
        Call call;
        call.argv = {"sbatch",
                     "--parsable",
                     "--ignore-pbs",
                     "--comment=" + std::string(kMark) + submission.uuid};
        const ScriptWords words =
            words_of_script(submission.script_text, schedulers::Reader::kSlurm);
        if (!words.comment.empty()) { // the command line's replaces the script's
            call.argv.back() += " " + words.comment;
        }
        if (!submission.own &&
            !words.says_rerun) { // requeued by Slurm, a job would run twice under one id
            call.argv.emplace_back("--no-requeue");
        }
        if (submission.is_held) {
            call.argv.emplace_back("--hold");
        }
        call.argv.push_back(submission.script.native());
        if (submission.own) {
            const std::vector<std::string>& arguments = submission.own->arguments;
            call.argv.insert(call.argv.end(), arguments.begin(), arguments.end());
        }
        return call;
    }

    [[nodiscard]] Receipt receipt(const Outcome& outcome) const override {
        if (outcome.ok()) {
            const std::string_view said = text::trimmed(outcome.output);
            const std::string_view id = said.substr(0, said.find(';'));
            if (text::number(id)) {
                return {Receipt::Kind::kAccepted,
                        std::string(id),
                        std::string(text::trimmed(outcome.errors))};
            }
            return {Receipt::Kind::kUnclear, {}, words_of(outcome)};
        }
        const std::string words = words_of(outcome);
        if (text::contains_any(words,
                               {"(connect failure)",
                                "Unable to establish configuration source",
                                "Could not establish a configuration source",
                                "auth_g_create: REQUEST_SUBMIT_BATCH_JOB", // munge is not there, so
                                "auth_create: REQUEST_SUBMIT_BATCH_JOB"})) { // nothing was sent
            return {Receipt::Kind::kUnreachable, {}, words};
        }
        // The request may have arrived, and been done, although no answer came back, or none that
        // munge could read.
        if (!text::contains_any(words, {"sbatch: "}) || text::contains_any(words,
                                                                           {"timed out",
                                                                            "Zero Bytes",
                                                                            "Unexpected message",
                                                                            "Connection reset",
                                                                            "authentication error",
                                                                            "Unspecified error"})) {
            return {Receipt::Kind::kUnclear, {}, words};
        }
        return {Receipt::Kind::kRefused, {}, words};
    }

    [[nodiscard]] std::vector<Call> query(const std::vector<std::string>& /*ids*/) const override {
        // Not by id: with one id that is gone, squeue fails as it does when Slurm is down.
        return {slurm_question(
            {"squeue", "-h", "--me", "-t", "all", "-r", "-o", std::string(kColumns)})};
    }

    [[nodiscard]] Result<std::vector<JobStatus>>
    statuses(const std::vector<Outcome>& outcomes) const override {
        const Outcome& outcome = outcomes.front();
        if (!outcome.ok()) {
            return fail(ErrorCode::kEnvironment,
                        problem("slurm-silent", "Slurm does not answer"),
                        printable(words_of(outcome)),
                        "the job continues; ask again with `cybelectl job status`");
        }
        std::vector<JobStatus> found;
        for (const std::string_view line : text::split(outcome.output, '\n')) {
            if (auto seen = read_line(line)) {
                found.push_back(std::move(*seen));
            }
        }
        return found;
    }

    [[nodiscard]] std::vector<Call> inquiry(const std::vector<std::string>& ids) const override {
        std::set<std::string> jobs; // all elements of an array in one call
        for (const std::string& id : ids) {
            jobs.insert(id.substr(0, id.find('_')));
        }
        std::vector<Call> calls;
        std::string list;
        for (const std::string& id : jobs) {
            list += (list.empty() ? "" : ",") + id;
        }
        // scontrol takes one job, or shows all: many of them are never asked for one by one.
        constexpr std::size_t kFew = 4;
        if (jobs.size() > kFew) {
            calls.push_back(slurm_question({"scontrol", "-o", "show", "job"}));
        } else {
            for (const std::string& id : jobs) {
                calls.push_back(slurm_question({"scontrol", "-o", "show", "job", id}));
            }
        }
        calls.push_back(slurm_question(
            {"sacct", "-X", "-P", "-n", "-j", list, "-o", std::string(kAccountedColumns)}));
        return calls;
    }

    [[nodiscard]] std::vector<JobStatus>
    findings(const std::vector<Outcome>& outcomes) const override {
        std::vector<JobStatus> found;
        for (const Outcome& outcome : outcomes) {
            for (const std::string_view line : text::split(outcome.output, '\n')) {
                auto seen = &outcome == &outcomes.back() ? read_accounted(line) : read_shown(line);
                if (outcome.ok() && seen) {
                    found.push_back(std::move(*seen));
                }
            }
        }
        return found;
    }

    [[nodiscard]] std::optional<Call> accounts(const std::vector<std::string>& ids) const override {
        std::string list;
        for (const std::string& id : ids) {
            list += (list.empty() ? "" : ",") + id;
        }
        return slurm_question(
            {"sacct", "-P", "-n", "--noconvert", "-j", list, "-o", sacct_columns()});
    }

    [[nodiscard]] std::vector<AccountedUse> spent(const Outcome& outcome) const override {
        return outcome.ok() ? read_sacct(outcome.output) : std::vector<AccountedUse>();
    }

    [[nodiscard]] Call search() const override {
        return query({}).front();
    }

    [[nodiscard]] std::vector<Call> query_all() const override {
        return {
            slurm_question({"squeue", "-h", "--all", "-t", "all", "-O", squeue_columns_of_all()})};
    }

    [[nodiscard]] Result<std::vector<JobStatus>>
    all_statuses(const std::vector<Outcome>& outcomes) const override {
        CYBELE_CHECK(statuses(outcomes)); // whether it is an answer at all
        return read_squeue_of_all(outcomes.front().output);
    }

    /// The others of a list are released where one of it is unknown: seen with 22.05.
    [[nodiscard]] std::vector<Call> releasing(const std::vector<std::string>& ids) const override {
        constexpr std::size_t kMostIds = 100;
        std::vector<Call> calls;
        for (std::size_t at = 0; at < ids.size(); at += kMostIds) {
            std::string list;
            for (std::size_t one = at; one < std::min(ids.size(), at + kMostIds); ++one) {
                list += (list.empty() ? "" : ",") + ids[one];
            }
            calls.push_back(slurm_question({"scontrol", "release", list}));
        }
        return calls;
    }

    [[nodiscard]] std::vector<Call> holding(const std::vector<std::string>& ids,
                                            bool is_held) const override {
        return with_each(slurm_question({"scontrol", is_held ? "hold" : "release"}), ids);
    }

    [[nodiscard]] std::vector<Call>
    cancellation(const std::vector<std::string>& ids) const override {
        std::vector<std::string> argv{"scancel"};
        argv.insert(argv.end(), ids.begin(), ids.end());
        return {slurm_question(std::move(argv))};
    }

    [[nodiscard]] bool is_over_already(const Outcome& outcome) const override {
        return text::contains_any(outcome.errors,
                                  {"Invalid job id", "already completing or completed"});
    }
};

} // namespace

std::unique_ptr<Commands> slurm_commands() {
    return std::make_unique<Slurm>();
}

} // namespace cybele::submission
