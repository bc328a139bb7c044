// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/line_edits.hpp"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace cybele::images;

namespace {

using Lines = std::vector<std::string_view>;

/// Both texts, and how many lines the edit keeps.
struct Applied {
    Lines before;
    Lines after;
    std::size_t kept = 0;
};

Applied applied(const std::vector<LineEdit>& edits) {
    Applied result;
    for (const LineEdit& edit : edits) {
        if (edit.mark != '+') {
            result.before.push_back(edit.line);
        }
        if (edit.mark != '-') {
            result.after.push_back(edit.line);
        }
        result.kept += edit.mark == ' ' ? 1U : 0U;
    }
    return result;
}

/// The length of a longest common subsequence, by the table.
std::size_t most_kept(const Lines& before, const Lines& after) {
    std::vector<std::vector<std::size_t>> common(before.size() + 1,
                                                 std::vector<std::size_t>(after.size() + 1));
    for (auto i = before.size(); i-- > 0;) {
        for (auto j = after.size(); j-- > 0;) {
            common[i][j] = before[i] == after[j] ? common[i + 1][j + 1] + 1
                                                 : std::max(common[i + 1][j], common[i][j + 1]);
        }
    }
    return common[0][0];
}

constexpr std::size_t kMany = 100'000;

std::vector<std::string> numbered() {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < kMany; ++at) {
        lines.push_back("line " + std::to_string(at));
    }
    return lines;
}

Lines views(const std::vector<std::string>& lines) {
    return {lines.begin(), lines.end()};
}

/// The CPU seconds that an edit of two long texts takes; it must be right.
double seconds_of(const std::vector<std::string>& before, const std::vector<std::string>& after) {
    const Lines one = views(before);
    const Lines other = views(after);
    const std::clock_t begin = std::clock();
    const auto edits = line_edits(one, other);
    const auto taken = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    const Applied result = applied(edits);
    CHECK(result.before == one);
    CHECK(result.after == other);
    return taken;
}

} // namespace

TEST_CASE("an edit of lines is right, and no shorter one exists") {
    rc::check("edits", [](const std::vector<std::uint8_t>& one, const std::vector<bool>& other) {
        constexpr std::string_view kLines[] = {"a\n", "b\n", "c\n", "d\n"};
        Lines before;
        Lines after;
        for (const auto number : one) {
            before.push_back(kLines[number % 4U]);
        }
        for (std::size_t at = 0; at < other.size(); ++at) {
            after.push_back(kLines[other[at] ? at % 3U : 0]);
        }
        const Applied result = applied(line_edits(before, after));
        RC_ASSERT(result.before == before);
        RC_ASSERT(result.after == after);
        RC_ASSERT(result.kept == most_kept(before, after));
    });
}

TEST_CASE("of 100,000 lines with five changed, five are removed and five added") {
    const auto before = numbered();
    auto after = before;
    for (std::size_t at = 0; at < 5; ++at) {
        after[at * 19'999] = "changed";
    }
    CHECK(applied(line_edits(views(before), views(after))).kept == kMany - 5);
}

TEST_CASE("texts of 100,000 lines that share little are compared within seconds") {
    constexpr double kMost = 30; // a table of their lines would take minutes, and 40 GB
    std::mt19937 random(7);
    const auto before = numbered();
    auto after = before;
    std::shuffle(after.begin(), after.end(), random);
    CHECK(seconds_of(before, after) < kMost);
    after = before;
    std::reverse(after.begin(), after.end());
    CHECK(seconds_of(before, after) < kMost);
    for (std::string& line : after) {
        line = random() % 2 == 0 ? "yes" : "no";
    }
    auto others = after;
    std::shuffle(others.begin(), others.end(), random);
    CHECK(seconds_of(after, others) < kMost);
}
