// SPDX-License-Identifier: Apache-2.0
#include "support/other_file.hpp"

#include "support/quote.hpp"

#include <algorithm>

namespace cybele {
namespace {

/// How the first line that says something begins, in small letters.
struct Start {
    std::string_view begins;
    OtherFile file;
};
constexpr Start kStarts[] = {
    {"-----begin ", {"a key or a certificate", ""}},
    {"#!", {"a script", "submit --script"}},
    {"bootstrap:", {"a definition file", "def check"}},
    {"from ", {"a Dockerfile", "recipe import"}},
    {"arg ", {"a Dockerfile", "recipe import"}},
    {"apiversion:", {"a Kubernetes object", "kube check"}},
    {"kind: job", {"a Job", "job check"}},
    {"kind: lock", {"a Lock", ""}},
    {"kind: policy", {"a Policy", ""}},
    {"kind: project", {"a Project", ""}},
    {"kind: recipe", {"a Recipe", "recipe check"}},
    {"kind: site", {"a Site", "site check"}},
};

constexpr std::size_t kHead = 4096;

/// The first line that is neither empty nor a comment; of a script, its first.
std::string first_words(std::string_view text) {
    text = text.substr(0, kHead);
    const bool is_script = text.starts_with("#!");
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const std::size_t begin = line.find_first_not_of(" \t\r");
        if (begin == std::string_view::npos || (line[begin] == '#' && !is_script)) {
            continue;
        }
        std::string words(line.substr(begin));
        for (char& c : words) {
            c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
        return words;
    }
    return {};
}

} // namespace

std::optional<OtherFile> recognize_file(std::string_view text) {
    constexpr std::size_t kMagicWithin = 64;
    if (text.substr(0, kMagicWithin).find("SIF_MAGIC") != std::string_view::npos ||
        text.starts_with("hsqs")) {
        return OtherFile{"an image", "inspect"};
    }
    const std::string words = first_words(text);
    const auto* const row =
        std::find_if(std::begin(kStarts), std::end(kStarts), [&](const Start& start) {
            return words.starts_with(start.begins);
        });
    return row == std::end(kStarts) ? std::nullopt : std::optional(row->file);
}

std::string help_for_other_file(const OtherFile& other, std::string_view file) {
    return other.command.empty() ? "give another file"
                                 : "give another file; this one is read by `cybelectl " +
                                       std::string(other.command) + " " + shell_quote(file) + "`";
}

} // namespace cybele
