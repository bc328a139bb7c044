// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/diff.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::images {
namespace {

constexpr std::size_t kContext = 3;
constexpr std::size_t kMostCells = 4'000'000; // of the table of common lines

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
    Lines lines;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size() - 1);
        lines.push_back(text.substr(at, end - at + 1));
        at = end + 1;
    }
    return lines;
}

/// One line of the edit: kept ' ', removed '-' or added '+'.
struct Edit {
    char mark;
    std::string_view line;
};

// The longest common subsequence of the lines, by a table; the parts that are alike at both ends
// are cut off by the caller.
std::vector<Edit> edits_between(const Lines& before, const Lines& after) {
    std::vector<Edit> edits;
    const auto width = after.size() + 1;
    const bool is_small = before.size() * width <= kMostCells;
    std::vector<std::uint32_t> common(is_small ? (before.size() + 1) * width : 0, 0);
    for (auto i = is_small ? before.size() : 0; i-- > 0;) {
        for (auto j = after.size(); j-- > 0;) {
            common[i * width + j] = before[i] == after[j] ? common[(i + 1) * width + j + 1] + 1
                                                          : std::max(common[(i + 1) * width + j],
                                                                     common[i * width + j + 1]);
        }
    }
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < before.size() || j < after.size()) {
        if (is_small && i < before.size() && j < after.size() && before[i] == after[j]) {
            edits.push_back({' ', before[i++]});
            ++j;
        } else if (j == after.size() ||
                   (i < before.size() &&
                    (!is_small || common[(i + 1) * width + j] >= common[i * width + j + 1]))) {
            edits.push_back({'-', before[i++]});
        } else {
            edits.push_back({'+', after[j++]});
        }
    }
    return edits;
}

std::vector<Edit> all_edits(const Lines& before, const Lines& after) {
    const auto shorter = std::min(before.size(), after.size());
    std::size_t begin = 0;
    while (begin < shorter && before[begin] == after[begin]) {
        ++begin;
    }
    std::size_t end = 0;
    while (end < shorter - begin &&
           before[before.size() - 1 - end] == after[after.size() - 1 - end]) {
        ++end;
    }
    const auto middle = [&](const Lines& lines) {
        return Lines(lines.begin() + static_cast<std::ptrdiff_t>(begin),
                     lines.end() - static_cast<std::ptrdiff_t>(end));
    };
    std::vector<Edit> edits;
    for (std::size_t at = 0; at < begin; ++at) {
        edits.push_back({' ', before[at]});
    }
    for (const auto& edit : edits_between(middle(before), middle(after))) {
        edits.push_back(edit);
    }
    for (auto at = before.size() - end; at < before.size(); ++at) {
        edits.push_back({' ', before[at]});
    }
    return edits;
}

// "-3,4": the first line and how many; with none of them, the line before.
std::string range_text(std::size_t first, std::size_t count) {
    return count == 1 ? fmt::format("{}", first + 1)
                      : fmt::format("{},{}", count == 0 ? first : first + 1, count);
}

class Printer {
public:
    explicit Printer(const std::vector<Edit>& edits) : edits_(edits) {}

    [[nodiscard]] std::string print() {
        for (std::size_t at = 0; at < edits_.size();) {
            if (edits_[at].mark == ' ') {
                ++before_;
                ++after_;
                ++at;
                continue;
            }
            at = print_hunk(at);
        }
        return std::move(text_);
    }

private:
    // The end of a hunk: where more unchanged lines follow than two contexts.
    [[nodiscard]] std::size_t end_of(std::size_t at) const {
        std::size_t end = at;
        std::size_t kept = 0;
        for (auto i = at; i < edits_.size() && kept <= 2 * kContext; ++i) {
            kept = edits_[i].mark == ' ' ? kept + 1 : 0;
            end = kept == 0 ? i + 1 : end;
        }
        return std::min(end + kContext, edits_.size());
    }
    std::size_t print_hunk(std::size_t at) {
        const auto context = std::min({kContext, before_, at});
        const auto end = end_of(at);
        const auto first_before = before_ - context;
        const auto first_after = after_ - context;
        std::string body;
        for (auto i = at - context; i < end; ++i) {
            body += edits_[i].mark;
            body += edits_[i].line;
            if (!edits_[i].line.ends_with('\n')) {
                body += "\n\\ No newline at end of file\n";
            }
            if (i >= at) {
                before_ += edits_[i].mark != '+' ? 1U : 0U;
                after_ += edits_[i].mark != '-' ? 1U : 0U;
            }
        }
        text_ += fmt::format("@@ -{} +{} @@\n",
                             range_text(first_before, before_ - first_before),
                             range_text(first_after, after_ - first_after));
        text_ += body;
        return end;
    }

    const std::vector<Edit>& edits_;
    std::size_t before_ = 0; // lines passed
    std::size_t after_ = 0;
    std::string text_;
};

} // namespace

std::string unified_diff(std::string_view before, std::string_view after) {
    if (before == after) {
        return {};
    }
    const auto edits = all_edits(lines_of(before), lines_of(after));
    return Printer(edits).print();
}

} // namespace cybele::images
