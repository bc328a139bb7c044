// SPDX-License-Identifier: Apache-2.0
// Scripts of others: how they are read, explained and converted.
#include "bench.hpp"
#include "schedulers/dialects/dialect.hpp"
#include "schedulers/reading/convert.hpp"
#include "schedulers/reading/shell_words.hpp"
#include "schedulers/reading/symptoms.hpp"
#include "support/message.hpp"

#include <algorithm>
#include <array>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

namespace cybele::schedulers {
namespace {

fs::path outside_folder() {
    return fs::path(CYBELE_TESTS_DIR) / "golden" / "outside";
}

void check_file(const fs::path& path, const std::string& text) {
    const Environment environment = Environment::of_this_process();
    if (environment.get("CYBELE_ACCEPT")) {
        REQUIRE_MESSAGE(!environment.get("CI"), "golden files are not rewritten in CI");
        REQUIRE(write_file(path, text).has_value());
        return;
    }
    const auto expected = read_file(path);
    REQUIRE_MESSAGE(expected.has_value(),
                    path.string() << " is missing; CYBELE_ACCEPT=1 writes it");
    CHECK_MESSAGE(*expected == text, path.filename().string() << " differs:\n" << text);
}

BatchScript read(const std::string& text, Reader reader = Reader::kNone) {
    return read_batch_script(text, "s.sh", reader).value();
}

/// What the script asks for under a field, or "".
std::string
asked_of(const std::string& text, const std::string& field, Reader reader = Reader::kNone) {
    for (const auto& [name, value] : asked_fields(what_is_asked(read(text, reader)))) {
        if (name == field) {
            return value;
        }
    }
    return "";
}

long seconds_of(const std::optional<std::chrono::seconds>& time) {
    return time ? time->count() : -1;
}

} // namespace

TEST_CASE("scripts of others are explained and converted as their golden files say") {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(outside_folder())) {
        if (entry.path().extension() != ".in") {
            continue;
        }
        ++count;
        const std::string name = entry.path().filename().string();
        CAPTURE(name);
        const auto explanation = explain_script(read_file(entry.path()).value(), name);
        REQUIRE(explanation.has_value());
        const fs::path stem = outside_folder() / entry.path().stem();
        check_file(stem.string() + ".txt", explanation_text(*explanation));
        CHECK(nlohmann::json::accept(explanation_json(*explanation)));
        const auto conversion = convert_script(*explanation, entry.path().stem().string());
        REQUIRE(conversion.has_value());
        check_file(stem.string() + ".job.yaml", conversion->yaml);
        const auto job = launchers::read_job(conversion->yaml, "job.yaml");
        CHECK_MESSAGE(job.has_value(),
                      format_text(job ? std::vector<Fault>{} : job.error().faults()));
    }
    CHECK(count >= 6);
}

TEST_CASE("times mean what the batch systems take them for") {
    struct Row {
        const char* text;
        long slurm; ///< seconds; -1: refused
        long pbs;
    };
    // launch.md 1.2 and torque.md 2.3, without Slurm's rounding to minutes.
    constexpr std::array kRows{Row{"30", 1800, 30},
                               Row{"1:30", 90, 90},
                               Row{"1:00:00", 3600, 3600},
                               Row{"49:00:00", 176400, 176400},
                               Row{"0:90:00", 5400, 5400},
                               Row{"2-0", 172800, -1},
                               Row{"2-1:30", 178200, -1},
                               Row{"1-1:1:1", 90061, -1},
                               Row{"1:00:00:00", -1, 86400},
                               Row{"5s", -1, -1},
                               Row{"90m", -1, -1},
                               Row{"-1", -1, -1},
                               Row{"", -1, -1},
                               Row{"abc", -1, -1}};
    for (const Row& row : kRows) {
        CAPTURE(row.text);
        CHECK(seconds_of(slurm_time(row.text)) == row.slurm);
        CHECK(seconds_of(pbs_time(row.text)) == row.pbs);
    }
}

TEST_CASE("memory means what the batch systems take it for") {
    constexpr std::uint64_t kMega = std::uint64_t{1} << 20U;
    struct Row {
        const char* text;
        std::uint64_t slurm; ///< bytes; 0: refused
        std::uint64_t pbs;
    };
    constexpr std::array kRows{
        Row{"4G", 4096 * kMega, 4096 * kMega},
        Row{"4gb", 4096 * kMega, 4096 * kMega},
        Row{"4096mb", 4096 * kMega, 4096 * kMega},
        Row{"16", 16 * kMega, 16},
        Row{"1tb", std::uint64_t{1024} * 1024 * kMega, std::uint64_t{1024} * 1024 * kMega},
        Row{"1024kb", kMega, kMega},
        Row{"4mw", 0, 32 * kMega},
        Row{"1.5gb", 0, 0},
        Row{"1099511627776", (std::uint64_t{1} << 40U) * kMega, std::uint64_t{1} << 40U},
        Row{"1099511627777", 0, 0},
        Row{"16777216T", 0, 0},
        Row{"1.5G", 0, 0},
        Row{"4GiB", 0, 0},
        Row{"", 0, 0}};
    for (const Row& row : kRows) {
        CAPTURE(row.text);
        CHECK(slurm_memory(row.text).value_or(0) == row.slurm);
        CHECK(pbs_memory(row.text).value_or(0) == row.pbs);
    }
}

TEST_CASE("a size of 0 asks for all memory of a node, and what is no size asks for none") {
    const auto asked = [](const std::string& options) {
        const Reader reader = options.starts_with("#PBS") ? Reader::kTorque : Reader::kSlurm;
        const std::string text = "#!/bin/sh\n" + options + "\nprogram\n";
        return asked_of(text, "resources.memory", reader) + "," +
               asked_of(text, "resources.memory-per-node", reader) + "," +
               asked_of(text, "resources.memory-per-cpu", reader);
    };
    CHECK(asked("#SBATCH --mem=0") == "all,,");
    CHECK(asked("#SBATCH --mem=3G") == ",3 GiB,");
    CHECK(asked("#SBATCH --mem=much") == ",,");
    CHECK(asked("#SBATCH --mem-per-cpu=0") == ",,");
    CHECK(asked("#PBS -l mem=5gb") == ",5 GiB,");
    CHECK(asked("#PBS -l mem=5.5") == ",,");
}

TEST_CASE("ranks are counted by the options that say them, not by any number behind a word") {
    const auto is_too_much = [](const std::string& launch) {
        const auto explanation =
            explain_script("#!/bin/sh\n#PBS -l nodes=2:ppn=4\n" + launch + "\n", "s.sh");
        REQUIRE(explanation.has_value());
        return explanation_text(*explanation)
                   .find("ranks are started, but the script asks for 8 CPUs") != std::string::npos;
    };
    for (const char* option : {"-np", "-n", "--np"}) {
        CAPTURE(option);
        CHECK_FALSE(is_too_much("mpirun " + std::string(option) + " 8 ./program"));
        CHECK(is_too_much("mpirun " + std::string(option) + " 9 ./program"));
    }
    CHECK_FALSE(is_too_much("mpirun --timeout 600 -np 8 ./program --steps 5000 -N 77"));
}

TEST_CASE("whether a job may run again is read in each batch system's words") {
    const auto asked = [](const std::string& options) {
        const Reader reader = options.starts_with("#PBS") ? Reader::kTorque : Reader::kSlurm;
        return asked_of("#!/bin/sh\n" + options + "\nprogram\n", "requeue", reader);
    };
    CHECK(asked("#PBS -r y") == "true");
    CHECK(asked("#PBS -r n") == "false");
    CHECK(asked("#SBATCH --requeue") == "true");
    CHECK(asked("#SBATCH --no-requeue") == "false");
    CHECK(asked("#SBATCH -n 3").empty());
}

TEST_CASE("a quote or an expansion that never ends takes the rest of the text, and no more") {
    for (const std::string word : {"\"a b", "'a b", "${a b", "$(a b", "`a b", "\"a ${b"}) {
        CAPTURE(word);
        const std::vector<std::string> lines{"echo " + word};
        const auto commands = shell_commands(lines);
        REQUIRE(commands.size() == 1);
        REQUIRE(commands.front().words.size() == 2);
        CHECK(commands.front().words.back().raw == word + "\n");
    }
}

TEST_CASE("parentheses within quotes of an expansion do not end it") {
    for (const std::string word : {"$(echo ')')",
                                   "$(echo \")\")",
                                   "\"$(echo ')' \"(\" \\) x)\"",
                                   "$(a \"$(b \")\" ')')\")",
                                   "${x:-\"}\"}",
                                   "${x:-$(echo \"}\")}",
                                   "$((1 + (2 * 3)))"}) {
        CAPTURE(word);
        const std::vector<std::string> lines{"echo " + word + "; next"};
        const auto commands = shell_commands(lines);
        REQUIRE(commands.size() == 2);
        REQUIRE(commands.front().words.size() == 2);
        CHECK(commands.front().words.back().raw == word);
        CHECK(commands.back().program() == "next");
    }
    std::string deep; // is no fault of the stack
    for (int level = 0; level < 200'000; ++level) {
        deep += "\"$(";
    }
    const std::vector<std::string> lines{deep};
    CHECK(shell_commands(lines).size() == 1);
}

TEST_CASE("directives are read up to the first command, by the rules of their batch system") {
    struct Row {
        const char* head;
        const char* slurm; ///< the name that is read; nullptr: not tested
        const char* torque;
        const char* pbspro;
    };
    // `@` stands for the prefix. launch.md 1.3, torque.md 2.1.
    constexpr std::array kRows{Row{"@ -N a\n", nullptr, "a", "a"},
                               Row{"\n# text\n@ -N a\n", nullptr, "a", "a"},
                               Row{": text\n@ -N a\n", nullptr, "a", "a"},
                               Row{"  @ -N a\n", nullptr, "a", "a"},
                               Row{"\t@ -N a\n", nullptr, "a", "a"},
                               Row{"@-N a\n", nullptr, "a", "a"},
                               Row{"@X -N a\n", nullptr, "a", ""},
                               Row{"#@ -N a\n", nullptr, "", ""},
                               Row{"true\n@ -N a\n", nullptr, "", ""},
                               Row{"@ -N a b\n", nullptr, "a", "a"},
                               Row{"@ -N 'a b'\n", nullptr, "a b", "a b"},
                               Row{"@ -N a -q x\n", nullptr, "a", "a"},
                               Row{"@ -N a\n@ -N b\n", nullptr, "b", "b"},
                               Row{"@ -Na\n", nullptr, "a", "a"},
                               Row{"@ -J a\n", "a", nullptr, nullptr},
                               Row{"@ --job-name=a\n", "a", nullptr, nullptr},
                               Row{"@ --job-name a\n", "a", nullptr, nullptr},
                               Row{"@ --job-n a\n", "a", nullptr, nullptr},
                               Row{"@ -Ja\n", "a", nullptr, nullptr},
                               Row{"@ --job-name=\"a b\" # c\n", "a b", nullptr, nullptr},
                               Row{"@ --job-name=a\\ b\n", "a b", nullptr, nullptr},
                               Row{"@ --job-name=\"x # y\"\n", "x # y", nullptr, nullptr},
                               Row{" @ -J a\n", "", nullptr, nullptr},
                               Row{"  # text\n@ -J a\n", "a", nullptr, nullptr},
                               Row{"set -e\n@ -J a\n", "", nullptr, nullptr},
                               Row{"@ -J a\n@ -J b\n", "b", nullptr, nullptr}};
    for (const Row& row : kRows) {
        for (const auto& [reader, prefix, name] :
             {std::tuple{Reader::kSlurm, "#SBATCH", row.slurm},
              std::tuple{Reader::kTorque, "#PBS", row.torque},
              std::tuple{Reader::kPbspro, "#PBS", row.pbspro}}) {
            if (name == nullptr) {
                continue;
            }
            std::string text = std::string("#!/bin/bash\n") + row.head;
            for (auto at = text.find('@'); at != std::string::npos; at = text.find('@')) {
                text.replace(at, 1, prefix);
            }
            CAPTURE(text);
            CHECK(what_is_asked(read(text, reader)).name == name);
        }
    }
}

TEST_CASE("requests of nodes are divided into tasks and CPUs") {
    const std::string head = "#!/bin/bash\n";
    CHECK(asked_of(head + "#PBS -l nodes=2:ppn=3,walltime=60\n", "resources.tasks-per-node") ==
          "3");
    CHECK(asked_of(head + "#PBS -l nodes=2:ppn=3:gpus=2:ib\n", "resources.gpus-per-node") == "2");
    CHECK(asked_of(head + "#PBS -l nodes=2:ppn=3:gpus=2:ib\n", "resources.constraint") == "ib");
    CHECK(asked_of(head + "#PBS -l select=2:ncpus=8:mpiprocs=4:mem=4gb\n",
                   "resources.cpus-per-task") == "2");
    CHECK(asked_of(head + "#PBS -l select=2:ncpus=8\n", "resources.cpus-per-task") == "8");
    CHECK(asked_of(head + "#PBS -l nodes=2:ppn=3\n#PBS -l mem=4gb\n",
                   "resources.memory-per-node") == "2 GiB");
    CHECK(asked_of(head + "#SBATCH -N2 -n6\n", "resources.tasks-per-node") == "3");
    CHECK(asked_of(head + "#SBATCH -N2 -n5\n", "resources.tasks") == "5");
    CHECK(asked_of(head + "#SBATCH -d afterok:1:2,afterany:3\n", "after") == "1, when ok");
    CHECK(what_is_asked(read(head + "#SBATCH -d afterok:1?afterany:2\n")).remainders.size() == 1);
    CHECK(asked_of(head + "#SBATCH -o a.%A_%a\n", "output.stdout") == "a.%j_%a");
    CHECK(asked_of(head + "#PBS -l nodes=n1:ppn=2+n2:ppn=4\n", "resources.nodes") == "1");
    const auto mixed = what_is_asked(read(head + "#PBS -l nodes=n1:ppn=2+n2:ppn=4\n"));
    REQUIRE(mixed.remainders.size() == 1);
    CHECK(mixed.remainders[0].line == 2);
}

TEST_CASE("what hides that a program failed is found after each launch, and nowhere else") {
    const std::pair<const char*, bool> rows[] = {{"srun ./a || true\n", true},
                                                 {"srun ./a || :\n", true},
                                                 {"srun ./a || exit 1\n", false},
                                                 {"srun ./a && true\n", false},
                                                 {"true || srun ./a\n", false},
                                                 {"./a || true\nsrun ./a\n", false},
                                                 {"srun ./a || echo failed\ntrue\n", false},
                                                 {"srun ./a | tee log\n", true},
                                                 {"set -o pipefail\nsrun ./a | tee log\n", false},
                                                 {"echo in | srun ./a\n", false},
                                                 {"srun ./a\nexit 0\n", true},
                                                 {"srun ./a\nexit 1\n", false},
                                                 {"srun ./a\nexit\n", false},
                                                 {"test -e a || exit 0\nsrun ./a\n", false}};
    for (const auto& [text, is_found] : rows) {
        CAPTURE(text);
        const auto explanation =
            explain_script(std::string("#!/bin/bash\n#SBATCH -n 2\n") + text, "s.sh");
        REQUIRE(explanation);
        CHECK(std::ranges::any_of(explanation->breaks, [](const lint::Finding& finding) {
                  return finding.rule == "G2";
              }) == is_found);
    }
}

TEST_CASE("a rendered script is read back as the Job that it was made from, and breaks nothing") {
    int read_back = 0;
    for (const GoldenCase& golden : golden_cases()) {
        if (golden.job.launch.kind == launchers::LaunchKind::kBatch) {
            continue; // its script is the user's own, and its head says no more than the Job
        }
        for (const auto& dialect : dialect_names()) {
            const auto rendered = render_script(golden.input(dialect));
            if (!rendered) {
                continue;
            }
            CAPTURE(golden.name);
            CAPTURE(dialect);
            const Reader reader = dialect == "slurm"    ? Reader::kSlurm
                                  : dialect == "torque" ? Reader::kTorque
                                  : dialect == "local"  ? Reader::kNone
                                                        : Reader::kPbspro;
            const auto explanation = explain_script(rendered->text, golden.name, reader).value();
            for (const lint::Finding& broken : explanation.breaks) {
                FAIL_CHECK(
                    fmt::format("{}:{}: {}", broken.rule, line_of(broken), broken.fault.message));
            }
            if (reader == Reader::kNone) {
                continue;
            }
            ++read_back;
            const auto& asked = explanation.asked;
            const auto& resources = golden.job.resources;
            const auto slots = std::uint64_t{resources.tasks_per_node} * resources.cpus_per_task;
            CHECK(asked.name == golden.job.name);
            CHECK(asked.nodes == resources.nodes);
            CHECK(asked.tasks_per_node * asked.cpus_per_task == slots);
            CHECK(asked.gpus_per_node == resources.gpus_per_node);
            CHECK(asked.account == golden.job.account);
            CHECK(asked.array == golden.job.array);
            if (resources.time) {
                CHECK(asked.time == resources.time);
            }
            if (resources.memory_per_node_bytes) {
                CHECK(asked.memory_per_node == resources.memory_per_node_bytes);
            }
        }
    }
    CHECK(read_back > 10);
}

TEST_CASE("any bytes are read without a fault of ours") {
    CHECK(rc::check("reading is total", [](const std::string& bytes) {
        const auto explanation = explain_script("#!/bin/bash\n#SBATCH " + bytes, "x");
        if (explanation) {
            (void)explanation_text(*explanation);
            (void)convert_script(*explanation, "x");
        }
        (void)find_symptoms(bytes);
    }));
}

} // namespace cybele::schedulers
