// SPDX-License-Identifier: Apache-2.0
#include "jobs/follow/array.hpp"

#include "jobs/backends/command_backend.hpp"
#include "jobs/local.hpp"

#include <algorithm>
#include <filesystem>

namespace cybele::jobs {
namespace {

std::uint32_t element_count(std::string_view text) {
    return static_cast<std::uint32_t>(number_of(text).value_or(0));
}

/// `3`, `0-9` or `0-9:3`.
void add_range(std::string_view range, std::vector<std::uint32_t>& into) {
    const std::size_t dash = range.find('-');
    const std::size_t colon = range.find(':');
    const std::uint32_t first = element_count(range.substr(0, std::min(dash, colon)));
    const std::uint32_t last = dash == std::string_view::npos
                                   ? first
                                   : element_count(range.substr(dash + 1, colon - dash - 1));
    const std::uint32_t step =
        colon == std::string_view::npos ? 1 : std::max(element_count(range.substr(colon + 1)), 1U);
    for (std::uint64_t index = first; index <= last; index += step) {
        into.push_back(static_cast<std::uint32_t>(index));
    }
}

/// How far a state is from the end: what the job shows is what its liveliest element does.
int liveliness(State state) {
    switch (state) {
    case State::kRunning:
        return 4;
    case State::kSuspended:
    case State::kStarting:
        return 3;
    case State::kPending:
    case State::kSubmitting:
        return 2;
    case State::kHeld:
        return 1;
    default:
        return 0;
    }
}

} // namespace

std::vector<std::uint32_t> array_indices(std::string_view array) {
    std::vector<std::uint32_t> indices;
    for (const std::string_view range : split(array.substr(0, array.find('%')), ',')) {
        add_range(range, indices);
    }
    return indices;
}

std::string element_id(const std::string& id, std::uint32_t index) {
    const std::size_t bracket = id.find("[]");
    if (bracket == std::string::npos) {
        return id + "_" + std::to_string(index);
    }
    return id.substr(0, bracket + 1) + std::to_string(index) + id.substr(bracket + 1);
}

std::string array_id(const std::string& id) {
    const std::size_t bracket = id.find('[');
    return bracket == std::string::npos
               ? id.substr(0, id.find('_'))
               : id.substr(0, bracket + 1) + id.substr(std::min(id.find(']'), id.size()));
}

Entry element_of(const Entry& job, std::uint32_t index) {
    const std::string number = std::to_string(index);
    Entry element = job;
    element.id = element_id(job.id, index);
    element.record = (std::filesystem::path(job.record) / number).native();
    for (std::string* const output : {&element.standard_output, &element.standard_error}) {
        const bool is_told_apart = output->find("%a") != std::string::npos;
        *output = is_told_apart ? expand_pattern(*output, {}, {}, number) : std::string();
    }
    return element;
}

Result<std::optional<Entry>> find_element(const Journal& journal, const std::string& name) {
    const std::size_t bracket = name.find('[');
    const std::size_t begin = bracket == std::string::npos ? name.rfind('_') : bracket;
    if (begin == std::string::npos || begin == 0) {
        return std::optional<Entry>();
    }
    const std::size_t end = std::min(name.find(']', begin), name.size());
    const auto index = number_of(std::string_view(name).substr(begin + 1, end - begin - 1));
    const std::string base = bracket == std::string::npos
                                 ? name.substr(0, begin)
                                 : name.substr(0, begin) + "[" + name.substr(end);
    const auto job = journal.find(base);
    if (!index || !job || job->array.empty()) {
        return std::optional<Entry>();
    }
    const auto known = array_indices(job->array);
    const auto wanted = static_cast<std::uint32_t>(*index);
    if (std::find(known.begin(), known.end(), wanted) == known.end()) {
        return fail(ErrorCode::kInput,
                    "job " + job->id + " has no element " + std::to_string(*index),
                    "its array is " + job->array,
                    "name one of its indices");
    }
    Entry element = element_of(*job, wanted);
    element.is_element = true;
    // Of its array only is known how that is: the element is asked for.
    element.state = job->ended == 0 ? State::kPending : State::kLost;
    element.native.clear();
    element.reason.clear();
    element.code = -1;
    element.signal = 0;
    element.started = element.ended = 0;
    element.missing_since = job->ended;
    return std::optional(std::move(element));
}

Result<Entry> find_job(const Journal& journal, const std::string& name) {
    CYBELE_TRY(auto element, find_element(journal, name));
    return element ? Result<Entry>(std::move(*element)) : journal.find(name);
}

void add_elements(const Entry& entry, std::size_t owner, std::vector<Element>& into) {
    if (entry.array.empty() || entry.is_element) {
        into.push_back({owner, entry});
        return;
    }
    for (const std::uint32_t index : array_indices(entry.array)) {
        into.push_back({owner, element_of(entry, index)});
    }
}

void fold_elements(const std::vector<Element>& elements, std::size_t owner, Entry& entry) {
    const Element* liveliest = nullptr;
    const Element* worst = nullptr;
    std::int64_t started = 0;
    std::int64_t ended = 0;
    std::int64_t missing_since = 0;
    bool is_ended = true;
    // They stand in the order of their owners.
    auto at = std::lower_bound(
        elements.begin(), elements.end(), owner, [](const Element& element, std::size_t least) {
            return element.owner < least;
        });
    for (; at != elements.end() && at->owner == owner; ++at) {
        const Element& element = *at;
        const Entry& one = element.entry;
        if (liveliest == nullptr || liveliness(one.state) > liveliness(liveliest->entry.state)) {
            liveliest = &element;
        }
        if (worst == nullptr || (worst->entry.state == State::kDone && one.state != State::kDone)) {
            worst = &element;
        }
        if (one.started != 0 && (started == 0 || one.started < started)) {
            started = one.started;
        }
        ended = std::max(ended, one.ended);
        missing_since = std::max(missing_since, one.missing_since);
        is_ended = is_ended && one.ended != 0;
    }
    if (liveliest == nullptr) {
        return;
    }
    const Entry& shown = (is_ended ? worst : liveliest)->entry;
    entry.state = shown.state;
    entry.native = shown.native;
    entry.reason = shown.reason;
    entry.code = shown.code;
    entry.signal = shown.signal;
    entry.started = started;
    entry.expected = shown.expected;
    entry.ended = is_ended ? ended : 0;
    entry.missing_since = missing_since;
}

} // namespace cybele::jobs
