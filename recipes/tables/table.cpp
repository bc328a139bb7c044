// SPDX-License-Identifier: Apache-2.0
#include "recipes/tables/table.hpp"

#include "support/embedded.hpp"
#include "support/text.hpp"

#include <span>

namespace cybele::embedded {
std::span<const EmbeddedFile> recipe_files();
}

namespace cybele::recipes {
namespace {

std::string_view table_text(std::string_view name) {
    constexpr std::string_view kFolder = "tables/";
    for (const auto& file : embedded::recipe_files()) {
        if (file.name.starts_with(kFolder) && file.name.substr(kFolder.size()) == name) {
            return file.bytes;
        }
    }
    return {};
}

Mark mark_of_letter(char letter) {
    switch (letter) {
    case 'R':
        return Mark::kRan;
    case 'S':
        return Mark::kSource;
    case 'D':
        return Mark::kDocumented;
    default:
        return Mark::kUnknown;
    }
}

} // namespace

std::vector<std::vector<std::string_view>> table_rows(std::string_view name) {
    std::vector<std::vector<std::string_view>> rows;
    std::string_view text = table_text(name);
    while (!text.empty()) {
        const auto end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        if (line.empty() || line.front() == '#') {
            continue;
        }
        auto& row = rows.emplace_back();
        for (auto bar = line.find('|'); bar != std::string_view::npos; bar = line.find('|')) {
            row.push_back(text::trimmed(line.substr(0, bar)));
            line.remove_prefix(bar + 1);
        }
        row.push_back(text::trimmed(line));
    }
    return rows;
}

Marked read_marked(std::string_view cell) {
    if (cell.empty()) {
        return {};
    }
    const Mark mark = mark_of_letter(cell.back());
    return {mark == Mark::kUnknown ? std::string_view{}
                                   : text::trimmed(cell.substr(0, cell.size() - 1)),
            mark};
}

NeedCell read_need_cell(std::string_view cell) {
    NeedCell need;
    if (cell.empty()) {
        return need;
    }
    need.mark = mark_of_letter(cell.back());
    std::string_view words = text::trimmed(cell.substr(0, cell.size() - 1));
    if (const auto at = words.find('@'); at != std::string_view::npos) {
        std::string_view list = words.substr(at + 1);
        words = text::trimmed(words.substr(0, at));
        for (auto plus = list.find('+'); plus != std::string_view::npos; plus = list.find('+')) {
            need.repositories.push_back(list.substr(0, plus));
            list.remove_prefix(plus + 1);
        }
        need.repositories.push_back(list);
    }
    if (need.mark == Mark::kUnknown) {
        need.candidate = words;
    } else if (words != "none") {
        need.packages = words;
    }
    return need;
}

} // namespace cybele::recipes
