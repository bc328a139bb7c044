// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/import/dockerfile.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cybele::recipes::dockerfile {

/// A stage as it stands in the file, and what it has to do with the others.
struct Stage {
    const Instruction* from = nullptr;
    std::vector<const Instruction*> body;
    std::string alias; ///< in small letters
    std::string base;  ///< the image as written, with variables replaced; empty: none can be told
    Value image;
    std::optional<std::size_t> parent; ///< an earlier stage
    std::vector<std::size_t> takes;    ///< stages that COPY and mounts name
    std::vector<std::string> outside;  ///< images that COPY names
    bool is_wanted = false;
    bool is_copied_from = false;
    std::string name; ///< in the Recipe
};

/// The stages of a file.
struct Graph {
    std::vector<Stage> stages;
    std::map<std::string, std::string> values; ///< the Recipe's arguments
    std::set<std::string> outside;             ///< images that COPY --from names
};

/// Takes the instructions apart into stages, resolves what they begin with and take from each
/// other, and fills `file` with arguments and names. Empty where the ledger refuses.
[[nodiscard]] Graph read_graph(File& file, const Lexed& lexed);

} // namespace cybele::recipes::dockerfile
