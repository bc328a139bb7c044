// SPDX-License-Identifier: Apache-2.0
#include "covering_array.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include <doctest/doctest.h>

namespace cybele::pairs {
namespace {

constexpr std::size_t kOpen = std::numeric_limits<std::size_t>::max();

/// Combinations of values of some factors that have not met in a row yet.
class Missing {
public:
    Missing(const std::vector<std::size_t>& sizes, std::vector<std::size_t> factors)
        : sizes_(sizes), factors_(std::move(factors)) {
        std::size_t count = 1;
        for (const std::size_t factor : factors_) {
            count *= sizes_[factor];
        }
        is_met_.assign(count, false);
        left_ = count;
    }

    [[nodiscard]] bool is_empty() const {
        return left_ == 0;
    }
    [[nodiscard]] const std::vector<std::size_t>& factors() const {
        return factors_;
    }
    /// Whether the row's combination is missing; false where one of its values is still open.
    [[nodiscard]] bool holds(const Row& row) const {
        const std::size_t index = index_of(row);
        return index != kOpen && !is_met_[index];
    }
    void meet(const Row& row) {
        const std::size_t index = index_of(row);
        if (!is_met_[index]) {
            is_met_[index] = true;
            --left_;
        }
    }
    /// Puts the first combination that is missing into the row.
    void begin(Row& row) const {
        auto index = static_cast<std::size_t>(
            std::distance(is_met_.begin(), std::find(is_met_.begin(), is_met_.end(), false)));
        for (const std::size_t factor : factors_) {
            row[factor] = index % sizes_[factor];
            index /= sizes_[factor];
        }
    }

private:
    [[nodiscard]] std::size_t index_of(const Row& row) const {
        std::size_t index = 0;
        for (auto factor = factors_.rbegin(); factor != factors_.rend(); ++factor) {
            if (row[*factor] == kOpen) {
                return kOpen;
            }
            index = index * sizes_[*factor] + row[*factor];
        }
        return index;
    }

    const std::vector<std::size_t>& sizes_;
    std::vector<std::size_t> factors_;
    std::vector<bool> is_met_;
    std::size_t left_ = 0;
};

std::vector<Missing> all_missing(const std::vector<std::size_t>& sizes,
                                 const std::vector<std::size_t>& strong) {
    std::vector<Missing> missing;
    for (std::size_t one = 0; one < strong.size(); ++one) {
        for (std::size_t two = one + 1; two < strong.size(); ++two) {
            for (std::size_t three = two + 1; three < strong.size(); ++three) {
                missing.emplace_back(sizes, std::vector{strong[one], strong[two], strong[three]});
            }
        }
    }
    for (std::size_t one = 0; one < sizes.size(); ++one) {
        for (std::size_t two = one + 1; two < sizes.size(); ++two) {
            missing.emplace_back(sizes, std::vector{one, two});
        }
    }
    return missing;
}

/// The value of an open factor by which most of what is missing meets; of several the one that was
/// used least.
std::size_t best_value(Row row,
                       std::size_t factor,
                       const std::vector<const Missing*>& of_factor,
                       const std::vector<std::size_t>& used) {
    std::size_t best = 0;
    std::size_t most = 0;
    for (std::size_t value = 0; value < used.size(); ++value) {
        row[factor] = value;
        const auto met = static_cast<std::size_t>(
            std::count_if(of_factor.begin(), of_factor.end(), [&](const Missing* each) {
                return each->holds(row);
            }));
        if (value == 0 || met > most || (met == most && used[value] < used[best])) {
            best = value;
            most = met;
        }
    }
    return best;
}

} // namespace

std::vector<Row> covering_array(const std::vector<std::size_t>& sizes,
                                const std::vector<std::size_t>& strong) {
    std::vector<Missing> missing = all_missing(sizes, strong);
    std::vector<std::vector<const Missing*>> of_factor(sizes.size());
    for (const Missing& each : missing) {
        for (const std::size_t factor : each.factors()) {
            of_factor[factor].push_back(&each);
        }
    }
    std::vector<std::vector<std::size_t>> used;
    used.reserve(sizes.size());
    for (const std::size_t size : sizes) {
        used.emplace_back(size, 0);
    }
    std::vector<Row> rows;
    while (true) {
        const auto first = std::find_if(
            missing.begin(), missing.end(), [](const Missing& each) { return !each.is_empty(); });
        if (first == missing.end()) {
            return rows;
        }
        Row row(sizes.size(), kOpen);
        first->begin(row);
        for (std::size_t turn = 0; turn < sizes.size(); ++turn) {
            // Rows begin at different factors, so that none is always the last to choose.
            const std::size_t factor = (turn + rows.size()) % sizes.size();
            if (row[factor] == kOpen) {
                row[factor] = best_value(row, factor, of_factor[factor], used[factor]);
            }
            ++used[factor][row[factor]];
        }
        for (Missing& each : missing) {
            each.meet(row);
        }
        rows.push_back(std::move(row));
    }
}

TEST_CASE("each two values meet, and each three of the strong factors, in few rows") {
    const std::vector<std::size_t> sizes{7, 3, 5, 4, 2, 3, 6, 1, 2};
    const std::vector<std::size_t> strong{0, 1, 3, 8};
    const auto rows = covering_array(sizes, strong);
    CHECK(rows == covering_array(sizes, strong));
    CHECK(rows.size() >= 7 * 4 * 3);
    CHECK(rows.size() <= 2 * 7 * 4 * 3);
    std::size_t pairs = 0;
    for (std::size_t one = 0; one < sizes.size(); ++one) {
        for (std::size_t two = one + 1; two < sizes.size(); ++two) {
            std::set<std::pair<std::size_t, std::size_t>> met;
            for (const Row& row : rows) {
                CHECK(row.at(one) < sizes[one]);
                met.emplace(row.at(one), row.at(two));
            }
            CHECK(met.size() == sizes[one] * sizes[two]);
            ++pairs;
        }
    }
    CHECK(pairs == 36);
    std::set<std::vector<std::size_t>> triples;
    for (const Row& row : rows) {
        triples.insert({row[0], row[1], row[3]});
    }
    CHECK(triples.size() == std::size_t{7} * 3 * 4);
    CHECK(covering_array({3, 4}).size() == 12);
}

} // namespace cybele::pairs
