// SPDX-License-Identifier: Apache-2.0
// Every invariant is tested on rendered scripts, and every test on a script with that one rule
// broken.
#include "bench.hpp"
#include "invariant_rows.hpp"
#include "schedulers/dialects/dialect.hpp"
#include "schedulers/reading/explain.hpp"

#include <map>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

/// The script with every `from` replaced; empty where there is none.
std::string mutant_of(const std::string& script, std::string_view from, std::string_view to) {
    std::string mutant = script;
    std::size_t at = mutant.find(from);
    if (at == std::string::npos) {
        return {};
    }
    for (; at != std::string::npos; at = mutant.find(from, at + to.size())) {
        mutant.replace(at, from.size(), to);
    }
    return mutant;
}

struct Rendered {
    std::string name;
    std::string text;
    Reader reader;
};

Reader reader_of(const std::string& dialect) {
    return dialect == "slurm"    ? Reader::kSlurm
           : dialect == "torque" ? Reader::kTorque
           : dialect == "local"  ? Reader::kNone
                                 : Reader::kPbspro;
}

const std::vector<Rendered>& rendered_scripts() {
    static const std::vector<Rendered> kAll = [] {
        std::vector<Rendered> all;
        for (const GoldenCase& golden : golden_cases()) {
            if (golden.job.launch.kind == launchers::LaunchKind::kBatch) {
                continue; // most rules are for what its own script does
            }
            for (const auto& dialect : dialect_names()) {
                if (auto script = render_script(golden.input(dialect))) {
                    all.push_back({golden.name + "." + dialect, script->text, reader_of(dialect)});
                }
            }
        }
        return all;
    }();
    return kAll;
}

/// The invariants that reading finds broken.
std::set<std::string> broken_in(const std::string& text, Reader reader) {
    std::set<std::string> broken;
    if (const auto explanation = explain_script(text, "s.sh", reader)) {
        for (const lint::Finding& each : explanation->breaks) {
            broken.emplace(each.rule);
        }
    }
    return broken;
}

fs::path page() {
    return fs::path(CYBELE_SOURCE_DIR) / "docs" / "invariants.md";
}

/// A row of the page: tests, mutants, parts; several of each are put together.
struct PageRow {
    std::set<std::string> tests;
    std::set<std::string> mutants;
    std::set<std::string> parts;
};

std::string joined(const std::set<std::string>& texts) {
    std::string text;
    for (const auto& each : texts) {
        text += (text.empty() ? "" : "; ") + each;
    }
    return text;
}

std::string page_text() {
    std::map<std::string_view, PageRow> rows;
    for (const ReadRow& row : read_rows()) {
        auto& into = rows[row.invariant];
        into.tests.emplace("read (`job explain`)");
        into.mutants.emplace(row.mutant);
        into.parts.emplace("golden scripts");
    }
    for (const RunRow& row : run_rows()) {
        auto& into = rows[row.invariant];
        into.tests.emplace("run: " + std::string(row.test));
        into.mutants.emplace(row.mutant);
        into.parts.emplace("bash");
    }
    for (const OtherRow& row : other_rows()) {
        auto& into = rows[row.invariant];
        into.tests.emplace(row.test);
        into.mutants.emplace(row.mutant);
        into.parts.emplace(row.parts);
    }
    std::string text =
        "# Invariants of a rendered script\n\n"
        "After reading this page you know which rules every batch script that cybelectl renders "
        "follows, and\nhow each rule is tested.\n\n"
        "Each rule has at least one test, and each test has a mutant: a script in which this one "
        "rule is\nbroken. The test must accept the rendered script and find the mutant, so no test "
        "can pass without\nchecking anything.\n\n"
        "* **tests** names what checks the rule. `read` means that the script is read, by the same "
        "code that\n  `job explain` uses for scripts of others, so that these rules are also "
        "checked "
        "there. `run` means\n  that bash runs the script on this machine. The other entries are "
        "files of tests.\n"
        "* **mutants** describes what is changed in the script, so that the test must fail.\n"
        "* **shown on** names what the test runs on: the golden scripts of `tests/golden`, bash, "
        "or "
        "a real\n  batch system with its version. `torque-rules` stands for recorded rules of "
        "TORQUE.\n\n"
        "The letter of a rule is its subject: A directives, B environment and image, C CPUs and "
        "memory,\nD MPI, E PyTorch and Horovod, F Spark, G the end of a job, H the script "
        "itself.\n\n"
        "The table is written by `CYBELE_ACCEPT=1 build/dev/tests/unit_schedulers`, from the rows "
        "that the\ntests run.\n\n"
        "| | rule | tests | mutants | shown on |\n|---|---|---|---|---|\n";
    for (const lint::Rule& invariant : invariants()) {
        const auto row = rows.find(invariant.id);
        if (row == rows.end()) {
            continue;
        }
        text += fmt::format("| {} | {} | {} | {} | {} |\n",
                            invariant.id,
                            invariant.title,
                            joined(row->second.tests),
                            joined(row->second.mutants),
                            joined(row->second.parts));
    }
    return text;
}

} // namespace

TEST_CASE("reading finds each mutant, and nothing in the script that it was made from") {
    std::map<std::string, std::set<std::string>> broken; // by script: each is read once as it is
    for (const Rendered& script : rendered_scripts()) {
        broken[script.name] = broken_in(script.text, script.reader);
    }
    for (const ReadRow& row : read_rows()) {
        const std::string invariant(row.invariant);
        CAPTURE(invariant);
        CAPTURE(row.mutant);
        bool is_caught = false; // one script is enough
        for (const Rendered& script : rendered_scripts()) {
            const std::string mutant = mutant_of(script.text, row.from, row.to);
            if (mutant.empty()) {
                continue;
            }
            CHECK_FALSE(broken[script.name].contains(invariant));
            is_caught = is_caught || broken_in(mutant, script.reader).contains(invariant);
        }
        CHECK_MESSAGE(is_caught, std::string(row.from));
    }
}

TEST_CASE("a comment in a script disables a rule there") {
    std::set<std::string> tried;
    for (const ReadRow& row : read_rows()) {
        const std::string invariant(row.invariant);
        for (const Rendered& script : rendered_scripts()) {
            const std::string mutant = mutant_of(script.text, row.from, row.to);
            if (mutant.empty() || !broken_in(mutant, script.reader).contains(invariant)) {
                continue;
            }
            CAPTURE(invariant);
            tried.insert(invariant);
            const std::string comment = "# cybelectl: ignore-file ";
            CHECK_FALSE(
                broken_in(mutant + comment + invariant + "\n", script.reader).contains(invariant));
            CHECK(broken_in(mutant + comment + "H9\n", script.reader).contains(invariant));
            break;
        }
    }
    CHECK(tried.size() > 40); // each that has such a mutant
}

TEST_CASE("running shows each invariant, and catches its mutant") {
    for_each_at_once(run_rows(), [](const RunRow& row) {
        CAPTURE(row.invariant);
        CAPTURE(row.mutant);
        const std::string script = row.script();
        CHECK(row.holds(script));
        const std::string mutant = mutant_of(script, row.from, row.to);
        REQUIRE_FALSE(mutant.empty());
        CHECK_FALSE(row.holds(mutant));
    });
}

TEST_CASE("no readable invariant is without its mutant, and the page lists them all") {
    std::set<std::string_view> tested;
    for (const ReadRow& row : read_rows()) {
        tested.insert(row.invariant);
        CHECK(find_invariant(row.invariant) != nullptr);
    }
    for (const RunRow& row : run_rows()) {
        tested.insert(row.invariant);
        CHECK(find_invariant(row.invariant) != nullptr);
    }
    for (const OtherRow& row : other_rows()) {
        tested.insert(row.invariant);
    }
    for (const auto id : readable_invariants()) {
        CHECK(find_invariant(id) != nullptr);
    }
    const std::string text = page_text();
    if (Environment::of_this_process().get("CYBELE_ACCEPT")) {
        REQUIRE(write_file(page(), text).has_value());
    }
    CHECK(read_file(page()).value() == text);
    for (const lint::Rule& invariant : invariants()) {
        CHECK_MESSAGE(tested.contains(invariant.id), std::string(invariant.id));
    }
}

} // namespace cybele::schedulers
