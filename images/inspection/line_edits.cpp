// SPDX-License-Identifier: Apache-2.0
// E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1 (1986): the edit
// is a shortest path from the upper left corner of a grid to the lower right one; a step to the
// right removes a line, a step down adds one, and a diagonal step keeps one. Paths from both
// corners meet in the middle, and each half is searched in the same way.
#include "images/inspection/line_edits.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

namespace cybele::images {
namespace {

using Lines = std::vector<std::string_view>;
using Offset = std::ptrdiff_t;

constexpr Offset kMostSteps = 512; // of one search; then the longest path so far is good enough

/// A part of the grid: lines [left, right) of the first text, [top, bottom) of the second.
struct Part {
    Offset left;
    Offset right;
    Offset top;
    Offset bottom;
};

struct Point {
    Offset x;
    Offset y;
};

/// The lines of one text that the other one has, too, as numbers. All others are removed or added.
struct Side {
    std::vector<std::size_t> numbers; ///< equal lines have equal numbers
    std::vector<std::size_t> places;  ///< where in the text each of them is
    std::vector<char> is_edited;      ///< of each line of the text

    [[nodiscard]] std::size_t number(Offset at) const {
        return numbers[static_cast<std::size_t>(at)];
    }
    void edit(Offset begin, Offset end) {
        for (Offset at = begin; at < end; ++at) {
            is_edited[places[static_cast<std::size_t>(at)]] = 1;
        }
    }
};

using Numbers = std::unordered_map<std::string_view, std::size_t>;

Numbers numbers_of(const Lines& lines) {
    Numbers numbers;
    for (const auto& line : lines) {
        numbers.emplace(line, numbers.size());
    }
    return numbers;
}

Side side_of(const Lines& lines, const Numbers& before, const Numbers& after) {
    Side side;
    side.is_edited.assign(lines.size(), 0);
    for (std::size_t at = 0; at < lines.size(); ++at) {
        const auto found = before.find(lines[at]);
        if (found == before.end() || !after.contains(lines[at])) {
            side.is_edited[at] = 1;
            continue;
        }
        side.numbers.push_back(found->second);
        side.places.push_back(at);
    }
    return side;
}

class EditSearch {
public:
    EditSearch(Side& before, Side& after)
        : before_(before), after_(after), zero_(static_cast<Offset>(after.numbers.size()) + 1),
          forward_(before.numbers.size() + after.numbers.size() + 3), backward_(forward_.size()) {}

    void run() {
        std::vector<Part> parts{{0,
                                 static_cast<Offset>(before_.numbers.size()),
                                 0,
                                 static_cast<Offset>(after_.numbers.size())}};
        while (!parts.empty()) {
            Part part = parts.back();
            parts.pop_back();
            cut_equal_ends(part);
            if (part.left == part.right || part.top == part.bottom) {
                before_.edit(part.left, part.right);
                after_.edit(part.top, part.bottom);
                continue;
            }
            const Point middle = middle_of(part);
            if (is_corner(part, middle)) {
                before_.edit(part.left, part.right);
                after_.edit(part.top, part.bottom);
                continue;
            }
            parts.push_back({part.left, middle.x, part.top, middle.y});
            parts.push_back({middle.x, part.right, middle.y, part.bottom});
        }
    }

private:
    [[nodiscard]] bool is_equal(Offset x, Offset y) const {
        return before_.number(x) == after_.number(y);
    }
    static bool is_corner(const Part& part, const Point& point) {
        return (point.x == part.left && point.y == part.top) ||
               (point.x == part.right && point.y == part.bottom);
    }
    void cut_equal_ends(Part& part) const {
        while (part.left < part.right && part.top < part.bottom && is_equal(part.left, part.top)) {
            ++part.left;
            ++part.top;
        }
        while (part.left < part.right && part.top < part.bottom &&
               is_equal(part.right - 1, part.bottom - 1)) {
            --part.right;
            --part.bottom;
        }
    }
    /// How far right the paths have come on a diagonal, which is x - y.
    [[nodiscard]] Offset& ahead(Offset diagonal) {
        return forward_[static_cast<std::size_t>(zero_ + diagonal)];
    }
    [[nodiscard]] Offset& behind(Offset diagonal) {
        return backward_[static_cast<std::size_t>(zero_ + diagonal)];
    }

    /// The diagonals of one direction that are looked at: every second one in between.
    struct Band {
        Offset low;
        Offset high;

        /// One more on each side, as far as the part reaches; `none` marks what is outside.
        template <class At>
        void widen(const Part& part, Offset none, const At& at) {
            if (low > part.left - part.bottom) {
                at(--low - 1) = none;
            } else {
                ++low;
            }
            if (high < part.right - part.top) {
                at(++high + 1) = none;
            } else {
                --high;
            }
        }
        [[nodiscard]] bool holds(Offset diagonal) const {
            return low <= diagonal && diagonal <= high;
        }
    };

    /// A point of the part on a shortest path, near its middle.
    Point middle_of(const Part& part) {
        const Offset start = part.left - part.top;
        const Offset end = part.right - part.bottom;
        const bool is_odd = ((start - end) & 1) != 0;
        Band from_start{start, start};
        Band from_end{end, end};
        ahead(start) = part.left;
        behind(end) = part.right;
        for (Offset steps = 1;; ++steps) {
            from_start.widen(part, part.left - 1, [&](Offset at) -> Offset& { return ahead(at); });
            for (Offset at = from_start.high; at >= from_start.low; at -= 2) {
                const Offset x = go_ahead(part, at);
                if (is_odd && from_end.holds(at) && behind(at) <= x) {
                    return {x, x - at};
                }
            }
            from_end.widen(part, part.right + 1, [&](Offset at) -> Offset& { return behind(at); });
            for (Offset at = from_end.high; at >= from_end.low; at -= 2) {
                const Offset x = go_back(part, at);
                if (!is_odd && from_start.holds(at) && x <= ahead(at)) {
                    return {x, x - at};
                }
            }
            if (steps >= kMostSteps) {
                return longest(part, from_start, from_end);
            }
        }
    }
    Offset go_ahead(const Part& part, Offset diagonal) {
        Offset x = std::max(ahead(diagonal - 1) + 1, ahead(diagonal + 1));
        while (x < part.right && x - diagonal < part.bottom && is_equal(x, x - diagonal)) {
            ++x;
        }
        return ahead(diagonal) = x;
    }
    Offset go_back(const Part& part, Offset diagonal) {
        Offset x = std::min(behind(diagonal - 1), behind(diagonal + 1) - 1);
        while (x > part.left && x - diagonal > part.top && is_equal(x - 1, x - diagonal - 1)) {
            --x;
        }
        return behind(diagonal) = x;
    }
    /// The end of the path that has come farthest, from either corner.
    Point longest(const Part& part, const Band& from_start, const Band& from_end) {
        Point best{part.left, part.top};
        Offset most = -1;
        const auto consider = [&](Offset x, Offset diagonal, bool is_ahead) {
            const Offset y = x - diagonal;
            if (x < part.left || x > part.right || y < part.top || y > part.bottom) {
                return;
            }
            const Offset come =
                is_ahead ? x - part.left + y - part.top : part.right - x + part.bottom - y;
            if (come > most) {
                most = come;
                best = {x, y};
            }
        };
        for (Offset at = from_start.high; at >= from_start.low; at -= 2) {
            consider(ahead(at), at, true);
        }
        for (Offset at = from_end.high; at >= from_end.low; at -= 2) {
            consider(behind(at), at, false);
        }
        return best;
    }

    Side& before_;
    Side& after_;
    Offset zero_; ///< the place of diagonal 0
    std::vector<Offset> forward_;
    std::vector<Offset> backward_;
};

} // namespace

std::vector<LineEdit> line_edits(const Lines& before, const Lines& after) {
    const Numbers old_lines = numbers_of(before);
    const Numbers new_lines = numbers_of(after);
    Side one = side_of(before, old_lines, new_lines);
    Side other = side_of(after, old_lines, new_lines);
    EditSearch(one, other).run();

    std::vector<LineEdit> edits;
    std::size_t x = 0;
    std::size_t y = 0;
    while (x < before.size() || y < after.size()) {
        if (x < before.size() && one.is_edited[x] != 0) {
            edits.push_back({'-', before[x++]});
        } else if (y < after.size() && other.is_edited[y] != 0) {
            edits.push_back({'+', after[y++]});
        } else {
            edits.push_back({' ', before[x++]});
            ++y;
        }
    }
    return edits;
}

} // namespace cybele::images
