// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/runs.hpp"

#include "submission/journal/array.hpp"
#include "submission/records/record.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
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
    std::vector<std::size_t> numbers; ///< of the rows; empty: from 0
    std::size_t pack = 0;

    [[nodiscard]] std::size_t number_at(std::size_t place) const {
        return place < numbers.size() ? numbers[place] : place;
    }
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
    const fs::path record_of = job.record; // of an element it is in that of its job
    const fs::path folder = job.is_element ? record_of.parent_path() : record_of;
    const auto text = read_file(folder / "job.json", kLongestJobRecord);
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
    const Json numbers = sweep.value("numbers", Json());
    for (const Json& number : numbers.is_array() ? numbers : Json::array()) {
        known.numbers.push_back(number.is_number_unsigned() ? number.get<std::size_t>() : 0);
    }
    known.pack = pack.is_number_unsigned() ? pack.get<std::size_t>() : 0;
    return job.is_element && known.pack > 0 ? KnownSweep() : known; // that has several rows
}

struct RunPlace {
    std::string row;       ///< empty: the job is one run
    std::size_t place = 0; ///< of the row among those of the job
    fs::path record;
    std::optional<ExitRecord> exit; ///< what the record says of its end, if it has one
    std::string output;
    std::string errors;           ///< empty: they are in `output`
    const Entry* entry = nullptr; ///< what the journal and the record of its element say of it
};

void add_record(const RunPlace& place, Run& run) {
    const std::optional<ExitRecord>& record = place.exit;
    const Entry& known = *place.entry;
    const std::string code = known.code < 0 ? std::string() : std::to_string(known.code);
    run.values.emplace_back("state", record ? record->state : std::string(state_text(known.state)));
    run.values.emplace_back("code", record ? std::to_string(record->code) : code);
    run.values.emplace_back("wall", record ? std::to_string(record->end - record->start) : "");
}

/// The column of a printed key: a key with the name of a column of ours becomes `printed.NAME`.
std::string free_column(const Run& run, std::string name) {
    while (
        std::ranges::any_of(run.values, [&](const auto& entry) { return entry.first == name; })) {
        name.insert(0, "printed.");
    }
    return name;
}

/// Whether the column of that name has this value: `lr=0.1` of a program that prints its parameter.
bool says_already(const Run& run, const std::string& name, const std::string& value) {
    return std::ranges::any_of(run.values, [&](const auto& entry) {
        return entry.first == name && entry.second == value;
    });
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
            if (says_already(run, key, value)) {
                continue;
            }
            run.values.emplace_back(free_column(run, std::move(key)), std::move(value));
        }
    }
    return run;
}

std::optional<ExitRecord> end_of(const fs::path& record) {
    return read_exit_record(record).value_or(std::nullopt);
}

std::vector<RunPlace> packed_places(const Entry& job, const KnownSweep& sweep) {
    std::vector<RunPlace> places;
    // The local scheduler has records of its own beside those of the script.
    const fs::path folder =
        job.scheduler == "local" ? fs::path(job.record) / "script" : fs::path(job.record);
    for (std::size_t at = 0; at < sweep.rows.size(); ++at) {
        const std::string row = std::to_string(sweep.number_at(at));
        const fs::path element =
            job.array.empty() ? folder : folder / std::to_string(at / sweep.pack);
        RunPlace place{row, at, element / row, end_of(element / row), {}, {}, nullptr};
        if (const auto files = read_file(place.record / "output", kLongestJobRecord)) {
            const auto lines = text::split(*files, '\n');
            place.output = text::trimmed(lines.front());
            place.errors = lines.size() > 1 ? text::trimmed(lines[1]) : std::string_view();
        }
        places.push_back(std::move(place));
    }
    return places;
}

/// A row as its record tells it; one without a record waits or runs, or was lost with its element.
Entry row_entry(const Entry& job, const RunPlace& place, const Entry& element) {
    Entry row = job;
    row.is_element = true;
    row.index = text::number(place.row).value_or(0);
    row.id = job.id + "-row" + place.row;
    row.record = place.record.native();
    row.standard_output = place.output;
    row.standard_error = place.errors.empty() ? place.output : place.errors;
    row.node = element.node;
    row.array.clear();
    row.elements.clear();
    row.reason.clear();
    row.native.clear();
    row.code = -1;
    row.signal = 0;
    const bool has_begun = !place.output.empty();
    row.started = has_begun ? element.started : 0;
    row.ended = element.ended;
    row.state = element.ended == 0 ? (has_begun ? State::kRunning : State::kPending)
                                   : (has_begun ? State::kLost : element.state);
    if (place.exit) {
        const ExitRecord& exit = *place.exit;
        row.state = state_of_text(exit.state).value_or(State::kFailed);
        row.code = exit.code;
        row.signal = exit.signal;
        row.started = exit.start;
        row.ended = exit.end;
        row.node = exit.host.empty() ? row.node : exit.host;
    }
    return row;
}

std::vector<Entry>
row_entries(const Entry& job, const KnownSweep& sweep, const std::vector<RunPlace>& places) {
    const std::vector<Entry> elements = elements_of(job);
    std::vector<Entry> rows;
    rows.reserve(places.size());
    for (const RunPlace& place : places) {
        const std::size_t owner = job.array.empty() ? 0 : place.place / sweep.pack;
        rows.push_back(row_entry(job, place, owner < elements.size() ? elements[owner] : job));
    }
    return rows;
}

bool is_key(std::string_view text) {
    return !text.empty() && text.size() <= 64 &&
           std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
           std::ranges::all_of(text, [](unsigned char letter) {
               return std::isalnum(letter) != 0 || letter == '_' || letter == '-' || letter == '.';
           });
}

bool is_pair(std::string_view text) {
    const auto equals = text.find('=');
    return equals != std::string_view::npos && is_key(text.substr(0, equals));
}

/// What a line prints as KEY=VALUE: each of its words, where each is such a pair; else the line, as
/// a value may have blanks.
std::vector<std::string_view> pairs_of(std::string_view line) {
    constexpr std::string_view kBlanks = " \t";
    if (!is_pair(line)) {
        return {};
    }
    std::vector<std::string_view> words;
    for (std::size_t at = 0; at != std::string_view::npos;) {
        const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
        words.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(kBlanks, end);
    }
    return std::ranges::all_of(words, is_pair) ? words : std::vector<std::string_view>{line};
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
    const auto found =
        std::ranges::find_if(values, [&](const auto& entry) { return entry.first == name; });
    return found == values.end() ? std::string() : found->second;
}

std::vector<std::pair<std::string, std::string>> printed_values(std::string_view output) {
    std::vector<std::pair<std::string, std::string>> values;
    for (const std::string_view line : text::split(output, '\n')) {
        for (const std::string_view pair : pairs_of(text::trimmed(line))) {
            const auto equals = pair.find('=');
            const std::string key(pair.substr(0, equals));
            const std::string value(pair.substr(equals + 1));
            const auto found =
                std::ranges::find_if(values, [&](const auto& entry) { return entry.first == key; });
            if (found == values.end()) {
                values.emplace_back(key, value);
            } else {
                found->second = value;
            }
        }
    }
    return values;
}

std::vector<Entry> packed_rows(const Entry& job) {
    const KnownSweep sweep = sweep_of(job);
    return sweep.pack == 0 ? std::vector<Entry>()
                           : row_entries(job, sweep, packed_places(job, sweep));
}

Result<std::optional<Entry>> find_sweep_row(const Journal& journal, const std::string& name) {
    constexpr std::string_view kMark = "-row";
    const std::size_t mark = name.rfind(kMark);
    const auto index = mark == std::string::npos
                           ? std::nullopt
                           : text::number(std::string_view(name).substr(mark + kMark.size()));
    if (!index) {
        return std::optional<Entry>();
    }
    CYBELE_TRY(const Entry job, journal.find(name.substr(0, mark)));
    std::vector<Entry> rows = packed_rows(job);
    const auto row = std::ranges::find(rows, *index, &Entry::index);
    if (row == rows.end()) {
        return fail(
            ErrorCode::kInput,
            problem("row-missing", "job " + job.id + " has no row " + std::to_string(*index)),
            rows.empty() ? "its record is not here, or its sweep has no `pack`"
                         : "it has " + std::to_string(rows.size()) + " rows",
            rows.empty() ? "name the job itself: " + job.id
                         : "name one of them: " + rows.front().id);
    }
    return std::optional(std::move(*row));
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
    std::vector<Entry> rows;
    if (sweep.pack > 0) {
        places = packed_places(job, sweep);
        rows = row_entries(job, sweep, places);
        for (std::size_t at = 0; at < places.size(); ++at) {
            places[at].entry = &rows[at];
        }
    } else {
        for (const Entry& element : elements) {
            const std::string row = element.is_element ? std::to_string(element.index) : "";
            places.push_back(
                {row,
                 row.empty() ? sweep.rows.size() : static_cast<std::size_t>(element.index),
                 element.record,
                 end_of(element.record),
                 element.standard_output,
                 {},
                 &element});
        }
    }
    std::vector<Run> runs;
    runs.reserve(places.size());
    for (const RunPlace& place : places) {
        runs.push_back(read_run(job, place, sweep, place.place));
    }
    return runs;
}

std::vector<std::string> columns_of(const std::vector<Run>& runs) {
    std::vector<std::string> columns;
    for (const Run& run : runs) {
        for (const auto& [name, value] : run.values) {
            (void)value;
            if (!contains(columns, name)) {
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
