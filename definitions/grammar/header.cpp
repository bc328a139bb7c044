// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/header.hpp"

#include "definitions/grammar/grammar.hpp"
#include "support/quote.hpp"

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kWithoutMark = R"(remove it: sed -i '1s/^\xEF\xBB\xBF//' FILE)";

/// Reads a header line by line; keeps what a continuation leaves open, as Apptainer does.
class HeaderReader {
public:
    HeaderReader(const Origin& origin, Stage& stage, Findings& findings)
        : origin_(origin), stage_(stage), findings_(findings) {}

    void line(std::size_t index, std::string_view text);

private:
    void add(std::size_t index, std::string_view text, std::string key, std::string value);

    const Origin& origin_;
    Stage& stage_;
    Findings& findings_;
    std::string open_key_;
    std::string open_value_;
};

/// The key that was meant, or where it is known to other releases.
std::string key_help(std::string_view key) {
    if (const Since* since = header_since(key)) {
        return fmt::format("build it with {} or later, or remove the line", since->describe());
    }
    std::vector<std::string_view> known;
    for (const HeaderKey& known_key : header_keys()) {
        known.push_back(known_key.key);
    }
    const std::string near = nearest(key, known);
    return near.empty() ? "remove the line, or move it into a section"
                        : fmt::format("did you mean '{}'?", header_spelling(near));
}

void HeaderReader::line(std::size_t index, std::string_view text) {
    const std::string_view trimmed = trim(text);
    if (trimmed.empty() || trimmed.front() == '#') {
        if (!open_key_.empty()) {
            findings_.add("CD008",
                          origin_.fault(index, text),
                          fmt::format("the continued value of '{}' is followed by a {} line",
                                      printable(open_key_),
                                      trimmed.empty() ? "blank" : "comment"),
                          "Apptainer stops with an internal error there",
                          "put the rest of the value on the line after the backslash");
            open_key_.clear();
            open_value_.clear();
        }
        return;
    }
    const std::string_view bare = trimmed.substr(0, trimmed.find('#'));
    if (!open_value_.empty()) {
        std::string key = std::exchange(open_key_, {});
        std::string value = std::exchange(open_value_, {}) + std::string(trim(bare));
        add(index, text, std::move(key), std::move(value));
        return;
    }
    const std::size_t colon = bare.find(':');
    if (colon == std::string_view::npos) {
        const bool has_mark = text.starts_with(kByteOrderMark);
        findings_.add(
            has_mark ? "CD009" : "CD005",
            origin_.fault(index, text),
            has_mark
                ? "the file begins with a byte order mark"
                : fmt::format("this header line is no 'key: value': '{}'", printable(trim(bare))),
            "a definition begins with its header; what is neither a comment nor 'key: value' is "
            "refused there",
            has_mark ? std::string(kWithoutMark)
                     : "write a header as 'Key: value'; sections begin with '%' in the first "
                       "column");
        return;
    }
    add(index, text, lower(trim(bare.substr(0, colon))), std::string(trim(bare.substr(colon + 1))));
}

void HeaderReader::add(std::size_t index,
                       std::string_view text,
                       std::string key,
                       std::string value) {
    if (value.ends_with('\\') && has(origin_.dialect, Feature::kHeaderContinuation)) {
        value.pop_back();
        if (value.ends_with("\\n")) {
            value.resize(value.size() - 2);
            value += '\n';
        }
        open_key_ = std::move(key);
        open_value_ = std::move(value);
        return;
    }
    if (!is_header_key(key, origin_.dialect)) {
        if (key.starts_with(kByteOrderMark)) {
            findings_.add("CD009",
                          origin_.fault(index, text),
                          "the file begins with a byte order mark",
                          "Apptainer reads its three bytes as a part of the first key",
                          std::string(kWithoutMark));
            return;
        }
        const bool is_newer = header_since(key) != nullptr;
        Fault place = origin_.fault(index, text);
        place.detail = is_newer ? "" : "key";
        place.subject = key;
        findings_.add("CD005",
                      std::move(place),
                      is_newer ? fmt::format("{} has no header key '{}'",
                                             origin_.dialect.name(),
                                             header_spelling(key))
                               : fmt::format("'{}' is not a header key", printable(key)),
                      "",
                      key_help(key));
        return;
    }
    stage_.header_lines[key] = {origin_.stage->line(index), std::string(text)};
    stage_.header.emplace_back(std::move(key), std::move(value));
}

} // namespace

void parse_header(const Token& token, const Origin& origin, Stage& stage, Findings& findings) {
    stage.header.clear();
    stage.header_lines.clear();
    HeaderReader reader(origin, stage, findings);
    // Apptainer trims the header first: a continuation does not end at a blank line at its end.
    const std::string_view all = token.text;
    const std::string_view inner = trim(all);
    std::size_t index = token.index;
    if (!inner.empty()) {
        const std::size_t skipped = static_cast<std::size_t>(inner.data() - all.data());
        for (const char c : all.substr(0, skipped)) {
            index += c == '\n' ? 1U : 0U;
        }
    }
    for (std::size_t begin = 0; begin < inner.size(); ++index) {
        const std::size_t end = std::min(inner.find('\n', begin), inner.size());
        reader.line(index, inner.substr(begin, end - begin));
        begin = end + 1;
    }
}

} // namespace cybele::definitions
