// SPDX-License-Identifier: Apache-2.0
#include "definitions/header.hpp"

#include "definitions/grammar.hpp"
#include "support/quote.hpp"

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

/// Reads a header line by line; keeps what a continuation leaves open, as the reference does.
class HeaderReader {
public:
    HeaderReader(const Origin& origin, Faults& faults) : origin_(origin), faults_(faults) {}

    void line(std::size_t index, std::string_view text);
    Header take() {
        return std::move(header_);
    }

private:
    void refuse(std::size_t index, std::string_view text, std::string message, std::string help);
    void add(std::size_t index, std::string_view text, std::string key, std::string value);

    const Origin& origin_;
    Faults& faults_;
    Header header_;
    std::string open_key_;
    std::string open_value_;
};

void HeaderReader::refuse(std::size_t index,
                          std::string_view text,
                          std::string message,
                          std::string help) {
    Fault fault = origin_.fault(index, text);
    fault.message = std::move(message);
    fault.help = std::move(help);
    faults_.add(std::move(fault));
}

void HeaderReader::line(std::size_t index, std::string_view text) {
    const std::string_view trimmed = trim(text);
    if (trimmed.empty() || trimmed.front() == '#') {
        if (!open_key_.empty()) {
            refuse(index,
                   text,
                   fmt::format("the continued value of '{}' is followed by a {} line",
                               open_key_,
                               trimmed.empty() ? "blank" : "comment"),
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
        refuse(index,
               text,
               fmt::format("this header line is no 'key: value': '{}'", printable(trim(bare))),
               "write a header as 'Key: value'; sections begin with '%' in the first column");
        return;
    }
    add(index, text, lower(trim(bare.substr(0, colon))), std::string(trim(bare.substr(colon + 1))));
}

void HeaderReader::add(std::size_t index,
                       std::string_view text,
                       std::string key,
                       std::string value) {
    if (value.ends_with('\\')) {
        value.pop_back();
        if (value.ends_with("\\n")) {
            value.resize(value.size() - 2);
            value += '\n';
        }
        open_key_ = std::move(key);
        open_value_ = std::move(value);
        return;
    }
    if (!is_header_key(key)) {
        std::vector<std::string_view> known;
        for (const HeaderKey& known_key : header_keys()) {
            known.push_back(known_key.key);
        }
        const std::string near = nearest(key, known);
        refuse(index,
               text,
               fmt::format("'{}' is no header key", printable(key)),
               near.empty() ? "remove the line, or move it into a section"
                            : fmt::format("write '{}'", header_spelling(near)));
        return;
    }
    header_.emplace_back(std::move(key), std::move(value));
}

} // namespace

Header parse_header(const Token& token, const Origin& origin, Faults& faults) {
    HeaderReader reader(origin, faults);
    // The reference trims the whole header first, so blank lines at its ends end no continuation.
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
    return reader.take();
}

} // namespace cybele::definitions
