// SPDX-License-Identifier: Apache-2.0
// Options of other people's scripts become fields of a Job, which renders the same options.
#include "bench.hpp"
#include "schedulers/reading/convert.hpp"
#include "schedulers/reading/explain.hpp"
#include "support/message.hpp"

#include <array>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

struct OptionCase {
    const char* dialect;
    const char* option;
    const char* field;    ///< of the Job that is written
    const char* rendered; ///< nullptr: the option itself
};

constexpr std::array kOptionCases{
    OptionCase{"slurm", "--gpus=3", "  gpus: 3\n", nullptr},
    OptionCase{"slurm", "-G a100:3", "  gpus: {count: 3, type: \"a100\"}\n", "--gpus=a100:3"},
    OptionCase{"slurm", "--gpus-per-node=v100:2", "  gpus-per-node: {count: 2", nullptr},
    OptionCase{"slurm", "--gpus-per-task=2", "  gpus-per-task: 2\n", nullptr},
    OptionCase{"slurm", "--gres=gpu:2", "  gpus-per-node: {count: 2, form: gres}\n", nullptr},
    OptionCase{"slurm", "--gres=gpu", "  gpus-per-node: {count: 1, form: gres}\n", "--gres=gpu:1"},
    OptionCase{"slurm",
               "--gres=lscratch:100,gpu:a100:2",
               "  gres: {\"lscratch\": 100}\n",
               "--gres=gpu:a100:2,lscratch:100"},
    OptionCase{"slurm", "--cpus-per-gpu=6", "  cpus-per-gpu: 6\n", nullptr},
    OptionCase{"slurm", "--mem-per-gpu=16G", "  memory-per-gpu: 16 GiB\n", "--mem-per-gpu=16384M"},
    OptionCase{"slurm", "--mem=0", "  memory: all\n", nullptr},
    OptionCase{"slurm", "--reservation=school", "reservation: \"school\"\n", nullptr},
    OptionCase{"slurm", "-w n[1,3],m", "  hosts: [\"n[1,3]\", \"m\"]\n", "--nodelist=n[1,3],m"},
    OptionCase{"slurm", "--exclude=n4", "  exclude: [\"n4\"]\n", nullptr},
    OptionCase{"slurm", "--threads-per-core=1", "  threads-per-core: 1\n", nullptr},
    OptionCase{"slurm", "-L matlab:2", "  licenses: {\"matlab\": 2}\n", "--licenses=matlab:2"},
    OptionCase{"slurm", "--licenses=a@b", "  licenses: {\"a@b\": 1}\n", "--licenses=a@b:1"},
    OptionCase{"slurm", "--requeue", "requeue: true\n", nullptr},
    OptionCase{"slurm", "--no-requeue", "requeue: false\n", nullptr},
    OptionCase{"slurm", "--open-mode=append", "append-output: true\n", nullptr},
    OptionCase{"slurm", "--open-mode=t", "append-output: false\n", "--open-mode=truncate"},
    OptionCase{"slurm", "--begin=2031-02-03T04:05:06", "begin: 2031-02-03T04:05:06\n", nullptr},
    OptionCase{"slurm", "--comment=\"for me\"", "comment: \"for me\"\n", nullptr},
    OptionCase{"torque", "-r y", "requeue: true\n", nullptr},
    OptionCase{"torque", "-a 203102030405.06", "begin: 2031-02-03T04:05:06\n", nullptr},
    OptionCase{"pbspro", "-r n", "requeue: false\n", nullptr},
    // Forms that a field does not have stay as they are.
    OptionCase{"slurm", "--begin=now+1hour", "    - \"--begin=now+1hour\"\n", nullptr},
    OptionCase{
        "slurm", "--nodelist=/home/me/nodes", "    - \"--nodelist=/home/me/nodes\"\n", nullptr},
    OptionCase{"slurm", "--gres=tmp:50G", "    - \"--gres=tmp:50G\"\n", nullptr},
    OptionCase{"slurm", "--gres=gpu:2,gpu:a100:1", "    - \"--gres=gpu:2,gpu:a100:1\"\n", nullptr},
    OptionCase{"slurm", "--gres=none", "    - \"--gres=none\"\n", nullptr},
    OptionCase{"slurm", "--licenses=a|b", "    - \"--licenses=a|b\"\n", nullptr},
    OptionCase{"torque", "-a 0405", "    - \"-a 0405\"\n", nullptr},
    OptionCase{"torque", "-p 5", "    - \"-p 5\"\n", nullptr},
};

/// The Job that a script with these lines becomes.
std::string converted(const std::string& dialect, const std::string& options) {
    const bool is_slurm = dialect == "slurm";
    std::string text = "#!/bin/bash\n";
    for (std::size_t at = 0; at < options.size();) {
        const auto end = std::min(options.find('\n', at), options.size());
        text += fmt::format("{} {}\n", is_slurm ? "#SBATCH" : "#PBS", options.substr(at, end - at));
        at = end + 1;
    }
    const Reader reader = is_slurm              ? Reader::kSlurm
                          : dialect == "torque" ? Reader::kTorque
                                                : Reader::kPbspro;
    const auto explanation =
        explain_script(text + "for x in a b; do echo $x; done\n", "x.sh", reader);
    REQUIRE(explanation.has_value());
    const auto conversion = convert_script(*explanation, "x");
    REQUIRE_MESSAGE(conversion.has_value(), format_text(conversion.error().faults()));
    return conversion->yaml;
}

std::string rendered(const std::string& yaml, const std::string& dialect) {
    const launchers::Job job = job_of(yaml);
    RenderInput input;
    input.job = &job;
    input.dialect = dialect;
    const auto script = render_script(input);
    return script ? script->text : format_text(script.error().faults());
}

} // namespace

TEST_CASE("options of a script become fields that render the same options") {
    for (const OptionCase& row : kOptionCases) {
        CAPTURE(row.option);
        const std::string yaml = converted(row.dialect, row.option);
        CHECK_MESSAGE(yaml.find(row.field) != std::string::npos, yaml);
        const std::string script = rendered(yaml, row.dialect);
        const std::string line =
            fmt::format("\n{} {}\n",
                        std::string_view(row.dialect) == "slurm" ? "#SBATCH" : "#PBS",
                        row.rendered != nullptr ? row.rendered : row.option);
        CHECK_MESSAGE(script.find(line) != std::string::npos, script);
    }
}

TEST_CASE("several ways to ask for GPUs, or for memory, stay as they are written") {
    for (const char* options : {"--gpus=4\n--gpus-per-node=2",
                                "--gres=gpu:2\n--gpus-per-task=1",
                                "--mem=0\n--mem-per-gpu=4G",
                                "--requeue\n--no-requeue"}) {
        CAPTURE(options);
        const std::string yaml = converted("slurm", options);
        CHECK_MESSAGE(yaml.find("directives:\n  slurm:\n    - \"--") != std::string::npos, yaml);
        const std::string script = rendered(yaml, "slurm");
        const std::string text = options;
        const auto end = text.find('\n');
        CHECK(script.find("\n#SBATCH " + text.substr(0, end) + "\n") != std::string::npos);
        CHECK(script.find("\n#SBATCH " + text.substr(end + 1) + "\n") != std::string::npos);
    }
}

TEST_CASE("a signal becomes a field where it comes after the job begins, and where that is known") {
    const auto is_field = [](const std::string& options) {
        const std::string yaml = converted("slurm", options);
        CHECK_MESSAGE((yaml.find("--signal=") == std::string::npos) ==
                          (yaml.find("signal: {name: USR2, before: ") != std::string::npos),
                      yaml);
        return yaml.find("--signal=") == std::string::npos;
    };
    CHECK(is_field("--time=5\n--signal=B:USR2@299"));
    CHECK_FALSE(is_field("--time=5\n--signal=B:USR2@300"));
    CHECK_FALSE(is_field("--time=5\n--signal=B:USR2@301"));
    CHECK_FALSE(is_field("--signal=B:USR2@299"));
    CHECK_FALSE(is_field("--time=5\n--signal=B:USR2@59"));
    CHECK(is_field("--time=5\n--signal=B:USR2@60"));
}

TEST_CASE("a word of `directives` that one of the new fields gives is an error at its line") {
    struct Row {
        const char* fields;
        const char* dialect;
        const char* word;
        const char* told;
    };
    constexpr std::array kRows{
        Row{"resources: {gpus: 2}", "slurm", "--gpus-per-node=2", "`resources.gpus`"},
        Row{"resources: {gpus-per-node: 2}", "slurm", "--gres=gpu:2", "`resources.gpus-per-node`"},
        Row{"resources: {gres: {a: 2}}", "slurm", "--gres=b:2", "`resources.gres`"},
        Row{"resources: {memory: all}", "slurm", "--mem-per-cpu=2G", "`resources.memory`"},
        Row{"resources: {hosts: [a]}", "slurm", "-w b", "`resources.hosts`"},
        Row{"resources: {exclude: [a]}", "slurm", "-x b", "`resources.exclude`"},
        Row{"resources: {licenses: {a: 2}}", "slurm", "-L b", "`resources.licenses`"},
        Row{"resources: {threads-per-core: 1}",
            "slurm",
            "--threads-per-core=2",
            "`resources.threads"},
        Row{"resources: {cpus-per-gpu: 1}", "slurm", "-c 2", "`resources.cpus-per-gpu`"},
        Row{"reservation: a", "slurm", "--reservation=b", "`reservation`"},
        Row{"begin: 2031-02-03T04:05", "slurm", "--begin=now", "`begin`"},
        Row{"begin: 2031-02-03T04:05", "torque", "-a 0405", "`begin`"},
        Row{"comment: a", "slurm", "--comment=b", "`comment`"},
        Row{"requeue: true", "slurm", "--no-requeue", "`requeue`"},
        Row{"requeue: true", "pbspro", "-r n", "`requeue`"},
        Row{"append-output: true", "slurm", "--open-mode=truncate", "`append-output`"},
    };
    for (const Row& row : kRows) {
        CAPTURE(row.word);
        const std::string told = rendered(
            fmt::format("kind: Job\nname: a\nlaunch: batch\nscript: echo\n{}\ndirectives:\n  {}:\n"
                        "    - {}\n",
                        row.fields,
                        row.dialect,
                        row.word),
            row.dialect);
        CHECK_MESSAGE(
            told.find(fmt::format("is already given by {}", row.told)) != std::string::npos, told);
        CHECK_MESSAGE(told.find(":8:7") != std::string::npos, told);
    }
}

TEST_CASE(
    "outputs among `directives` are alike in each form, and options without a place are refused") {
    const auto of_word = [](const char* dialect, const char* word) {
        return rendered(fmt::format("kind: Job\nname: a\nlaunch: serial\ncommand: [echo]\n"
                                    "directives:\n  {}:\n    - {}\n",
                                    dialect,
                                    word),
                        dialect);
    };
    for (const char* word : {"--output=x", "-ox", "-o x", "--out=x", "-e x", "--error x"}) {
        CAPTURE(word);
        const std::string text = of_word("slurm", word);
        CHECK_MESSAGE(text.find(fmt::format("\n#SBATCH {}\n", word)) != std::string::npos, text);
    }
    CHECK(of_word("slurm", "--ntasks=2")
              .find("`--ntasks` is already given by the default of `resources.tasks`") !=
          std::string::npos);
    CHECK(of_word("torque", "-o x")
              .find("`-o` is already given by the default of "
                    "`output.stdout`") != std::string::npos);
    struct Row {
        const char* dialect;
        const char* word;
    };
    for (const Row& row : {Row{"slurm", "--wrap=hostname"},
                           Row{"slurm", "--help"},
                           Row{"slurm", "-h"},
                           Row{"slurm", "--version"},
                           Row{"slurm", "--usage"},
                           Row{"slurm", "--parsable"},
                           Row{"slurm", "--test-only"},
                           Row{"torque", "-I"},
                           Row{"torque", "-X"},
                           Row{"torque", "-z"},
                           Row{"torque", "-C '#X'"},
                           Row{"torque", "-F 'a b'"},
                           Row{"pbspro", "-I"}}) {
        CAPTURE(row.word);
        const std::string told = of_word(row.dialect, row.word);
        CHECK_MESSAGE(told.find("has no place in a script") != std::string::npos, told);
        CHECK(told.find(":7:7") != std::string::npos);
    }
    // What a script has of them is left out of its Job, with the reason.
    CHECK(converted("slurm", "--parsable").find("parsable") == std::string::npos);
    CHECK(converted("torque", "-z\n-N x").find("-z") == std::string::npos);
}

TEST_CASE("more listed nodes than tasks are told where the script asks for no number of nodes") {
    struct Row {
        const char* resources;
        const char* message; ///< nullptr: nothing is told
        bool is_warning;
    };
    constexpr std::array kRows{
        Row{"tasks: 1, hosts: ['n[1-3]']",
            "`hosts` names more nodes than the job has tasks: 3 and 1",
            true},
        Row{"tasks: 2, hosts: [a, b, c]",
            "`hosts` names more nodes than the job has tasks: 3 and 2",
            true},
        Row{"tasks: 3, hosts: [a, b, c]", nullptr, false},
        Row{"hosts: [a, b, c]", nullptr, false},
        Row{"nodes: 2, tasks: 2, hosts: [a, b, c]",
            "`hosts` names 3 nodes, and the job has 2",
            false},
        Row{"nodes: 3, tasks: 3, hosts: [a, b, c]", nullptr, false},
    };
    for (const Row& row : kRows) {
        CAPTURE(row.resources);
        const launchers::Job job =
            job_of(fmt::format("kind: Job\nname: a\nlaunch: batch\nscript: echo\n"
                               "resources: {{{}}}\n",
                               row.resources));
        RenderInput input;
        input.job = &job;
        input.dialect = "slurm";
        const auto script = render_script(input);
        CHECK(script.has_value() == (row.message == nullptr || row.is_warning));
        const auto faults = script ? script->notes : script.error().faults();
        REQUIRE(faults.size() == (row.message == nullptr ? 0 : 1));
        if (row.message != nullptr) {
            CHECK(faults[0].message == row.message);
            CHECK(faults[0].is_warning == row.is_warning);
        }
    }
}

TEST_CASE("plain scripts: torchrun starts a file of Python itself, and all else as a program") {
    const std::pair<const char*, bool> rows[] = {{"command: [train.py]\n", true},
                                                 {"command: [/a/b.py, x]\n", true},
                                                 {"command: [./train, x.py]\n", false},
                                                 {"command: [train.pyc]\n", false},
                                                 {"script: ./train x.py\n", false}};
    for (const auto& [fields, is_python] : rows) {
        CAPTURE(fields);
        const auto job = job_of(std::string("kind: Job\nname: t\nlaunch: torch\n") + fields);
        RenderInput input;
        input.job = &job;
        input.dialect = "slurm";
        input.is_plain = true;
        const auto script = render_script(input);
        REQUIRE(script);
        CHECK(script->text.find("torch.distributed.run") != std::string::npos);
        CHECK((script->text.find("--no_python") == std::string::npos) == is_python);
    }
}

} // namespace cybele::schedulers
