// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/pbs.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace cybele::submission {

std::string PbsJob::get(const std::string& name) const {
    const auto found = attributes.find(name);
    return found == attributes.end() ? std::string() : found->second;
}

namespace {

constexpr std::string_view kHead = "Job Id:";
constexpr std::string_view kEquals = " = ";

/// Whether ` = ` follows a name made of letters, digits, dots and underscores.
bool is_attribute(std::string_view text) {
    const std::size_t end =
        text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._");
    return end != 0 && end != std::string_view::npos && text.substr(end).starts_with(kEquals);
}

} // namespace

std::vector<PbsJob> read_qstat_text(std::string_view text) {
    std::vector<PbsJob> jobs;
    std::string* last = nullptr;
    bool tabs_begin = false; // Slurm's wrapper indents by a tab, the products fold by one
    for (const std::string_view line : text::split(text, '\n')) {
        if (line.starts_with(kHead)) {
            tabs_begin = line.substr(kHead.size()).starts_with('\t');
            jobs.push_back({std::string(text::trimmed(line.substr(kHead.size()))), {}});
            last = nullptr;
            continue;
        }
        const bool is_folded = line.starts_with('\t') && !tabs_begin;
        if (is_folded && last != nullptr) {
            *last += line.substr(1);
            continue;
        }
        const std::size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
        const std::string_view bare = line.substr(indent); // a fold may come behind a blank
        if (jobs.empty() || is_folded || !is_attribute(bare) || indent == 0) {
            continue;
        }
        const std::size_t equals = bare.find(kEquals);
        last = &jobs.back().attributes[std::string(bare.substr(0, equals))];
        *last = bare.substr(equals + kEquals.size());
    }
    return jobs;
}

namespace {

/// OpenPBS: finished, and not deleted. A job that never started has it where its dependency failed.
constexpr std::string_view kFinishedSubstate = "92";
/// OpenPBS: of an array. Without history an element that ended is shown with its array's values.
constexpr std::string_view kArraySubstate = "70";

/// CYBELE_JOB in the variables that qsub was given.
std::string job_uuid(const std::string& variables) {
    constexpr std::string_view kName = "CYBELE_JOB=";
    for (const std::string_view variable : text::split(variables, ',')) {
        if (variable.starts_with(kName)) {
            return std::string(variable.substr(kName.size()));
        }
    }
    return {};
}

} // namespace

std::vector<std::string> unknown_ids(std::string_view errors) {
    std::vector<std::string> ids;
    for (const std::string_view line : text::split(errors, '\n')) {
        for (const std::string_view words : {"Unknown Job Id Error ", "Unknown Job Id "}) {
            if (const std::size_t at = line.find(words); at != std::string_view::npos) {
                ids.emplace_back(text::trimmed(line.substr(at + words.size())));
                break;
            }
        }
    }
    return ids;
}

namespace {

/// `n1/0*2+n2/0-1` as `n1,n2`.
std::string nodes_of(std::string_view hosts) {
    std::string nodes;
    for (const std::string_view slot : text::split(hosts, '+')) {
        const std::string node(text::trimmed(slot.substr(0, slot.find('/'))));
        if (!node.empty() && ("," + nodes + ",").find("," + node + ",") == std::string::npos) {
            nodes += (nodes.empty() ? "" : ",") + node;
        }
    }
    return nodes;
}

/// Both products count how often a job was started.
int restarts_of(const PbsJob& job) {
    const std::string torque = job.get("start_count");
    const auto starts = text::number(torque.empty() ? job.get("run_count") : torque);
    return std::max(starts.value_or(0) - 1, 0);
}

} // namespace

JobStatus status_of(const PbsJob& job) {
    JobStatus seen;
    seen.id = job.id;
    seen.node = nodes_of(job.get("exec_host"));
    seen.native = job.get("job_state");
    seen.uuid = job_uuid(job.get("Variable_List"));
    const std::string owner = job.get("Job_Owner"); // user@host
    seen.owner = owner.substr(0, owner.find('@'));
    seen.restarts = restarts_of(job);
    // A user's hold is `u`; an operator's and the system's only they can take off.
    seen.is_held_by_admin = job.get("Hold_Types").find_first_of("os") != std::string::npos;
    const char letter = seen.native.empty() ? '\0' : seen.native.front();
    if (letter != 'C' && letter != 'F' && letter != 'X') {
        seen.state = state_of_pbs(letter).value_or(State::kRunning);
        if (seen.state == State::kPending || seen.state == State::kHeld) {
            seen.reason = text::trimmed(job.get("comment")); // of others: where they started
        }
        return seen;
    }
    if (letter == 'X' && job.get("substate") == kArraySubstate) {
        seen.state = State::kLost; // it ended, and its code is not here
        return seen;
    }
    const std::string torque = job.get("exit_status");
    const std::optional<int> status =
        text::number(torque.empty() ? job.get("Exit_status") : torque);
    if (!status && job.get("substate") == kFinishedSubstate) {
        seen.reason =
            "never started: a job that it was to follow did not end as asked, or is not known";
    }
    const PbsEnd end = end_of_pbs(status);
    seen.state = end.state;
    seen.code = end.code;
    seen.signal = end.signal;
    return seen;
}

} // namespace cybele::submission
