// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobs/follow/conclude.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::jobs {

/// The indices of an array as a Job writes it: `0-9`, `0-9:3`, `1,4,7`, each with `%2` behind it or
/// not.
[[nodiscard]] std::vector<std::uint32_t> array_indices(std::string_view array);

/// The native id of an element: `12_3` of `12`, `12[3].server` of `12[].server`.
[[nodiscard]] std::string element_id(const std::string& id, std::uint32_t index);

/// A job, or one element of an array, with what is known of it.
struct Element {
    std::size_t owner = 0; ///< the place of its job among those that are asked for
    Entry entry;           ///< an element's has its own id and record
    Evidence evidence;
};

/// The job as its elements.
void add_elements(const Entry& entry, std::size_t owner, std::vector<Element>& into);

/// What the elements make of their job: it ends when all have ended, with the end of the first, by
/// index, that did not end well.
void fold_elements(const std::vector<Element>& elements, std::size_t owner, Entry& entry);

} // namespace cybele::jobs
