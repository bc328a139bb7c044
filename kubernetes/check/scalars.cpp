// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/check/context.hpp"
#include "kubernetes/objects/names.hpp"
#include "support/characters.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <array>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

/// Maps of texts, by the key that holds them.
constexpr std::array<std::string_view, 6> kTextMaps{
    "nodeSelector", "labels", "annotations", "data", "stringData", "matchLabels"};
/// Maps whose values (and keys) are labels.
constexpr std::array<std::string_view, 3> kLabelMaps{"nodeSelector", "labels", "matchLabels"};
/// Fields that are texts wherever they stand in these objects.
constexpr std::array<std::string_view, 22> kTexts{
    "name",        "namespace", "generateName",   "image",          "from",          "path",
    "value",       "key",       "kind",           "apiVersion",     "claimName",     "secretName",
    "resourceURL", "queue",     "resourcesecret", "scriptlocation", "jobproperties", "hostName",
    "app",         "type",      "restartPolicy",  "mountPath"};
/// Lists of texts.
constexpr std::array<std::string_view, 3> kTextLists{"args", "command", "binds"};

bool is_made_of(std::string_view text, std::string_view characters) {
    return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

constexpr std::string_view kDigits = "0123456789_";

/// A number in any base that yaml 1.1 knows, underscores and all.
bool is_integer(std::string_view text) {
    if (text.starts_with("0x")) {
        return is_made_of(text.substr(2), "0123456789abcdef_");
    }
    if (text.starts_with("0o") || text.starts_with("0b")) {
        return is_made_of(text.substr(2), kDigits);
    }
    return text.front() != '_' && is_made_of(text, kDigits);
}

/// 3.10, .5, 1e3, 1234e56.
bool is_float(std::string_view text) {
    const auto exponent = text.find('e');
    auto mantissa = text.substr(0, exponent);
    if (exponent != std::string_view::npos) {
        auto power = text.substr(exponent + 1);
        if (power.starts_with("-") || power.starts_with("+")) {
            power.remove_prefix(1);
        }
        if (!is_made_of(power, kDigits)) {
            return false;
        }
    }
    const auto point = mantissa.find('.');
    const bool has_digit = mantissa.find_first_of("0123456789") != std::string_view::npos;
    return has_digit && mantissa.front() != '_' && is_made_of(mantissa, "0123456789_.") &&
           (point == std::string_view::npos ||
            mantissa.find('.', point + 1) == std::string_view::npos);
}

/// What the word is to yaml 1.1, where that is no text: "a flag", "a number", "nothing".
std::string_view meaning_of(std::string_view word) {
    constexpr std::array<std::string_view, 8> kFlags{
        "y", "n", "yes", "no", "on", "off", "true", "false"};
    std::string lower = text::lowered(word);
    if (contains(kFlags, lower)) {
        return "a flag";
    }
    if (lower.empty() || lower == "~" || lower == "null") {
        return "nothing";
    }
    std::string_view number = lower;
    if (number.size() > 1 && (number.front() == '-' || number.front() == '+')) {
        number.remove_prefix(1);
    }
    if (number == ".inf" || number == ".nan" || is_integer(number) || is_float(number)) {
        return "a number";
    }
    return {};
}

/// Kept by Kubernetes, read otherwise elsewhere: 12:30:45, 2026-11-21, 4G, =.
bool is_odd(std::string_view word) {
    if (word == "=" || word == "INFINITE") {
        return true;
    }
    const bool has_digit_first = !word.empty() && is_digit(word.front());
    const bool is_time = has_digit_first && word.find(':') != std::string_view::npos &&
                         is_made_of(word, "0123456789:.");
    const bool is_date =
        has_digit_first && word.size() == 10 && word[4] == '-' && is_made_of(word, "0123456789-");
    const bool is_size = has_digit_first && word.find_first_of("KMGTPkmgtp") == word.size() - 1 &&
                         is_made_of(word.substr(0, word.size() - 1), "0123456789");
    return is_time || is_date || is_size;
}

class Scalars {
public:
    explicit Scalars(Check& check) : check_(check) {}
    void walk(const yaml::Node& node, std::string_view key);

private:
    void judge(const yaml::Node& node, std::string_view rule, const std::string& field);
    void judge_texts(const yaml::Node& map, std::string_view name);
    void judge_label(const yaml::Node& key, const yaml::Node& value);
    Check& check_;
};

void Scalars::judge(const yaml::Node& node, std::string_view rule, const std::string& field) {
    if (node.kind == yaml::Node::Kind::kNull) {
        check_.found(rule, node.mark, fmt::format("`{}` is nothing, not a text", printable(field)));
        return;
    }
    if (node.kind != yaml::Node::Kind::kScalar || !node.is_plain) {
        return;
    }
    if (const auto meaning = meaning_of(node.scalar); !meaning.empty()) {
        check_.found(
            rule,
            node.mark,
            fmt::format(
                "`{}: {}` is {}, not a text", printable(field), printable(node.scalar), meaning),
            {},
            fmt::format("write \"{}\"", printable(node.scalar)));
    } else if (is_odd(node.scalar)) {
        check_.found("K2",
                     node.mark,
                     fmt::format("`{}: {}` is a text to Kubernetes alone",
                                 printable(field),
                                 printable(node.scalar)),
                     {},
                     fmt::format("write \"{}\"", printable(node.scalar)));
    }
}

void Scalars::judge_label(const yaml::Node& key, const yaml::Node& value) {
    if (!is_label_key(key.scalar)) {
        check_.found(
            "K12", key.mark, fmt::format("'{}' is not a valid label key", printable(key.scalar)));
    }
    const bool is_unlimited = value.scalar == "-1" && key.scalar.starts_with("wlm.sylabs.io/");
    if (value.kind == yaml::Node::Kind::kScalar && !is_label_value(value.scalar) && !is_unlimited) {
        check_.found("K12",
                     value.mark,
                     fmt::format("'{}' is not a valid label value", printable(value.scalar)));
    }
}

void Scalars::judge_texts(const yaml::Node& map, std::string_view name) {
    for (const auto& [key, value] : map.entries) {
        judge(value, "K3", key.scalar);
        if (contains(kLabelMaps, name)) {
            judge_label(key, value);
        }
    }
}

void Scalars::walk(const yaml::Node& node, std::string_view key) {
    for (const auto& [name, value] : node.entries) {
        if (contains(kTextMaps, name.scalar) && value.kind == yaml::Node::Kind::kMapping) {
            judge_texts(value, name.scalar);
        } else if (contains(kTexts, name.scalar) && value.items.empty() && value.entries.empty()) {
            judge(value, name.scalar == "value" ? "K3" : "K1", name.scalar);
        } else {
            walk(value, name.scalar);
        }
    }
    for (const auto& item : node.items) {
        if (contains(kTextLists, key)) {
            judge(item, "K1", std::string(key));
        } else {
            walk(item, key);
        }
    }
}

} // namespace

void check_scalars(Check& check) {
    Scalars scalars(check);
    for (const CheckedObject& object : check.objects) {
        if (object.kind !=
            "CustomResourceDefinition") { // schemas have other rules for the same words
            scalars.walk(object.root, "");
        }
    }
}

} // namespace cybele::kubernetes
