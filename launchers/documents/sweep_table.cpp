// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/sweep.hpp"
#include "support/counted.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace cybele::launchers {
namespace {

struct TableRow {
    std::vector<std::string> cells;
    std::size_t line = 0;
};

/// Cells as spreadsheets write them: in quotes a comma and a line end are text, and `""` is a
/// quote.
class TableReader {
public:
    explicit TableReader(std::string_view text) : rest_(text) {
        if (rest_.starts_with("\xEF\xBB\xBF")) {
            rest_.remove_prefix(3);
        }
    }

    std::vector<TableRow> rows() {
        std::vector<TableRow> rows;
        while (!rest_.empty()) {
            TableRow row;
            row.line = line_;
            do {
                row.cells.push_back(cell());
            } while (take(','));
            take('\r');
            take('\n');
            const bool is_empty = row.cells.size() == 1 && row.cells.front().empty();
            if (!is_empty) {
                rows.push_back(std::move(row));
            }
        }
        return rows;
    }

private:
    bool take(char letter) {
        if (!rest_.starts_with(letter)) {
            return false;
        }
        line_ += letter == '\n' ? 1 : 0;
        rest_.remove_prefix(1);
        return true;
    }

    std::string cell() {
        while (take(' ') || take('\t')) {
        }
        std::string text;
        if (take('"')) {
            while (!rest_.empty()) {
                if (take('"')) {
                    if (!rest_.starts_with('"')) {
                        break;
                    }
                }
                const char letter = rest_.front();
                take(letter);
                text += letter;
            }
        }
        while (!rest_.empty() && rest_.front() != ',' && rest_.front() != '\n' &&
               !rest_.starts_with("\r\n")) {
            text += rest_.front();
            rest_.remove_prefix(1);
        }
        while (text.ends_with(' ') || text.ends_with('\t') || text.ends_with('\r')) {
            text.pop_back();
        }
        return text;
    }

    std::string_view rest_;
    std::size_t line_ = 1;
};

Result<Sweep> table_fault(const std::string& file,
                          std::size_t line,
                          Problem problem,
                          std::string because,
                          std::string help) {
    Fault fault;
    fault.code = ErrorCode::kInput;
    problem.message = fmt::format("{}:{}: {}", printable(file), line, problem.message);
    fault.set(std::move(problem));
    fault.because = std::move(because);
    fault.help = std::move(help);
    return fail(std::move(fault));
}

/// The one name of a table with blanks, tabs or semicolons between its columns, with commas; else
/// empty.
std::string columns_meant(const std::vector<std::string>& names) {
    constexpr std::string_view kBetween = " \t;|";
    std::string columns;
    std::string_view rest = names.size() == 1 ? std::string_view(names.front()) : "";
    std::size_t count = 0;
    while (!rest.empty()) {
        const std::size_t begin = std::min(rest.find_first_not_of(kBetween), rest.size());
        const std::size_t end = std::min(rest.find_first_of(kBetween, begin), rest.size());
        if (end > begin) {
            columns += (columns.empty() ? "" : ",") + std::string(rest.substr(begin, end - begin));
            ++count;
        }
        rest.remove_prefix(end);
    }
    return count > 1 ? columns : std::string();
}

bool has_control(std::string_view text) {
    return std::ranges::any_of(text,
                               [](unsigned char letter) { return letter < ' ' || letter == 0x7f; });
}

} // namespace

Result<Sweep> read_sweep_table(std::string_view text, const std::string& file) {
    const std::vector<TableRow> rows = TableReader(text).rows();
    if (rows.empty()) {
        return table_fault(file,
                           1,
                           problem("sweep-table-empty", "the table is empty"),
                           "its first line has the names of the columns",
                           "write for example `lr,seed`, and a line for each run");
    }
    Sweep sweep;
    sweep.names = rows.front().cells;
    if (const std::string columns = columns_meant(sweep.names); !columns.empty()) {
        return table_fault(
            file,
            1,
            problem("sweep-table-columns",
                    fmt::format("the table has one column, '{}'", printable(sweep.names.front()))),
            "columns are separated by commas",
            fmt::format("write `{}`, and commas in the other lines, too", printable(columns)));
    }
    for (std::size_t index = 1; index < rows.size(); ++index) {
        const TableRow& row = rows[index];
        if (row.cells.size() != sweep.names.size()) {
            return table_fault(file,
                               row.line,
                               problem("sweep-table-ragged",
                                       fmt::format("the line has {}, and the table has {}",
                                                   counted(row.cells.size(), "value"),
                                                   counted(sweep.names.size(), "column"))),
                               "each line is one run with a value for each column",
                               "complete the line, or put a text with a comma into double quotes");
        }
        if (std::ranges::any_of(row.cells, has_control)) {
            return table_fault(file,
                               row.line,
                               problem("sweep-table-control", "a value has a control character"),
                               "it becomes a word of the program",
                               "remove it");
        }
        if (index > kMostRows) {
            return table_fault(file,
                               row.line,
                               problem("sweep-too-large",
                                       fmt::format("the table has more than {} rows", kMostRows)),
                               "each row is a run with a record of its own",
                               "divide the table into several Jobs");
        }
        sweep.rows.push_back(row.cells);
    }
    return sweep;
}

} // namespace cybele::launchers
