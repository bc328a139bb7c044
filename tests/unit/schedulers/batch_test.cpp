// SPDX-License-Identifier: Apache-2.0
// `launch: batch`: how its script is handed over, and what it finds.
#include "batch_parts.hpp"

#include <array>
#include <set>
#include <string>

#include <fmt/format.h>

namespace cybele::schedulers {

TEST_CASE("batch: the head asks for what the Job says, and for nothing else") {
    struct Row {
        const char* fields;
        const char* dialect;
        const char* head;
    };
    constexpr std::array kRows{
        Row{"", "slurm", "#SBATCH --job-name=run"},
        Row{"resources: {tasks: 1024}\n", "slurm", "#SBATCH --job-name=run\n#SBATCH --ntasks=1024"},
        Row{"resources: {nodes: 2, tasks-per-node: 4}\noutput: {stdout: a.log}\n",
            "slurm",
            "#SBATCH --job-name=run\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n"
            "#SBATCH --output=a.log"},
        Row{"", "torque", "#PBS -N run"},
        Row{"resources: {nodes: 2, tasks-per-node: 4}\noutput: {stdout: a.log, stderr: a.log}\n",
            "torque",
            "#PBS -N run\n#PBS -l nodes=2:ppn=4\n#PBS -o a.log\n#PBS -j oe"},
        Row{"output: {stdout: a.log, stderr: b.log}\n",
            "slurm",
            "#SBATCH --job-name=run\n#SBATCH --output=a.log\n#SBATCH --error=b.log"},
        Row{"output: {stdout: a.log, stderr: b.log}\n",
            "torque",
            "#PBS -N run\n#PBS -o a.log\n#PBS -e b.log"},
        Row{"output: {stdout: a.log, stderr: b.log}\n",
            "pbspro",
            "#PBS -N run\n#PBS -o a.log\n#PBS -e b.log"},
        Row{"output: {stdout: a.log, stderr: b.log}\n",
            "slurm-torque",
            "#PBS -N run\n#PBS -o a.log\n#PBS -e b.log"},
        Row{"resources: {cpus-per-task: 3}\n",
            "pbspro",
            "#PBS -N run\n#PBS -l select=1:ncpus=3:mpiprocs=1"},
        Row{"job-name: My_Job\ndirectives: {slurm: [--switches=1, \"--comment='a b'\"]}\n",
            "slurm",
            "#SBATCH --job-name=My_Job\n#SBATCH --switches=1\n#SBATCH --comment='a b'"},
        Row{"directives: {slurm: [--switches=1]}\n",
            "slurm-torque",
            "#PBS -N run\n#SBATCH --switches=1"},
        Row{"directives: {torque: [-W group_list=x, -V], pbspro: [-l place=pack]}\n",
            "torque",
            "#PBS -N run\n#PBS -W group_list=x\n#PBS -V"},
        Row{"directives: {pbspro: [-l place=pack]}\n", "pbspro", "#PBS -N run\n#PBS -l place=pack"},
    };
    for (const Row& row : kRows) {
        CAPTURE(row.fields);
        CAPTURE(row.dialect);
        CHECK(head_of(batch(row.fields, "true\n"), row.dialect) == row.head);
    }
}

TEST_CASE("batch: the script runs in its own shell, without strict mode, with its arguments") {
    const Bench bench;
    const auto outcome = bench.run(batch("arguments: [a, 'b c', '$HOME']\n",
                                         "false\n"
                                         "echo \"$unset_here|$1|$2|$3|$#\"\n"
                                         "values=(1 2); [[ ${#values[@]} == 2 ]] && echo bash\n"
                                         "exit 7\n"));
    CHECK(outcome.output == "|a|b c|$HOME|3\nbash\n");
    CHECK(outcome.code == 7);
    CHECK(bench.record()["code"] == 7);
}

TEST_CASE("batch: the text reaches its shell byte for byte") {
    const std::string body = "# a comment\n"
                             "#SBATCH --mem=3\n"
                             "  #PBS -l mem=3\n"
                             "cat <<'END-OF-SCRIPT'\n"
                             "$HOME `id` \\ %x @{x}\n"
                             "END-OF-SCRIPT\n"
                             "\ttrue   \n"
                             "\n"
                             "cat -- \"$0\"\n";
    const Bench bench;
    const auto outcome = bench.run(batch("", body));
    CHECK(outcome.output == "$HOME `id` \\ %x @{x}\n" + body);
    for (const auto& dialect : dialect_names()) {
        const auto script = render_batch(batch("", body), dialect);
        REQUIRE(script.has_value());
        CHECK_MESSAGE(script->text.find("\n#SBATCH --mem=3") == std::string::npos, dialect);
    }
}

TEST_CASE("batch: variables of the submission reach the script, whatever their names") {
    Bench bench;
    for (const char* name : {"name", "code", "record", "private", "image", "start"}) {
        bench.variables[name] = "mine";
    }
    CHECK(
        bench
            .run(batch("", "echo \"$name $code $record $private $image $start ${payload-none}\"\n"))
            .output == "mine mine mine mine mine mine none\n");
    CHECK(fs::exists(bench.work / ".cybelectl" / kUuid / "exit.json"));
}

TEST_CASE("batch: no variable of the script's own replaces one of the submission") {
    const std::string image = "image: a.sif\nverify: {keys: [a.pub]}\nmodules: [m]\nsetup: 'true'\n"
                              "array: 0-3\nworkdir: .\nresources: {time: 5 min}\n";
    for (const std::string& fields : {std::string(), image}) {
        CAPTURE(fields);
        Bench bench;
        bench.program("cybelectl", "exit 0\n");
        bench.file("a.sif", "");
        bench.file("a.pub", "");
        bench.variables["BASH_FUNC_module%%"] = "() { :; }";
        const std::string body = "for NAME in $NAMES; do\n"
                                 "    [ \"${!NAME-}\" = mine ] || echo \"$NAME\"\ndone\n";
        const std::string text = bench.script(batch(fields, body), "local");
        // Every word that may be a variable, but those of the environment's own.
        std::set<std::string> names;
        std::string word;
        for (const char letter : text.substr(text.find("main() {"))) {
            if ((letter >= 'a' && letter <= 'z') || letter == '_') {
                word += letter;
                continue;
            }
            if (!word.empty() && word != "_" && !word.starts_with("cybele_")) {
                names.insert(word);
            }
            word.clear();
        }
        std::string list;
        for (const std::string& name : names) {
            bench.variables[name] = "mine";
            list += name + " ";
        }
        bench.variables["NAMES"] = list;
        bench.variables["CYBELE_ARRAY_INDEX"] = "1";
        const auto outcome = run_process(bench.text_command(text)).value();
        CHECK_MESSAGE(outcome.ok(), outcome.errors);
        CHECK(outcome.output == "");
    }
}

TEST_CASE("batch: other shells read the script, too") {
    const Bench bench;
    CHECK(bench.run(batch("shell: sh\n", "echo \"$0\" | grep -c /script\n")).output == "1\n");
    CHECK(bench
              .run(batch("shell: [/usr/bin/env, python3]\narguments: [x]\n",
                         "import sys\nprint(sys.argv[1] * 2)\n"))
              .output == "xx\n");
}

TEST_CASE("batch: the script's first line says what reads it, unless `shell` does") {
    const Bench bench;
    const auto output = [&](const std::string& document) { return bench.run(document).output; };
    const std::string reader = "echo \"${BASH_VERSION:+bash}|$-\" | sed 's/[^e|abhs]//g'\n";
    CHECK(output(batch("", "#!/usr/bin/env python3\nprint(1 + 1)\n")) == "2\n");
    CHECK(output(batch("", "#! /bin/bash  -e \n" + reader)).starts_with("bash|e"));
    CHECK(output(batch("", "#!/bin/sh\n" + reader)).starts_with("|"));
    CHECK(output(batch("", "# #!/bin/sh\n" + reader)).starts_with("bash|"));
    CHECK(output(batch("shell: bash\n", "#!/bin/sh\n" + reader)).starts_with("bash|"));
    const auto serial = [&](const std::string& first) {
        return output("launch: serial\nscript: |\n  " + first + "  " + reader);
    };
    CHECK(serial("#!/bin/sh\n").starts_with("|e"));
    CHECK(serial("#!/bin/bash -e\n").starts_with("bash|e"));
    CHECK(serial("#!/usr/bin/env -S bash -a\n").starts_with("bash|a"));
    // `$1` is the first argument of Python, too, whose -c has no word for `$0`.
    const std::string print = "arguments: [a, b c]\nscript: |\n  #!/usr/bin/env python3\n"
                              "  import sys\n  print(sys.argv[1:])\n";
    CHECK(output("launch: serial\n" + print) == "['a', 'b c']\n");
    CHECK(output("launch: serial\nshell: [python3, -u]\n" + print) == "['a', 'b c']\n");
    CHECK(output("launch: batch\n" + print) == "['a', 'b c']\n");
}

TEST_CASE("batch: the image is started by a program that the script finds") {
    Bench bench;
    bench.variables["SLURM_SUBMIT_DIR"] = bench.work.native();
    bench.program("apptainer", "printf '<%s>' \"$@\"; echo \" $LD_PRELOAD|$LEVEL\"\n");
    bench.file("a.sif", "");
    const auto outcome = bench.run(batch("image: a.sif\nbinds: [/a:/b]\n"
                                         "environment: {LEVEL: '3', ODD: 'a, b'}\n",
                                         "\"$CYBELE_CONTAINER\" prog 'a b'\n"
                                         "\"$CYBELE_CONTAINER\"\n"
                                         "\"$CYBELE_GUARD\" mpirun -n 2 && echo guarded\n"
                                         "ls -d .cybelectl-batch.* | wc -l\n"),
                                   "slurm");
    const std::string image = (bench.work / "a.sif").native();
    const std::string options = "<exec><-B></a:/b><--env=LEVEL=3><" + image + "><env><ODD=a, b>";
    CHECK(outcome.output ==
          options + "<prog><a b> |3\n" + options + "</.singularity.d/runscript> |3\nguarded\n0\n");
    CHECK(outcome.errors.find("the image has no probe") != std::string::npos);
}

TEST_CASE("batch: the guard lets ranks that see each other start, and no others") {
    Bench bench;
    bench.variables["SLURM_SUBMIT_DIR"] = bench.work.native();
    bench.has_facts = true;
    bench.facts.mpi = "openmpi 4.1.4";
    bench.facts.mpi_probe = "/probe";
    bench.file("a.sif", "");
    bench.program("apptainer", "echo \"cybelectl-probe rank $RANK of $SIZE host here\"\n");
    bench.program("mpirun", "RANK=0 SIZE=2 \"$@\" && RANK=1 SIZE=2 \"$@\"\n");
    bench.program("twice", "RANK=0 SIZE=1 \"$@\" && RANK=0 SIZE=1 \"$@\"\n");
    const auto outcome = bench.run(batch("image: a.sif\n",
                                         "\"$CYBELE_GUARD\" mpirun && echo good\n"
                                         "\"$CYBELE_GUARD\" twice || echo bad\n"),
                                   "slurm");
    CHECK(outcome.output == "good\nbad\n");
    CHECK(outcome.errors.find("2 ranks were started, and 0 of them see each other") !=
          std::string::npos);
}

TEST_CASE("batch: signals reach the script, which may trap them") {
    const Bench bench;
    CHECK(bench.run(batch("", "trap 'echo trapped; exit 4' INT\nkill -s INT $$\nsleep 5\n")).code ==
          4);
}

TEST_CASE("batch: the script gets the signal itself, and its code decides how it ended") {
    constexpr std::array kNames{"HUP", "INT", "QUIT", "ALRM", "XCPU", "USR1"};
    for_each_at_once(kNames, [](const char* const name) {
        CAPTURE(std::string(name));
        const Bench trapped; // the parent of the script's shell is the batch script
        const std::string send = fmt::format("sleep 1; kill -s {} $PPID\n", name);
        const std::string trap = fmt::format("trap 'echo {0}; exit 0' {0}\n", name);
        CHECK(trapped.run(batch("", trap + send + "while :; do sleep 0.1; done\n")).output ==
              std::string(name) + "\n");
        CHECK(trapped.record()["state"] == "done");
        if (std::string_view(name) == "QUIT") {
            return; // bash ignores it
        }
        const Bench hit;
        const auto outcome = hit.run(batch("", send + "exec sleep 60\n"));
        CAPTURE(outcome.errors);
        CAPTURE(outcome.output);
        CHECK(outcome.code > 128);
        CHECK(hit.record()["state"] != "done");
    });
}

TEST_CASE("batch: a signal that the script ignores may come again and again") {
    constexpr std::array kNames{"HUP", "INT", "QUIT", "USR1"};
    for_each_at_once(kNames, [](const char* const name) {
        CAPTURE(std::string(name));
        const Bench bench;
        // not bash: 5.2 may spin for ever where INT comes while its `sleep` ends
        const auto outcome =
            bench.run(batch("shell: dash\n",
                            fmt::format("trap : {0}\nsleep 1\nfor turn in $(seq 200); do\n"
                                        "  kill -s {0} $PPID\n  sleep 0.005\ndone\necho last\n",
                                        name)));
        CHECK_MESSAGE(outcome.output == "last\n", outcome.errors);
        CHECK(outcome.code == 0);
        CHECK(bench.record()["state"] == "done");
    });
}

TEST_CASE("no signal ends a script with code 0") {
    constexpr std::array kNames{"ALRM", "XCPU", "VTALRM", "QUIT"};
    for_each_at_once(kNames, [](const char* const name) {
        CAPTURE(name);
        const Bench bench;
        const std::string send = fmt::format("sleep 1; kill -s {} $PPID; exec sleep 60", name);
        CHECK(bench.run(fmt::format("command: [sh, -c, '{}']\n", send)).code > 128);
        CHECK(bench.record()["state"] != "done");
    });
}

TEST_CASE("a rendered script hands on its arguments and its standard input") {
    const Bench bench;
    bench.file("in", "from a file\n");
    const auto call = [&bench](const std::string& fields) {
        Command command = bench.command(fields, "local");
        command.argv.insert(command.argv.end(), {"a b", "c"});
        command.argv.insert(command.argv.begin(),
                            {"/bin/sh", "-c", "exec \"$@\" <\"$HOME/in\"", "sh"});
        return run_process(command).value().output;
    };
    CHECK(call(batch("", "cat; echo \"$#|$1|$2\"\n")) == "from a file\n2|a b|c\n");
    CHECK(call(batch("arguments: [x]\n", "echo \"$1|$2|$3\"\n")) == "x|a b|c\n");
    CHECK(call("launch: serial\nshell: bash\nscript: |\n  echo \"$#|$1|$2\"\n") == "2|a b|c\n");
}

} // namespace cybele::schedulers
