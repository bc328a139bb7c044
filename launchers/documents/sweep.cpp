// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/sweep.hpp"

#include "launchers/documents/job.hpp"
#include "launchers/documents/job_fields_rules.hpp"
#include "launchers/documents/job_options.hpp"
#include "support/document_view.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include <fmt/format.h>

namespace cybele::launchers {
namespace {

using document::Reading;
using document::View;

/// Settings of the sweep itself; every other key is a parameter.
constexpr std::array<std::string_view, 4> kSettings{"table", "exclude", "pack", "at-once"};
constexpr std::uint32_t kMostSlots = 1'024; ///< no node has more cores
constexpr std::size_t kMostTableBytes = std::size_t{16} << 20U;

struct Parameter {
    std::string name;
    std::vector<std::string> values;
};

std::optional<std::uint64_t> whole(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_good = error == std::errc{} && end == text.data() + text.size() &&
                         !text.empty() && text.size() <= 9;
    return is_good ? std::optional(value) : std::nullopt;
}

/// `1-5` and `0-10:2` as their numbers; any other text is one value.
std::vector<std::string> values_of_text(const std::string& text) {
    const auto dash = text.find('-');
    if (dash == std::string::npos || dash == 0) {
        return {text};
    }
    const auto colon = text.find(':', dash);
    const auto first = whole(std::string_view(text).substr(0, dash));
    const auto last = whole(std::string_view(text).substr(dash + 1, colon - dash - 1));
    const auto step = colon == std::string::npos ? std::optional<std::uint64_t>(1)
                                                 : whole(std::string_view(text).substr(colon + 1));
    if (!first || !last || !step || *step == 0 || *last < *first) {
        return {text};
    }
    std::vector<std::string> values;
    for (std::uint64_t value = *first; value <= *last && values.size() <= kMostRows;
         value += *step) {
        values.push_back(std::to_string(value));
    }
    return values;
}

/// `5-1`, but not `2024-01`, which is a month.
bool is_empty_range(const std::string& text) {
    const auto dash = text.find('-');
    if (dash == std::string::npos || dash == 0 || dash + 1 == text.size()) {
        return false;
    }
    const auto first = whole(std::string_view(text).substr(0, dash));
    std::string_view end = std::string_view(text).substr(dash + 1);
    end = end.substr(0, end.find(':'));
    const auto last = whole(end);
    return first && last && *last < *first && (end.size() == 1 || end.front() != '0');
}

/// The range that `1..5`, `1:5` or `range(5)` means, in our form; empty: none.
std::string range_meant(std::string_view text) {
    const bool is_call = text.starts_with("range(") && text.ends_with(')');
    std::vector<std::uint64_t> numbers;
    std::string_view rest = is_call ? text.substr(6, text.size() - 7) : text;
    const std::string_view divider = is_call                         ? ","
                                     : text.find("...") != text.npos ? "..."
                                     : text.find("..") != text.npos  ? ".."
                                                                     : ":";
    for (bool is_last = false; !is_last;) {
        const std::size_t end = rest.find(divider);
        is_last = end == rest.npos;
        std::string_view part = rest.substr(0, end);
        part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
        const auto number = whole(part.substr(0, part.find_last_not_of(' ') + 1));
        if (!number || numbers.size() == 3) {
            return {};
        }
        numbers.push_back(*number);
        rest.remove_prefix(is_last ? rest.size() : end + divider.size());
    }
    if (is_call && numbers.size() == 1) {
        numbers.insert(numbers.begin(), 0);
    }
    const bool has_step = is_call && numbers.size() == 3;
    if ((numbers.size() != 2 && !has_step) || (has_step && numbers[2] == 0) ||
        numbers[1] < numbers[0] + (is_call ? 1 : 0)) {
        return {};
    }
    return fmt::format("{}-{}{}",
                       numbers[0],
                       numbers[1] - (is_call ? 1 : 0),
                       has_step ? fmt::format(":{}", numbers[2]) : "");
}

bool is_setting(std::string_view key) {
    return contains(kSettings, key);
}

std::vector<Parameter> parameters_of(const View& sweep, const yaml::Node& node) {
    std::vector<Parameter> parameters;
    for (const auto& [key, value] : node.entries) {
        if (is_setting(key.scalar)) {
            continue;
        }
        Parameter parameter{key.scalar, {}};
        if (value.kind == yaml::Node::Kind::kScalar) {
            parameter.values = values_of_text(value.scalar);
        } else {
            parameter.values = sweep.list(key.scalar);
        }
        parameters.push_back(std::move(parameter));
    }
    return parameters;
}

/// Whether each value that the map names is the row's.
bool is_excluded(const Sweep& sweep,
                 const std::vector<std::string>& row,
                 const std::vector<std::map<std::string, std::string>>& exclude) {
    return std::ranges::any_of(exclude, [&](const auto& one) {
        return !one.empty() && std::ranges::all_of(one, [&](const auto& entry) {
            const auto found = std::ranges::find(sweep.names, entry.first);
            return found != sweep.names.end() &&
                   row[static_cast<std::size_t>(found - sweep.names.begin())] == entry.second;
        });
    });
}

class SweepReader {
public:
    SweepReader(Reading& reading, const View& root, Job& job)
        : reading_(reading), root_(root), sweep_(root.table("sweep")), job_(job) {}

    void read() {
        const yaml::Node* const node = root_.find("sweep");
        if (node == nullptr || !reading_.is_good("sweep")) {
            return;
        }
        read_exclude();
        check_ranges(*node);
        const auto parameters = parameters_of(sweep_, *node);
        if (sweep_.has("table")) {
            read_table(!parameters.empty());
        } else {
            read_lists(parameters);
        }
        check_names();
        if (is_good_) {
            finish();
        }
    }

private:
    void complain(std::string_view path, Problem problem, std::string because, std::string help) {
        is_good_ = false;
        reading_.complain(path, std::move(problem), std::move(because), std::move(help));
    }

    void read_exclude() {
        const yaml::Node* const list = sweep_.find("exclude");
        for (std::size_t at = 0; list != nullptr && at < list->items.size(); ++at) {
            std::map<std::string, std::string> one;
            for (const auto& [key, value] : list->items[at].entries) {
                one[key.scalar] = value.scalar;
            }
            exclude_.push_back(std::move(one));
        }
    }

    void read_table(bool has_parameters) {
        if (has_parameters) {
            complain("sweep.table",
                     problem("sweep-table-and-lists", "`table` next to lists of values"),
                     "the rows are those of the table",
                     "put the values into the table, or remove `table`");
            return;
        }
        const std::string name = sweep_.text("table");
        const std::filesystem::path file = job_.folder / name;
        const auto text = read_file(file, kMostTableBytes);
        auto read = text ? read_sweep_table(*text, file.native())
                         : Result<Sweep>(tl::unexpected(text.error()));
        if (!read) {
            const Fault& fault = read.error().faults().front();
            complain("sweep.table", problem(fault.id, fault.message), fault.because, fault.help);
            return;
        }
        Sweep& table = job_.sweep.emplace(std::move(*read));
        std::erase_if(table.rows,
                      [&](const auto& row) { return is_excluded(table, row, exclude_); });
    }

    /// Values of `exclude` that no row has: `0.1` where the list has `0.10`.
    void check_excluded(const std::vector<Parameter>& parameters) {
        for (std::size_t at = 0; at < exclude_.size(); ++at) {
            for (const auto& [name, value] : exclude_[at]) {
                const auto* const of = find_row(parameters, name, &Parameter::name);
                if (of == nullptr || of->values.empty() || contains(of->values, value)) {
                    continue;
                }
                complain(fmt::format("sweep.exclude[{}]", at),
                         problem("sweep-exclude-value",
                                 fmt::format("`exclude` names '{}', which is not a value of '{}'",
                                             printable(value),
                                             printable(name))),
                         "values are compared as texts, so no row would be left out",
                         fmt::format("write a value as `{}` has it, for example '{}'",
                                     printable(name),
                                     printable(of->values.front())));
            }
        }
    }

    void read_lists(const std::vector<Parameter>& parameters) {
        Sweep& sweep = job_.sweep.emplace();
        std::size_t count = parameters.empty() ? 0 : 1;
        for (const Parameter& parameter : parameters) {
            sweep.names.push_back(parameter.name);
            if (count > kMostRows || parameter.values.size() > kMostRows) {
                count = kMostRows + 1;
            } else {
                count *= parameter.values.size();
            }
        }
        if (count > kMostRows) {
            complain("sweep",
                     problem("sweep-too-large",
                             fmt::format("the sweep has more than {} rows", kMostRows)),
                     "it is the product of all its lists, and each row is a run with a record of "
                     "its own",
                     "shorten a list, or divide it into several Jobs");
            return;
        }
        check_excluded(parameters);
        for (std::size_t index = 0; index < count; ++index) {
            std::vector<std::string> row(parameters.size());
            std::size_t rest = index;
            for (std::size_t at = parameters.size(); at-- > 0;) { // the last changes first
                const auto& values = parameters[at].values;
                row[at] = values[rest % values.size()];
                rest /= values.size();
            }
            if (!is_excluded(sweep, row, exclude_)) {
                sweep.rows.push_back(std::move(row));
            }
        }
    }

    void check_names() {
        if (!job_.sweep) {
            return;
        }
        std::set<std::string> variables;
        for (const std::string& name : job_.sweep->names) {
            const std::string place = sweep_.has("table") ? "sweep.table" : "sweep." + name;
            if (!check_variable(variable_of_sweep(name)).because.empty() || name.empty() ||
                name == "index" || is_setting(name)) {
                complain(place,
                         problem("sweep-name",
                                 fmt::format("'{}' is not a parameter's name", printable(name))),
                         "it stands for a value as `@{NAME}`, and `@{index}` is the row's number",
                         "write letters, digits, `-` and `_`");
            } else if (!variables.insert(variable_of_sweep(name)).second) {
                complain(
                    place,
                    problem("sweep-name-twice",
                            fmt::format("parameter '{}' is given more than once", printable(name))),
                    "each has one value in a row; `-` and `_` are alike here",
                    "rename one of them");
            }
        }
        for (std::size_t at = 0; at < exclude_.size(); ++at) {
            for (const auto& [name, value] : exclude_[at]) {
                (void)value;
                const auto& names = job_.sweep->names;
                if (!contains(names, name)) {
                    complain(fmt::format("sweep.exclude[{}]", at),
                             problem("sweep-exclude-unknown",
                                     fmt::format("`exclude` names '{}', which is not a parameter",
                                                 printable(name))),
                             "no row would be left out",
                             "correct the name");
                }
            }
        }
    }

    void check_ranges(const yaml::Node& node) {
        for (const auto& [key, value] : node.entries) {
            const bool is_text = !is_setting(key.scalar) && value.is_plain &&
                                 value.kind == yaml::Node::Kind::kScalar;
            if (const std::string range = is_text ? range_meant(value.scalar) : std::string();
                !range.empty()) {
                complain(
                    "sweep." + key.scalar,
                    problem("sweep-range-form",
                            fmt::format("'{}' is not a range of a sweep", printable(value.scalar))),
                    "a range of numbers is written with `-`",
                    fmt::format(
                        "write `{}`, or `[\"{}\"]` for this text", range, printable(value.scalar)));
            }
            if (is_text && is_empty_range(value.scalar)) {
                complain(
                    "sweep." + key.scalar,
                    problem("sweep-empty",
                            fmt::format("the range '{}' has no numbers", printable(value.scalar))),
                    "its last number is smaller than its first",
                    fmt::format("write the smaller number first, or `\"{}\"` for this text",
                                printable(value.scalar)));
            }
        }
    }

    void finish() {
        if (!job_.sweep) {
            return;
        }
        Sweep& sweep = *job_.sweep;
        if (sweep.rows.empty()) {
            complain("sweep",
                     problem("sweep-empty", "the sweep has no rows"),
                     "there is nothing to run",
                     "add values, or a line to the table; or shorten `exclude`");
            return;
        }
        check_count(reading_, "sweep.pack", sweep_.maybe_count("pack"));
        check_count(reading_, "sweep.at-once", sweep_.maybe_count("at-once"));
        sweep.pack = sweep_.text("pack") == "all" ? static_cast<std::uint32_t>(sweep.rows.size())
                                                  : sweep_.maybe_count("pack").value_or(0);
        sweep.pack = std::min(sweep.pack, static_cast<std::uint32_t>(sweep.rows.size()));
        sweep.at_once = sweep_.maybe_count("at-once").value_or(0);
        if (sweep.pack > 0) {
            take_places(sweep);
        }
        if (sweep.pack >= sweep.rows.size()) {
            return; // one job
        }
        job_.array = fmt::format("0-{}", sweep.elements() - 1);
        if (sweep.pack == 0 && sweep.at_once > 0) {
            job_.array += fmt::format("%{}", sweep.at_once);
        }
    }

    /// Each row that runs at the same time is a task of the element.
    void take_places(Sweep& sweep) {
        Resources& resources = job_.resources;
        if (job_.launch.is_exact) {
            complain("launch.exact",
                     problem("exact-with-pack", "`exact` with `pack`"),
                     "the rows that run side by side are tasks, and the job asks for them",
                     "remove `exact`");
            return;
        }
        if (resources.nodes != 1 || resources.tasks != 1) {
            complain("sweep.pack",
                     problem("sweep-pack-tasks", "`pack` with several tasks or nodes"),
                     "each row is one task, and `at-once` says how many run side by side",
                     "remove `nodes`, `tasks` and `tasks-per-node`, and write `at-once`");
            return;
        }
        const std::uint32_t most = std::min(sweep.pack, kMostSlots);
        sweep.at_once = sweep.at_once == 0 ? most : std::min(sweep.at_once, most);
        resources.tasks_per_node = sweep.at_once;
        resources.tasks = sweep.at_once;
    }

    Reading& reading_;
    const View& root_;
    View sweep_;
    Job& job_;
    std::vector<std::map<std::string, std::string>> exclude_;
    bool is_good_ = true;
};

} // namespace

std::size_t Sweep::elements() const {
    return pack == 0 ? rows.size() : (rows.size() + pack - 1) / pack;
}

std::string variable_of_sweep(std::string_view name) {
    std::string variable = "CYBELE_SWEEP_" + std::string(name);
    std::replace(variable.begin(), variable.end(), '-', '_');
    return variable;
}

void keep_rows(Job& job, const std::vector<std::uint32_t>& numbers) {
    if (!job.sweep) {
        return;
    }
    Sweep& sweep = *job.sweep;
    std::vector<std::vector<std::string>> rows;
    for (const std::uint32_t number : numbers) {
        if (number < sweep.rows.size()) {
            rows.push_back(std::move(sweep.rows[number]));
            sweep.numbers.push_back(number);
        }
    }
    sweep.rows = std::move(rows);
    const auto count = static_cast<std::uint32_t>(sweep.rows.size());
    sweep.pack = std::min(sweep.pack, count);
    sweep.at_once = std::min(sweep.at_once, sweep.pack);
    job.resources.tasks_per_node = sweep.at_once;
    job.resources.tasks = sweep.at_once;
    job.array = sweep.pack >= count ? std::string() : fmt::format("0-{}", sweep.elements() - 1);
}

void read_sweep(Reading& reading, const View& root, Job& job) {
    SweepReader(reading, root, job).read();
}

} // namespace cybele::launchers
