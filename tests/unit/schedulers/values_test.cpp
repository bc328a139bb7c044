// SPDX-License-Identifier: Apache-2.0
// A property: whatever text a Job holds as an argument or a variable, the program gets it byte for
// byte, by each dialect, read by bash or by sh. CYBELE_VALUES says how many Jobs are made; the same
// ones each time.
#include "bench.hpp"

#include <array>
#include <cstdlib>
#include <random>
#include <string_view>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

/// Characters, and words, that mean something to a shell, to yaml, to a template or to a batch
/// system. A Job takes no control characters, and no text that begins like a directive.
constexpr std::array<std::string_view, 44> kParts{"a",       "Z",       "0",
                                                  " ",       "'",       "\"",
                                                  "\\",      "$",       "`",
                                                  "!",       "*",       "?",
                                                  "[",       "]",       "{",
                                                  "}",       "(",       ")",
                                                  "<",       ">",       "|",
                                                  "&",       ";",       "#",
                                                  "~",       "%",       "@",
                                                  "=",       ",",       ":",
                                                  "-",       "ä",       "☃",
                                                  "$(id)",   "${HOME}", "{{a}}",
                                                  "{{{b}}}", "EOF",     "a #SBATCH -n 9",
                                                  "'\\''",   "%j",      "\\n",
                                                  "--",      "/.."};

std::string value_of(std::mt19937& random) {
    std::string value;
    const auto parts = random() % 7;
    for (std::uint32_t part = 0; part < parts; ++part) {
        value += kParts.at(random() % kParts.size());
    }
    return value;
}

/// The text as yaml writes any: in double quotes.
std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char letter : text) {
        out +=
            letter == '"' || letter == '\\' ? std::string("\\") + letter : std::string(1, letter);
    }
    return out + "\"";
}

/// Arguments and variables of one Job, and what its program is to print.
struct Values {
    std::vector<std::string> arguments;
    std::vector<std::string> variables;

    explicit Values(std::mt19937& random) {
        for (int i = 0; i < 4; ++i) {
            arguments.push_back(value_of(random));
            variables.push_back(value_of(random));
        }
    }
    [[nodiscard]] std::string list() const {
        std::string text;
        for (const std::string& one : arguments) {
            text += ", " + quoted(one);
        }
        return text;
    }
    [[nodiscard]] std::string map() const {
        std::string text = "environment:\n";
        for (std::size_t i = 0; i < variables.size(); ++i) {
            text += fmt::format("  V{}: {}\n", i, quoted(variables[i]));
        }
        return text;
    }
    [[nodiscard]] std::string printed() const {
        std::string text;
        for (const auto* values : {&arguments, &variables}) {
            for (const std::string& one : *values) {
                text += one + '\0';
            }
        }
        return text;
    }
};

constexpr const char* kProgram = R"(printf '%s\0' "$@" "$V0" "$V1" "$V2" "$V3")";

} // namespace

TEST_CASE("any text of a Job is the same text in its program's arguments and variables") {
    std::mt19937 random(20261126); // NOLINT: the same Jobs each time
    const char* asked = std::getenv("CYBELE_VALUES");
    const int count = asked == nullptr ? 12 : std::atoi(asked); // NOLINT(cert-err34-c)
    Bench bench;
    bench.program("words", kProgram);
    bench.file("nodes", "n1\n");
    bench.variables.insert({{"PBS_O_WORKDIR", bench.work.native()},
                            {"PBS_NODEFILE", (bench.work / "nodes").native()},
                            {"PBS_JOBID", "1.server"},
                            {"SLURM_SUBMIT_DIR", bench.work.native()},
                            {"SLURM_JOB_ID", "1"}});
    for (int i = 0; i < count; ++i) {
        const Values values(random);
        const std::string output = "output: {stdout: out, stderr: err}\n";
        const std::string command =
            output + "command: [words" + values.list() + "]\n" + values.map();
        const std::string batch = output + "launch: batch\narguments: [" + values.list().substr(2) +
                                  "]\n" + values.map() + "script: |\n  " + kProgram + "\n";
        const std::array<std::pair<std::string, std::string>, 4> runs{
            {{command, "local"},
             {command, "slurm"},
             {command, "torque"},
             {batch + "shell: sh\n", "local"}}};
        for (const auto& [fields, dialect] : runs) {
            CAPTURE(fields);
            CAPTURE(dialect);
            const auto outcome = bench.run(fields, dialect);
            const auto written = read_file(bench.work / "out");
            CHECK_MESSAGE(outcome.ok(), outcome.errors);
            INFO(outcome.errors);
            CHECK((outcome.output + written.value_or("")) == values.printed());
            fs::remove(bench.work / "out");
            fs::remove_all(bench.work / ".cybelectl"); // a job that ended is not started again
        }
    }
}

} // namespace cybele::schedulers
