// SPDX-License-Identifier: Apache-2.0
#include "submission/local/job_group.hpp"
#include "submission/local/scheduler.hpp"
#include "submission/local/session.hpp"
#include "submission/records/process_identity.hpp"
#include "submission/records/record_folder.hpp"
#include "support/file.hpp"

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostAttempts = 5;

/// The record in a folder, where it is this job's.
std::optional<ExitRecord> record_in(const fs::path& folder, const LocalSpec& spec) {
    auto found = read_exit_record(folder).value_or(std::nullopt);
    return found && found->uuid == spec.uuid ? std::move(found) : std::nullopt;
}

/// How the script itself says that it ended. Told to end by the death of its supervisor, it says
/// cancelled, which nobody wanted.
std::optional<ExitRecord>
word_of_script(const fs::path& place, const LocalSpec& spec, const LocalPart& part) {
    fs::path folder = place / "script";
    if (part.index >= 0) {
        folder /= std::to_string(part.index);
    }
    auto record = record_in(folder, spec);
    return record && record->state == "cancelled" ? std::nullopt : record;
}

/// The supervisor was killed after it had written the end down, or before.
void conclude_orphan(LocalDraft& draft, std::size_t at) {
    const LocalPart part = draft.state.parts[at];
    const LocalSpec& spec = draft.spec_of(part);
    const auto place = RecordFolder::open(spec.record);
    if (!place) {
        draft.end(at, "lost", "its record is no longer there: " + place.error().message());
        return;
    }
    const fs::path folder = part_folder(*place, part.index);
    if (const auto written = record_in(folder, spec)) {
        draft.end(at, written->state, written->reason);
        return;
    }
    const fs::path attempt = attempt_file(folder, part.attempt);
    if (take_attempt(attempt)) { // the script never began, and from now on it cannot
        end_group(folder);
        if (part.attempt >= kMostAttempts) {
            draft.end(at, "failed", "its supervisor was killed before each of its starts");
            return;
        }
        LocalPart& again = draft.state.parts[at];
        again = LocalPart{};
        again.number = part.number;
        again.index = part.index;
        again.attempt = part.attempt + 1;
        draft.is_changed[at] = true;
        return;
    }
    end_session(attempt);
    end_group(folder);
    if (const auto record = word_of_script(place->place(), spec, part)) {
        if (write_exit_record(folder, *record)) {
            draft.end(at, record->state, record->reason);
        }
        return;
    }
    draft.end(at, "lost", "its supervisor was killed, or the machine stopped");
}

} // namespace

void recover(LocalDraft& draft, const std::string& host) {
    for (std::size_t at = 0; at < draft.state.parts.size(); ++at) {
        const LocalPart& part = draft.state.parts[at];
        if (part.phase != LocalPart::Phase::kRunning || draft.spec_of(part).host != host) {
            continue;
        }
        const auto supervisor = read_process_id(part.supervisor);
        if (!supervisor || !supervisor->is_alive()) {
            conclude_orphan(draft, at);
        }
    }
}

} // namespace cybele::submission
