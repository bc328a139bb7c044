// SPDX-License-Identifier: Apache-2.0
#include "recipes/tables/tables.hpp"

#include "recipes/tables/table.hpp"

#include <algorithm>

namespace cybele::recipes {
namespace {

// Open MPI's run packages hold openmpi-bin: an Open MPI 4 that finds no launcher starts its orted
// from there, so that the guard gets an answer instead of an abort.
constexpr MpiRow kMpis[] = {
    {"debian:11",
     "openmpi",
     "4.1.0",
     "pmix 4.0.0",
     "/usr",
     "mpicc.openmpi",
     "libopenmpi3 openmpi-bin",
     "gcc libc6-dev libopenmpi-dev openmpi-bin"},
    {"debian:12",
     "openmpi",
     "4.1.4",
     "pmix 4.2.2",
     "/usr",
     "mpicc.openmpi",
     "libopenmpi3 openmpi-bin",
     "gcc libc6-dev libopenmpi-dev openmpi-bin"},
    {"debian:13",
     "openmpi",
     "5.0.7",
     "pmix 5.0.7",
     "/usr",
     "mpicc.openmpi",
     "libopenmpi40 openmpi-bin",
     "gcc libc6-dev libopenmpi-dev openmpi-bin"},
    {"debian:11",
     "mpich",
     "3.4.1",
     "pmi2",
     "/usr",
     "mpicc.mpich",
     "libmpich12 mpich",
     "gcc libc6-dev libmpich-dev mpich"},
    {"debian:12",
     "mpich",
     "4.0.2",
     "pmi2",
     "/usr",
     "mpicc.mpich",
     "libmpich12 mpich",
     "gcc libc6-dev libmpich-dev mpich"},
    {"debian:13",
     "mpich",
     "4.2.1",
     "pmi2",
     "/usr",
     "mpicc.mpich",
     "libmpich12 mpich",
     "gcc libc6-dev libmpich-dev mpich"},
};

std::string_view without_dash(std::string_view cell) {
    return cell == "-" ? std::string_view{} : cell;
}

std::vector<DistributionRow> read_distributions() {
    std::vector<DistributionRow> list;
    for (const auto& row : table_rows("releases.txt")) {
        if (row.at(0) == "release") {
            continue;
        }
        list.push_back({.id = row.at(0),
                        .suite = without_dash(row.at(4)),
                        .agent = row.at(3),
                        .manager = row.at(2),
                        .libc = read_marked(row.at(6)).text,
                        .column = row.at(1),
                        .image = read_marked(row.at(5)).text,
                        .python = read_marked(row.at(7)),
                        .gcc = read_marked(row.at(8)),
                        .end_of_support = read_marked(row.at(11))});
    }
    return list;
}

struct Needs {
    std::vector<std::string_view> columns;
    std::vector<NeedRow> rows; ///< sorted by need
};

Needs read_needs() {
    Needs table;
    for (const auto& row : table_rows("needs.txt")) {
        if (table.columns.empty()) {
            table.columns.assign(row.begin() + 1, row.end());
            continue;
        }
        NeedRow need{row.at(0), {}};
        for (std::size_t i = 1; i < row.size(); ++i) {
            need.cells.push_back(read_need_cell(row[i]));
        }
        table.rows.push_back(std::move(need));
    }
    std::ranges::sort(table.rows, {}, &NeedRow::need);
    return table;
}

/// Read when the first generic name is met; many Recipes have none.
const Needs& needs_table() {
    static const Needs table = read_needs();
    return table;
}

std::vector<GpuRow> read_gpus() {
    std::vector<GpuRow> list;
    for (const auto& row : table_rows("gpu.txt")) {
        if (row.at(0) != "vendor") {
            list.push_back({row.at(0),
                            row.at(1),
                            row.at(2),
                            row.at(3),
                            without_dash(row.at(4)),
                            read_marked(row.at(5)).text});
        }
    }
    return list;
}

/// "docker://a/b:tag@sha256:…" → {"a/b", "tag"}.
std::pair<std::string_view, std::string_view> name_and_tag(std::string_view reference) {
    if (const auto scheme = reference.find("://"); scheme != std::string_view::npos) {
        reference.remove_prefix(scheme + 3);
    }
    reference = reference.substr(0, reference.find('@'));
    const auto slash = reference.rfind('/');
    const auto colon = reference.find(':', slash == std::string_view::npos ? 0 : slash);
    if (colon == std::string_view::npos) {
        return {reference, {}};
    }
    return {reference.substr(0, colon), reference.substr(colon + 1)};
}

/// Whether `part` of a tag or name says the release: "bookworm", "ubuntu24.04", "rockylinux9".
bool says_release(std::string_view part, const DistributionRow& row) {
    if (!row.suite.empty() && part == row.suite) {
        return true;
    }
    const std::string_view image = row.image.substr(0, row.image.find_first_of(":/"));
    return part.starts_with(image) && part.substr(image.size()) == row.version();
}

} // namespace

std::span<const DistributionRow> distributions() {
    static const std::vector<DistributionRow> list = read_distributions();
    return list;
}
std::span<const MpiRow> mpis() {
    return kMpis;
}
std::span<const NeedRow> needs() {
    return needs_table().rows;
}
std::span<const GpuRow> gpus() {
    static const std::vector<GpuRow> list = read_gpus();
    return list;
}
const std::vector<std::string_view>& need_columns() {
    return needs_table().columns;
}

const DistributionRow* find_distribution(std::string_view id) {
    for (const auto& row : distributions()) {
        if (row.id == id) {
            return &row;
        }
    }
    return nullptr;
}

const MpiRow* find_mpi(std::string_view distribution, std::string_view family) {
    for (const auto& row : kMpis) {
        if (row.distribution == distribution && row.family == family) {
            return &row;
        }
    }
    return nullptr;
}

const NeedCell* find_need(std::string_view column, std::string_view need) {
    const auto& columns = need_columns();
    const auto at = std::ranges::find(columns, column);
    for (const auto& row : needs()) {
        if (row.need == need && at != columns.end()) {
            return &row.cells.at(static_cast<std::size_t>(at - columns.begin()));
        }
    }
    return nullptr;
}

const DistributionRow* distribution_of_image(std::string_view reference) {
    const auto [name, tag] = name_and_tag(reference);
    for (const auto& row : distributions()) {
        const auto [own, own_tag] = name_and_tag(row.image);
        // images with "minimal" in their tag have another package manager
        if (name == own && tag.find("minimal") == std::string_view::npos &&
            (tag == own_tag || tag.starts_with(std::string(own_tag) + "-"))) {
            return &row;
        }
        std::string_view rest = tag;
        while (!rest.empty()) {
            const auto dash = rest.find('-');
            if (says_release(rest.substr(0, dash), row)) {
                return &row;
            }
            rest = dash == std::string_view::npos ? std::string_view{} : rest.substr(dash + 1);
        }
        if (name.ends_with("-" + std::string(own) + "-" + std::string(row.version()))) {
            return &row; // rocm/dev-ubuntu-24.04
        }
    }
    return nullptr;
}

std::vector<std::string_view> need_names() {
    std::vector<std::string_view> names;
    for (const auto& row : needs()) {
        names.push_back(row.need);
    }
    return names;
}

std::vector<std::string> words_of(std::string_view cell) {
    std::vector<std::string> words;
    while (!cell.empty()) {
        const auto blank = cell.find(' ');
        words.emplace_back(cell.substr(0, blank));
        cell = blank == std::string_view::npos ? std::string_view{} : cell.substr(blank + 1);
    }
    return words;
}

} // namespace cybele::recipes
