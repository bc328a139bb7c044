// SPDX-License-Identifier: Apache-2.0
#include "submission/journal/array.hpp"

#include "submission/records/output_pattern.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <filesystem>
#include <unordered_map>

namespace cybele::submission {
namespace {

std::uint32_t element_count(std::string_view text) {
    return static_cast<std::uint32_t>(text::number(text).value_or(0));
}

/// As check_array() of a Job; what a service lists is not checked.
constexpr std::size_t kMostIndices = 1'000'000;

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
    for (std::uint64_t index = first; index <= last && into.size() < kMostIndices; index += step) {
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

/// Of an element, in the order of the list that stands for it in the journal.
nlohmann::json known_of(const Entry& element) {
    return {element.index,
            state_text(element.state),
            element.code,
            element.signal,
            element.started,
            element.ended,
            element.node,
            element.native,
            element.reason};
}
constexpr std::size_t kKnownCount = 9;

/// Puts what the list says into the element; one that says something else says nothing.
void restore(const nlohmann::json& list, Entry& element) {
    try {
        element.state = state_of_text(list.at(1).get<std::string>()).value_or(State::kPending);
        element.code = list.at(2).get<std::int64_t>();
        element.signal = list.at(3).get<std::int64_t>();
        element.started = list.at(4).get<std::int64_t>();
        element.ended = list.at(5).get<std::int64_t>();
        element.node = list.at(6).get<std::string>();
        element.native = list.at(7).get<std::string>();
        element.reason = list.at(8).get<std::string>();
    } catch (const nlohmann::json::exception&) {
        element.ended = 0;
    }
}

/// An element of which nothing was kept: it waits, or how it ended is not known.
void forget(const Entry& job, Entry& element) {
    element.state = job.ended == 0 ? State::kPending : State::kLost;
    element.native.clear();
    element.reason.clear();
    element.node.clear();
    element.code = -1;
    element.signal = 0;
    element.started = element.ended = 0;
    element.missing_since = job.ended;
}

/// By index.
std::unordered_map<std::int64_t, nlohmann::json> known_elements(const Entry& job) {
    std::unordered_map<std::int64_t, nlohmann::json> known;
    const nlohmann::json list = parse_json(job.elements);
    for (const nlohmann::json& one : list.is_array() ? list : nlohmann::json::array()) {
        if (one.is_array() && one.size() == kKnownCount && one.front().is_number_integer()) {
            known.emplace(one.front().get<std::int64_t>(), one);
        }
    }
    return known;
}

} // namespace

std::vector<std::uint32_t> array_indices(std::string_view array) {
    std::vector<std::uint32_t> indices;
    for (const std::string_view range : text::split(array.substr(0, array.find('%')), ',')) {
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
    element.index = index;
    element.elements.clear();
    element.record = (std::filesystem::path(job.record) / number).native();
    for (std::string* const output : {&element.standard_output, &element.standard_error}) {
        const bool is_told_apart = output->find("%a") != std::string::npos;
        *output = is_told_apart ? expand_pattern(*output, {}, {}, number) : std::string();
    }
    return element;
}

std::string array_text(const std::vector<std::uint32_t>& indices) {
    std::string text;
    for (std::size_t at = 0; at < indices.size();) {
        std::size_t last = at;
        while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) {
            ++last;
        }
        text += (text.empty() ? "" : ",") + std::to_string(indices[at]);
        text += last == at ? "" : "-" + std::to_string(indices[last]);
        at = last + 1;
    }
    return text;
}

std::vector<Entry> elements_of(const Entry& job) {
    if (job.array.empty() || job.is_element) {
        return {job};
    }
    const auto known = known_elements(job);
    std::vector<Entry> elements;
    for (const std::uint32_t index : array_indices(job.array)) {
        Entry element = element_of(job, index);
        element.is_element = true;
        forget(job, element);
        if (const auto found = known.find(index); found != known.end()) {
            restore(found->second, element);
        }
        elements.push_back(std::move(element));
    }
    return elements;
}

namespace {

/// `12_3` as `12` and 3; `12[3].server` as `12[].server` and 3.
struct ElementName {
    std::string job;
    std::int64_t index = 0;
};

std::optional<ElementName> read_element_name(const std::string& name) {
    const std::size_t bracket = name.find('[');
    const std::size_t begin = bracket == std::string::npos ? name.rfind('_') : bracket;
    if (begin == std::string::npos || begin == 0) {
        return std::nullopt;
    }
    const std::size_t end = std::min(name.find(']', begin), name.size());
    const auto index = text::number(std::string_view(name).substr(begin + 1, end - begin - 1));
    if (!index) {
        return std::nullopt;
    }
    return ElementName{bracket == std::string::npos
                           ? name.substr(0, begin)
                           : name.substr(0, begin) + "[" + name.substr(end),
                       *index};
}

tl::unexpected<Error> no_element(const Entry& job, std::int64_t index) {
    const bool is_array = !job.array.empty();
    return fail(
        ErrorCode::kInput,
        problem("element-missing", "job " + job.id + " has no element " + std::to_string(index)),
        is_array ? "its array is " + job.array : "it is not an array",
        is_array
            ? "name one of its indices: " + element_id(job.id, array_indices(job.array).front())
            : "name the job itself: " + job.id);
}

} // namespace

Result<std::optional<Entry>> find_element(const Journal& journal, const std::string& name) {
    const auto wanted = read_element_name(name);
    if (!wanted) {
        return std::optional<Entry>();
    }
    // `12_3` may be of the array `12[].server`, and `12[3]` of the array `12`.
    constexpr std::string_view kBrackets = "[]";
    const bool is_bracketed = wanted->job.ends_with(kBrackets);
    const std::string other = is_bracketed
                                  ? wanted->job.substr(0, wanted->job.size() - kBrackets.size())
                                  : wanted->job + std::string(kBrackets);
    std::vector<Entry> jobs;
    for (const std::string& form : {wanted->job, other}) {
        CYBELE_TRY(jobs, journal.matches(form));
        if (jobs.size() > 1) {
            CYBELE_TRY(jobs.front(), journal.find(form)); // says which there are
        }
        if (!jobs.empty()) {
            break;
        }
    }
    if (jobs.empty()) {
        return std::optional<Entry>();
    }
    const Entry& job = jobs.front();
    for (Entry& element : elements_of(job)) {
        if (element.is_element && element.index == wanted->index) {
            return std::optional(std::move(element));
        }
    }
    return no_element(job, wanted->index);
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
    const auto known = known_elements(entry);
    for (const std::uint32_t index : array_indices(entry.array)) {
        Element element{owner, element_of(entry, index)};
        if (const auto found = known.find(index); found != known.end()) {
            restore(found->second, element.entry);
        } else if (!entry.elements.empty()) {
            element.entry.state = State::kPending;
            element.entry.started = 0;
            element.entry.node.clear();
        }
        into.push_back(std::move(element));
    }
}

void take_element(const Entry& element, Entry& job) {
    auto known = known_elements(job);
    known[element.index] = known_of(element);
    nlohmann::json list = nlohmann::json::array();
    for (const std::uint32_t index : array_indices(job.array)) {
        if (const auto found = known.find(index); found != known.end()) {
            list.push_back(found->second);
        }
    }
    job.elements = json_text(list, -1);
}

void take_known_ends(const Entry& kept, std::size_t owner, std::vector<Element>& elements) {
    const auto known = known_elements(kept);
    for (Element& element : elements) {
        const auto found = known.find(element.entry.index);
        if (element.owner != owner || element.entry.ended != 0 || found == known.end()) {
            continue;
        }
        Entry there = element.entry;
        restore(found->second, there);
        element.entry = there.ended != 0 ? there : element.entry;
    }
}

Failures failures_of(const std::vector<Entry>& elements) {
    Failures failures{elements.size(), {}};
    for (const Entry& element : elements) {
        if (element.ended != 0 && element.state != State::kDone) {
            failures.failed.push_back(static_cast<std::uint32_t>(element.index));
        }
    }
    return failures;
}

std::string Failures::text() const {
    return std::to_string(failed.size()) + " of " + std::to_string(count) + " elements failed" +
           (failed.empty() ? "" : ", index " + array_text(failed));
}

void fold_elements(const std::vector<Element>& elements, std::size_t owner, Entry& entry) {
    const Element* liveliest = nullptr;
    const Element* worst = nullptr;
    std::int64_t started = 0;
    std::int64_t ended = 0;
    std::int64_t missing_since = 0;
    bool is_ended = true;
    nlohmann::json known = nlohmann::json::array(); // of each that does not just wait
    // They stand in the order of their owners.
    auto at = std::lower_bound(
        elements.begin(), elements.end(), owner, [](const Element& element, std::size_t least) {
            return element.owner < least;
        });
    for (; at != elements.end() && at->owner == owner; ++at) {
        const Element& element = *at;
        const Entry& one = element.entry;
        if (one.state != State::kPending) {
            known.push_back(known_of(one));
        }
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
    entry.node = shown.node;
    entry.elements = entry.array.empty() ? std::string() : json_text(known, -1);
}

} // namespace cybele::submission
