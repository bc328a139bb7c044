// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/journal/entry.hpp"
#include "submission/journal/journal.hpp"
#include "support/error.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::submission {

/// The indices of an array as a Job writes it: `0-9`, `0-9:3`, `1,4,7`, each with `%2` behind it or
/// not.
[[nodiscard]] std::vector<std::uint32_t> array_indices(std::string_view array);

/// The native id of an element: `12_3` of `12`, `12[3].server` of `12[].server`.
[[nodiscard]] std::string element_id(const std::string& id, std::uint32_t index);

/// The native id of an element's array.
[[nodiscard]] std::string array_id(const std::string& id);

/// The element's own native id and record; its outputs where their names tell them apart (`%a`),
/// else none.
[[nodiscard]] Entry element_of(const Entry& job, std::uint32_t index);

/// The element that `12_3`, `12[3]` or `12[3].server` names, of any scheduler; nothing where `name`
/// is of another form or no such job is known; kInput where the job has no such element.
[[nodiscard]] Result<std::optional<Entry>> find_element(const Journal& journal,
                                                        const std::string& name);

/// The job, or the element of an array, of this name: native id, UUID, `12_3`, `12[3].server`.
[[nodiscard]] Result<Entry> find_job(const Journal& journal, const std::string& name);

/// How many elements did not end well.
struct Failures {
    std::size_t count = 0; ///< of all elements
    std::vector<std::uint32_t> failed;

    /// `4 of 10 elements failed, index 6-9`.
    [[nodiscard]] std::string text() const;
};
[[nodiscard]] Failures failures_of(const std::vector<Entry>& elements);

/// One element of an array; a job that is none is its own.
struct Element {
    std::size_t owner = 0; ///< the place of its job among those that are asked for
    Entry entry;           ///< with the element's own id and record
};

/// The elements of an array by index, as the journal knows them; of another job, the job alone.
[[nodiscard]] std::vector<Entry> elements_of(const Entry& job);

/// `0-9`, `0-3,7`: the indices, which must be in order, as a Job writes them.
[[nodiscard]] std::string array_text(const std::vector<std::uint32_t>& indices);

/// Puts what is known of the element into the `elements` of its job.
void take_element(const Entry& element, Entry& job);

/// Ends those of the job's elements that have ended in `kept`, the job as the journal has it: an
/// element that was cancelled by its own name, and that its scheduler has forgotten.
void take_known_ends(const Entry& kept, std::size_t owner, std::vector<Element>& elements);

/// The job as its elements.
void add_elements(const Entry& entry, std::size_t owner, std::vector<Element>& into);

/// What the elements make of their job: it ends when all have ended, with the end of the first, by
/// index, that did not end well. What is known of each is kept in the job's `elements`.
void fold_elements(const std::vector<Element>& elements, std::size_t owner, Entry& entry);

} // namespace cybele::submission
