// SPDX-License-Identifier: Apache-2.0
#include "pipeline/unified_diff.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace cybele::pipeline {
namespace {

constexpr std::size_t kAround = 3;

/// Lines with their ends.
std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = text.find('\n');
        const auto size = end == std::string_view::npos ? text.size() : end + 1;
        lines.push_back(text.substr(0, size));
        text.remove_prefix(size);
    }
    return lines;
}

void add_lines(std::string& diff,
               char sign,
               const std::vector<std::string_view>& lines,
               std::size_t begin,
               std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
        diff += sign;
        diff += lines[at];
        if (!lines[at].ends_with('\n')) {
            diff += "\n\\ No newline at end of file\n";
        }
    }
}

/// `12,3`; an empty range names the line before it.
std::string range(std::size_t begin, std::size_t count) {
    return fmt::format("{},{}", count == 0 ? begin : begin + 1, count);
}

} // namespace

std::string unified_diff(std::string_view before, std::string_view after, std::string_view name) {
    if (before == after) {
        return {};
    }
    const auto old_lines = split_lines(before);
    const auto new_lines = split_lines(after);
    const std::size_t shorter = std::min(old_lines.size(), new_lines.size());
    std::size_t same = 0;
    while (same < shorter && old_lines[same] == new_lines[same]) {
        ++same;
    }
    std::size_t tail = 0;
    while (tail < shorter - same &&
           old_lines[old_lines.size() - 1 - tail] == new_lines[new_lines.size() - 1 - tail]) {
        ++tail;
    }
    const std::size_t begin = same - std::min(same, kAround);
    const std::size_t around = std::min(tail, kAround);
    const std::size_t old_end = old_lines.size() - tail;
    const std::size_t new_end = new_lines.size() - tail;
    std::string diff = fmt::format("--- {0}\n+++ {0}\n@@ -{1} +{2} @@\n",
                                   name,
                                   range(begin, old_end + around - begin),
                                   range(begin, new_end + around - begin));
    add_lines(diff, ' ', old_lines, begin, same);
    add_lines(diff, '-', old_lines, same, old_end);
    add_lines(diff, '+', new_lines, same, new_end);
    add_lines(diff, ' ', old_lines, old_end, old_end + around);
    return diff;
}

} // namespace cybele::pipeline
