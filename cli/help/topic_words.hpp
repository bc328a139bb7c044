// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace cybele::cli {

/// What `explain WORD` shows if no page, rule or error has that name: the fields of documents with
/// the name (or with this name in other programs), its meaning in the glossary, and the commands.
/// Empty where nothing was found. `all` has all verbs, `glossary` is the page.
[[nodiscard]] std::string
word_text(const CLI::App& all, std::string_view glossary, std::string_view word);

/// The words that word_text() knows.
[[nodiscard]] std::vector<std::string> known_words(const CLI::App& all, std::string_view glossary);

} // namespace cybele::cli
