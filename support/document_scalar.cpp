// SPDX-License-Identifier: Apache-2.0
#include "support/document.hpp"
#include "support/document_help.hpp"
#include "support/duration.hpp"
#include "support/find.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"
#include "support/size.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>

namespace cybele::document {
namespace {

constexpr std::size_t kLongestCount = 9;

/// ASCII and C1 control characters; line ends and tabs too unless a script may have them.
bool has_control(std::string_view text, bool is_script) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (is_script && (byte == '\n' || byte == '\t')) {
            continue;
        }
        const bool is_c1 =
            byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
        if (byte < 0x20 || byte == 0x7f || is_c1) {
            return true;
        }
    }
    return false;
}

ValueFault check_text(std::string_view text) {
    if (text.empty()) {
        return {"it is empty", "give it a value, or leave the line out"};
    }
    if (has_control(text, false)) {
        return {"it has line ends or control characters", "write it on one line"};
    }
    return {};
}

ValueFault check_value(std::string_view text) {
    return text.empty() ? ValueFault{} : check_text(text);
}

ValueFault check_script(std::string_view text) {
    if (text.find_first_not_of(" \n\t") == std::string_view::npos) {
        return {"it is empty", "write the commands, or leave the line out"};
    }
    if (has_control(text, true)) {
        return {"it has control characters other than tabs and line ends", "remove them"};
    }
    return {};
}

ValueFault check_name(std::string_view text) {
    if (is_name(text)) {
        return {};
    }
    const std::string better = suggest_name(text);
    return {"a name has small letters, digits and `-`, begins with a letter, does not end with "
            "`-` and has at most 50 characters, so that every scheduler and Kubernetes accepts it",
            better.empty() ? "" : "write `" + better + "`"};
}

/// The number that the text means: `+3`, `3.0`, `3 nodes`, `three`, or a word of the shape; else
/// the forms that it may have.
std::string help_for_count(const Shape& shape, std::string_view text) {
    constexpr std::string_view kNumbers[] = {
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"};
    if (const std::string near = nearest(text, shape.words); !near.empty()) {
        return "did you mean `" + near + "`?";
    }
    const auto* const word = std::ranges::find(kNumbers, text);
    if (word != std::end(kNumbers)) {
        return "write `" + std::to_string(word - std::begin(kNumbers)) + "`";
    }
    std::string_view digits = text;
    digits.remove_prefix(!digits.empty() && digits[0] == '+' ? 1 : 0);
    const std::string_view rest =
        digits.substr(std::min(digits.find_first_not_of("0123456789"), digits.size()));
    digits.remove_suffix(rest.size());
    const bool is_whole = rest.starts_with(' ') ||
                          (rest.starts_with('.') && rest.find_first_not_of('0', 1) == rest.npos);
    if ((rest.empty() || is_whole) && !digits.empty() && digits.size() <= kLongestCount &&
        digits.front() != '0') {
        return "write `" + std::string(digits) + "`";
    }
    std::string words;
    for (const std::string_view each : shape.words) {
        words += ", or `" + std::string(each) + "`";
    }
    return "write a number in digits" + words;
}

ValueFault check_count(const Shape& shape, std::string_view text, bool is_plain) {
    if (contains(shape.words, text)) {
        return {};
    }
    const bool is_number =
        !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_number) {
        return {"a count is a decimal integer, 0 or more", help_for_count(shape, text)};
    }
    if (text.size() > 1 && text.front() == '0') {
        const auto first = std::min(text.find_first_not_of('0'), text.size() - 1);
        return {"a count has no leading zero", "write `" + std::string(text.substr(first)) + "`"};
    }
    if (text.size() > kLongestCount) {
        return {"it is larger than 999999999", "write `999999999` or less"};
    }
    if (!is_plain) {
        return {"a count stands without quotes", "write `" + std::string(text) + "`"};
    }
    return {};
}

ValueFault check_flag(std::string_view text, bool is_plain) {
    if (is_plain && (text == "true" || text == "false")) {
        return {};
    }
    constexpr std::array<std::string_view, 5> kYes{"yes", "y", "on", "true", "1"};
    constexpr std::array<std::string_view, 5> kNo{"no", "n", "off", "false", "0"};
    const std::string lower = text::lowered(text);
    const bool is_yes = contains(kYes, lower);
    const bool is_no = contains(kNo, lower);
    return {"a flag is `true` or `false`, without quotes",
            is_yes  ? "write `true`"
            : is_no ? "write `false`"
                    : "write `true` or `false`"};
}

ValueFault check_duration(std::string_view text) {
    if (parse_duration(text)) {
        return {};
    }
    const std::string help = help_for_duration(text);
    if (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos) {
        return {"a bare number is minutes to Slurm and seconds to TORQUE and PBS", help};
    }
    if (text.size() <= 5 && text.find(':') != std::string_view::npos) {
        return {"schedulers differ on whether two numbers are hours and minutes or minutes and "
                "seconds",
                help};
    }
    return {"a duration is written as `90 s`, `30 min`, `1h30m`, `2 d`, `01:30:00` or "
            "`1-12:00:00`",
            help};
}

ValueFault check_size(std::string_view text) {
    if (parse_size(text)) {
        return {};
    }
    const std::string help = help_for_size(text);
    if (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos) {
        return {"a number without a unit is megabytes to one scheduler and bytes to another", help};
    }
    return {"a size is an integer, in units of 1024: KiB, MiB, GiB, TiB, PiB, or K, M, G, T, P",
            help};
}

ValueFault check_path(std::string_view text) {
    if (ValueFault complaint = check_text(text); !complaint.because.empty()) {
        return complaint;
    }
    if (text.front() == '~' && !text.starts_with("~/")) {
        return {"only `~/`, the home directory of who runs it, is known",
                "write `./" + std::string(text) + "`, or the absolute path of the directory"};
    }
    return {};
}

ValueFault check_word(const Shape& shape, std::string_view text) {
    if (contains(shape.words, text)) {
        return {};
    }
    if (shape.rule != nullptr) {
        return shape.rule->check(text);
    }
    const std::string_view synonym = synonym_of(text, shape.words);
    const std::string near = synonym.empty() ? nearest(text, shape.words) : std::string(synonym);
    return {"only these words are known here",
            !near.empty() ? "did you mean `" + near + "`?"
            : shape.words.size() == 1
                ? "write `" + std::string(shape.words[0]) + "`"
                : "write one of them, for example `" + std::string(shape.words[0]) + "`"};
}

ValueFault check_type(const Shape& shape, std::string_view text, bool is_plain) {
    switch (shape.type) {
    case Type::kText:
    case Type::kTextOrList:
        return check_text(text);
    case Type::kValue:
        return check_value(text);
    case Type::kName:
        return check_name(text);
    case Type::kCount:
        return check_count(shape, text, is_plain);
    case Type::kFlag:
        return check_flag(text, is_plain);
    case Type::kDuration:
        return check_duration(text);
    case Type::kSize:
        return check_size(text);
    case Type::kPath:
        return check_path(text);
    case Type::kImage: {
        ValueFault complaint = check_text(text);
        if (complaint.because.empty()) {
            complaint.because = image_reference_fault(text, complaint.help);
        }
        return complaint;
    }
    case Type::kScript:
    case Type::kArgvOrScript:
        return check_script(text);
    case Type::kWord:
        return check_word(shape, text);
    case Type::kList:
    case Type::kMap:
        break;
    }
    return {};
}

std::string joined(std::span<const std::string_view> words) {
    std::string text;
    for (const auto word : words) {
        text += (text.empty() ? "" : ", ") + std::string(word);
    }
    return text;
}

} // namespace

ValueFault check_scalar(const Shape& shape, std::string_view text, bool is_plain) {
    ValueFault complaint = check_type(shape, text, is_plain);
    if (complaint.because.empty() && shape.rule != nullptr) {
        complaint = shape.rule->check(text);
    }
    return complaint;
}

std::string describe(const Shape& shape) {
    if (shape.rule != nullptr) {
        return std::string(shape.rule->name);
    }
    switch (shape.type) {
    case Type::kText:
    case Type::kValue:
        return "a text";
    case Type::kName:
        return "a name";
    case Type::kCount:
        return shape.words.empty() ? "a count" : "a count or one of " + joined(shape.words);
    case Type::kFlag:
        return "a flag";
    case Type::kDuration:
        return "a duration";
    case Type::kSize:
        return "a size";
    case Type::kPath:
        return "a path";
    case Type::kImage:
        return "an image";
    case Type::kScript:
        return "a script";
    case Type::kWord:
        return shape.words.size() == 1 ? "`" + std::string(shape.words[0]) + "`"
                                       : "one of " + joined(shape.words);
    case Type::kList:
        return shape.scalar != nullptr ? describe(*shape.scalar) + " or a list" : "a list";
    case Type::kMap: {
        const bool is_short = shape.table != nullptr && shape.table->has_short_form;
        const Shape* scalar = is_short ? shape.table->fields.front().shape : shape.scalar;
        return scalar != nullptr ? describe(*scalar) + " or a map" : "a map";
    }
    case Type::kArgvOrScript:
        return "a list of words or a script";
    case Type::kTextOrList:
        return "a text or a list of texts";
    }
    return {};
}

} // namespace cybele::document
