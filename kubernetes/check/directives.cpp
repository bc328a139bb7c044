// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/check/context.hpp"

#include <algorithm>
#include <array>

namespace cybele::kubernetes {
namespace {

constexpr std::array<std::string_view, 2> kPrefixes{"#SBATCH", "#PBS"};

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (true) {
        const auto begin = text.find_first_not_of(" \t");
        if (begin == std::string_view::npos || text[begin] == '#') {
            return words;
        }
        const auto end = std::min(text.find_first_of(" \t", begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        text.remove_prefix(end);
    }
}

/// `--name=value`, `--name value`, `-N 2`, `-N2`.
void read_words(std::string_view rest, const Directive& empty, std::vector<Directive>& into) {
    const auto words = words_of(rest);
    for (std::size_t at = 0; at < words.size(); ++at) {
        const auto word = words[at];
        if (!word.starts_with("-")) {
            continue;
        }
        Directive directive = empty;
        const auto equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
        if (equals != std::string_view::npos) {
            directive.option = word.substr(0, equals);
            directive.value = word.substr(equals + 1);
        } else if (!word.starts_with("--") && word.size() > 2) {
            directive.option = word.substr(0, 2);
            directive.value = word.substr(2);
        } else {
            directive.option = word;
            if (at + 1 < words.size() && !words[at + 1].starts_with("-")) {
                directive.value = words[++at];
            }
        }
        into.push_back(std::move(directive));
    }
}

} // namespace

std::vector<Directive> directives_of(std::string_view script) {
    std::vector<Directive> directives;
    bool is_late = false;
    for (std::size_t line = 1; !script.empty(); ++line) {
        const auto text = script.substr(0, script.find('\n'));
        script.remove_prefix(std::min(text.size() + 1, script.size()));
        const auto begin = text.find_first_not_of(" \t\r");
        if (begin == std::string_view::npos) {
            continue;
        }
        const auto* prefix = std::ranges::find_if(
            kPrefixes, [&](std::string_view known) { return text.starts_with(known); });
        if (prefix != kPrefixes.end()) {
            Directive empty;
            empty.line = line;
            empty.prefix = *prefix;
            empty.is_late = is_late;
            read_words(text.substr(prefix->size()), empty, directives);
        } else if (text[begin] != '#') {
            is_late = true;
        }
    }
    return directives;
}

} // namespace cybele::kubernetes
