// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/job/context.hpp"
#include "cli/job/table.hpp"
#include "submission/journal/array.hpp"
#include "submission/submit/runs.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>

namespace cybele::cli {
namespace {

struct ResultsOptions {
    std::vector<std::string> ids;
    bool is_csv = false;
    std::string plot;
    std::string output = "-";
};

std::string runs_table(const std::vector<submission::Run>& runs) {
    const std::vector<std::string> columns = submission::columns_of(runs);
    std::vector<std::size_t> widths;
    for (const std::string& column : columns) {
        std::size_t width = column.size();
        for (const submission::Run& run : runs) {
            width = std::max(width, printable(run.value(column)).size());
        }
        widths.push_back(width);
    }
    std::string text;
    const auto add = [&](const auto& cell_of) {
        std::string line;
        for (std::size_t at = 0; at < columns.size(); ++at) {
            const std::string cell = cell_of(columns[at]);
            line += cell + std::string(widths[at] - cell.size() + 2, ' ');
        }
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    };
    add([](const std::string& column) { return printable(column); });
    for (const submission::Run& run : runs) {
        add([&run](const std::string& column) { return printable(run.value(column)); });
    }
    return text;
}

std::string runs_json(const std::vector<submission::Run>& runs) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const submission::Run& run : runs) {
        nlohmann::ordered_json one = nlohmann::ordered_json::object();
        for (const auto& [name, value] : run.values) {
            one[name] = value;
        }
        list.push_back(std::move(one));
    }
    return json_text(list) + "\n";
}

/// `--plot x=a,y=b -o plot.png`
Result<void> check_drawing(const ResultsOptions& options) {
    const std::filesystem::path file = options.output;
    const std::string extension = text::lowered(file.extension().native());
    if (options.plot.empty() || extension.empty() || extension == ".svg") {
        return {};
    }
    return fail(
        ErrorCode::kUsage,
        problem("plot-not-svg", "--plot does not write " + printable(extension)),
        "it draws SVG, which browsers show and other programs convert",
        "write `-o " +
            printable(shell_quote(std::filesystem::path(file).replace_extension(".svg").native())) +
            "`");
}

Result<int> show_results(const Session& session, const ResultsOptions& options) {
    CYBELE_CHECK(check_drawing(options));
    submission::PlotChoice plot;
    if (!options.plot.empty()) {
        CYBELE_TRY(plot, submission::read_plot(options.plot));
    }
    CYBELE_TRY(submission::JobContext context, open_context(session));
    std::vector<submission::Run> runs;
    for (const std::string& id : options.ids) {
        CYBELE_TRY(submission::Entry entry, submission::find_job(context.journal(), id));
        std::vector<submission::Entry> entries{std::move(entry)};
        CYBELE_CHECK(refresh(session, context, entries));
        CYBELE_TRY(const auto elements, in_elements(session, context, entries));
        CYBELE_TRY(const auto more, submission::runs_of(entries.front(), elements));
        runs.insert(runs.end(), more.begin(), more.end());
    }
    std::string text;
    if (!options.plot.empty()) {
        CYBELE_TRY(text, submission::runs_svg(runs, plot));
    } else {
        text = session.is_json() ? runs_json(runs)
               : options.is_csv  ? submission::runs_csv(runs)
                                 : runs_table(runs);
    }
    if (options.output == "-") {
        Session::print(text);
        return 0;
    }
    CYBELE_CHECK(write_file(options.output, text));
    return 0;
}

} // namespace

void install_job_results(CLI::App& job, Session& session) {
    auto options = std::make_shared<ResultsOptions>();
    CLI::App* verb =
        add_verb(job,
                 "results",
                 "Show runs of jobs and sweeps with their parameters and results.",
                 {"cybelectl job results 1234",
                  "cybelectl job results 1234 --csv -o runs.csv",
                  "cybelectl job results 12 13 14 --plot x=tasks,y=wall -o scaling.svg"});
    verb->add_option("id", options->ids, kIdHelp)->required()->type_name("ID");
    auto* const csv = verb->add_flag(
        "--csv", options->is_csv, "print comma-separated values, with a line of names");
    verb->add_option("--plot", options->plot, "an SVG drawing of two columns; by: a line per value")
        ->type_name("x=NAME,y=NAME[,by=NAME]")
        ->excludes(csv);
    verb->add_option("-o,--output", options->output, "output file (default: -, standard output)")
        ->type_name("FILE");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] { return show_results(session, *options); };
    });
}

} // namespace cybele::cli
