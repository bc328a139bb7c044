// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/expansion.hpp"
#include "launchers/documents/job.hpp"
#include "support/file.hpp"
#include "support/message.hpp"

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace cybele::launchers {
namespace {

Result<Job> read_sweep_job(const std::string& sweep, const std::string& more = "") {
    return read_job("kind: Job\nname: s\ncommand: [p, '@{lr}']\nsweep: " + sweep + "\n" + more,
                    "job.yaml");
}

std::string refusal_of(const std::string& sweep, const std::string& more = "") {
    const auto job = read_sweep_job(sweep, more);
    REQUIRE_FALSE(job);
    return job.error().faults().front().id;
}

} // namespace

TEST_CASE("a sweep is the product of its lists, the last of them changes first") {
    const auto job = read_sweep_job("{lr: ['0.1', '0.2'], seed: 1-5:2, opt: adam}");
    REQUIRE(job);
    CHECK(job->sweep->names == std::vector<std::string>{"lr", "seed", "opt"});
    REQUIRE(job->sweep->rows.size() == 6);
    CHECK(job->sweep->rows[1] == std::vector<std::string>{"0.1", "3", "adam"});
    CHECK(job->sweep->rows[5] == std::vector<std::string>{"0.2", "5", "adam"});
    CHECK(job->array == "0-5");
}

TEST_CASE("a text that is almost a range is one value, and the most rows that there may be are") {
    for (const char* text : {"1-3:x", "1-3:0", "1-x", "x-3", "3-1"}) {
        CAPTURE(text);
        const auto job = read_sweep_job("{lr: '" + std::string(text) + "'}");
        REQUIRE(job);
        CHECK(job->sweep->rows == std::vector<std::vector<std::string>>{{text}});
    }
    const auto most = read_sweep_job("{lr: 1-10000, seed: [a]}");
    REQUIRE(most);
    CHECK(most->sweep->rows.size() == 10'000);
    CHECK(refusal_of("{lr: 1-10001, seed: [a]}") == "sweep-too-large");
}

TEST_CASE("a range without numbers is refused; a month, and what is in quotes, is a value") {
    for (const char* range : {"1-0", "10-1", "5-0:2"}) {
        CAPTURE(range);
        CHECK(refusal_of("{lr: " + std::string(range) + "}") == "sweep-empty");
    }
    for (const char* value : {"2024-01", "'1-0'", "[1-0]", "a-1", "1-0-2", "0-0", "1-"}) {
        CAPTURE(value);
        CHECK(read_sweep_job("{lr: " + std::string(value) + "}"));
    }
}

TEST_CASE("a range in the form of another language is refused with ours") {
    const auto help_of = [](const std::string& range) {
        const auto job = read_sweep_job("\n  lr: " + range);
        REQUIRE_FALSE(job);
        CHECK(job.error().faults().size() == 1);
        CHECK(job.error().faults().front().id == "sweep-range-form");
        return job.error().faults().front().help;
    };
    CHECK(help_of("1..5") == "write `1-5`, or `[\"1..5\"]` for this text");
    CHECK(help_of("1...5").starts_with("write `1-5`, "));
    CHECK(help_of("1:5").starts_with("write `1-5`, "));
    CHECK(help_of("range(5)").starts_with("write `0-4`, "));
    CHECK(help_of("range(1, 6)").starts_with("write `1-5`, "));
    CHECK(help_of("range(1)").starts_with("write `0-0`, "));
    CHECK(help_of("range(5, 6)").starts_with("write `5-5`, "));
    CHECK(help_of("5..5").starts_with("write `5-5`, "));
    CHECK(help_of("range(0, 10, 2)").starts_with("write `0-9:2`, "));
    for (const char* value : {"'1:5'",
                              "['1..5']",
                              "1.5",
                              "5..1",
                              "range(0)",
                              "range(6, 6)",
                              "range(6, 5)",
                              "1:30:00",
                              "range(x)",
                              "range()",
                              "..",
                              ":5"}) {
        CAPTURE(value);
        CHECK(read_sweep_job("\n  lr: " + std::string(value)));
    }
}

TEST_CASE("rows that `exclude` names are left out, and at-once limits the array") {
    const auto job = read_sweep_job(
        "{lr: [a, b], seed: 1-3, exclude: [{lr: a, seed: '2'}, {lr: b}], at-once: 2}");
    REQUIRE(job);
    CHECK(job->sweep->rows == std::vector<std::vector<std::string>>{{"a", "1"}, {"a", "3"}});
    CHECK(job->array == "0-1%2");
}

TEST_CASE("packed rows share elements, and each that runs at the same time is a task") {
    const auto job = read_sweep_job("{lr: 1-7, pack: 4, at-once: 3}");
    REQUIRE(job);
    CHECK(job->sweep->elements() == 2);
    CHECK(job->array == "0-1");
    CHECK(job->resources.tasks == 3);
    const auto all = read_sweep_job("{lr: 1-7, pack: all}");
    REQUIRE(all);
    CHECK(all->array.empty());
    CHECK(all->sweep->pack == 7);
    CHECK(all->resources.tasks == 7);
    CHECK(refusal_of("{lr: 1-7, pack: 2}", "resources: {tasks-per-node: 2}\n") ==
          "sweep-pack-tasks");
}

TEST_CASE("sweep: rows that are kept fill as few elements as they can") {
    const auto kept = [](const std::vector<std::uint32_t>& numbers) {
        auto job = read_sweep_job("{lr: 1-7, pack: 4, at-once: 3}");
        REQUIRE(job);
        keep_rows(*job, numbers);
        return std::move(*job);
    };
    const Job one = kept({1, 5, 6, 99});
    CHECK(one.array.empty());
    CHECK(one.sweep->rows == std::vector<std::vector<std::string>>{{"2"}, {"6"}, {"7"}});
    CHECK(one.sweep->numbers == std::vector<std::uint32_t>{1, 5, 6});
    CHECK(one.sweep->pack == 3);
    CHECK(one.resources.tasks == 3);
    CHECK(kept({0, 1, 2, 3}).array.empty());
    CHECK(kept({0, 1, 2, 3, 4}).array == "0-1");
    CHECK(kept({2, 4}).resources.tasks_per_node == 2);
}

TEST_CASE("sweep: what is wrong with its array is shown at the sweep") {
    const auto job = read_sweep_job("{lr: [a, b]}");
    REQUIRE(job);
    CHECK(job->fault_at("array", problem("test", "wrong"), "", "").where.value_or(Place{}).line ==
          4);
}

TEST_CASE("sweeps of no row, of a million rows and with odd names are refused") {
    CHECK(refusal_of("{lr: 1-1000, seed: 1-1000}") == "sweep-too-large");
    CHECK(refusal_of("{lr: 1-999999999}") == "sweep-too-large");
    CHECK(refusal_of("{lr: [a], exclude: [{lr: a}]}") == "sweep-empty");
    CHECK(refusal_of("{lr: []}") != "");
    CHECK(refusal_of("{pack: 2}") == "sweep-empty");
    CHECK(refusal_of("{lr: [a], pack: 0}") == "count-is-zero");
    CHECK(refusal_of("{lr: [a], at-once: 0}") == "count-is-zero");
    CHECK(refusal_of("{lr: [a], exclude: [{rl: a}]}") == "sweep-exclude-unknown");
    CHECK(refusal_of("{lr: [0.10, 1], exclude: [{lr: 0.1}]}") == "sweep-exclude-value");
    CHECK(refusal_of("{lr: [a], seed: 1-3, exclude: [{lr: a, seed: 4}]}") == "sweep-exclude-value");
    CHECK(refusal_of("{index: [a]}") == "sweep-name");
    CHECK(refusal_of("{'a b': [a]}") == "sweep-name");
    CHECK(refusal_of("{a-b: [a], a_b: [c]}") == "sweep-name-twice");
    CHECK(refusal_of("{table: runs.csv, lr: [a]}") == "sweep-table-and-lists");
    CHECK(refusal_of("{lr: [a]}", "array: 0-3\n") != "");
}

TEST_CASE("tables: quotes, DOS line ends and a mark of UTF-8 are read, ragged lines are named") {
    const auto table =
        read_sweep_table("\xEF\xBB\xBFlr, seed\r\n0.1,\"a, \"\"b\"\"\"\r\n\r\n0.2,\n", "runs.csv");
    REQUIRE(table);
    CHECK(table->names == std::vector<std::string>{"lr", "seed"});
    CHECK(table->rows == std::vector<std::vector<std::string>>{{"0.1", "a, \"b\""}, {"0.2", ""}});
    const auto ragged = read_sweep_table("lr,seed\n1,2\n3\n", "runs.csv");
    REQUIRE_FALSE(ragged);
    const Fault& fault = ragged.error().faults().front();
    CHECK(fault.id == "sweep-table-ragged");
    CHECK(fault.message.find("runs.csv:3:") != std::string::npos);
    for (const char* header : {"lr seed\n1 2\n", "lr;seed\n1;2\n", "lr\tseed\n1\t2\n"}) {
        CAPTURE(header);
        const auto other = read_sweep_table(header, "runs.csv");
        REQUIRE_FALSE(other);
        CHECK(other.error().faults().front().id == "sweep-table-columns");
        CHECK(other.error().faults().front().message.starts_with("runs.csv:1: "));
        CHECK(other.error().faults().front().help.starts_with("write `lr,seed`"));
    }
    CHECK(read_sweep_table("", "runs.csv").error().faults().front().id == "sweep-table-empty");
    CHECK(read_sweep_table("a\n\x01\n", "r").error().faults().front().id == "sweep-table-control");
}

TEST_CASE("the rows of a table are those of the sweep, less what is excluded") {
    auto folder = TempDirectory::make(std::filesystem::temp_directory_path(), "sweep");
    REQUIRE(folder);
    REQUIRE(write_file(folder->path() / "runs.csv", "lr,seed\n0.1,1\n0.2,2\n0.2,3\n"));
    const auto rows_of = [&](const std::string& sweep) {
        const auto job = read_job("kind: Job\nname: s\ncommand: [p]\nsweep: " + sweep + "\n",
                                  folder->path() / "job.yaml");
        REQUIRE_MESSAGE(job, format_text(job.error().faults()));
        CHECK(job->sweep->names == std::vector<std::string>{"lr", "seed"});
        return job->sweep->rows;
    };
    using Rows = std::vector<std::vector<std::string>>;
    CHECK(rows_of("{table: runs.csv}") == Rows{{"0.1", "1"}, {"0.2", "2"}, {"0.2", "3"}});
    CHECK(rows_of("{table: runs.csv, exclude: [{lr: '0.2', seed: '3'}]}") ==
          Rows{{"0.1", "1"}, {"0.2", "2"}});
    CHECK(rows_of("{table: runs.csv, exclude: [{lr: '0.2'}]}") == Rows{{"0.1", "1"}});
}

TEST_CASE("texts with variables: which forms are read, and what is refused") {
    const auto pieces = expansion_pieces("$A/${B}\\$x${C:-d e}f");
    REQUIRE(pieces.size() == 6);
    CHECK(pieces[0].variable == "A");
    CHECK(pieces[1].text == "/");
    CHECK(pieces[3].text == "$x");
    CHECK(pieces[4].text == "d e");
    CHECK(required_variables("$A/${B}${C:-d}$A") == std::vector<std::string>{"A", "B", "A"});
    for (const char* good : {"$A", "${A:-}", "a $A_1", "~/$A"}) {
        CHECK_MESSAGE(check_expansion(good).because.empty(), good);
    }
    for (const char* bad : {"plain",
                            "$",
                            "$1",
                            "$$",
                            "$(id)",
                            "`id`",
                            "${A",
                            "${A%x}",
                            "${A:-$B}",
                            "$a",
                            "${}",
                            "\\$A"}) {
        CHECK_MESSAGE(!check_expansion(bad).because.empty(), bad);
    }
    CHECK(check_expanded_bind("$A:/b:ro").because.empty());
    CHECK(check_expanded_bind("$A:$A").because.empty());
    CHECK_FALSE(check_expanded_bind("$A:b").because.empty());
    CHECK_FALSE(check_expanded_bind("$A:/b:rw").because.empty());
}

TEST_CASE("a folder that only the node knows excludes what is looked for there") {
    const auto id_of = [](const std::string& more) {
        const auto job = read_job("kind: Job\nname: s\ncommand: [p]\n" + more, "job.yaml");
        REQUIRE_FALSE(job);
        return job.error().faults().front().id;
    };
    const std::string workdir = "workdir: {expand: $SCRATCH}\n";
    CHECK(id_of(workdir + "output: {results: [a]}\n") == "field-with-expanded-workdir");
    CHECK(id_of(workdir + "stage-in: [{from: a, to: b}]\n") == "field-with-expanded-workdir");
    CHECK(id_of("image-copy: /tmp\n") == "image-copy-without-image");
    CHECK(id_of("image: {expand: $A, variant: b}\n") == "variant-without-recipe");
    CHECK(id_of("image: {variant: b}\n") != "");
}

} // namespace cybele::launchers
