// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/collected.hpp"

#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace cybele::bridge {
namespace {

constexpr std::size_t kLongestTail = 4096;
constexpr std::size_t kDigestLetters = 64;
/// Of all files that a status lists: an object that has ended stays below 12 KB.
constexpr std::size_t kLongestNames = 3072;

/// The next word, which is removed.
std::string_view next_word(std::string_view& text) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    return word;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_good = fault == std::errc() && end == text.data() + text.size() && number >= 0;
    return is_good ? std::optional(number) : std::nullopt;
}

/// A status is text: other bytes are replaced.
std::string plain_tail(std::string_view bytes) {
    std::string tail(bytes.substr(0, kLongestTail));
    const bool is_text = is_utf8(tail);
    std::replace_if(
        tail.begin(),
        tail.end(),
        [is_text](char letter) {
            const auto byte = static_cast<unsigned char>(letter);
            return (byte < 0x20 && letter != '\n' && letter != '\t') || byte == 0x7f ||
                   (byte >= 0x80 && !is_text);
        },
        '?');
    return tail;
}

std::optional<ResultFile> result_of(std::string_view line) {
    ResultFile file;
    const auto size = whole_number(next_word(line));
    file.sha256 = next_word(line);
    file.name = printable(std::string(line));
    if (!size || file.sha256.size() != kDigestLetters || file.name.empty() ||
        file.name.size() > kLongestTail) {
        return std::nullopt;
    }
    file.size = *size;
    return file;
}

/// Takes one line; `text` is what follows it. Whether it could be read.
bool take_line(std::string_view line, std::string_view& text, std::int64_t now, Collected& into) {
    const std::string_view word = next_word(line);
    if (word == "collected") {
        into.condition = {"ResultsCollected", "True", "Copied", "", now};
        return true;
    }
    if (word == "failed") {
        const std::string reason(next_word(line));
        into.condition = not_collected(reason, printable(std::string(line)), now).condition;
        return !reason.empty();
    }
    if (word == "count") {
        into.count = whole_number(line).value_or(0);
        return true;
    }
    if (word == "result") {
        auto file = result_of(line);
        std::size_t names = file ? file->name.size() : 0;
        for (const ResultFile& known : into.files) {
            names += known.name.size();
        }
        if (file && into.files.size() < kMostResults && names <= kLongestNames) {
            into.files.push_back(std::move(*file));
        }
        return true;
    }
    if (word != "tail") {
        return false;
    }
    const bool is_errors = next_word(line) == "stderr";
    const int length = text::number(text::trimmed(line)).value_or(-1);
    if (length < 0 || static_cast<std::size_t>(length) >= text.size()) {
        return false;
    }
    (is_errors ? into.tail.standard_error : into.tail.standard_output) =
        plain_tail(text.substr(0, static_cast<std::size_t>(length)));
    text.remove_prefix(static_cast<std::size_t>(length) + 1);
    return true;
}

} // namespace

std::string host_path_of(const Object& object) {
    const auto mount =
        object.spec.results ? parse_json(object.spec.results->mount) : nlohmann::json();
    const auto volume = mount.is_object() ? mount.find("hostPath") : mount.end();
    if (volume == mount.end() || !volume->is_object()) {
        return {};
    }
    const auto path = volume->find("path");
    return path != volume->end() && path->is_string() ? path->get<std::string>() : std::string();
}

Collected not_collected(std::string_view reason, std::string message, std::int64_t now) {
    return {{"ResultsCollected", "False", std::string(reason), std::move(message), now}};
}

std::vector<Streams> read_tails(std::string_view text) {
    std::vector<Streams> all;
    Collected one;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line == "complete") {
            all.push_back(std::exchange(one, {}).tail);
        } else if (!line.starts_with("tail ") || !take_line(line, text, 0, one)) {
            break;
        }
    }
    return all;
}

std::optional<Collected> read_collected(std::string_view text, std::int64_t now) {
    Collected collected;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line == "complete") {
            return text.empty() && !collected.condition.type.empty() ? std::optional(collected)
                                                                     : std::nullopt;
        }
        if (!take_line(line, text, now, collected)) {
            return std::nullopt;
        }
    }
    return std::nullopt;
}

} // namespace cybele::bridge
