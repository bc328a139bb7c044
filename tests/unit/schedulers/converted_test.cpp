// SPDX-License-Identifier: Apache-2.0
// Converted and rendered again: the script states the numbers that the first one states, no others.
#include "launchers/documents/job.hpp"
#include "schedulers/reading/convert.hpp"
#include "schedulers/reading/explain.hpp"
#include "schedulers/scripts/render.hpp"
#include "support/message.hpp"

#include <array>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace cybele::schedulers {

TEST_CASE("a converted script of Slurm says the numbers of the first one, and no others") {
    struct Row {
        const char* script;
        const char* says;   ///< a part of the rendered script
        const char* lacks1; ///< what is not in it
        const char* lacks2;
    };
    constexpr std::array kRows{
        // Lightning starts its processes itself where the batch system counts no tasks.
        Row{"#SBATCH -c 8 --gpus-per-node=4\npython t.py\n",
            "--cpus-per-task=8",
            "--ntasks",
            "NUM_THREADS"},
        Row{"#SBATCH -n 1\npython t.py\n", "--ntasks=1\n", "--ntasks-per-node", "--cpus-per-task"},
        Row{"#SBATCH -n 1 --ntasks-per-node=1\n./x $A\n",
            "--ntasks=1\n",
            "--cpus-per-task",
            "--nodes"},
        Row{"#SBATCH -N 1 --ntasks-per-node=1 -c 2\npython t.py\n",
            "--ntasks-per-node=1\n",
            "--ntasks=",
            "NUM_THREADS"},
        // The ranks' cores, and what happens when one ends, are srun's.
        Row{"#SBATCH -N 1 -n 4\nsrun ./x\n",
            "launcher=(srun --nodes=1 --ntasks=4 --ntasks-per-node=4)\n",
            "cpus-per-task",
            "CPUS_PER_TASK="},
        Row{"#SBATCH -N 1 -n 4 -c 2\nsrun ./x\n",
            "--ntasks-per-node=4 --cpus-per-task=2)\n",
            "kill-on-bad-exit",
            "OMP_PLACES"},
        Row{"#SBATCH -N 1 -n 4 -c 2\nexport OMP_NUM_THREADS=2\nsrun -K0 ./x\n",
            "launch run_script",
            "SRUN_CPUS",
            "OMP_PLACES"},
        Row{"#SBATCH -N 1 -n 4 -c 2\nexport OMP_NUM_THREADS=2\nsrun --kill-on-bad-exit=0 ./x\n",
            "--kill-on-bad-exit=0",
            "--kill-on-bad-exit=1",
            "OMP_PLACES"},
        Row{"#SBATCH -N 4 --ntasks-per-node=1\nsrun --mpi=pmix ./x\n",
            "--ntasks-per-node=1 --mpi=pmix)\n",
            "--kill-on-bad-exit",
            "cpus-per-task"},
        // Ranks of mpirun have the cores that they had.
        Row{"#SBATCH -N 4 --ntasks-per-node=1 --exclusive\nmodule load openmpi\nmpirun -np 4 ./x\n",
            "--map-by ppr:1:node --bind-to none)\n",
            "cpus-per-task",
            "PE="},
        Row{"#SBATCH -N 1 -n 4 -c 2\nmodule load openmpi\nmpirun -np 4 ./x\n",
            "--bind-to none)\n",
            "--bind-to core",
            "PE="},
    };
    for (const Row& row : kRows) {
        CAPTURE(row.script);
        const auto explanation = explain_script(std::string("#!/bin/bash\n") + row.script, "s.sh");
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE(conversion.has_value());
        const auto job = launchers::read_job(conversion->yaml, "s.yaml");
        REQUIRE_MESSAGE(job.has_value(), format_text(job.error().faults()));
        RenderInput input;
        input.job = &*job;
        input.dialect = "slurm";
        const auto script = render_script(input);
        REQUIRE_MESSAGE(script.has_value(), format_text(script.error().faults()));
        CHECK(script->text.find("#SBATCH --job-name=s.sh\n") != std::string::npos);
        const std::string text = script->text.substr(0, script->text.find("# ---- The functions"));
        CHECK_MESSAGE(text.find(row.says) != std::string::npos, text);
        CHECK_MESSAGE(text.find(row.lacks1) == std::string::npos, text);
        CHECK_MESSAGE(text.find(row.lacks2) == std::string::npos, text);
    }
}

TEST_CASE(
    "what a script reads from elsewhere keeps its place before and after what it may change") {
    struct Row {
        const char* body;
        const char* yaml; ///< a part of the Job
    };
    constexpr std::array kRows{
        // A container of ours would not see each variable of the host.
        Row{"source s.sh\nsrun apptainer exec i.sif p\n",
            "command: [\"apptainer\", \"exec\", \"i.sif\", \"p\"]\n"},
        Row{"eval \"$(conda shell.bash hook)\"\nconda activate a\nsrun apptainer exec i.sif p\n",
            "command: [\"apptainer\", \"exec\", \"i.sif\", \"p\"]\n"},
        Row{"echo a\nsrun apptainer exec i.sif p\n", "image: \"i.sif\"\n"},
        Row{"module load python/3.11\nsrun apptainer exec i.sif p\n",
            "command: [\"apptainer\", \"exec\", \"i.sif\", \"p\"]\n"},
        Row{"module load Apptainer gcc/12\nsrun apptainer exec i.sif p\n", "image: \"i.sif\"\n"},
        Row{"source s.sh\nexport OMP_NUM_THREADS=1\nsrun ./p\n",
            "setup: |\n  source s.sh\n  export OMP_NUM_THREADS=1\n"},
        Row{"export OMP_NUM_THREADS=1\nsource s.sh\nsrun ./p\n",
            "setup: |\n  export OMP_NUM_THREADS=1\n  source s.sh\n"},
        Row{"export OMP_NUM_THREADS=1\nsource s.sh\nsrun ./p\n", "threads: own}\n"},
        Row{"export OMP_NUM_THREADS=1\nmkdir a\nsrun ./p\n", "threads: 1}\n"}};
    for (const Row& row : kRows) {
        CAPTURE(row.body);
        const auto explanation =
            explain_script(std::string("#!/bin/bash\n#SBATCH -N 1 -n 4\n") + row.body, "s.sh");
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE(conversion.has_value());
        CHECK_MESSAGE(conversion->yaml.find(row.yaml) != std::string::npos, conversion->yaml);
    }
}

TEST_CASE("`-A` and `-P` of OpenPBS are two attributes of the job") {
    for (const char* lines : {"#PBS -P proj\n#PBS -A acct\n", "#PBS -A acct\n#PBS -P proj\n"}) {
        const auto explanation = explain_script(
            std::string("#!/bin/bash\n#PBS -l select=1:ncpus=1\n") + lines + "./p\n", "s.sh");
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE(conversion.has_value());
        CHECK(conversion->yaml.find("account: \"acct\"\n") != std::string::npos);
        CHECK(conversion->yaml.find("- \"-P proj\"\n") != std::string::npos);
        const auto job = launchers::read_job(conversion->yaml, "s.yaml");
        REQUIRE(job.has_value());
        RenderInput input;
        input.job = &*job;
        input.dialect = "pbspro";
        const auto script = render_script(input);
        REQUIRE_MESSAGE(script.has_value(), format_text(script.error().faults()));
        CHECK(script->text.find("#PBS -P proj\n") != std::string::npos);
    }
}

TEST_CASE("each converted Job is one that its batch system's scripts are rendered from") {
    struct Row {
        const char* script;
        const char* dialect;
        const char* yaml; ///< a part of the Job
    };
    constexpr std::array kRows{
        Row{"#SBATCH -n 1 --image=a/b:1 --module=gpu\nsrun shifter ./p\n",
            "slurm",
            "    - \"--image=a/b:1\"\n    - \"--module=gpu\"\n"},
        Row{"#SBATCH --gpus-per-task=a100:1 -n 4\n./p\n", "slurm", "--gpus-per-task=a100:1"},
        Row{"#SBATCH --ntasks=1 --ntasks-per-node=1\n./p &\nwait\n", "slurm", "  tasks: 1\n"},
        Row{"#PBS -J 1-100:10%5\n#PBS -l select=1:ncpus=1\n./p\n",
            "pbspro",
            "array: \"1-100:10%5\"\n"},
        Row{"#PBS -l nodes=1:ppn=2\n#PBS -d </path>\n./p; ./q\n", "torque", "launch: batch\n"},
        // Scripts that start tasks themselves do so from a batch launch.
        Row{"#SBATCH -n 1\nrun() {\nsrun -n 1 ./p\n}\nrun\n", "slurm", "launch: batch\n"},
        Row{"#SBATCH -n 1\nsrun -n 1 ./p > log\n", "slurm", "launch: batch\n"},
        Row{"#PBS -l nodes=1:ppn=1\nmpibind ./p $A\n", "torque", "launch: batch\n"}};
    for (const Row& row : kRows) {
        CAPTURE(row.script);
        const auto explanation = explain_script(std::string("#!/bin/bash\n") + row.script, "s.sh");
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE_MESSAGE(conversion.has_value(), format_text(conversion.error().faults()));
        CHECK_MESSAGE(conversion->yaml.find(row.yaml) != std::string::npos, conversion->yaml);
        const auto job = launchers::read_job(conversion->yaml, "s.yaml");
        REQUIRE_MESSAGE(job.has_value(), format_text(job.error().faults()));
        RenderInput input;
        input.job = &*job;
        input.dialect = row.dialect;
        const auto script = render_script(input);
        CHECK_MESSAGE(script.has_value(), format_text(script.error().faults()));
    }
}

TEST_CASE("what keeps a script a batch launch is said once, and as it is") {
    struct Row {
        const char* script;
        std::vector<std::string> because;
    };
    const std::array rows{
        Row{"#!/bin/csh\n#SBATCH -n 1\nforeach a (1 2)\n./p (x)\nend\n", {"the script is for csh"}},
        Row{"#!/bin/bash -x\n#SBATCH -N 1 -n 2\nsrun ./p\n",
            {"the first line gives `-x` to bash, which no typed launch does"}},
        Row{"#!/bin/bash\n#SBATCH -n 1\na() {\n./p\n}\nb() {\n./q\n}\n",
            {"it defines a function", "it is a second program; the first one is at line 4"}},
        Row{"#!/bin/bash\n#SBATCH -n 1\nshift\n./p\n",
            {"no typed launch has these words of the shell"}}};
    for (const Row& row : rows) {
        CAPTURE(row.script);
        const auto explanation = explain_script(row.script, "s.sh");
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE(conversion.has_value());
        std::vector<std::string> because;
        for (const Remainder& why : conversion->why_batch) {
            because.push_back(why.because);
        }
        CHECK(because == row.because);
    }
}

TEST_CASE("`-d` and `-w` of TORQUE also say where outputs go, and what PBS_O_WORKDIR is") {
    struct Row {
        const char* script;
        const char* says;
        const char* lacks;
    };
    constexpr std::array kRows{
        Row{"#PBS -d /data/run\ncd $PBS_O_WORKDIR; echo a >x\n",
            "workdir: \"/data/run\"\n",
            "directives"},
        Row{"#PBS -d /data/run\ncd $PBS_O_WORKDIR; echo a >x\n",
            "setup: export PBS_O_WORKDIR=\"$PWD\" PBS_O_INITDIR=\"$PWD\"",
            "setup: cd"},
        Row{"#PBS -d /data/run\ncd $PBS_O_WORKDIR; echo a >x\n",
            "output:\n  stderr: \"%x.e%j\"\n  stdout: \"%x.o%j\"\n",
            "-j"},
        Row{"#PBS -d /data/run\n#PBS -j oe\n#PBS -t 1-2\ncd $PBS_O_WORKDIR; echo a >x\n",
            "output:\n  stderr: \"%x.o%j-%a\"\n  stdout: \"%x.o%j-%a\"\n",
            "-j oe"},
        Row{"#PBS -d /data/run\n#PBS -o a.log\n#PBS -j oe\ncd $PBS_O_WORKDIR; echo a >x\n",
            "  stdout: \"a.log\"\n",
            "%x.o"},
        Row{"#PBS -w /data/run\ncd $PBS_O_WORKDIR; echo a >x\n",
            "setup: cd && export PBS_O_WORKDIR=/data/run",
            "workdir:"},
        Row{"#PBS -w /data/run\ncd $PBS_O_WORKDIR; ./app\n",
            "  stdout: \"/data/run/%x.o%j\"\n",
            "PBS_O_INITDIR"},
        Row{"#PBS -d /data/run\nmpirun -np 1 ./app\n", "workdir: \"/data/run\"\n", "directives"},
    };
    for (const Row& row : kRows) {
        CAPTURE(row.script);
        const auto explanation =
            explain_script(std::string("#!/bin/bash\n") + row.script, "s.sh", Reader::kTorque);
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE_MESSAGE(conversion.has_value(), format_text(conversion.error().faults()));
        const std::string& yaml = conversion->yaml;
        CHECK_MESSAGE(yaml.find(row.says) != std::string::npos, yaml);
        CHECK_MESSAGE(yaml.find(row.lacks) == std::string::npos, yaml);
        CHECK(conversion->left.empty());
        const auto job = launchers::read_job(yaml, "s.yaml");
        REQUIRE(job.has_value());
        RenderInput input;
        input.job = &*job;
        input.dialect = "torque";
        const auto script = render_script(input);
        CHECK_MESSAGE(script.has_value(), format_text(script.error().faults()));
    }
}

TEST_CASE("`#PBS` lines of a script for sbatch are named with what sbatch does with them") {
    const auto reason_of = [](const std::string& lines) {
        const auto explanation = explain_script("#!/bin/bash\n" + lines + "echo a\n", "s.sh");
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE(conversion.has_value());
        REQUIRE(conversion->left.size() == 1);
        return conversion->left.front().because;
    };
    CHECK(reason_of("#PBS -l nodes=2\n#SBATCH -n 2\n").starts_with("sbatch reads `#PBS` lines"));
    CHECK(reason_of("#PBS -l nodes=2\n#SBATCH --ignore-pbs\n")
              .starts_with("it is for another batch system"));
}

TEST_CASE("directives of a batch system that is not read are named, and stay in the script") {
    for (const char* line : {"#$ -pe smp 4", "#BSUB -n 4", "#PJM -L node=4", "#MSUB -l nodes=3"}) {
        CAPTURE(line);
        const auto convert = [line](const std::string& head) {
            const auto explanation =
                explain_script("#!/bin/bash\n" + head + line + "\n./a.out\n", "s.sh");
            return convert_script(*explanation, "s").value();
        };
        const Conversion conversion = convert("");
        REQUIRE(conversion.left.size() == 1);
        CHECK(conversion.left.front().line == 2);
        CHECK(conversion.left.front().text == line);
        CHECK(conversion.yaml.find(line) != std::string::npos);
        CHECK(convert("#SBATCH -n 4\n").left.empty()); // a comment for sbatch
    }
    const auto comment = explain_script("#!/bin/bash\n#$HOME is read\n./a.out\n", "s.sh");
    CHECK(convert_script(*comment, "s")->left.empty());
}

TEST_CASE("names of the script's own variables keep no script a batch launch") {
    for (const char* body :
         {"export name=a image=b\n./p \"$name\"\n", "code=3\n./p $code\n", "./p \"$record\"\n"}) {
        CAPTURE(body);
        const auto explanation =
            explain_script(std::string("#!/bin/bash\n#SBATCH -N 1 -n 1 -c 2\n") + body, "s.sh");
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE(conversion.has_value());
        CHECK_MESSAGE(conversion->yaml.find("launch: batch") == std::string::npos,
                      conversion->yaml);
    }
}

TEST_CASE("a script that copies, prints or submits itself is told that its copy has no options") {
    for (const char* body : {"cat $0\n", "  cp \"$0\" out/\n", "sbatch $0\n"}) {
        CAPTURE(body);
        const auto explanation =
            explain_script(std::string("#!/bin/bash\n#SBATCH -n 1\n./p\n") + body, "s.sh");
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE(conversion.has_value());
        REQUIRE(conversion->left.size() == 1);
        CHECK(conversion->left.front().because ==
              "the script runs from a copy without its options");
    }
}

TEST_CASE("indexes that no array has are left out of the Job and said") {
    for (const char* head : {"#PBS -l nodes=1:ppn=1\n#PBS -t 1-{jobs}\n",
                             "#SBATCH -n 1\n#SBATCH --array=1-$N\n",
                             "#PBS -l select=1\n#PBS -J 1-{jobs}\n"}) {
        CAPTURE(head);
        const auto explanation =
            explain_script(std::string("#!/bin/bash\n") + head + "./p\n./q\n", "s.sh");
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE(conversion.has_value());
        REQUIRE(conversion->left.size() == 1);
        CHECK(conversion->left.front().because.ends_with("does not accept these indexes"));
        CHECK(conversion->yaml.find("1-") == std::string::npos);
    }
}

TEST_CASE("a script that has $0 in the program of awk does not name itself") {
    const auto explanation =
        explain_script("#!/bin/bash\n#SBATCH -n 1\n./p\ncat a | awk '{print $0}'\n", "s.sh");
    const auto conversion = convert_script(*explanation, "s");
    REQUIRE(conversion.has_value());
    CHECK(conversion->left.empty());
}

TEST_CASE("scripts of NCI are those of PBS Pro") {
    for (const char* line : {"-l wd", "-lncpus=4,storage=scratch/a1", "-l jobfs=10GB"}) {
        CAPTURE(line);
        const auto script =
            read_batch_script(fmt::format("#!/bin/bash\n#PBS -l ncpus=4\n#PBS {}\n./p\n", line),
                              "job.sh",
                              Reader::kNone);
        REQUIRE(script.has_value());
        CHECK(script->reader == Reader::kPbspro);
    }
}

} // namespace cybele::schedulers
