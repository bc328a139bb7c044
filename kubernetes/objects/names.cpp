// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/names.hpp"

#include "support/characters.hpp"

#include <algorithm>

namespace cybele::kubernetes {
namespace {

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view kLetters =
    "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Made of `ends` and `inner` only, with one of `ends` first and last.
bool is_word(std::string_view text, std::string_view ends, std::string_view inner) {
    const auto is_end = [&](char character) {
        return ends.find(character) != std::string_view::npos;
    };
    return !text.empty() && is_end(text.front()) && is_end(text.back()) &&
           std::ranges::all_of(text, [&](char character) {
               return is_end(character) || inner.find(character) != std::string_view::npos;
           });
}

} // namespace

bool is_object_name(std::string_view text) {
    return text.size() <= 50 && is_word(text, kLower, "-");
}

bool is_label_name(std::string_view text) {
    return text.size() <= 63 && is_word(text, kLower, "-");
}

bool is_kind_name(std::string_view text) {
    return text.size() <= 63 && is_word(text, kLetters, "") && !is_digit(text.front());
}

bool is_label_value(std::string_view text) {
    return text.empty() || (text.size() <= 63 && is_word(text, kLetters, "-_."));
}

bool is_label_key(std::string_view text) {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) {
        return !text.empty() && is_label_value(text);
    }
    return slash <= 253 && is_word(text.substr(0, slash), kLower, "-.") &&
           slash + 1 < text.size() && is_label_value(text.substr(slash + 1));
}

bool is_api_version(std::string_view text) {
    const auto slash = text.find('/');
    const auto version = slash == std::string_view::npos ? text : text.substr(slash + 1);
    const bool is_group_good =
        slash == std::string_view::npos || is_word(text.substr(0, slash), kLower, "-.");
    return is_group_good && is_word(version, kLower, "");
}

} // namespace cybele::kubernetes
