// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/marker.hpp"

#include "support/characters.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <array>

namespace cybele::recipes {
namespace {

/// The variables of PEP 508, and the older spellings that pip still reads.
constexpr std::array<std::string_view, 17> kVariables = {"python_version",
                                                         "python_full_version",
                                                         "os_name",
                                                         "sys_platform",
                                                         "platform_release",
                                                         "platform_system",
                                                         "platform_version",
                                                         "platform_machine",
                                                         "platform_python_implementation",
                                                         "implementation_name",
                                                         "implementation_version",
                                                         "extra",
                                                         "os.name",
                                                         "sys.platform",
                                                         "platform.version",
                                                         "platform.machine",
                                                         "python_implementation"};
constexpr std::array<std::string_view, 8> kSigns = {"===", "==", "!=", "<=", ">=", "~=", "<", ">"};
constexpr int kMostNested = 32;

bool is_marker_character(char c) {
    return is_word_character(c) || c == '.';
}

class Marker {
public:
    explicit Marker(std::string_view text) : text_(text) {}

    std::optional<std::size_t> fault() {
        const bool is_whole = any_of(0);
        skip_blanks();
        return is_whole && at_ == text_.size() ? std::nullopt : std::optional(at_);
    }

private:
    void skip_blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) {
            ++at_;
        }
    }

    /// The word that stands here, without taking it.
    [[nodiscard]] std::string_view word() const {
        const auto* const begin = text_.begin() + static_cast<std::ptrdiff_t>(at_);
        const auto* const end = std::find_if_not(begin, text_.end(), is_marker_character);
        return text_.substr(at_, static_cast<std::size_t>(end - begin));
    }

    bool take_word(std::string_view wanted) {
        skip_blanks();
        const bool is_it = word() == wanted;
        at_ += is_it ? wanted.size() : 0;
        return is_it;
    }

    bool take(char wanted) {
        skip_blanks();
        const bool is_it = at_ < text_.size() && text_[at_] == wanted;
        at_ += is_it ? 1 : 0;
        return is_it;
    }

    /// `… or …`, of `… and …`.
    bool any_of(int depth) {
        do {
            do {
                if (!one(depth)) {
                    return false;
                }
            } while (take_word("and"));
        } while (take_word("or"));
        return true;
    }

    bool one(int depth) {
        if (depth < kMostNested && take('(')) {
            return any_of(depth + 1) && take(')');
        }
        return value() && comparison() && value();
    }

    /// A variable, or a text in quotes.
    bool value() {
        skip_blanks();
        if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
            const std::size_t end = text_.find(text_[at_], at_ + 1);
            if (end == std::string_view::npos) {
                return false;
            }
            at_ = end + 1;
            return true;
        }
        const std::string_view name = word();
        const bool is_known = contains(kVariables, name);
        at_ += is_known ? name.size() : 0;
        return is_known;
    }

    bool comparison() {
        skip_blanks();
        for (const std::string_view sign : kSigns) {
            if (text_.substr(at_).starts_with(sign)) {
                at_ += sign.size();
                return true;
            }
        }
        (void)take_word("not");
        return take_word("in");
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

} // namespace

std::optional<std::size_t> marker_fault(std::string_view text) {
    return Marker(text).fault();
}

} // namespace cybele::recipes
