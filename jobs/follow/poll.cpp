// SPDX-License-Identifier: Apache-2.0
#include "jobs/follow/poll.hpp"

#include "jobs/follow/array.hpp"
#include "jobs/local.hpp"

#include <algorithm>
#include <unordered_map>

#include <unistd.h>

namespace cybele::jobs {

Result<Desk> Desk::open(const Environment& environment, Clock clock) {
    CYBELE_TRY(Journal journal, Journal::open(environment));
    return Desk(std::move(journal), environment, std::move(clock));
}

Result<Backend*> Desk::backend(const Entry& entry) {
    auto& kept = backends_[{entry.scheduler, entry.login}];
    if (!kept) {
        CYBELE_TRY(kept,
                   make_backend({entry.scheduler,
                                 entry.login,
                                 Journal::folder(environment_) / "ssh",
                                 environment_,
                                 program,
                                 clock_}));
    }
    return kept.get();
}

JobRef ref_of(const Entry& entry) {
    return {entry.id, entry.uuid, entry.record};
}

void acknowledge(Entry& entry, const std::string& id, std::int64_t now) {
    entry.id = id;
    entry.state = State::kPending;
    entry.submitted = now;
    const std::string number = id.substr(0, id.find_first_of(".["));
    entry.standard_output = expand_pattern(entry.standard_output, entry.name, number);
    entry.standard_error = expand_pattern(entry.standard_error, entry.name, number);
}

namespace {

constexpr std::uint64_t kMostOfRecord = 65536;

/// Of an entry what a poll may change, and what is then put into the journal.
struct Changing {
    explicit Changing(const Entry& entry)
        : state(entry.state), native(entry.native), reason(entry.reason), ended(entry.ended),
          started(entry.started), missing_since(entry.missing_since) {}
    bool operator==(const Changing&) const = default;

    State state;
    std::string native;
    std::string reason;
    std::int64_t ended;
    std::int64_t started;
    std::int64_t missing_since;
};

/// A record of another job, or one that is damaged, says nothing.
std::optional<ExitRecord> record_of(const ReadBack& back, const Entry& entry) {
    if (!back.exists) {
        return std::nullopt;
    }
    auto record = parse_exit_record(back.bytes, entry.record);
    if (!record || record->uuid != entry.uuid) {
        return std::nullopt;
    }
    return std::move(*record);
}

/// What was seen, to be found by job: with thousands of them, none is looked for one by one.
class Sightings {
public:
    explicit Sightings(const std::vector<Sighting>& seen) {
        for (const Sighting& one : seen) {
            if (one.uuid.empty()) {
                by_id_.emplace(one.id, &one);
                continue;
            }
            by_uuid_.emplace(one.uuid, &one);
            if (one.id.find_first_of("_[") != std::string::npos) { // an element of an array
                by_id_.emplace(one.uuid + "/" + one.id, &one);
            }
        }
    }

    /// A scheduler's numbers come again: with another UUID it is another job.
    [[nodiscard]] std::optional<Sighting> of(const Entry& entry) const {
        const auto named = by_id_.find(entry.id);
        const auto known = entry.array.empty() ? by_uuid_.find(entry.uuid)
                                               : by_id_.find(entry.uuid + "/" + entry.id);
        const Sighting* first = named == by_id_.end() ? nullptr : named->second;
        const bool is_known = known != (entry.array.empty() ? by_uuid_.end() : by_id_.end());
        if (is_known && (first == nullptr || known->second < first)) {
            first = known->second;
        }
        return first == nullptr ? std::nullopt : std::optional(*first);
    }

private:
    std::unordered_map<std::string, const Sighting*> by_id_;
    std::unordered_map<std::string, const Sighting*> by_uuid_;
};

/// The jobs of one scheduler and login: each as its elements, which is one where it is no array.
struct Group {
    std::vector<Entry*> entries;
    std::vector<Element> elements;
};

/// Asks the second witness where the first two are silent.
void inquire(Backend& backend, Group& group) {
    std::vector<JobRef> silent;
    for (const Element& element : group.elements) {
        if (needs_inquiry(element.evidence, element.entry)) {
            silent.push_back(ref_of(element.entry));
        }
    }
    if (silent.empty()) {
        return;
    }
    const Survey survey = backend.inquire(silent);
    const Sightings sightings(survey.seen);
    for (Element& element : group.elements) {
        element.evidence.accounted = sightings.of(element.entry);
    }
}

/// One round trip for the group; `files` beside the records of its jobs.
std::optional<Error> ask_group(Desk& desk,
                               Backend& backend,
                               Group& group,
                               const std::vector<Reading>& files,
                               std::vector<ReadBack>* read) {
    std::vector<JobRef> refs;
    refs.reserve(group.entries.size());
    group.elements.reserve(group.entries.size());
    for (std::size_t at = 0; at < group.entries.size(); ++at) {
        refs.push_back(ref_of(*group.entries[at]));
        add_elements(*group.entries[at], at, group.elements);
    }
    std::vector<Reading> readings;
    readings.reserve(group.elements.size() + files.size());
    for (const Element& element : group.elements) {
        readings.push_back({element.entry.record + "/exit.json", 0, kMostOfRecord});
    }
    readings.insert(readings.end(), files.begin(), files.end());
    Survey survey = backend.look(refs, readings);
    survey.files.resize(readings.size());
    const Sightings sightings(survey.seen);
    for (std::size_t at = 0; at < group.elements.size(); ++at) {
        Element& element = group.elements[at];
        element.evidence.now = desk.now();
        element.evidence.patience = element.entry.scheduler == "local" ? 0 : desk.patience;
        element.evidence.was_asked = !survey.failure;
        element.evidence.record = record_of(survey.files[at], element.entry);
        element.evidence.seen = sightings.of(element.entry);
    }
    if (read != nullptr) {
        read->assign(survey.files.end() - static_cast<std::ptrdiff_t>(files.size()),
                     survey.files.end());
    }
    inquire(backend, group);
    return survey.failure;
}

/// Lays the evidence over the entries; what changed goes into the journal.
Result<bool> conclude_all(Desk& desk, Group& group) {
    for (Element& element : group.elements) {
        conclude(element.evidence, element.entry);
    }
    std::vector<Entry> changed;
    for (std::size_t at = 0; at < group.entries.size(); ++at) {
        const Changing before(*group.entries[at]);
        fold_elements(group.elements, at, *group.entries[at]);
        if (Changing(*group.entries[at]) != before) {
            changed.push_back(*group.entries[at]);
        }
    }
    if (!changed.empty()) {
        CYBELE_CHECK(desk.journal().put(changed));
    }
    return !changed.empty();
}

} // namespace

Result<Round> ask(Desk& desk,
                  std::vector<Entry>& entries,
                  const std::vector<Reading>& files,
                  std::vector<ReadBack>* read) {
    std::map<std::pair<std::string, std::string>, Group> groups;
    for (Entry& entry : entries) {
        if (entry.ended == 0 && !entry.id.empty()) {
            groups[{entry.scheduler, entry.login}].entries.push_back(&entry);
        }
    }
    Round round;
    for (auto& [key, group] : groups) {
        const bool has_files = key == std::pair(entries.front().scheduler, entries.front().login);
        CYBELE_TRY(Backend * backend, desk.backend(*group.entries.front()));
        auto failure = ask_group(desk,
                                 *backend,
                                 group,
                                 has_files ? files : std::vector<Reading>{},
                                 has_files ? read : nullptr);
        if (failure) {
            round.failure = std::move(failure);
        }
        CYBELE_TRY(const bool has_changed, conclude_all(desk, group));
        round.has_changed = round.has_changed || has_changed;
    }
    return round;
}

Result<std::vector<Error>> cancel_all(Desk& desk, const std::vector<Entry>& entries) {
    struct Asked {
        Backend* backend;
        std::vector<JobRef> jobs;
    };
    std::map<std::pair<std::string, std::string>, Asked> groups;
    for (const Entry& entry : entries) {
        CYBELE_TRY(Backend * backend, desk.backend(entry));
        Asked& asked = groups[{entry.scheduler, entry.login}];
        asked.backend = backend;
        asked.jobs.push_back(ref_of(entry));
    }
    std::vector<Error> refusals;
    for (const auto& [key, asked] : groups) {
        if (auto taken = asked.backend->cancel(asked.jobs); !taken) {
            refusals.push_back(std::move(taken).error());
        }
    }
    return refusals;
}

Result<Round> look_at_records(Desk& desk, std::vector<Entry>& entries) {
    Group group;
    for (Entry& entry : entries) {
        if (entry.ended == 0 && !entry.id.empty() && entry.login.empty() && entry.array.empty()) {
            Element element{0, entry, {}};
            element.evidence.now = desk.now();
            element.evidence.record = record_of(
                read_piece({std::filesystem::path(entry.record) / "exit.json", 0, kMostOfRecord}),
                entry);
            if (element.evidence.record) {
                element.owner = group.entries.size();
                group.entries.push_back(&entry);
                group.elements.push_back(std::move(element));
            }
        }
    }
    Round round;
    CYBELE_TRY(round.has_changed, conclude_all(desk, group));
    return round;
}

Result<bool> resolve(Desk& desk, Entry& entry) {
    if (entry.state != State::kSubmitting) {
        return true;
    }
    const auto client = read_process_id(entry.client);
    if (client && client->pid != ::getpid() && client->is_alive()) {
        return false; // it is being submitted by another process
    }
    CYBELE_TRY(Backend * backend, desk.backend(entry));
    CYBELE_TRY(const auto id, backend->find(ref_of(entry)));
    if (id) {
        acknowledge(entry, *id, desk.now());
    } else if (desk.now() >= entry.asked + kSearchSeconds) {
        entry.state = State::kNotSubmitted;
        entry.reason = "the scheduler never took it";
        entry.ended = desk.now();
    } else {
        return false;
    }
    CYBELE_CHECK(desk.journal().put(entry));
    return true;
}

} // namespace cybele::jobs
