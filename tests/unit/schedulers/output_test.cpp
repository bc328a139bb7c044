// SPDX-License-Identifier: Apache-2.0
// The outputs of a job arrive in the files that the Job names, also where the batch system writes a
// file of that name itself when the job has ended. Measured on real servers of TORQUE 6.1 and
// OpenPBS 23.06: NAME.oNUMBER, of an element NAME.oNUMBER-INDEX and NAME.oNUMBER.INDEX.
#include "bench.hpp"
#include "support/message.hpp"

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
