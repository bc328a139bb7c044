// SPDX-License-Identifier: Apache-2.0
// What a conversion says of a script: of what it changed, and of why it stays a batch launch.
#include "launchers/documents/job.hpp"
#include "schedulers/reading/convert.hpp"
#include "schedulers/reading/explain.hpp"
#include "schedulers/scripts/render.hpp"

#include <array>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace cybele::schedulers {

TEST_CASE("notes of a conversion say what is there, and once") {
    const auto converted = [](const std::string& text) {
        auto conversion = convert_script(*explain_script("#!/bin/bash\n" + text, "s.sh"), "s");
        REQUIRE(conversion.has_value());
        return *conversion;
    };
    std::vector<std::string> secrets;
    for (const Remainder& note : converted("#SBATCH -n 1\nexport TOKENIZERS_PARALLELISM=abc\n"
                                           "export USE_TOKEN=false\nexport A_TOKEN=trueblue\n"
                                           "export TOKENIZER_API_KEY=abc\n./p\n")
                                     .notes) {
        secrets.push_back(note.text);
    }
    CHECK(secrets == std::vector<std::string>{"A_TOKEN", "TOKENIZER_API_KEY"});
    const Conversion commented = converted("#PBS -q a # the large queue\n./p \"$1\"\n");
    CHECK(commented.left.empty());
    REQUIRE(commented.notes.size() == 2);
    CHECK(commented.notes[0].text == "# the large queue");
    CHECK(commented.notes[1].because.find("arguments") != std::string::npos);
    // A script gets these itself; a signal that stops it is not passed on.
    CHECK(converted("#SBATCH -n 1 -t 10 --signal=B:INT@60 -i in.dat\n./p & ./q\n").left.empty());
    const Conversion unheard = converted("#SBATCH -n 1 -t 10 --signal=B:TSTP@60\n./p & ./q\n");
    REQUIRE(unheard.left.size() == 1);
    CHECK(unheard.left[0].text == "--signal=B:TSTP@60");
    // The name that the batch system has accepted is not the one that would be cut.
    const Conversion named =
        converted("#PBS -N a_name_of_20_letters\n#PBS -l nodes=1:ppn=1\n./p\n");
    const auto job = launchers::read_job(named.yaml, "s.yaml");
    REQUIRE(job.has_value());
    RenderInput input;
    input.job = &*job;
    input.dialect = "torque";
    const auto script = render_script(input);
    REQUIRE(script.has_value());
    CHECK(script->notes.empty());
    CHECK(script->text.find("#PBS -N a_name_of_20_letters\n") != std::string::npos);
}

TEST_CASE("a script that stays a batch launch names the line and the word that keeps it there") {
    struct Row {
        const char* body; ///< from line 3 on
        std::size_t line;
        const char* text;
        const char* because; ///< a part; empty: the launch is typed
    };
    constexpr std::array kRows{
        Row{"srun ./p\n", 0, "", ""},
        Row{"#SBATCH --gres=a:1\nsrun ./p\n", 0, "", ""},
        Row{"srun ./p\necho done\n", 4, "echo done", "after the launch"},
        Row{"time srun ./p\n", 3, "time", "before the launcher"},
        Row{"srun -n 3 ./p\n", 3, "-n 3", "option or value"},
        Row{"srun -o log ./p\n", 3, "-o log", "option or value"},
        Row{"export A=b\nsrun ./p *.dat\n", 4, "*.dat", "only where the job runs"},
        Row{"srun apptainer exec -B /s/$USER:/d i.sif p\n", 0, "", ""},
        Row{"srun apptainer exec --nv i.sif p\n", 0, "", ""},
        Row{"srun ./p $SLURM_PROCID\n", 3, "$SLURM_PROCID", "only where the job runs"},
        Row{"srun ./p > log\n", 3, ">", "by `output` and `input`"},
        Row{"srun ./p &\nwait\n", 3, "srun ./p", "`&` starts it"},
        Row{"srun ./p | tee log\n", 3, "srun ./p", "a pipe"},
        Row{"srun ./p\nsrun ./q\n", 4, "srun ./q", "the first one is at line 3"},
        Row{"for i in 1 2; do\nsrun ./p\ndone\n", 3, "for i in 1 2", "`for` may start"},
        Row{"mpirun ./p\n", 3, "mpirun", "of which MPI"},
        Row{"#SBATCH -c 2\nmpirun ./p\n", 4, "mpirun", "no number of ranks"},
        Row{"export PATH=/x\nsrun ./p\n", 3, "export PATH=/x", "before the program"},
        Row{"export OMP_NUM_THREADS=8\nsrun ./p\n", 4, "srun ./p", "more threads than cores"},
        Row{"srun ./p $1\n", 3, "srun ./p $1", "reads its arguments"},
        Row{"srun $0\n", 3, "srun $0", "its own path"},
        Row{"#SBATCH --no-such=1\nsrun ./p\n", 3, "--no-such=1", ""},
        Row{"#SBATCH --hint=nomultithread\nsrun ./p\n", 0, "", ""},
        Row{"#SBATCH --signal=B:USR1@90\nsrun ./p\n", 3, "--signal=B:USR1@90", "no field"},
        Row{"#SBATCH --export=NONE\nsrun ./p\n", 3, "--export=NONE", "no field"}};
    for (const Row& row : kRows) {
        CAPTURE(row.body);
        const auto explanation =
            explain_script(std::string("#!/bin/bash\n#SBATCH -N 1 -n 4\n") + row.body, "s.sh");
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE(conversion.has_value());
        const bool is_batch = conversion->yaml.find("launch: batch\n") != std::string::npos;
        CHECK(conversion->why_batch.empty() != is_batch);
        if (conversion->why_batch.empty()) {
            CHECK(row.line == 0);
            continue;
        }
        CHECK(conversion->why_batch.front().line == row.line);
        CHECK(conversion->why_batch.front().text == row.text);
        CHECK(conversion->why_batch.front().because.find(row.because) != std::string::npos);
        CHECK_FALSE(conversion->why_batch.front().because.empty());
    }
}

TEST_CASE("a script that stays a batch launch names everything that keeps it there at once") {
    struct Row {
        const char* body;                 ///< from line 3 on
        std::vector<std::string> reasons; ///< line and text
    };
    const std::array rows{
        Row{"#SBATCH --no-such=1\n#SBATCH --export=NONE\nexport PATH=/x\nexport SRUN_A=$(x)\n"
            "srun ./p $1\necho done\n",
            {"3 --no-such=1",
             "4 --export=NONE",
             "5 export PATH=/x",
             "7 srun ./p $1",
             "8 echo done"}},
        Row{"srun -n 3 -o log --mem=1G ./p\nrm x\n",
            {"3 -n 3", "3 -o log", "3 --mem 1G", "4 rm x"}},
        Row{"srun ./p *.dat > log\n", {"3 *.dat", "3 >"}},
        Row{"for i in 1 2; do\nsrun ./p &\ndone\nwait\nsrun ./q\nsrun ./r\n",
            {"3 for i in 1 2", "4 srun ./p", "6 wait", "8 srun ./r"}}};
    for (const Row& row : rows) {
        CAPTURE(row.body);
        const auto explanation =
            explain_script(std::string("#!/bin/bash\n#SBATCH -N 1 -n 4\n") + row.body, "s.sh");
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE(conversion.has_value());
        std::vector<std::string> reasons;
        for (const Remainder& why : conversion->why_batch) {
            reasons.push_back(std::to_string(why.line) + " " + why.text);
        }
        CHECK(reasons == row.reasons);
    }
}

} // namespace cybele::schedulers
