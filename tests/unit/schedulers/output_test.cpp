// SPDX-License-Identifier: Apache-2.0
// The outputs of a job arrive in the files that the Job names, also where the batch system writes a
// file of that name itself when the job has ended. Measured on real servers of TORQUE 6.1 and
// OpenPBS 23.06: NAME.oNUMBER, of an element NAME.oNUMBER-INDEX and NAME.oNUMBER.INDEX.
#include "bench.hpp"
#include "support/message.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

Result<RenderedScript> render_outputs(const std::string& fields, const std::string& dialect) {
    const launchers::Job job = job_of("kind: Job\nname: run\n" + fields);
    RenderInput input;
    input.job = &job;
    input.dialect = dialect;
    return render_script(input);
}

/// What the script redirects for itself; empty: nothing.
std::string redirections_of(const std::string& text) {
    const auto begin = text.find("\n    exec ");
    return begin > text.find("\n# ----")
               ? ""
               : text.substr(begin + 10, text.find('\n', begin + 1) - begin - 10);
}

} // namespace

TEST_CASE("a stream whose file the batch system writes itself is left to it") {
    struct Row {
        const char* fields;
        const char* torque;
        const char* pbspro;
    };
    constexpr std::array kRows{
        Row{"output: {stdout: '%x-%j.out', stderr: '%x.e%j'}\n",
            R"(>run-"$job_number".out 2>run.e"$job_number")",
            R"(>run-"$job_number".out 2>run.e"$job_number")"},
        Row{"output: {stdout: '%x.o%j', stderr: '%x.e%j'}\n",
            R"(2>run.e"$job_number")",
            R"(2>run.e"$job_number")"},
        Row{"output: {stdout: ./run.o%j, stderr: b.log}\n", "2>b.log", "2>b.log"},
        Row{"output: {stdout: '%x.o%j', stderr: '%x.o%j'}\n", "", ""},
        Row{"output: {stdout: a.log, stderr: '%x.o%j'}\n", ">a.log", ">a.log"},
        Row{"output: {stdout: 'logs/%x.o%j', stderr: 'logs/%x.o%j'}\n",
            R"(>logs/run.o"$job_number" 2>&1)",
            R"(>logs/run.o"$job_number" 2>&1)"},
        Row{"output: {stdout: '%x.o%j', stderr: '%x.o%j'}\nappend-output: true\n", "", ""},
        Row{"array: 1-2\noutput: {stdout: '%x.o%j', stderr: '%x.e%j'}\n",
            R"(2>run.e"$job_number-$array_index")",
            R"(>run.o"$job_number-$array_index" 2>run.e"$job_number-$array_index")"},
        Row{"array: 1-2\noutput: {stdout: '%x.o%j.%a', stderr: '%x.o%j-%a'}\n",
            R"(>run.o"$job_number"."$array_index")",
            R"(2>run.o"$job_number"-"$array_index")"},
    };
    for (const Row& row : kRows) {
        CAPTURE(row.fields);
        for (const auto& [dialect, wanted] :
             {std::pair("torque", row.torque), std::pair("pbspro", row.pbspro)}) {
            CAPTURE(dialect);
            for (const char* const launch :
                 {"launch: serial\ncommand: [true]\n", "launch: batch\nscript: 'true'\n"}) {
                CAPTURE(launch);
                const auto script = render_outputs(std::string(launch) + row.fields, dialect);
                REQUIRE_MESSAGE(script, format_text(script.error().faults()));
                CHECK(redirections_of(script->text) == wanted);
                CHECK(script->text.find("\n#PBS -j oe\n") != std::string::npos);
            }
        }
    }
}

TEST_CASE("with `workdir` such a stream is opened, but in the folder of submission") {
    struct Row {
        const char* output;
        const char* always;
        const char* elsewhere;
    };
    constexpr std::array kRows{
        Row{"{stdout: '%x.o%j', stderr: '%x.e%j'}",
            R"(2>run.e"$job_number")",
            R"(>run.o"$job_number")"},
        Row{"{stdout: '%x.o%j', stderr: '%x.o%j'}", "", R"(>run.o"$job_number" 2>&1)"},
        Row{"{stdout: a.log, stderr: b.log}", ">a.log 2>b.log", ""},
    };
    for (const Row& row : kRows) {
        CAPTURE(row.output);
        const auto script = render_outputs(
            fmt::format("launch: serial\ncommand: [true]\nworkdir: /data/run\noutput: {}\n",
                        row.output),
            "torque");
        REQUIRE_MESSAGE(script, format_text(script.error().faults()));
        CHECK(redirections_of(script->text) == row.always);
        const std::string guarded = R"([ . -ef "$PBS_O_WORKDIR" ] || exec )";
        const auto begin = script->text.find(guarded);
        CHECK((begin == std::string::npos) == std::string_view(row.elsewhere).empty());
        if (begin != std::string::npos) {
            const auto words = begin + guarded.size();
            CHECK(script->text.substr(words, script->text.find('\n', words) - words) ==
                  row.elsewhere);
            CHECK(begin > script->text.find("enter_folder "));
        }
    }
}

TEST_CASE("one file for all elements, or for all continuations, is a warning at its place") {
    struct Row {
        const char* fields;
        const char* problem; ///< empty: nothing is told
        const char* help;
    };
    constexpr std::array kRows{
        Row{"array: 1-2\noutput: {stdout: logs/o.log, stderr: '%x-%j.err'}\n",
            "output-shared",
            "write `logs/o-%a.log`: `%a` is the index"},
        Row{"array: 1-2\noutput: {stdout: '%j.log', stderr: e}\n",
            "output-shared",
            "write `e-%a`: `%a` is the index"},
        Row{"sweep: {x: [1, 2]}\noutput: {stdout: '%x', stderr: '%x'}\n",
            "output-shared",
            "write `'%x-%a'`: `%a` is the index"},
        Row{"sweep: {x: [1, 2], pack: all}\noutput: {stdout: o.log, stderr: '%j'}\n",
            "output-shared",
            "write `o-%j.log`: each row adds its number to `%j`"},
        Row{"continue: {on: [timeout], most: 3}\noutput: {stdout: o.log}\n",
            "output-replaced",
            "add `append-output: true`, or write `o-%j.log`"},
        Row{"array: 1-2\nappend-output: true\noutput: {stdout: o.log, stderr: o.log}\n", "", ""},
        Row{"array: 1-2\noutput: {stdout: 'o-%a.log', stderr: '%j.err'}\n", "", ""},
        Row{"array: 1-2\noutput: {stdout: /dev/null, stderr: /dev/null}\n", "", ""},
        Row{"array: 1-2\n", "", ""},
        Row{"continue: {on: [timeout], most: 3}\n", "", ""},
        Row{"output: {stdout: o.log, stderr: e.log}\n", "", ""},
    };
    for (const Row& row : kRows) {
        CAPTURE(row.fields);
        for (const char* const dialect : {"slurm", "torque", "local"}) {
            CAPTURE(dialect);
            const bool is_local = std::string_view(dialect) == "local"; // which cannot append
            if (is_local && std::string_view(row.fields).find("append") != std::string::npos) {
                continue;
            }
            const auto script = render_outputs(
                fmt::format("launch: serial\ncommand: [true]\nresources: {{time: 1 h}}\n{}",
                            row.fields),
                dialect);
            REQUIRE_MESSAGE(script, format_text(script.error().faults()));
            const std::string told = format_text(script->notes);
            if (std::string_view(row.problem).empty()) {
                CHECK_MESSAGE(told.find("write their output") == std::string::npos, told);
                CHECK_MESSAGE(told.find("continuation replaces") == std::string::npos, told);
                continue;
            }
            const auto note =
                std::find_if(script->notes.begin(), script->notes.end(), [&](const Fault& fault) {
                    return fault.id == row.problem;
                });
            REQUIRE_MESSAGE(note != script->notes.end(), told);
            CHECK(note->is_warning);
            const bool is_replaced = std::string_view(row.problem) == "output-replaced";
            const char* const help =
                is_local && is_replaced ? "write `o-%j.log`: `%j` is the id of each job" : row.help;
            CHECK((help == nullptr || note->help == help));
            CHECK(note->where.has_value());
        }
    }
}

TEST_CASE("a plain script that another shell reads is refused where that shell is named") {
    const auto column_of = [](const std::string& fields) {
        const launchers::Job job = job_of("kind: Job\nname: run\nlaunch: batch\n" + fields);
        RenderInput input;
        input.job = &job;
        input.dialect = "slurm";
        input.is_plain = true;
        const auto script = render_script(input);
        REQUIRE_FALSE(script);
        return script.error().faults().front().where.value().column;
    };
    CHECK(column_of("script: '#!/bin/dash'\n") == 9);
    CHECK(column_of("shell: dash\nscript: 'true'\n") == 8);
}

TEST_CASE("an output that is a folder is refused with a file in it") {
    for (const char* const dialect : {"slurm", "torque", "pbspro", "local"}) {
        CAPTURE(dialect);
        const auto script = render_outputs(
            "launch: serial\ncommand: [true]\noutput: {stdout: logs/, stderr: logs/..}\n", dialect);
        REQUIRE_FALSE(script);
        REQUIRE(script.error().faults().size() == 2);
        CHECK(script.error().faults()[0].message == "'logs/' is a folder");
        CHECK(script.error().faults()[0].help == "write `logs/%x-%j.out`");
        CHECK(script.error().faults()[1].help == "write `logs/../%x-%j.err`");
    }
}

TEST_CASE("the pattern that is proposed keeps the id and the index apart") {
    const auto help_of = [](const std::string& pattern, const std::string& more) {
        const auto script = render_outputs("launch: serial\ncommand: [true]\n" + more +
                                               "output: {stdout: '" + pattern + "'}\n",
                                           "torque");
        REQUIRE_FALSE(script);
        return script.error().faults().front().help;
    };
    CHECK(help_of("logs/%x_%A_%a.out", "array: 1-3\n") == "write `logs/%x_%j_%a.out`");
    CHECK(help_of("logs/%x_%A_%a.out", "") == "write `logs/%x_%j.out`");
    CHECK(help_of("logs/%x_%A.%a", "") == "write `logs/%x_%j`");
    CHECK(help_of("logs/%a.out", "") == "write `logs/%j.out`");
    CHECK(help_of("logs/%J.out", "") == "write `logs/%j.out`");
    CHECK(help_of("logs/%X-50%.out", "") == "write `logs/%x-50%%.out`");
}

TEST_CASE("Slurm's own patterns are carried for Slurm, and refused by name elsewhere") {
    const auto line_of = [](const std::string& fields) {
        const auto script = render_outputs("launch: serial\ncommand: [true]\n" + fields, "slurm");
        REQUIRE_MESSAGE(script, format_text(script.error().faults()));
        const std::string option = "#SBATCH --output=";
        const auto begin = script->text.find(option) + option.size();
        return script->text.substr(begin, script->text.find('\n', begin) - begin);
    };
    for (const char* pattern : {"%A.log", "%N-%u.log", "%5j.log", "%J-%t-%n-%s.log", "100%%"}) {
        CAPTURE(pattern);
        CHECK(line_of(fmt::format("output: {{stdout: '{}'}}\n", pattern)) == pattern);
        const bool is_of_all = std::string_view(pattern) == "100%%";
        for (const char* const dialect : {"torque", "pbspro", "local"}) {
            const auto script = render_outputs(
                fmt::format("launch: serial\ncommand: [true]\noutput: {{stdout: '{}'}}\n", pattern),
                dialect);
            CHECK(script.has_value() == is_of_all);
        }
    }
    CHECK(line_of("array: 1-2\noutput: {stdout: '%5j-%N.log'}\n") == "%5A_%a-%N.log");
    CHECK(line_of("array: 1-2\noutput: {stdout: '%j-%a.log'}\n") == "%A-%a.log");
    CHECK(line_of("array: 1-2\noutput: {stdout: '%x-%j%%j.log'}\n") == "%x-%A_%a%%j.log");
    struct Row {
        const char* pattern;
        const char* dialect;
        const char* told;
    };
    constexpr std::array kRows{
        Row{"%N.log", "torque", "'%N.log' has `%N`, which only Slurm replaces"},
        Row{"%q.log", "slurm", "'%q.log' has the unknown pattern `%q`"},
        Row{"%5j.log", "local", "'%5j.log' has the unknown pattern `%5`"},
        Row{"a%", "slurm", "'a%' ends within a pattern"},
    };
    for (const Row& row : kRows) {
        CAPTURE(row.pattern);
        const auto script = render_outputs(
            fmt::format("launch: serial\ncommand: [true]\noutput: {{stdout: '{}'}}\n", row.pattern),
            row.dialect);
        REQUIRE_FALSE(script.has_value());
        const std::string told = format_text(script.error().faults());
        CHECK_MESSAGE(told.find(row.told) != std::string::npos, told);
    }
}

TEST_CASE("batch: without `output` both streams are left to the batch system, apart") {
    for (const char* const dialect : {"torque", "pbspro"}) {
        const auto script = render_outputs("launch: batch\nscript: 'true'\n", dialect);
        REQUIRE(script);
        CHECK(redirections_of(script->text).empty());
        CHECK(script->text.find("#PBS -j oe") == std::string::npos);
    }
}

TEST_CASE("rows of a sweep do not take the name that an element's own file gets") {
    const std::string job = "launch: serial\ncommand: [true]\nsweep: {x: [1, 2, 3, 4], pack: 2}\n"
                            "output: {stdout: '%x.o%j', stderr: '%x.e%j'}\n";
    const auto refused = render_outputs(job, "torque");
    REQUIRE_FALSE(refused.has_value());
    CHECK(format_text(refused.error().faults()).find("torque writes '%x.o%j' itself") !=
          std::string::npos);
    CHECK(render_outputs(job, "slurm").has_value());
}

} // namespace cybele::schedulers
