// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/diff.hpp"
#include "images/inspection/line_edits.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::images {
namespace {

constexpr std::size_t kContext = 3;

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

// "-3,4": the first line and how many; with none of them, the line before.
std::string range_text(std::size_t first, std::size_t count) {
    return count == 1 ? fmt::format("{}", first + 1)
                      : fmt::format("{},{}", count == 0 ? first : first + 1, count);
}

class Printer {
public:
    explicit Printer(const std::vector<LineEdit>& edits) : edits_(edits) {}

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

    const std::vector<LineEdit>& edits_;
    std::size_t before_ = 0; // lines passed
    std::size_t after_ = 0;
    std::string text_;
};

} // namespace

std::string unified_diff(std::string_view before, std::string_view after) {
    if (before == after) {
        return {};
    }
    const auto edits = line_edits(lines_of(before), lines_of(after));
    return Printer(edits).print();
}

} // namespace cybele::images
