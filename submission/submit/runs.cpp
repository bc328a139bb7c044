// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/runs.hpp"

#include "submission/records/record.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kLongestJobRecord = std::size_t{16} << 20U;
/// Values stand in the last lines of an output, if it is longer.
constexpr std::size_t kLongestOutput = std::size_t{64} << 20U;

/// What job.json says of a sweep; without one no names.
struct KnownSweep {
    std::vector<std::string> names;
    std::vector<std::vector<std::string>> rows;
    std::size_t pack = 0;
};

std::vector<std::string> texts_of(const Json& list) {
    std::vector<std::string> texts;
    for (const Json& text : list.is_array() ? list : Json::array()) {
        texts.push_back(text.is_string() ? text.get<std::string>() : std::string());
    }
    return texts;
}

KnownSweep sweep_of(const Entry& job) {
    KnownSweep known;
    const auto text = read_file(fs::path(job.record) / "job.json", kLongestJobRecord);
    const Json record = text ? parse_json(*text) : Json();
    const Json sweep = record.is_object() ? record.value("sweep", Json()) : Json();
    if (!sweep.is_object()) {
        return known;
    }
    known.names = texts_of(sweep.value("names", Json()));
    const Json rows = sweep.value("rows", Json());
    for (const Json& row : rows.is_array() ? rows : Json::array()) {
        known.rows.push_back(texts_of(row));
    }
    const Json pack = sweep.value("pack", Json());
    known.pack = pack.is_number_unsigned() ? pack.get<std::size_t>() : 0;
    return known;
}

/// A run before its record was read.
struct RunPlace {
    std::string row; ///< empty: the job is one run
    fs::path record;
    std::string output;
    const Entry* entry = nullptr; ///< what the journal knows of it
};

void add_record(const RunPlace& place, Run& run) {
    const auto record = read_exit_record(place.record).value_or(std::optional<ExitRecord>());
    const std::string told =
        place.entry == nullptr ? "unknown" : std::string(state_text(place.entry->state));
    const std::string code = place.entry == nullptr || place.entry->code < 0
                                 ? std::string()
                                 : std::to_string(place.entry->code);
    run.values.emplace_back("state", record ? record->state : told);
    run.values.emplace_back("code", record ? std::to_string(record->code) : code);
    run.values.emplace_back("wall", record ? std::to_string(record->end - record->start) : "");
}

Run read_run(const Entry& job, const RunPlace& place, const KnownSweep& sweep, std::size_t number) {
    Run run;
    run.values.emplace_back("job", job.id);
    run.values.emplace_back("row", place.row);
    for (std::size_t at = 0; number < sweep.rows.size() && at < sweep.names.size(); ++at) {
        const auto& row = sweep.rows[number];
        run.values.emplace_back(sweep.names[at], at < row.size() ? row[at] : "");
    }
    add_record(place, run);
    run.values.emplace_back("nodes", std::to_string(job.nodes));
    run.values.emplace_back("tasks", std::to_string(job.tasks));
    run.values.emplace_back("cpus", std::to_string(job.cpus));
    if (const auto text = read_file(place.output, kLongestOutput); !place.output.empty() && text) {
        for (auto& [key, value] : printed_values(*text)) {
            if (run.value(key).empty()) { // a name of ours counts more
                run.values.emplace_back(key, std::move(value));
            }
        }
    }
    return run;
}

std::vector<RunPlace> packed_places(const Entry& job, const KnownSweep& sweep) {
    std::vector<RunPlace> places;
    // The local scheduler has records of its own beside those of the script.
    const fs::path folder =
        job.scheduler == "local" ? fs::path(job.record) / "script" : fs::path(job.record);
    for (std::size_t number = 0; number < sweep.rows.size(); ++number) {
        const std::string row = std::to_string(number);
        const fs::path element =
            job.array.empty() ? folder : folder / std::to_string(number / sweep.pack);
        RunPlace place{row, element / row, {}, nullptr};
        if (const auto output = read_file(place.record / "output", kLongestJobRecord)) {
            place.output = text::trimmed(*output);
        }
        places.push_back(std::move(place));
    }
    return places;
}

bool is_key(std::string_view text) {
    return !text.empty() && text.size() <= 64 &&
           std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
           std::all_of(text.begin(), text.end(), [](unsigned char letter) {
               return std::isalnum(letter) != 0 || letter == '_' || letter == '-' || letter == '.';
           });
}

std::string csv_cell(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos) {
        return text;
    }
    std::string quoted = "\"";
    for (const char letter : text) {
        quoted.append(letter == '"' ? 2 : 1, letter);
    }
    return quoted + "\"";
}

} // namespace

std::string Run::value(std::string_view name) const {
    const auto found = std::find_if(
        values.begin(), values.end(), [&](const auto& entry) { return entry.first == name; });
    return found == values.end() ? std::string() : found->second;
}

std::vector<std::pair<std::string, std::string>> printed_values(std::string_view output) {
    std::vector<std::pair<std::string, std::string>> values;
    for (const std::string_view whole : text::split(output, '\n')) {
        const std::string_view line = text::trimmed(whole);
        const auto equals = line.find('=');
        if (equals == std::string_view::npos || !is_key(line.substr(0, equals))) {
            continue;
        }
        const std::string key(line.substr(0, equals));
        const std::string value(line.substr(equals + 1));
        const auto found = std::find_if(
            values.begin(), values.end(), [&](const auto& entry) { return entry.first == key; });
        if (found == values.end()) {
            values.emplace_back(key, value);
        } else {
            found->second = value;
        }
    }
    return values;
}

Result<std::vector<Run>> runs_of(const Entry& job, const std::vector<Entry>& elements) {
    std::error_code error;
    if (!fs::is_directory(job.record, error)) {
        return fail(ErrorCode::kInput,
                    problem("record-not-here", "the record of job " + job.id + " is not here"),
                    "it would be " + job.record,
                    "call this where the job ran, or where its folder is mounted");
    }
    const KnownSweep sweep = sweep_of(job);
    std::vector<RunPlace> places;
    if (sweep.pack > 0) {
        places = packed_places(job, sweep);
    } else {
        for (const Entry& element : elements) {
            places.push_back({element.is_element ? std::to_string(element.index) : "",
                              element.record,
                              element.standard_output,
                              &element});
        }
    }
    std::vector<Run> runs;
    for (const RunPlace& place : places) {
        const std::size_t number =
            place.row.empty() ? sweep.rows.size()
                              : static_cast<std::size_t>(text::number(place.row).value_or(0));
        runs.push_back(read_run(job, place, sweep, number));
    }
    return runs;
}

std::vector<std::string> columns_of(const std::vector<Run>& runs) {
    std::vector<std::string> columns;
    for (const Run& run : runs) {
        for (const auto& [name, value] : run.values) {
            (void)value;
            if (std::find(columns.begin(), columns.end(), name) == columns.end()) {
                columns.push_back(name);
            }
        }
    }
    return columns;
}

std::string runs_csv(const std::vector<Run>& runs) {
    const std::vector<std::string> columns = columns_of(runs);
    std::string text;
    for (std::size_t at = 0; at < columns.size(); ++at) {
        text += (at == 0 ? "" : ",") + csv_cell(columns[at]);
    }
    text += '\n';
    for (const Run& run : runs) {
        for (std::size_t at = 0; at < columns.size(); ++at) {
            text += (at == 0 ? "" : ",") + csv_cell(run.value(columns[at]));
        }
        text += '\n';
    }
    return text;
}

} // namespace cybele::submission
