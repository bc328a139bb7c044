// SPDX-License-Identifier: Apache-2.0
#include "cli/help/topic_words.hpp"

#include "cli/common/cli11.hpp"
#include "cli/help/verb_hints.hpp"
#include "pipeline/schemas.hpp"
#include "support/document_help.hpp"
#include "support/find.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace cybele::cli {
namespace {

/// A field, and how `explain` names it.
struct FoundField {
    std::string path; ///< "job.resources.time"
    const document::Field* field;
};

/// A table that several fields share is listed at the first of them.
void collect(const document::Table& table,
             const std::string& path,
             std::set<const document::Table*>& seen,
             std::vector<FoundField>& found) {
    if (!seen.insert(&table).second) {
        return;
    }
    for (const document::Field* field : table.all()) {
        const std::string own = fmt::format("{}.{}", path, field->name);
        found.push_back({own, field});
        const document::Shape* shape = field->shape;
        while (shape->item != nullptr) {
            shape = shape->item;
        }
        if (shape->table != nullptr) {
            collect(*shape->table, own, seen, found);
        }
    }
}

std::vector<FoundField> all_fields() {
    std::vector<FoundField> found;
    for (const document::Kind* kind : pipeline::document_kinds()) {
        std::set<const document::Table*> seen;
        collect(*kind->table, text::lowered(kind->name), seen, found);
    }
    return found;
}

std::string fields_text(std::string_view word) {
    const std::vector<FoundField> fields = all_fields();
    std::vector<std::string_view> names;
    names.reserve(fields.size());
    for (const FoundField& one : fields) {
        names.push_back(one.field->name);
    }
    const bool is_name = contains(names, word);
    const std::string_view ours = is_name ? word : document::synonym_of(word, names);
    std::string text;
    for (const FoundField& one : fields) {
        if (!ours.empty() && one.field->name == ours) {
            text += fmt::format("  {}: {}\n", one.path, one.field->description);
        }
    }
    if (text.empty()) {
        return {};
    }
    return fmt::format("{}; for details: cybelectl explain FIELD\n{}",
                       is_name ? fmt::format("fields named `{}`", word)
                               : fmt::format("`{}` is `{}` here", word, ours),
                       text);
}

/// The rows of the glossary, each with the words of its first cell.
struct Term {
    std::vector<std::string> words;
    std::string_view meaning;
};

std::vector<Term> terms_of(std::string_view glossary) {
    std::vector<Term> terms;
    for (const std::string_view line : text::split(glossary, '\n')) {
        const std::size_t middle = line.find(" | ");
        if (!line.starts_with("| ") || middle == std::string_view::npos || !line.ends_with(" |")) {
            continue;
        }
        Term term;
        for (std::string_view word : text::split(line.substr(2, middle - 2), ',')) {
            std::string own(word);
            std::erase(own, '`');
            own.erase(0, std::min(own.find_first_not_of(' '), own.size()));
            term.words.push_back(own);
        }
        term.meaning = line.substr(middle + 3, line.size() - middle - 5);
        terms.push_back(std::move(term));
    }
    return terms;
}

std::string term_text(std::string_view glossary, const std::string& word) {
    for (const Term& term : terms_of(glossary)) {
        for (const std::string& own : term.words) {
            if (text::lowered(own) == word || text::lowered(own) + "s" == word) {
                return fmt::format("{}: {}\n", own, term.meaning);
            }
        }
    }
    return {};
}

/// Whether the words are a command with its verbs: `job convert`.
bool is_command(const CLI::App& all, std::string_view words) {
    const CLI::App* verb = &all;
    for (const std::string_view word : text::split(words, ' ')) {
        const auto verbs = verb->get_subcommands({});
        const auto found = std::ranges::find_if(
            verbs, [&](const CLI::App* each) { return each->get_name() == word; });
        if (found == verbs.end()) {
            return false;
        }
        verb = *found;
    }
    return true;
}

std::string commands_text(const CLI::App& all, std::string_view word) {
    std::string text;
    const bool is_path = word.find(' ') != std::string_view::npos;
    if (is_path && !is_command(all, word)) {
        return {};
    }
    for (const std::string& command :
         is_path ? std::vector<std::string>{std::string(word)} : commands_for(all, word)) {
        const CLI::App* verb = &all;
        for (const std::string_view part : text::split(command, ' ')) {
            verb = part.starts_with('-') ? nullptr : verb->get_subcommand(std::string(part));
            if (verb == nullptr) {
                break;
            }
        }
        if (verb != nullptr) {
            text += fmt::format("  cybelectl {}: {}\n", command, verb->get_description());
        }
    }
    return text.empty() ? text : "commands; for details: cybelectl COMMAND --help\n" + text;
}

void add_verbs(const CLI::App& app, std::vector<std::string>& words) {
    for (const CLI::App* verb : app.get_subcommands({})) {
        words.push_back(verb->get_name());
        add_verbs(*verb, words);
    }
}

} // namespace

std::string word_text(const CLI::App& all, std::string_view glossary, std::string_view word) {
    const std::string lower = text::lowered(word);
    std::string text;
    for (const std::string& part :
         {term_text(glossary, lower), fields_text(lower), commands_text(all, lower)}) {
        text += (text.empty() || part.empty() ? "" : "\n") + part;
    }
    return text;
}

std::vector<std::string> known_words(const CLI::App& all, std::string_view glossary) {
    std::vector<std::string> words;
    for (const FoundField& one : all_fields()) {
        words.emplace_back(one.field->name);
    }
    for (const Term& term : terms_of(glossary)) {
        words.insert(words.end(), term.words.begin(), term.words.end());
    }
    add_verbs(all, words);
    return words;
}

} // namespace cybele::cli
