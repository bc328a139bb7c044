// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobs/journal/entry.hpp"
#include "jobs/journal/journal.hpp"
#include "support/error.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::jobs {

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

/// The element that `12_3` or `12[3].server` names: nothing where `name` is of another form, or of
/// a job that is no array; kInput where the array has no such index.
[[nodiscard]] Result<std::optional<Entry>> find_element(const Journal& journal,
                                                        const std::string& name);

/// The job, or the element of an array, of this name: native id, UUID, `12_3`, `12[3].server`.
[[nodiscard]] Result<Entry> find_job(const Journal& journal, const std::string& name);

/// One element of an array; a job that is none is its own.
struct Element {
    std::size_t owner = 0; ///< the place of its job among those that are asked for
    Entry entry;           ///< with the element's own id and record
};

/// The job as its elements.
void add_elements(const Entry& entry, std::size_t owner, std::vector<Element>& into);

/// What the elements make of their job: it ends when all have ended, with the end of the first, by
/// index, that did not end well.
void fold_elements(const std::vector<Element>& elements, std::size_t owner, Entry& entry);

} // namespace cybele::jobs
