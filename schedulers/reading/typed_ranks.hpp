// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/typed_launch.hpp"
#include "schedulers/reading/typed_setup.hpp"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace cybele::schedulers {

/// Whether the shell of each rank reads the word like the shell of the script: it has variables
/// alone that are the same there, or whose values the set-up can hand over.
[[nodiscard]] bool is_word_of_ranks(std::string_view raw, const TypedSetup& setup);

/// What each rank runs, and the lines that the set-up needs for it.
struct RankScript {
    std::string text;
    std::string setup;
};
/// `raw` has the words that the rank's shell reads, by their place in `words`.
[[nodiscard]] RankScript rank_script(std::span<const std::string> words,
                                     const std::map<std::size_t, std::string>& raw,
                                     const TypedSetup& setup);

/// What the set-up exports, and a typed launch could not hand on; empty: nothing.
[[nodiscard]] std::string_view
lost_export(const TypedLaunch& launch, const TypedSetup& setup, const Place& place);

} // namespace cybele::schedulers
