// SPDX-License-Identifier: Apache-2.0
// `job runs`: what programs print as key=value, tables of it, and drawings.
#include "submission/journal/state.hpp"
#include "submission/submit/runs.hpp"
#include "support/file.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace cybele::submission {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Run run_of(const std::string& tasks, const std::string& wall, const std::string& state = "done") {
    return {{{"tasks", tasks}, {"wall", wall}, {"state", state}}};
}

std::size_t count_in(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

} // namespace

TEST_CASE("runs: the key=value lines of an output, the last of a key, and nothing else") {
    CHECK(printed_values("loss=0.5\nstep 1\n  rate=2=3 \nloss=0.25\n") ==
          Pairs{{"loss", "0.25"}, {"rate", "2=3"}});
    CHECK(printed_values("time-to.end_1=4\nempty=") ==
          Pairs{{"time-to.end_1", "4"}, {"empty", ""}});
    for (const char* line : {"", "=1", "1a=2", "_a=1", "a b=2", "a:b=2", "https://x?y=1", "é=1"}) {
        CAPTURE(line);
        CHECK(printed_values(line).empty());
    }
    // Several on a line, where each word is one; else the value has the blanks.
    CHECK(printed_values("acc=0.5 loss=0.1\n\tepoch=3\t acc=0.75 \n") ==
          Pairs{{"acc", "0.75"}, {"loss", "0.1"}, {"epoch", "3"}});
    CHECK(
        printed_values("note=two words\nat=1 x 2=3\nname= a=1\nspaced= 7") ==
        Pairs{
            {"note", "two words"}, {"at", "1 x 2=3"}, {"name", ""}, {"a", "1"}, {"spaced", " 7"}});
    CHECK(printed_values(std::string(64, 'k') + "=1").size() == 1);
    CHECK(printed_values(std::string(65, 'k') + "=1").empty());
}

TEST_CASE("runs: a printed key with the name of a column has one of its own") {
    const TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    const auto output = directory.path() / "o";
    REQUIRE(write_file(directory.path() / "job.json",
                       R"({"sweep": {"names": ["lr"], "rows": [["0.1"]]}})"));
    REQUIRE(write_file(output,
                       "wall=3.25 tasks=64\nstate=converged\njob=9 row=5 lr=0.2 "
                       "code=7\nprinted.wall=1\nnodes=3\n"));
    Entry job;
    job.id = "7";
    job.record = directory.path().native();
    job.standard_output = output.native();
    job.tasks = 2;
    job.nodes = 3;
    Entry element = job;
    element.is_element = true;
    element.index = 0;
    const auto runs = runs_of(job, {element});
    REQUIRE(runs);
    REQUIRE(runs->size() == 1);
    const Run& run = runs->front();
    CHECK(columns_of(*runs).size() == run.values.size()); // no name twice
    CHECK(run.value("tasks") == "2");
    CHECK(run.value("lr") == "0.1");
    CHECK(run.value("printed.wall") == "3.25");
    CHECK(run.value("printed.tasks") == "64");
    CHECK(run.value("printed.state") == "converged");
    CHECK(run.value("printed.job") == "9");
    CHECK(run.value("printed.row") == "5");
    CHECK(run.value("printed.lr") == "0.2");
    CHECK(run.value("printed.printed.wall") == "1");
    CHECK(run.value("printed.code") == "7");
    CHECK(run.value("printed.nodes").empty()); // the column says the same
    // One run without a row number: the column is empty, and not the program's.
    const auto alone = runs_of(job, {job});
    REQUIRE(alone);
    CHECK(alone->front().value("row").empty());
    CHECK(alone->front().value("printed.row") == "5");
}

TEST_CASE("runs: a packed row without a record has the state that `--elements` shows") {
    const TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    REQUIRE(
        write_file(directory.path() / "job.json",
                   R"({"sweep": {"names": ["lr"], "rows": [["1"], ["2"], ["3"]], "pack": 3}})"));
    REQUIRE(std::filesystem::create_directories(directory.path() / "0"));
    REQUIRE(write_file(directory.path() / "0" / "output", "out-0\n")); // it began
    Entry job;
    job.id = "7";
    job.scheduler = "slurm";
    job.record = directory.path().native();
    job.state = submission::State::kFailed;
    job.ended = 100;
    const auto runs = runs_of(job, {job});
    REQUIRE(runs);
    REQUIRE(runs->size() == 3);
    const auto rows = submission::packed_rows(job);
    for (std::size_t at = 0; at < rows.size(); ++at) {
        CHECK((*runs)[at].value("state") == submission::state_text(rows[at].state));
    }
    CHECK(runs->front().value("state") == "lost");
    CHECK(runs->back().value("state") == "failed");
}

TEST_CASE("runs: a table has every column in the order of its first appearance") {
    const std::vector<Run> runs{{{{"job", "7"}, {"note", "a,b"}}},
                                {{{"job", "8"}, {"said", "\"no\"\nyes"}}}};
    CHECK(columns_of(runs) == std::vector<std::string>{"job", "note", "said"});
    CHECK(runs_csv(runs) == "job,note,said\n7,\"a,b\",\n8,,\"\"\"no\"\"\nyes\"\n");
    CHECK(runs_csv({}) == "\n");
    CHECK(runs[0].value("job") == "7");
    CHECK(runs[0].value("said").empty());
}

TEST_CASE("runs: what a drawing shows is named by columns") {
    const auto choice = read_plot("x=tasks,y=wall,by=node");
    REQUIRE(choice);
    CHECK(choice->x == "tasks");
    CHECK(choice->y == "wall");
    CHECK(choice->by == "node");
    CHECK(read_plot("y=wall,x=tasks")->by.empty());
    for (const char* bad :
         {"", "x=tasks", "y=wall", "x=,y=wall", "x=a,y=b,z=c", "x,y=b", "x=a;y=b"}) {
        CAPTURE(bad);
        const auto refused = read_plot(bad);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code() == ErrorCode::kUsage);
    }
}

TEST_CASE("runs: a drawing has a point for each run that ended well and has both numbers") {
    const PlotChoice choice{"tasks", "wall", ""};
    const auto svg = runs_svg({run_of("1", "8"),
                               run_of("2", "4"),
                               run_of("2", "6"),
                               run_of("4", "2", "failed"),
                               run_of("4", "soon"),
                               run_of("-4", "2"),
                               run_of("4", "-2")},
                              choice);
    REQUIRE(svg);
    CHECK(count_in(*svg, "<circle ") == 3);
    CHECK(count_in(*svg, ">tasks</text>") == 1);
    CHECK(count_in(*svg, ">wall</text>") == 1);
    // The line goes through the mean of the two runs of 2 tasks: 8, then 5, of at most 8.
    const auto at = [](const std::string& text, const std::string& begin) {
        return std::stod(text.substr(text.find(begin) + begin.size()));
    };
    const auto eight = at(*svg, "cy=\"");
    const auto line = svg->substr(svg->rfind("<path d=\"M"));
    const auto second = line.substr(line.find('L') + 1);
    CHECK(std::stod(line.substr(line.find(' ', line.find('M')) + 1)) == doctest::Approx(eight));
    const double five = std::stod(second.substr(second.find(' ') + 1));
    const auto four = at(svg->substr(svg->find("<circle ", svg->find("<circle ") + 1)), "cy=\"");
    const double unit = (four - eight) / 4;
    CHECK(five == doctest::Approx(eight + 3 * unit).epsilon(0.001));
    const auto none = runs_svg({run_of("1", "8", "failed")}, choice);
    CHECK_FALSE(none);
}

TEST_CASE("states: each word and each letter of Slurm, with what follows it") {
    struct Row {
        const char* word;
        State state;
    };
    const Row rows[] = {{"PENDING", State::kPending},
                        {"PD", State::kPending},
                        {"CANCELLED by 0", State::kCancelled},
                        {"CANCELLED+", State::kCancelled},
                        {"CA", State::kCancelled},
                        {"CG", State::kRunning},
                        {"OOM", State::kFailed},
                        {"NODE_FAIL", State::kFailed},
                        {"REQUEUE_HOLD", State::kHeld},
                        {"S", State::kSuspended},
                        {"TO", State::kTimeout},
                        {"PR", State::kPreempted}};
    for (const Row& row : rows) {
        CAPTURE(row.word);
        CHECK(state_of_slurm(row.word) == row.state);
    }
    CHECK_FALSE(state_of_slurm("").has_value());
    CHECK_FALSE(state_of_slurm("P").has_value());
    CHECK_FALSE(state_of_slurm("PENDINGS").has_value());
}

TEST_CASE("states: how a job of PBS ended, by the number that the server tells") {
    struct Row {
        std::optional<int> status;
        State state;
        std::optional<int> code;
        int signal;
    };
    const Row rows[] = {{std::nullopt, State::kCancelled, std::nullopt, 0},
                        {0, State::kDone, 0, 0},
                        {1, State::kFailed, 1, 0},
                        {255, State::kFailed, 255, 0},
                        {256, State::kFailed, 256, 0},
                        {256 + 9, State::kFailed, std::nullopt, 9},
                        {256 + 15, State::kCancelled, std::nullopt, 15},
                        {-1, State::kFailed, std::nullopt, 0},
                        {-11, State::kTimeout, std::nullopt, 0},
                        {-29, State::kTimeout, std::nullopt, 0}};
    for (const Row& row : rows) {
        CAPTURE(row.status.value_or(9999));
        const PbsEnd end = end_of_pbs(row.status);
        CHECK(end.state == row.state);
        CHECK(end.code == row.code);
        CHECK(end.signal == row.signal);
    }
}

} // namespace cybele::submission
