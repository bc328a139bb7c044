// SPDX-License-Identifier: Apache-2.0
#include "submission/follow/poll.hpp"

#include "submission/connection/make_backend.hpp"
#include "submission/follow/begun.hpp"
#include "submission/journal/array.hpp"
#include "submission/records/output_pattern.hpp"
#include "submission/records/process_identity.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <unistd.h>

namespace cybele::submission {

Result<JobContext> JobContext::open(const Environment& environment, Clock clock) {
    CYBELE_TRY(Journal journal,
               Journal::open(environment).map_error(during("opening the journal of jobs")));
    return JobContext(std::move(journal), environment, std::move(clock));
}

Result<Backend*> JobContext::backend(const Entry& entry) {
    auto& kept = backends_[{entry.scheduler, entry.login}];
    if (!kept) {
        CYBELE_TRY(Connection connection, read_connection(entry.login));
        CYBELE_TRY(kept,
                   make_backend({entry.scheduler,
                                 std::move(connection),
                                 Journal::folder(environment_) / "ssh",
                                 environment_,
                                 program,
                                 clock_,
                                 meanwhile}));
    }
    return kept.get();
}

JobRef ref_of(const Entry& entry) {
    return {entry.id, entry.uuid, entry.record, {}, {}, entry.is_element ? "" : entry.array};
}

void acknowledge(Entry& entry, const std::string& id, std::int64_t now) {
    entry.id = id;
    entry.state = State::kPending;
    entry.submitted = now;
    const std::string number = id.substr(0, id.find_first_of(".["));
    // These tell the elements of an array apart where the Job does not.
    const bool is_pbs = entry.scheduler == "torque" || entry.scheduler == "pbspro";
    const std::string index = is_pbs ? "-%a" : "_%a";
    for (std::string* const output : {&entry.standard_output, &entry.standard_error}) {
        const bool is_split = !entry.array.empty() && output->find("%a") == std::string::npos;
        *output = expand_pattern(*output, entry.name, is_split ? number + index : number);
    }
}

namespace {

constexpr std::uint64_t kMostOfRecord = 65536;

/// Of an entry what a poll may change, and what is then put into the journal.
struct Changing {
    explicit Changing(const Entry& entry)
        : state(entry.state), native(entry.native), reason(entry.reason), ended(entry.ended),
          started(entry.started), missing_since(entry.missing_since), node(entry.node),
          elements(entry.elements) {}
    bool operator==(const Changing&) const = default;

    State state;
    std::string native;
    std::string reason;
    std::int64_t ended;
    std::int64_t started;
    std::int64_t missing_since;
    std::string node;
    std::string elements;
};

/// A record of another job, or one that is damaged, says nothing; nor does one whose job's output
/// is still to come.
std::optional<ExitRecord>
exit_record_of(const ReadBack& back, const Entry& entry, std::int64_t now) {
    if (!back.exists) {
        return std::nullopt;
    }
    auto record = parse_exit_record(back.bytes, entry.record);
    if (!record || record->uuid != entry.uuid || is_output_to_come(entry, record->end, now)) {
        return std::nullopt;
    }
    return std::move(*record);
}

/// What was seen, to be found by job: with thousands of them, none is looked for one by one, and
/// no name is copied.
class Statuses {
public:
    explicit Statuses(const std::vector<JobStatus>& seen) {
        by_uuid_.reserve(seen.size());
        for (const JobStatus& one : seen) {
            if (one.is_unknown) {
                unknown_.insert(one.id);
            } else if (one.uuid.empty()) {
                by_id_.emplace(one.id, &one);
            } else {
                add_named(one);
            }
        }
    }

    /// Whether the scheduler said that it does not know the job, or the array of the element.
    [[nodiscard]] bool is_unknown(const Entry& entry) const {
        return !unknown_.empty() &&
               (unknown_.contains(entry.id) ||
                (!entry.array.empty() && unknown_.contains(array_id(entry.id))));
    }

    /// A scheduler's numbers come again: with another UUID it is another job.
    [[nodiscard]] const JobStatus* of(const Entry& entry) const {
        const JobStatus* const named = found(by_id_, entry.id);
        const JobStatus* const known = entry.array.empty()
                                           ? found(by_uuid_, entry.uuid)
                                           : found(by_element_, entry.uuid + "/" + entry.id);
        const bool is_first = known != nullptr && (named == nullptr || known < named);
        return is_first ? known : named;
    }

private:
    void add_named(const JobStatus& one) {
        by_uuid_.emplace(one.uuid, &one);
        if (one.id.find_first_of("_[") != std::string::npos) { // an element of an array
            by_element_.emplace(one.uuid + "/" + one.id, &one);
        }
    }
    template <class Map, class Key>
    static const JobStatus* found(const Map& map, const Key& key) {
        const auto at = map.find(key);
        return at == map.end() ? nullptr : at->second;
    }
    std::unordered_map<std::string_view, const JobStatus*> by_id_;
    std::unordered_map<std::string_view, const JobStatus*> by_uuid_;
    std::unordered_map<std::string, const JobStatus*> by_element_;
    std::unordered_set<std::string> unknown_;
};

/// The jobs of one scheduler and login.
struct Group {
    std::vector<Entry*> entries;
    std::vector<Element> elements; ///< of those that are arrays, in the order of their owners
    std::vector<Entry*> asked;     ///< the jobs that are no arrays, and the elements
    std::vector<const Entry*> changed;
    std::vector<const Entry*> ended; ///< elements that were asked for by their own names
    bool has_changed = false;        ///< one of these
};

void split_batch(Group& group) {
    for (std::size_t at = 0; at < group.entries.size(); ++at) {
        if (group.entries[at]->array.empty() || group.entries[at]->is_element) {
            group.asked.push_back(group.entries[at]);
        } else {
            add_elements(*group.entries[at], at, group.elements);
        }
    }
    for (Element& element : group.elements) {
        if (element.entry.ended == 0) {
            group.asked.push_back(&element.entry);
        }
    }
}

/// Lays the evidence over a job, or over an element, of which no account is kept.
void conclude_one(Group& group, const Evidence& evidence, Entry& entry) {
    if (!entry.array.empty() && !entry.is_element) {
        conclude(evidence, entry);
        return;
    }
    const Changing before(entry);
    conclude(evidence, entry);
    if (Changing(entry) != before && entry.is_element) {
        group.has_changed = true;
        if (entry.ended != 0) {
            group.ended.push_back(&entry);
        }
    } else if (Changing(entry) != before) {
        group.changed.push_back(&entry);
    }
}

/// Of whom nothing says yet how it ended.
struct Silent {
    Entry* entry;
    Evidence evidence;
};

/// Whether the script ran, of a job that followed others and that the scheduler does not know.
bool has_left_mark(Backend& backend, const Silent& silent) {
    if (!silent.evidence.is_unknown || silent.entry->follows == 0) {
        return true;
    }
    const auto mark = backend.read({mark_of_begin(*silent.entry)});
    return !mark || mark->empty() || mark->front().exists;
}

/// Of a job that its scheduler does not show, another client may know more than this one: that it
/// was asked to end, or how it ended.
Result<void> take_words_of_others(JobContext& context, std::vector<Entry>& entries) {
    for (Entry& entry : entries) {
        if (entry.ended != 0 || entry.missing_since == 0) {
            continue;
        }
        CYBELE_TRY(const auto kept, context.journal().matches(entry.uuid));
        if (kept.size() != 1) {
            continue;
        }
        entry.cancel_asked = std::max(entry.cancel_asked, kept.front().cancel_asked);
        for (const Entry& known : entry.is_element ? elements_of(kept.front()) : kept) {
            if (known.ended != 0 && (!entry.is_element || known.index == entry.index)) {
                entry = known;
                break;
            }
        }
    }
    return {};
}

/// Asks the second witness where the first two are silent.
void inquire(Backend& backend, Group& group, std::vector<Silent>& silent) {
    if (silent.empty()) {
        return;
    }
    std::vector<JobRef> refs;
    refs.reserve(silent.size());
    for (const Silent& one : silent) {
        refs.push_back(ref_of(*one.entry));
        refs.back().folder = one.entry->folder;
        refs.back().name = one.entry->name;
    }
    const QueryResult query_result = backend.inquire(refs);
    const Statuses statuses(query_result.seen);
    for (Silent& one : silent) {
        one.evidence.accounted = statuses.of(*one.entry);
        one.evidence.has_begun = has_left_mark(backend, one);
        conclude_one(group, one.evidence, *one.entry);
    }
}

/// One round trip for the group, and what it says of each; `files` beside the records of its jobs.
std::optional<Error> ask_group(JobContext& context,
                               Backend& backend,
                               Group& group,
                               const std::vector<Reading>& files,
                               std::vector<ReadBack>* read) {
    split_batch(group);
    std::vector<JobRef> refs;
    refs.reserve(group.entries.size());
    for (const Entry* const entry : group.entries) {
        refs.push_back(ref_of(*entry));
    }
    std::vector<Reading> readings;
    readings.reserve(group.asked.size() + files.size());
    for (const Entry* const entry : group.asked) {
        readings.push_back({entry->record + "/exit.json", 0, kMostOfRecord});
    }
    readings.insert(readings.end(), files.begin(), files.end());
    QueryResult query_result = backend.look(refs, readings);
    query_result.files.resize(readings.size());
    const Statuses statuses(query_result.seen);
    std::vector<Silent> silent;
    for (std::size_t at = 0; at < group.asked.size(); ++at) {
        Entry& entry = *group.asked[at];
        Evidence evidence;
        evidence.now = context.now();
        evidence.patience = entry.scheduler == "local" ? 0
                            : entry.patience != 0      ? entry.patience
                                                       : context.patience;
        evidence.was_asked = !query_result.failure;
        evidence.record = exit_record_of(query_result.files[at], entry, evidence.now);
        evidence.seen = statuses.of(entry);
        evidence.is_unknown = statuses.is_unknown(entry);
        if (needs_inquiry(evidence, entry)) {
            silent.push_back({&entry, std::move(evidence)});
        } else {
            conclude_one(group, evidence, entry);
        }
    }
    if (read != nullptr) {
        read->assign(query_result.files.end() - static_cast<std::ptrdiff_t>(files.size()),
                     query_result.files.end());
    }
    inquire(backend, group, silent);
    return query_result.failure;
}

/// Another command may have seen the end of elements that the scheduler lists no more.
Result<void> take_ends_of_others(JobContext& context, Group& group, std::size_t owner) {
    const bool is_any_missing =
        std::ranges::any_of(group.elements, [owner](const Element& element) {
            return element.owner == owner && element.entry.ended == 0 &&
                   element.entry.missing_since != 0;
        });
    if (is_any_missing) {
        CYBELE_TRY(const auto kept, context.journal().matches(group.entries[owner]->uuid));
        if (kept.size() == 1) {
            take_known_ends(kept.front(), owner, group.elements);
        }
    }
    return {};
}

/// Makes arrays of their elements; what changed goes into the journal.
Result<bool> keep(JobContext& context, Group& group) {
    for (const Entry* const element : group.ended) {
        CYBELE_CHECK(context.journal().change(
            element->uuid, [element](Entry& job) { take_element(*element, job); }));
    }
    for (std::size_t at = 0; at < group.entries.size(); ++at) {
        Entry& entry = *group.entries[at];
        if (entry.array.empty() || entry.is_element) {
            continue;
        }
        CYBELE_CHECK(take_ends_of_others(context, group, at));
        const Changing before(entry);
        fold_elements(group.elements, at, entry);
        if (Changing(entry) != before) {
            group.changed.push_back(&entry);
        }
    }
    if (!group.changed.empty()) {
        CYBELE_CHECK(context.journal().put(group.changed));
    }
    return group.has_changed || !group.changed.empty();
}

void add_to(Round& round, std::optional<Error> failure, bool has_changed) {
    if (failure) {
        round.failure = std::move(failure);
    }
    round.has_changed = round.has_changed || has_changed;
}

} // namespace

Result<Round> ask(JobContext& context,
                  std::vector<Entry>& entries,
                  const std::vector<Reading>& files,
                  std::vector<ReadBack>* read) {
    CYBELE_CHECK(take_words_of_others(context, entries));
    std::map<std::pair<std::string, std::string>, Group> groups;
    for (Entry& entry : entries) {
        if (entry.ended == 0 && !entry.id.empty()) {
            groups[{entry.scheduler, entry.login}].entries.push_back(&entry);
        }
    }
    Round round;
    for (auto& [key, group] : groups) {
        const bool has_files = key == std::pair(entries.front().scheduler, entries.front().login);
        CYBELE_TRY(Backend * backend, context.backend(*group.entries.front()));
        auto failure = ask_group(context,
                                 *backend,
                                 group,
                                 has_files ? files : std::vector<Reading>{},
                                 has_files ? read : nullptr);
        CYBELE_TRY(const bool has_changed, keep(context, group));
        add_to(round, std::move(failure), has_changed);
    }
    return round;
}

namespace {

/// Asks each scheduler and login once, for all of its jobs.
Result<std::vector<Error>>
at_each(JobContext& context,
        const std::vector<Entry>& entries,
        const std::function<Result<void>(Backend&, const std::vector<JobRef>&)>& request) {
    struct Asked {
        Backend* backend;
        std::vector<JobRef> jobs;
    };
    std::map<std::pair<std::string, std::string>, Asked> groups;
    for (const Entry& entry : entries) {
        CYBELE_TRY(Backend * backend, context.backend(entry));
        Asked& asked = groups[{entry.scheduler, entry.login}];
        asked.backend = backend;
        asked.jobs.push_back(ref_of(entry));
    }
    std::vector<Error> refusals;
    for (const auto& [key, asked] : groups) {
        if (auto taken = request(*asked.backend, asked.jobs); !taken) {
            refusals.push_back(std::move(taken).error());
        }
    }
    return refusals;
}

} // namespace

Result<std::vector<Error>> ask_to_cancel(JobContext& context, const std::vector<Entry>& entries) {
    std::vector<const Entry*> kept;
    for (const Entry& entry : entries) {
        if (!entry.is_element) {
            kept.push_back(&entry);
        }
    }
    CYBELE_CHECK(context.journal().put(kept));
    return cancel_all(context, entries);
}

Result<std::vector<Error>> cancel_all(JobContext& context, const std::vector<Entry>& entries) {
    return at_each(context, entries, [](Backend& backend, const std::vector<JobRef>& jobs) {
        return backend.cancel(jobs);
    });
}

Result<std::vector<Error>>
hold_all(JobContext& context, const std::vector<Entry>& entries, bool is_held) {
    return at_each(context, entries, [is_held](Backend& backend, const std::vector<JobRef>& jobs) {
        return backend.hold(jobs, is_held);
    });
}

Result<Round> look_at_records(JobContext& context, std::vector<Entry>& entries) {
    Group group;
    Round round;
    for (Entry& entry : entries) {
        if (entry.ended == 0 && !entry.id.empty() && entry.login.empty() &&
            (entry.array.empty() || entry.is_element)) {
            Evidence evidence;
            evidence.now = context.now();
            evidence.record = exit_record_of(
                read_piece({entry.record + "/exit.json", 0, kMostOfRecord}), entry, evidence.now);
            if (evidence.record) {
                conclude_one(group, evidence, entry);
                round.is_unexplained = round.is_unexplained || entry.ended == 0;
            }
        }
    }
    CYBELE_TRY(round.has_changed, keep(context, group));
    return round;
}

Result<bool> resolve(JobContext& context, Entry& entry) {
    if (entry.state != State::kSubmitting) {
        return true;
    }
    const auto client = read_process_id(entry.client);
    const bool is_elsewhere = client && client->is_elsewhere();
    const bool is_other = client && (client->pid != ::getpid() || is_elsewhere);
    if (is_other && client->is_alive()) {
        return false; // it is being submitted by another process
    }
    if (is_other) {
        // It ended; it could have acknowledged the job since the entry was read.
        CYBELE_TRY(entry, context.journal().find(entry.uuid));
        if (entry.state != State::kSubmitting) {
            return true;
        }
    }
    if (is_elsewhere && context.now() < entry.asked + kSearchSeconds) {
        return false; // by a process of another login node, for all that is seen here
    }
    CYBELE_TRY(Backend * backend, context.backend(entry));
    CYBELE_TRY(const auto id, backend->find(ref_of(entry)));
    if (id) {
        acknowledge(entry, *id, context.now());
        entry.client = entry.client.empty() ? std::string() : kFound; // empty: it is this process
    } else if (context.now() >= entry.asked + kSearchSeconds) {
        entry.state = State::kNotSubmitted;
        entry.reason = "the scheduler never accepted it";
        entry.ended = context.now();
    } else {
        return false;
    }
    // Another client may have found out meanwhile, and have taken the job up.
    CYBELE_CHECK(context.journal().change(entry.uuid, [&entry](Entry& kept) {
        if (kept.state == State::kSubmitting) {
            kept = entry;
        } else {
            entry = kept;
        }
    }));
    return true;
}

} // namespace cybele::submission
