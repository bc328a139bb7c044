// SPDX-License-Identifier: Apache-2.0
#include "submission/follow/follow.hpp"
#include "submission/records/output_pattern.hpp"
#include "submission/records/process_identity.hpp"
#include "submission/submit/prepare.hpp"
#include "submission/submit/submit.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/lock.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <csignal>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHiddenScript = "job"; ///< begin of the name of a folder with one

/// Variables by which sbatch would overrule the script; those of them that the Job leaves open
/// stay.
std::vector<std::string> overruling_variables(const launchers::Job& job) {
    std::vector<std::string> names{
        "SBATCH_ARRAY_INX",     "SBATCH_JOB_NAME",      "SBATCH_OUTPUT",
        "SBATCH_ERROR",         "SBATCH_INPUT",         "SBATCH_REQUEUE",
        "SBATCH_NO_REQUEUE",    "SBATCH_OPEN_MODE",     "SBATCH_WAIT",
        "SBATCH_EXPORT",        "SBATCH_EXCLUSIVE",     "SBATCH_GPUS",
        "SBATCH_GPUS_PER_NODE", "SBATCH_GPUS_PER_TASK", "SBATCH_GRES",
        "SBATCH_CPUS_PER_GPU",  "SBATCH_MEM_PER_GPU",   "SBATCH_MEM_PER_CPU",
        "SBATCH_MEM_PER_NODE",  "SBATCH_SIGNAL",        "SBATCH_TEST_ONLY",
        "SBATCH_CONSTRAINT"};
    if (!job.queue.empty()) {
        names.emplace_back("SBATCH_PARTITION");
    }
    if (!job.account.empty()) {
        names.emplace_back("SBATCH_ACCOUNT");
    }
    if (!job.qos.empty()) {
        names.emplace_back("SBATCH_QOS");
    }
    if (job.resources.time) {
        names.emplace_back("SBATCH_TIMELIMIT");
    }
    if (!job.reservation.empty()) {
        names.emplace_back("SBATCH_RESERVATION");
    }
    if (job.resources.threads_per_core) {
        names.emplace_back("SBATCH_THREADS_PER_CORE");
    }
    return names;
}

/// What a repeated submission is known by: the script's digest, with that of its arguments.
std::string identity_of(const RenderedJob& ready) {
    std::string script = "sha256:" + hex(sha256(ready.script));
    if (!ready.own || ready.own->arguments.empty()) {
        return script;
    }
    std::string words;
    for (const std::string& argument : ready.own->arguments) {
        words.append(argument).push_back('\0');
    }
    return script + "+" + hex(sha256(words));
}

/// Seconds: a script of one's own leaves no record that could come late.
constexpr std::int64_t kPatienceOfOwnScript = 30;

/// A pattern with what is known before the job runs: `%x`, `%j`, `%a` and `%%`. Slurm's `%A` is
/// the id, and so is `%J` of a job without an array. Empty: only Slurm knows the name.
std::string known_pattern(const launchers::Job& job, const std::string& pattern) {
    const bool is_array = !job.array.empty();
    std::string known;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        const char key = pattern[at] == '%' && at + 1 < pattern.size() ? pattern[at + 1] : '\0';
        if (key == '\0') {
            known += pattern[at];
            continue;
        }
        const bool is_id = key == 'A' || (key == 'J' && !is_array);
        if (!is_id && std::string_view("xja%").find(key) == std::string_view::npos) {
            return {};
        }
        known += {'%', is_id ? 'j' : key};
        ++at;
    }
    const bool is_one_for_all = is_array && pattern.find("%A") != std::string::npos &&
                                pattern.find("%a") == std::string::npos;
    return is_one_for_all ? std::string() : known;
}

/// The entry before anything was asked; its outputs are patterns until the id is known.
Entry submitted_entry(const RenderedJob& ready, const Submission& submission, std::int64_t now) {
    const launchers::Job& job = ready.input.job;
    Entry entry;
    entry.uuid = submission.uuid;
    entry.scheduler = ready.input.dialect;
    entry.name = job.name;
    entry.asked = now;
    entry.folder = submission.folder;
    entry.workdir = submission.workdir;
    entry.record = submission.record;
    const std::string workdir = without_percents(submission.workdir) + "/";
    const auto place = [&](const std::string& written) {
        const std::string pattern = ready.own ? written : known_pattern(job, written);
        if (job.is_of_home(pattern)) {
            return without_percents(job.home) + pattern.substr(1);
        }
        return pattern.starts_with('/') || pattern.empty() ? pattern : workdir + pattern;
    };
    entry.standard_output = place(job.output.standard_output);
    entry.standard_error = place(job.output.standard_error);
    entry.script = identity_of(ready);
    std::error_code error;
    entry.job = fs::absolute(job.source.file(), error).lexically_normal();
    entry.array = job.array;
    entry.image_digest = ready.input.file_digest;
    if (!job.output.results.empty()) {
        entry.results = json_text(nlohmann::json(job.output.results), -1);
        entry.results_to = job.output.to;
    }
    entry.nodes = job.resources.nodes;
    entry.tasks = job.resources.tasks;
    entry.cpus = std::int64_t{job.resources.tasks} * job.resources.cpus_per_task;
    entry.time_limit = job.resources.time.value_or(std::chrono::seconds(0)).count();
    entry.follows = static_cast<std::int64_t>(job.after.size());
    if (ready.input.site && ready.input.site->patience) {
        // To the journal 0 means that nothing was set.
        entry.patience = std::max<std::int64_t>(ready.input.site->patience->count(), 1);
    } else if (ready.own) {
        entry.patience = kPatienceOfOwnScript;
    }
    entry.client = text_of(id_of_process(::getpid()));
    return entry;
}

std::string in_one_line(std::string_view words) {
    std::string line;
    for (const char letter : words) {
        line += letter == '\n' ? std::string("; ") : std::string(1, letter);
    }
    return printable(line);
}

tl::unexpected<Error> refuse(JobContext& context, Entry& entry, const Receipt& receipt) {
    entry.state = State::kNotSubmitted;
    entry.reason = in_one_line(receipt.words);
    entry.ended = context.now();
    (void)context.journal().put(entry);
    if (entry.login.empty()) {
        (void)remove_tree(entry.record);
    }
    if (receipt.kind == Receipt::Kind::kUnreachable) {
        return fail(ErrorCode::kEnvironment,
                    problem("scheduler-unreachable",
                            entry.scheduler + " cannot be reached; nothing was submitted"),
                    in_one_line(receipt.words),
                    !receipt.help.empty() ? receipt.help : "submit again when it answers");
    }
    return fail(
        ErrorCode::kExecution,
        problem("scheduler-refused-job",
                entry.scheduler + " refused the job; nothing was submitted"),
        in_one_line(receipt.words),
        "change the Job as it says, or ask the support of the site what your account may use");
}

tl::unexpected<Error> unknown_outcome(const Entry& entry, const std::string& words) {
    return fail(ErrorCode::kEnvironment,
                problem("submission-unknown",
                        "it is not known whether " + entry.scheduler + " accepted the job"),
                in_one_line(words),
                "find out with `cybelectl job attach " + entry.uuid +
                    "`; do not submit it again before");
}

/// The scheduler may have taken the job: looks for it until that is known. A signal that comes
/// meanwhile is kept for the job, a second one leaves.
Result<void> search(JobContext& context,
                    Submitted& submitted,
                    const std::string& words,
                    const OnWord& on_word,
                    const SignalWatch& signals) {
    Entry& entry = submitted.entry;
    if (on_word) {
        on_word("the answer of " + entry.scheduler + " is unclear (" + in_one_line(words) +
                "); looking for the job");
    }
    entry.client.clear(); // so that it is searched for, by this process too
    while (true) {
        const auto known = await_resolution(context, entry, signals);
        if (!known) {
            return unknown_outcome(entry, words + "; " + known.error().faults().front().because);
        }
        if (*known) {
            break;
        }
        const auto number = signals.take();
        if (number && (submitted.cancel_by != 0 || *number == SIGHUP)) {
            return unknown_outcome(entry, words);
        }
        submitted.cancel_by = number.value_or(0);
        entry.cancel_asked = context.now();
    }
    if (entry.id.empty()) {
        return fail(ErrorCode::kEnvironment,
                    problem("scheduler-did-not-answer",
                            entry.scheduler + " did not accept the job; nothing was submitted"),
                    in_one_line(words),
                    "submit it again");
    }
    return {};
}

/// How long after its submission a job that ended is taken up by the same submission again, where
/// its own client never had the id.
constexpr std::int64_t kTwinSeconds = 3600;

/// A submission of the very same whose client never had the id, if it did reach the scheduler.
Result<std::optional<Entry>> earlier(JobContext& context,
                                     const Entry& like,
                                     const HandOverRequest& request,
                                     const SignalWatch& signals) {
    CYBELE_TRY(std::vector<Entry> open,
               context.journal().unacknowledged(like, context.now() - kTwinSeconds));
    for (Entry& entry : open) {
        const auto client = read_process_id(entry.client);
        if (client && client->is_alive()) {
            continue; // another client is submitting it right now: that is another job
        }
        if (request.on_word && entry.id.empty()) {
            request.on_word("an earlier submission of this Job was never acknowledged; looking "
                            "for it before submitting");
        }
        CYBELE_TRY(const bool is_known, await_resolution(context, entry, signals));
        if (!is_known) {
            return unknown_outcome(entry, "the search was interrupted");
        }
        if (entry.id.empty()) {
            continue;
        }
        // Who has its id from now on: one client alone, of several that found it.
        bool is_taken_up = false;
        CYBELE_CHECK(context.journal().change(entry.uuid, [&](Entry& kept) {
            is_taken_up = kept.client == kFound;
            if (is_taken_up) {
                kept.client = text_of(id_of_process(::getpid()));
                entry = kept;
            }
        }));
        if (is_taken_up) {
            return entry;
        }
    }
    return std::nullopt;
}

/// A script in a folder of the user's own, until the scheduler has it.
struct HiddenScript {
    UniqueFd lock; ///< shared while the folder is needed
    TempDirectory folder;
};

/// Removes what a killed submission left, unless another one is at work now.
void sweep_scripts(const fs::path& folder, const UniqueFd& lock) {
    if (!lock.valid() || !take_lock(lock.get(), LOCK_EX | LOCK_NB)) {
        return;
    }
    std::error_code error;
    std::vector<fs::path> left;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        if (entry.path().filename().native().starts_with(kHiddenScript)) {
            left.push_back(entry.path());
        }
    }
    for (const fs::path& path : left) {
        (void)remove_tree(path);
    }
}

/// A scheduler's command reads the script by its name, and who shares the workdir could exchange
/// the record's folder before: it is given one that lies in the user's own folder meanwhile.
Result<std::optional<HiddenScript>>
hide_script(const RenderedJob& ready, const Environment& environment, Submission& submission) {
    if (!ready.connection.is_here() || ready.input.dialect == "local") {
        return std::nullopt; // it goes through a connection, or is kept by the local queue
    }
    const fs::path place = Journal::folder(environment) / "submit";
    CYBELE_CHECK(make_directories(place, 0700));
    UniqueFd lock(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    sweep_scripts(place, lock);
    (void)(lock.valid() && take_lock(lock.get(), LOCK_SH)); // without locks nothing is swept
    CYBELE_TRY(TempDirectory folder, TempDirectory::make(place, kHiddenScript));
    submission.script = folder.path() / (ready.own ? ready.own->name : "job.sh");
    CYBELE_CHECK(write_file(submission.script, ready.script, 0700));
    return std::optional(HiddenScript{std::move(lock), std::move(folder)});
}

} // namespace

Result<Submitted> submit_once(JobContext& context,
                              const RenderedJob& ready,
                              const HandOverRequest& request,
                              const Environment& environment,
                              const SignalWatch& signals) {
    Submitted submitted;
    Entry like;
    like.scheduler = ready.input.dialect;
    like.login = text_of(ready.connection);
    like.script = identity_of(ready);
    like.folder = place_of(ready.input.job.folder);
    CYBELE_TRY(const auto found, earlier(context, like, request, signals));
    if (found) {
        submitted.entry = *found;
        submitted.was_there = true;
        return submitted;
    }
    CYBELE_CHECK(context.backend(like)); // one that there is not is told before anything is written
    CYBELE_TRY(Submission submission,
               prepare_job({&ready.input.job,
                            ready.script,
                            ready.input.dialect,
                            ready.connection.is_here(),
                            ready.input.file_digest,
                            ready.own}));
    CYBELE_TRY(const auto folder, hide_script(ready, environment, submission));
    submission.unset = overruling_variables(ready.input.job);
    const std::string path = environment.get_or("PATH", "/usr/local/bin:/usr/bin:/bin");
    if (ready.connection.is_here()) {
        submission.search_path =
            request.program_folder.empty() ? path : request.program_folder.native() + ":" + path;
    }
    submitted.entry = submitted_entry(ready, submission, context.now());
    submitted.entry.login = like.login;
    submitted.entry.folder = like.folder;
    submitted.entry.request = request.asked;
    return hand_over(context, std::move(submitted), submission, request.on_word, signals)
        .map_error(during("handing the job over to " + ready.input.dialect));
}

Result<Submitted> hand_over(JobContext& context,
                            Submitted submitted,
                            const Submission& submission,
                            const OnWord& on_word,
                            const SignalWatch& signals) {
    CYBELE_TRY(Backend * backend, context.backend(submitted.entry));
    CYBELE_CHECK(context.journal().put(submitted.entry));
    const Receipt receipt = backend->submit(submission);
    if (receipt.kind == Receipt::Kind::kUnclear) {
        CYBELE_CHECK(search(context, submitted, receipt.words, on_word, signals));
        return submitted;
    }
    if (receipt.kind != Receipt::Kind::kAccepted) {
        return refuse(context, submitted.entry, receipt);
    }
    acknowledge(submitted.entry, receipt.id, context.now());
    if (const auto kept = context.journal().put(submitted.entry); !kept) {
        return fail(
            ErrorCode::kEnvironment,
            problem("journal-write-failed",
                    "job " + receipt.id + " was submitted, but the journal could not keep its id"),
            kept.error().faults().front().because,
            "when that is fixed: cybelectl job attach " + submitted.entry.uuid);
    }
    if (on_word && !receipt.words.empty()) {
        on_word(in_one_line(receipt.words));
    }
    return submitted;
}

} // namespace cybele::submission
