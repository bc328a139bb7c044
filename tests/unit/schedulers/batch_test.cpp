// SPDX-License-Identifier: Apache-2.0
// `launch: batch`: how its script is handed over, and what it finds.
#include "bench.hpp"
#include "schedulers/dialects/dialect.hpp"
#include "support/message.hpp"

#include <array>
#include <set>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

constexpr const char* kBatchHead = "launch: batch\n";

std::string script_field(const std::string& body) {
    std::string text = "script: |\n";
    std::size_t at = 0;
    while (at < body.size()) {
        const auto end = body.find('\n', at);
        text += "  " + body.substr(at, end - at) + "\n";
        at = end + 1;
    }
    return text;
}

std::string batch(const std::string& fields, const std::string& body) {
    return kBatchHead + fields + script_field(body);
}

Result<RenderedScript> render_batch(const std::string& fields, const std::string& dialect) {
    const launchers::Job job = job_of("kind: Job\nname: run\n" + fields);
    RenderInput input;
    input.job = &job;
    input.dialect = dialect;
    input.image = job.image ? job.image->reference : "";
    return render_script(input);
}

/// The lines of the head, without the first.
std::string head_of(const std::string& fields, const std::string& dialect) {
    const auto script = render_batch(fields, dialect);
    REQUIRE_MESSAGE(script.has_value(), format_text(script.error().faults()));
    const auto begin = script->text.find('\n') + 1;
    return script->text.substr(begin, script->text.find("\n# From ") - begin);
}

std::string fault_of(const std::string& fields, const std::string& dialect) {
    const auto script = render_batch(fields, dialect);
    REQUIRE_FALSE(script.has_value());
    return format_text(script.error().faults());
}

} // namespace

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

TEST_CASE("set-up comes before the program, teardown after it") {
    const Bench bench;
    const auto outcome = bench.run(
        "command: [sh, -c, 'echo $SET; exit 3']\nsetup: |\n  false\n  export SET=\"a b\"\n"
        "teardown:\n  - {run: 'echo failed $CYBELE_CODE', when: failure}\n"
        "  - {run: 'echo fine', when: success}\n  - {run: 'echo always; exit 9'}\n");
    CHECK(outcome.output == "a b\nfailed 3\nalways\n");
    CHECK(outcome.code == 3);
    CHECK(bench.run(batch("setup: cd /\n", "pwd\n")).output == "/\n");
}

TEST_CASE("steps of a set-up run in their order, on each node in a process of its own") {
    const Bench bench;
    const std::string steps = "setup:\n  - {run: 'cd /; export SET=one'}\n"
                              "  - {run: 'echo \"$SET in $PWD\"; SET=two', on: each-node}\n"
                              "  - {run: 'export SET=\"$SET, three\"', on: first-node}\n";
    const std::string here = bench.work.native();
    CHECK(bench.run(steps + "command: [sh, -c, 'echo \"$SET\"']\n").output ==
          "one in " + here + "\none, three\n");
    CHECK(bench.run(batch(steps, "echo \"$SET in $PWD\"\n")).output ==
          "one in " + here + "\none, three in /\n");
}

TEST_CASE("a step that fails on a node ends the job before the program starts") {
    const Bench bench;
    const auto outcome = bench.run("setup: [{run: 'false; echo on', on: each-node}]\n"
                                   "command: [echo, started]\n");
    CHECK(outcome.code == 1);
    CHECK(outcome.output.empty());
    CHECK(outcome.errors.find("ended with code 1\nerror: the set-up failed on a node\n") !=
          std::string::npos);
}

TEST_CASE("a step on each node costs nothing where there is none") {
    const Bench bench;
    for (const char* const dialect : {"slurm", "torque", "pbspro", "local"}) {
        CHECK(bench.script("command: [echo]\nsetup: echo\n", dialect).find("set_up_node") ==
              std::string::npos);
    }
}

TEST_CASE("a set-up that bash cannot read to its end starts no program; one that fails does") {
    const Bench bench;
    const auto outcome = bench.run("command: [echo, started]\nsetup: |\n  A=1\n  B=<NAME>\n");
    CHECK(outcome.code == 1);
    CHECK(outcome.output.empty());
    CHECK(outcome.errors.find("error: the set-up has a syntax error\n") != std::string::npos);
    for (const char* setup : {"false", "(exit 2)", "return 1", "return", "no-such-program"}) {
        CAPTURE(std::string(setup));
        CHECK(bench.run(fmt::format("command: [echo, started]\nsetup: {}\n", setup)).output ==
              "started\n");
    }
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
        const auto outcome = bench.run(
            batch("",
                  fmt::format("#!/bin/dash\ntrap : {0}\nsleep 1\nfor turn in $(seq 200); do\n"
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

TEST_CASE("directives: each word is an option that no field says already") {
    struct Row {
        const char* fields;
        const char* dialect;
        std::vector<const char*> told;
    };
    const std::array rows{
        Row{"resources: {nodes: 2}\ndirectives:\n  slurm:\n    - --switches=1\n    - --nodes=3\n",
            "slurm",
            {"`--nodes` is already given by `resources.nodes`", "test.yaml:8:7"}},
        Row{"directives: {slurm: ['--array=1-3']}\n", "slurm", {"`--array` makes an array"}},
        Row{"directives: {slurm: [-a 1-3]}\n", "slurm", {"`--array` makes an array"}},
        Row{"directives: {torque: [-t 1-3]}\n", "torque", {"`-t` makes an array"}},
        Row{"directives: {pbspro: [-J 1-3]}\n", "pbspro", {"`-J` makes an array"}},
        Row{"directives: {slurm: [--swiches=1]}\n",
            "slurm",
            {"slurm has no option '--swiches'", "did you mean `--switches`?"}},
        Row{"directives: {slurm: [switches]}\n", "slurm", {"'switches' is not an option"}},
        Row{"directives: {slurm: [--switches=1 more]}\n", "slurm", {"'more' is not an option"}},
        Row{"job-name: y\ndirectives: {slurm: [--job-name=x]}\n",
            "slurm",
            {"already given by `job-name`"}},
        Row{"resources: {tasks-per-node: 2}\ndirectives: {torque: ['-l nodes=3']}\n",
            "torque",
            {"`-l nodes` is already given by `resources.tasks-per-node`"}},
        Row{"resources: {memory-per-cpu: 1 GiB}\ndirectives: {slurm: [--mem=0]}\n",
            "slurm",
            {"`--mem` is already given by `resources.memory-per-cpu`"}},
        Row{"resources: {tasks: 3}\n", "torque", {"`tasks` without `tasks-per-node`"}},
    };
    for (const Row& row : rows) {
        CAPTURE(row.fields);
        const std::string told = fault_of(batch(row.fields, "true\n"), row.dialect);
        for (const char* part : row.told) {
            CHECK_MESSAGE(told.find(part) != std::string::npos, told);
        }
    }
    const std::string typed = "command: [app]\ndirectives: {slurm: [--ntasks=2, --mem=0]}\n";
    CHECK(fault_of(typed, "slurm").find("`--ntasks` is already given by") != std::string::npos);
    const auto local = render_batch(batch("directives: {slurm: [--mem=0]}\n", "true\n"), "local");
    REQUIRE(local.has_value());
    CHECK(format_text(local->notes).find("without effect in local: `directives`") !=
          std::string::npos);
}

TEST_CASE("directives for other batch systems only are told, and refused where they are the size") {
    struct Row {
        const char* directives;
        const char* dialect;
        const char* said; ///< empty: nothing
        bool is_refused;
    };
    for (const Row& row :
         {Row{"{pbspro: [-l place=pack]}",
              "slurm",
              "the directives for pbspro are left out",
              false},
          Row{"{pbspro: [-l place=pack], slurm: []}", "slurm", "", false},
          Row{"{pbspro: [-l place=pack]}", "pbspro", "", false},
          Row{"{slurm: [--switches=1]}", "slurm-torque", "", false},
          Row{"{slurm: [--switches=1]}", "torque", "the directives for slurm are left out", false},
          Row{"{pbspro: ['-l select=2:ncpus=8']}",
              "slurm",
              "the size of the job is only given for pbspro, by `-l select=2:ncpus=8`",
              true},
          Row{"{torque: [-V, '-l nodes=2:ppn=8,walltime=1:00:00']}",
              "pbspro",
              "the size of the job is only given for torque",
              true},
          Row{"{slurm: [--nodes=2]}",
              "torque",
              "the size of the job is only given for slurm",
              true}}) {
        CAPTURE(row.directives);
        CAPTURE(row.dialect);
        const auto rendered = render_batch(
            batch("directives: " + std::string(row.directives) + "\n", "true\n"), row.dialect);
        CHECK(rendered.has_value() != row.is_refused);
        const std::string said =
            rendered ? format_text(rendered->notes) : format_text(rendered.error().faults());
        CHECK(said.empty() == std::string_view(row.said).empty());
        CHECK(said.find(row.said) != std::string::npos);
        CHECK((row.is_refused || said.empty() || said.find("help: add `") != std::string::npos));
    }
}

TEST_CASE("a script that needs another batch system is told, with the line") {
    struct Row {
        const char* script;
        const char* dialect;
        const char* said; ///< empty: nothing
    };
    for (const Row& row :
         {Row{"true\nsrun ./app\n", "torque", "the script calls srun in line 2"},
          Row{"echo $SLURM_NTASKS\n", "pbspro", "reads $SLURM_NTASKS in line 1"},
          Row{"echo \"${PBS_NODEFILE}\"\n", "slurm", "reads $PBS_NODEFILE in line 1"},
          Row{"echo ${SLURM_NTASKS:-1}\n", "torque", ""},
          Row{"# srun is not here\necho 'srun'\n", "torque", ""},
          Row{"srun ./app\n", "slurm", ""},
          Row{"srun ./app\n", "slurm-torque", ""},
          Row{"cat $PBS_NODEFILE\n", "torque", ""},
          Row{"cd $SLURM_SUBMIT_DIR\nsrun -n $SLURM_NTASKS ./a\nsrun ./b\n",
              "torque",
              "the script calls srun in line 2, and reads $SLURM_SUBMIT_DIR in line 1 and "
              "$SLURM_NTASKS in line 2"}}) {
        CAPTURE(row.script);
        CAPTURE(row.dialect);
        const auto rendered = render_batch(batch("", row.script), row.dialect);
        REQUIRE(rendered.has_value());
        const std::string said = format_text(rendered->notes);
        CHECK((said.find("the script ") == std::string::npos) ==
              std::string_view(row.said).empty());
        CHECK(said.find(row.said) != std::string::npos);
    }
}

TEST_CASE("directives: those of the Site, of its queue and of the Job come in this order") {
    const launchers::Job job = job_of(
        "kind: Job\nname: run\nqueue: q\ndirectives: {slurm: [--mem=0]}\n" + batch("", "true\n"));
    const auto site = launchers::read_site(
        "kind: Site\nname: hall\nscheduler: slurm\ndirectives: {slurm: [--reboot]}\nqueues:\n"
        "  - {name: p}\n  - {name: q, directives: {slurm: [--switches=1, --rebooot=2]}}\n",
        "site.yaml");
    REQUIRE(site.has_value());
    RenderInput input;
    input.job = &job;
    input.site = &*site;
    input.dialect = "slurm";
    const auto script = render_script(input);
    REQUIRE_FALSE(script.has_value());
    const std::string told = format_text(script.error().faults());
    CHECK_MESSAGE(told.find("site.yaml:7:50") != std::string::npos, told);
    launchers::Site good = *site;
    good.queues[1].directives["slurm"].pop_back();
    input.site = &good;
    const auto rendered = render_script(input);
    REQUIRE(rendered.has_value());
    CHECK(rendered->text.find("#SBATCH --reboot\n#SBATCH --switches=1\n#SBATCH --mem=0\n") !=
          std::string::npos);
}

TEST_CASE("an exact serial launch asks for what the Job says, as a batch launch does") {
    struct Row {
        const char* fields;
        const char* dialect;
    };
    for (const Row& row :
         {Row{"", "slurm"},
          Row{"resources: {tasks: 14}\n", "slurm"},
          Row{"resources: {nodes: 2, tasks-per-node: 8, time: 1 h}\noutput: {stdout: o.txt}\n",
              "slurm"},
          Row{"directives: {slurm: [--ntasks=8, --export=NONE, --output=a.%N]}\n", "slurm"},
          Row{"directives: {pbspro: [\"-l select=1:ncpus=8:mem=4gb\", \"-j oe\"]}\n", "pbspro"},
          Row{"directives: {torque: [\"-l nodes=1:ppn=4:gpus=1\", \"-o logs\"]}\n", "torque"}}) {
        CAPTURE(row.fields);
        const std::string same = fmt::format("{}shell: bash\nscript: |\n  ./x\n", row.fields);
        const std::string exact = "launch: {kind: serial, exact: true, threads: own}\n" + same;
        CHECK(head_of(exact, row.dialect) == head_of(kBatchHead + same, row.dialect));
        const auto script = render_batch(exact, row.dialect);
        CHECK(script->text.find("need_cpus") == std::string::npos);
    }
    const auto ranks = launchers::read_job(
        "kind: Job\nname: a\ncommand: [p]\nlaunch: {kind: mpi, exact: true}\n", "a.yaml");
    REQUIRE_FALSE(ranks.has_value());
    CHECK(format_text(ranks.error().faults()).find("it belongs to: serial") != std::string::npos);
}

} // namespace cybele::schedulers
