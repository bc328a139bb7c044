// SPDX-License-Identifier: Apache-2.0
// Every two values of fields in one Job, and every three where faults were found before: each
// renders, or is refused with a place and a remedy.
#include "job_cell.hpp"
#include "job_factors.hpp"
#include "support/environment.hpp"
#include "support/file.hpp"
#include "support/message.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace cybele::pairs {
namespace {

/// Words of our own mistakes, which no user may meet.
constexpr std::string_view kOwnFaults[] = {
    "template", "mustache", "internal", "byte for byte", "drops `"};

std::string told(const std::vector<Fault>& faults, const Cell& cell) {
    return format_text(faults) + "\n" + cell.target + "\n" + cell.job_text + cell.site_text;
}

bool has_place(const Fault& fault, const Cell& cell) {
    if (!fault.where) {
        // there is no file that could say it
        return cell.site.is_null() && fault.help == "name a Site with --site";
    }
    const bool is_job = fault.where->file == "job.yaml";
    // Only what is not written stands nowhere.
    const bool is_missing = fault.message.find(" needs ") != std::string::npos ||
                            fault.message.find(" says no ") != std::string::npos;
    if (fault.where->line == 1 && !is_missing) {
        return false;
    }
    const std::string& text = is_job ? cell.job_text : cell.site_text;
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    return (is_job || fault.where->file == "site.yaml") && fault.where->line >= 1 &&
           fault.where->line <= lines && fault.where->column >= 1;
}

/// For each error the refused cell with the fewest errors that a call of the program can repeat: it
/// has no facts of an image.
std::map<std::string, std::size_t> cells_of_errors(const Cells& cells) {
    std::map<std::string, std::pair<std::size_t, std::size_t>> best; // size, index
    for (std::size_t index = 0; index < cells.refused.size(); ++index) {
        const Cell& cell = cells.refused[index];
        if (!value_at(cell.job, "image").is_null()) {
            continue;
        }
        const auto& faults = cells.faults[index];
        const auto errors = static_cast<std::size_t>(std::count_if(
            faults.begin(), faults.end(), [](const Fault& fault) { return !fault.is_warning; }));
        // Of cells with as many errors a script's: an object may have no way to take the help.
        const std::size_t size = errors * 100'000 + (cell.is_object() ? 50'000 : 0) +
                                 cell.job_text.size() + cell.site_text.size();
        for (const Fault& fault : faults) {
            const auto found = best.find(fault.id);
            if (!fault.is_warning && (found == best.end() || size < found->second.first)) {
                best[fault.id] = {size, index};
            }
        }
    }
    std::map<std::string, std::size_t> indices;
    for (const auto& [id, where] : best) {
        indices[id] = where.second;
    }
    return indices;
}

} // namespace

TEST_CASE("each two values meet in a cell, which renders or is refused with a place and a remedy") {
    const Cells& cells = job_cells();
    std::set<std::string> messages;
    for (std::size_t index = 0; index < cells.refused.size(); ++index) {
        const Cell& cell = cells.refused[index];
        for (const Fault& fault : cells.faults[index]) {
            if (fault.is_warning) {
                continue;
            }
            messages.insert(fault.message);
            INFO(told(cells.faults[index], cell));
            CHECK_MESSAGE(fault.code == ErrorCode::kInput, fault.message);
            CHECK_MESSAGE(has_place(fault, cell), fault.message);
            CHECK_MESSAGE(!fault.help.empty(), fault.message);
            for (const auto word : kOwnFaults) {
                CHECK_MESSAGE(fault.message.find(word) == std::string::npos, fault.message);
            }
        }
    }
    MESSAGE("rows " << cells.rows << ", cells " << cells.rendered.size() + cells.refused.size()
                    << ", rendered " << cells.rendered.size() << ", refused "
                    << cells.refused.size() << " for " << messages.size() << " reasons");
    CHECK(cells.rendered.size() >= cells.rows); // each row ends in one
}

TEST_CASE("the cells are written into the folder that CYBELE_CELLS names, for other programs") {
    const auto folder = Environment::of_this_process().get("CYBELE_CELLS");
    if (!folder) {
        return; // tests/parts/job-cells sets it
    }
    const Cells& cells = job_cells();
    for (std::size_t index = 0; index < cells.rendered.size(); ++index) {
        const Cell& cell = cells.rendered[index];
        const auto put = [&](const char* suffix, const std::string& text) {
            REQUIRE(
                write_file(fmt::format("{}/{:04}.{}", *folder, index, suffix), text).has_value());
        };
        put(cell.dialect.c_str(), cells.scripts[index].script);
        // What a call of the program can repeat: it has no facts of an image.
        const bool is_alone = !cell.is_object() && value_at(cell.job, "image").is_null();
        if (is_alone) {
            put("job.yaml", cell.job_text);
        }
        if (value_at(cell.job, "launch.exact") == nlohmann::ordered_json(true)) {
            put("exact", ""); // it may ask the scheduler for nothing
        }
        if (is_alone && !cell.site.is_null()) {
            put("site.yaml", cell.site_text);
        }
    }
}

TEST_CASE("for each error the cell with the fewest is written where CYBELE_ERRORS says") {
    const auto folder = Environment::of_this_process().get("CYBELE_ERRORS");
    if (!folder) {
        return; // tests/parts/job-cells sets it
    }
    const Cells& cells = job_cells();
    for (const auto& [id, index] : cells_of_errors(cells)) {
        const Cell& cell = cells.refused[index];
        const auto put = [&, name = id](const char* suffix, const std::string& text) {
            REQUIRE(
                write_file(fmt::format("{}/error.{}.{}", *folder, name, suffix), text).has_value());
        };
        put("job.yaml", cell.job_text);
        put("target", cell.target);
        if (!cell.site.is_null()) {
            put("site.yaml", cell.site_text);
        }
    }
}

} // namespace cybele::pairs
