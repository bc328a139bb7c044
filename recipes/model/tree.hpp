// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"

#include <string>

namespace cybele::recipes {

/// Merges `from` into `into`: maps by key, lists appended, other values of `from` win. Short forms
/// are written out first; of fields that exclude one another those of `from` stay. A value of the
/// wrong shape stays as it is, for the reader to refuse.
void merge(const document::Table& table, yaml::Node& into, yaml::Node from);

/// Sets Mark::file of the node and of all below it.
void set_file(yaml::Node& node, std::size_t file);

/// The tree as one line without blanks, keys sorted: the same for all ways to write the same.
[[nodiscard]] std::string normalised(const yaml::Node& node);

/// Removes a key; true where it was there.
bool remove_key(yaml::Node& map, std::string_view key);

} // namespace cybele::recipes
