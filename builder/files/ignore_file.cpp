// SPDX-License-Identifier: Apache-2.0
#include "builder/files/ignore_file.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 2> kIgnoreFiles = {".containerignore", ".dockerignore"};
constexpr std::string_view kIgnoreMark = "\xEF\xBB\xBF";
constexpr std::size_t kMostIgnoreBytes = std::size_t{1} << 20U;

/// As Go's filepath.Clean, then without the slash at its beginning.
std::string clean(std::string_view pattern) {
    std::string cleaned = fs::path(pattern).lexically_normal().native();
    while (cleaned.size() > 1 && cleaned.ends_with('/')) {
        cleaned.pop_back();
    }
    const bool is_absolute = cleaned.size() > 1 && cleaned.starts_with('/');
    return is_absolute ? cleaned.substr(1) : cleaned;
}

/// The UTF-8 character that begins at `at`.
std::string_view character_at(std::string_view text, std::size_t at) {
    std::size_t length = 1;
    while (at + length < text.size() &&
           (static_cast<unsigned char>(text[at + length]) >> 6U) == 2) {
        ++length;
    }
    return text.substr(at, length);
}

/// A `[…]` of a pattern that begins behind `[`: its end, and whether the character is in it.
struct Class {
    std::size_t end = std::string_view::npos; ///< behind `]`; npos: it is none
    bool is_match = false;
};

/// One end of a range of a class, with what protects it; empty where there is none.
std::string_view take_member(std::string_view pattern, std::size_t& at) {
    const bool is_protected = at < pattern.size() && pattern[at] == '\\';
    at += is_protected ? 1 : 0;
    if (at >= pattern.size() || (!is_protected && (pattern[at] == '-' || pattern[at] == ']'))) {
        return {};
    }
    const std::string_view member = character_at(pattern, at);
    at += member.size();
    return member;
}

/// Compared as bytes, whose order is that of their characters in UTF-8.
Class read_class(std::string_view pattern, std::size_t at, std::string_view character) {
    Class result;
    const bool is_negated = pattern.substr(at).starts_with('^');
    at += is_negated ? 1 : 0;
    for (bool is_first = true;; is_first = false) {
        if (!is_first && at < pattern.size() && pattern[at] == ']') {
            result.end = at + 1;
            result.is_match = result.is_match != is_negated;
            return result;
        }
        const std::string_view low = take_member(pattern, at);
        const bool is_range = at < pattern.size() && pattern[at] == '-';
        at += is_range ? 1 : 0;
        const std::string_view high = is_range ? take_member(pattern, at) : low;
        if (low.empty() || high.empty()) {
            return {};
        }
        result.is_match = result.is_match || (low <= character && character <= high);
    }
}

/// Matches a pattern and a path from a place in each on. A pair of places that was tried once is
/// not tried again, so that a pattern of many `*` costs no more than their product.
class Matcher {
public:
    Matcher(std::string_view pattern, std::string_view path)
        : pattern_(pattern), path_(path), tried_((pattern.size() + 1) * (path.size() + 1)) {}

    bool match(std::size_t in_pattern, std::size_t in_path) {
        while (in_pattern < pattern_.size()) {
            auto&& is_tried = tried_[in_pattern * (path_.size() + 1) + in_path];
            if (is_tried) {
                return false;
            }
            is_tried = true;
            if (pattern_.substr(in_pattern).starts_with("**")) {
                return match_components(in_pattern + 2, in_path);
            }
            if (pattern_[in_pattern] == '*') {
                return match_within(in_pattern + 1, in_path);
            }
            const std::string_view character =
                in_path < path_.size() ? character_at(path_, in_path) : std::string_view();
            const std::size_t length = match_one(in_pattern, character);
            if (length == 0) {
                return false;
            }
            in_pattern += length;
            in_path += character.size();
        }
        return in_path == path_.size();
    }

private:
    /// `**`, with a slash behind it that counts for it: any number of components.
    bool match_components(std::size_t rest, std::size_t in_path) {
        rest += pattern_.substr(rest).starts_with('/') ? 1U : 0U;
        if (rest == pattern_.size() || match(rest, in_path)) {
            return true;
        }
        for (std::size_t slash = path_.find('/', in_path); slash != std::string_view::npos;
             slash = path_.find('/', slash + 1)) {
            if (match(rest, slash + 1)) {
                return true;
            }
        }
        return false;
    }
    bool match_within(std::size_t rest, std::size_t in_path) {
        for (;; ++in_path) {
            if (match(rest, in_path)) {
                return true;
            }
            if (in_path == path_.size() || path_[in_path] == '/') {
                return false;
            }
        }
    }
    /// The length of what matches the one character; 0: it does not.
    [[nodiscard]] std::size_t match_one(std::size_t at, std::string_view character) const {
        if (character.empty()) {
            return 0;
        }
        if (pattern_[at] == '?') {
            return character == "/" ? 0 : 1;
        }
        if (pattern_[at] == '[') {
            const Class set = read_class(pattern_, at + 1, character);
            return set.is_match && set.end != std::string_view::npos ? set.end - at : 0;
        }
        const std::size_t escape = pattern_[at] == '\\' && at + 1 < pattern_.size() ? 1 : 0;
        return pattern_.substr(at + escape).starts_with(character) ? escape + character.size() : 0;
    }

    std::string_view pattern_;
    std::string_view path_;
    std::vector<bool> tried_;
};

/// A class that is none, or a backslash at the end.
bool is_broken(std::string_view pattern) {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '\\') {
            if (++i == pattern.size()) {
                return true;
            }
        } else if (pattern[i] == '[') {
            const std::size_t end = read_class(pattern, i + 1, "").end;
            if (end == std::string_view::npos) {
                return true;
            }
            i = end - 1;
        }
    }
    return false;
}

} // namespace

bool matches_ignore_pattern(std::string_view pattern, std::string_view path) {
    // Docker's own exception: behind the first `**` a plain text is an end of the path.
    if (pattern.starts_with("**") && pattern.find_first_of("*?[]\\", 2) == std::string_view::npos &&
        path.ends_with(pattern.substr(2))) {
        return true;
    }
    return Matcher(pattern, path).match(0, 0);
}

Result<IgnoreFile> IgnoreFile::parse(std::string_view text, const fs::path& file) {
    IgnoreFile result;
    result.file_ = file;
    if (text.starts_with(kIgnoreMark)) {
        text.remove_prefix(kIgnoreMark.size());
    }
    std::size_t number = 0;
    for (const std::string_view line : text::split_terminated(text, '\n')) {
        ++number;
        std::string_view pattern = line.starts_with('#') ? std::string_view() : text::trimmed(line);
        if (pattern.empty()) {
            continue;
        }
        Pattern one{{}, pattern.front() == '!', number};
        pattern = one.is_exception ? text::trimmed(pattern.substr(1)) : pattern;
        one.text = pattern.empty() ? std::string() : clean(pattern);
        if (one.text.empty() || is_broken(one.text)) {
            return fail(Fault(
                ErrorCode::kInput,
                problem("ignore-pattern",
                        fmt::format("'{}' is not a valid pattern", printable(text::trimmed(line)))),
                one.text.empty()
                    ? "nothing follows '!'"
                    : "its '[' is not the beginning of a valid class, or a backslash ends it",
                "correct or remove the line",
                Place{file.native(), number, 1, std::string(line)}));
        }
        result.patterns_.push_back(std::move(one));
    }
    return result;
}

Result<IgnoreFile> IgnoreFile::read(const fs::path& folder) {
    for (const char* name : kIgnoreFiles) {
        std::error_code error;
        const fs::path file = folder / name;
        if (fs::exists(file, error)) {
            CYBELE_TRY(const std::string text, read_file(file, kMostIgnoreBytes));
            return parse(text, file);
        }
    }
    return IgnoreFile();
}

std::optional<std::size_t> IgnoreFile::line_for(std::string_view path) const {
    const auto matches = [&](const Pattern& pattern) {
        // The path, or a folder above it.
        for (std::size_t end = path.size(); end != std::string_view::npos && end > 0;
             end = path.rfind('/', end - 1)) {
            if (matches_ignore_pattern(pattern.text, path.substr(0, end))) {
                return true;
            }
        }
        return false;
    };
    std::optional<std::size_t> line;
    for (const Pattern& pattern : patterns_) {
        if (pattern.is_exception == line.has_value() && matches(pattern)) {
            line = pattern.is_exception ? std::nullopt : std::optional(pattern.line);
        }
    }
    return line;
}

bool IgnoreFile::has_exceptions() const {
    return std::ranges::any_of(patterns_,
                               [](const Pattern& pattern) { return pattern.is_exception; });
}

std::string IgnoreFile::name_of_line(std::size_t line) const {
    return fmt::format("{}:{}", file_.filename().native(), line);
}

} // namespace cybele::builder
