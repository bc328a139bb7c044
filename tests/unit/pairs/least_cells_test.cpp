// SPDX-License-Identifier: Apache-2.0
// Combinations of values that met only in cells that were refused: each in the least cell that has
// them, which renders, or is what refuses them.
#include "job_cell.hpp"
#include "job_factors.hpp"

#include <algorithm>
#include <utility>

#include <doctest/doctest.h>

namespace cybele::pairs {
namespace {

struct Chosen {
    std::size_t factor;
    std::size_t value;
};

class LeastCells {
public:
    explicit LeastCells(Cells& cells) : cells_(cells), target_(factor_named("", "target")) {
        for (const std::size_t size : factor_sizes()) {
            first_.push_back(count_);
            count_ += size;
        }
        is_met_.assign(count_, std::vector<bool>(count_, false));
        is_tried_ = is_met_;
        least_.resize(count_);
        for (const Cell& cell : cells_.rendered) {
            meet(cell.row);
        }
        find_least();
    }

    /// Every pair with a value: many in one cell, then those that were taken out one by one.
    void meet_pairs() {
        for (std::size_t factor = 0; factor < first_.size(); ++factor) {
            for (std::size_t value = 0; value < factor_sizes()[factor]; ++value) {
                while (meet_many({factor, value})) {
                }
            }
        }
        each_pair([this](const Chosen& one, const Chosen& two) {
            if (!has_met(one, two) && renders(one) && renders(two)) {
                meet_all({one, two});
            }
        });
        Meetings& pairs = cells_.pairs;
        each_pair([&](const Chosen& one, const Chosen& two) {
            ++pairs.all;
            if (has_met(one, two)) {
                ++pairs.in_rendered;
            } else {
                ++(renders(one) && renders(two) ? pairs.refused : pairs.of_refused);
            }
        });
        cells_.values = count_;
        cells_.refused_values = static_cast<std::size_t>(std::count_if(
            least_.begin(), least_.end(), [](const Row& row) { return row.empty(); }));
    }

    void meet_triples() {
        const auto strong = strong_factors();
        for (std::size_t one = 0; one < strong.size(); ++one) {
            for (std::size_t two = one + 1; two < strong.size(); ++two) {
                for (std::size_t three = two + 1; three < strong.size(); ++three) {
                    meet_triples_of({strong[one], strong[two], strong[three]});
                }
            }
        }
    }

private:
    [[nodiscard]] std::size_t index_of(const Chosen& chosen) const {
        return first_[chosen.factor] + chosen.value;
    }
    [[nodiscard]] bool has_met(const Chosen& one, const Chosen& two) const {
        return is_met_[index_of(one)][index_of(two)];
    }
    [[nodiscard]] bool renders(const Chosen& chosen) const {
        return !least_[index_of(chosen)].empty();
    }

    template <class Action>
    void each_pair(const Action& action) const {
        for (std::size_t one = 0; one < first_.size(); ++one) {
            for (std::size_t two = one + 1; two < first_.size(); ++two) {
                for (std::size_t a = 0; a < factor_sizes()[one]; ++a) {
                    for (std::size_t b = 0; b < factor_sizes()[two]; ++b) {
                        action(Chosen{one, a}, Chosen{two, b});
                    }
                }
            }
        }
    }

    void meet(const Row& row) {
        for (std::size_t one = 0; one < row.size(); ++one) {
            for (std::size_t two = 0; two < row.size(); ++two) {
                is_met_[first_[one] + row[one]][first_[two] + row[two]] = true;
            }
        }
    }

    void keep(Cell cell, CellScript script) {
        meet(cell.row);
        cells_.rendered.push_back(std::move(cell));
        cells_.scripts.push_back(std::move(script));
    }

    /// For each value the least row that renders with it: alone, or with what it needs.
    void find_least() {
        for (const Cell& cell : cells_.rendered) {
            for (std::size_t factor = 0; factor < cell.row.size(); ++factor) {
                Row& least = least_[first_[factor] + cell.row[factor]];
                if (least.empty()) {
                    least = lessened(cell.row, factor);
                }
            }
        }
        for (std::size_t factor = 0; factor < first_.size(); ++factor) {
            for (std::size_t value = 0; value < factor_sizes()[factor]; ++value) {
                if (!renders({factor, value})) {
                    look_in_contexts({factor, value});
                }
            }
        }
    }

    /// A row with less of what the value at `factor` does not need.
    [[nodiscard]] Row lessened(const Row& row, std::size_t factor) const {
        const std::size_t kind = factor_named("job", "launch.kind");
        for (const bool has_kind : {false, true}) {
            for (const bool has_target : {false, true}) {
                Row less = base_row(has_target || factor == target_ ? row[target_] : 0);
                less[kind] = has_kind ? row[kind] : less[kind];
                less[factor] = row[factor];
                if (render_cell(cell_of(less))) {
                    return less;
                }
            }
        }
        Row less = row;
        const Row base = base_row(row[target_]);
        for (std::size_t each = 0; each < row.size(); ++each) {
            if (each == factor || less[each] == base[each]) {
                continue;
            }
            const std::size_t before = std::exchange(less[each], base[each]);
            if (!render_cell(cell_of(less))) {
                less[each] = before;
            }
        }
        return less;
    }

    /// A value that no row rendered with: under each kind of launch, for each target.
    void look_in_contexts(const Chosen& chosen) {
        const std::size_t kind = factor_named("job", "launch.kind");
        for (std::size_t target = 0; target < factor_sizes()[target_]; ++target) {
            for (std::size_t of_kind = 0; of_kind < factor_sizes()[kind]; ++of_kind) {
                Row row = base_row(target);
                row[kind] = of_kind;
                if ((chosen.factor == target_ || chosen.factor == kind) &&
                    row[chosen.factor] != chosen.value) {
                    continue;
                }
                row[chosen.factor] = chosen.value;
                Cell cell = cell_of(row);
                if (auto script = render_cell(cell)) {
                    least_[index_of(chosen)] = row;
                    keep(std::move(cell), std::move(*script));
                    return;
                }
            }
        }
        Row row = base_row(0);
        row[chosen.factor] = chosen.value;
        Cell cell = cell_of(row);
        if (const auto script = render_cell(cell); !script) {
            cells_.refused.push_back(std::move(cell));
            cells_.faults.push_back(script.error().faults());
        }
    }

    /// The least rows of several values in one; where they differ, the first counts.
    [[nodiscard]] Row joined_rows(const std::vector<Chosen>& all) const {
        std::size_t target = 0;
        for (const Chosen& chosen : all) {
            const std::size_t own = least_[index_of(chosen)][target_];
            target = target == 0 || chosen.factor == target_ ? own : target;
        }
        const Row base = base_row(target);
        Row row = base;
        for (auto chosen = all.rbegin(); chosen != all.rend(); ++chosen) {
            const Row& least = least_[index_of(*chosen)];
            const Row own = base_row(least[target_]);
            for (std::size_t factor = 0; factor < row.size(); ++factor) {
                row[factor] = least[factor] != own[factor] ? least[factor] : row[factor];
            }
        }
        for (const Chosen& chosen : all) {
            row[chosen.factor] = chosen.value;
        }
        row[target_] = target;
        return row;
    }

    /// One cell with these values and nothing that they do not need; false where it is refused.
    bool meet_all(std::vector<Chosen> all) {
        Cell refused;
        std::vector<Fault> faults;
        for (int turn = 0; turn < 2; ++turn) {
            Cell cell = cell_of(joined_rows(all));
            auto script = render_cell(cell);
            if (script) {
                keep(std::move(cell), std::move(*script));
                return true;
            }
            refused = std::move(cell);
            faults = script.error().faults();
            std::reverse(all.begin(), all.end());
        }
        cells_.refused.push_back(std::move(refused));
        cells_.faults.push_back(std::move(faults));
        return false;
    }

    /// A cell with the value and one of each factor whose pair with it is missing; what is refused
    /// is taken out. False where there is nothing to try.
    bool meet_many(const Chosen& chosen) {
        if (!renders(chosen)) {
            return false;
        }
        const Row& least = least_[index_of(chosen)];
        const Row base = base_row(least[target_]);
        Row row = least;
        bool has_more = false;
        for (std::size_t factor = 0; factor < row.size(); ++factor) {
            for (std::size_t value = 0; value < factor_sizes()[factor]; ++value) {
                const Chosen other{factor, value};
                if (factor == chosen.factor || factor == target_ || least[factor] != base[factor] ||
                    has_met(chosen, other) || !renders(other) ||
                    is_tried_[index_of(chosen)][index_of(other)]) {
                    continue;
                }
                is_tried_[index_of(chosen)][index_of(other)] = true;
                row[factor] = value;
                has_more = true;
                break;
            }
        }
        while (has_more) {
            Cell cell = cell_of(row);
            auto script = render_cell(cell);
            if (script) {
                keep(std::move(cell), std::move(*script));
                return true;
            }
            bool has_changed = false;
            for (const std::size_t factor : factors_at(cell, script.error().faults())) {
                has_changed = has_changed || row[factor] != least[factor];
                row[factor] = least[factor];
            }
            if (!has_changed) {
                return true;
            }
        }
        return false;
    }

    void meet_triples_of(const std::vector<std::size_t>& factors) {
        const auto& sizes = factor_sizes();
        std::vector<bool> is_met(sizes[factors[0]] * sizes[factors[1]] * sizes[factors[2]]);
        const auto index = [&](std::size_t a, std::size_t b, std::size_t c) {
            return (a * sizes[factors[1]] + b) * sizes[factors[2]] + c;
        };
        const auto meet_row = [&](const Row& row) {
            is_met[index(row[factors[0]], row[factors[1]], row[factors[2]])] = true;
        };
        for (const Cell& cell : cells_.rendered) {
            meet_row(cell.row);
        }
        for (std::size_t a = 0; a < sizes[factors[0]]; ++a) {
            for (std::size_t b = 0; b < sizes[factors[1]]; ++b) {
                for (std::size_t c = 0; c < sizes[factors[2]]; ++c) {
                    const std::vector<Chosen> all{
                        {factors[0], a}, {factors[1], b}, {factors[2], c}};
                    ++cells_.triples.all;
                    if (is_met[index(a, b, c)]) {
                        ++cells_.triples.in_rendered;
                    } else {
                        meet_triple(all);
                    }
                }
            }
        }
    }

    void meet_triple(const std::vector<Chosen>& all) {
        if (std::any_of(
                all.begin(), all.end(), [this](const Chosen& each) { return !renders(each); })) {
            ++cells_.triples.of_refused;
        } else if (!has_met(all[0], all[1]) || !has_met(all[0], all[2]) ||
                   !has_met(all[1], all[2])) {
            ++cells_.triples.refused; // one of its pairs is
        } else {
            ++(meet_all(all) ? cells_.triples.in_rendered : cells_.triples.refused);
        }
    }

    Cells& cells_;
    std::size_t target_;
    std::size_t count_ = 0;
    std::vector<std::size_t> first_; ///< the index of each factor's first value
    std::vector<std::vector<bool>> is_met_;
    std::vector<std::vector<bool>> is_tried_;
    std::vector<Row> least_; ///< empty: nothing renders with the value
};

} // namespace

void meet_in_least_cells(Cells& cells) {
    LeastCells least(cells);
    least.meet_pairs();
    least.meet_triples();
}

TEST_CASE(
    "each two values meet in a cell that renders, if the least cell with both is not refused") {
    const Cells& cells = job_cells();
    for (const auto& [name, met] :
         {std::pair{std::string("pairs"), &cells.pairs},
          std::pair{std::string("triples of the strong factors"), &cells.triples}}) {
        MESSAGE(name << " " << met->all << ": " << met->in_rendered
                     << " meet in cells that render, " << met->of_refused
                     << " have a value that is always refused, " << met->refused
                     << " are refused together");
        CHECK(met->all == met->in_rendered + met->of_refused + met->refused);
        CHECK(met->in_rendered > met->refused);
        CHECK(met->in_rendered > met->of_refused);
    }
    MESSAGE("values " << cells.values << ", always refused " << cells.refused_values);
}

} // namespace cybele::pairs
