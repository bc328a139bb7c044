// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/break_rules.hpp"
#include "support/counted.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

bool is_mpirun(const ShellCommand& command) {
    const auto program = command.program();
    const auto slash = program.rfind('/');
    const auto name = slash == std::string_view::npos ? program : program.substr(slash + 1);
    return name == "mpirun" || name == "mpiexec" || name == "mpiexec.hydra" || name == "orterun";
}

bool is_srun(const ShellCommand& command) {
    return command.program() == "srun" && !command.has("--version");
}

/// A program's own words begin at the runtime or the first word that is no option; good enough to
/// see whether a container is started.
bool starts_container(const ShellCommand& command) {
    return command.has("apptainer") || command.has("singularity") || command.has("cybelectl");
}

void for_launches(const RuleContext& judging,
                  const std::function<bool(const ShellCommand&)>& is_meant,
                  const std::function<void(const ShellCommand&)>& then) {
    for (const ShellCommand& command : judging.script.commands) {
        if (is_meant(command)) {
            then(command);
        }
    }
}

bool has_any(const ShellCommand& command, std::initializer_list<std::string_view> starts) {
    return std::ranges::any_of(starts,
                               [&](std::string_view start) { return command.has_start(start); });
}

/// A step that only looks: one task a node, no program of the job.
bool is_look(const ShellCommand& command) {
    return command.has("--mpi=none") || command.has("hostname") || command.has("ppr:1:node");
}

void judge_srun_cpus(const RuleContext& judging) {
    for_launches(judging, is_srun, [&](const ShellCommand& command) {
        if (!is_look(command) && !has_any(command, {"--cpus-per-task", "-c"})) {
            judging.tell("C5",
                         command.line,
                         "from Slurm 22.05 to 23.02 srun ignores the job's CPUs per task: all "
                         "threads on one core",
                         "write --cpus-per-task=\"$SLURM_CPUS_PER_TASK\" after srun");
        }
    });
}

void judge_kill(const RuleContext& judging) {
    for_launches(judging, is_srun, [&](const ShellCommand& command) {
        if (!is_look(command) && !has_any(command, {"--kill-on-bad-exit", "-K"})) {
            judging.tell("D8",
                         command.line,
                         "when one rank dies the others may wait for it until the time is up",
                         "write --kill-on-bad-exit=1 after srun");
        }
    });
}

/// The largest number that the script gives OMP_NUM_THREADS, 1 where it gives none as such.
std::uint64_t threads_of(const RuleContext& judging) {
    constexpr std::string_view kName = "OMP_NUM_THREADS=";
    constexpr std::size_t kMostDigits = 8;
    const std::string text = with_each_thread_name(judging.script.source.text());
    std::uint64_t most = 1;
    for (auto at = text.find(kName); at != std::string::npos; at = text.find(kName, at + 1)) {
        const std::size_t begin = at + kName.size();
        const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
        if (end > begin && end - begin <= kMostDigits) {
            most = std::max<std::uint64_t>(most, std::stoull(text.substr(begin, end - begin)));
        }
    }
    return most;
}

void judge_binding(const RuleContext& judging) {
    for_launches(judging, is_mpirun, [&](const ShellCommand& command) {
        const bool is_told = has_any(
            command, {"--bind-to", "-bind-to", "--map-by", "-map-by", "--cpu-bind", "-binding"});
        if (!is_told && (judging.asked.cpus_per_task > 1 || threads_of(judging) > 1)) {
            judging.tell("C6",
                         command.line,
                         "mpirun's own binding puts all threads of a rank on one core",
                         "write --map-by ppr:M:node:PE=T --bind-to core, or --bind-to none");
        } else if (command.has("--map-by") && !has_any(command, {"--bind-to"})) {
            judging.tell("C6",
                         command.line,
                         "mpirun has no option that binds the ranks",
                         "add --bind-to core or --bind-to none");
        }
    });
}

void judge_fit(const RuleContext& judging) {
    for_launches(judging, is_mpirun, [&](const ShellCommand& command) {
        for (std::size_t index = 0; index + 1 < command.words.size(); ++index) {
            const auto& word = command.words[index].text;
            if (word != "-np" && word != "-n" && word != "--np") {
                continue;
            }
            const auto& text = command.words[index + 1].text;
            const bool is_number = !text.empty() &&
                                   text.find_first_not_of("0123456789") == std::string::npos &&
                                   text.size() < 9;
            const auto most =
                judging.asked.nodes * judging.asked.tasks_per_node * judging.asked.cpus_per_task;
            if (!judging.has_directives() || !is_number ||
                has_any(command, {"--oversubscribe", "-oversubscribe"})) {
                continue;
            }
            const std::uint64_t ranks = std::stoull(text);
            const std::uint64_t threads = threads_of(judging);
            if (ranks > most) {
                judging.tell("C2",
                             command.line,
                             fmt::format("{} ranks are started, but the script asks for {}",
                                         text,
                                         counted(most, "CPU")),
                             "ask for as many, or start fewer");
            } else if (threads > 1 && ranks * threads > most) {
                judging.tell("C2",
                             command.line,
                             fmt::format("{} of {} threads are started, but the script asks for {}",
                                         counted(ranks, "rank"),
                                         threads,
                                         counted(most, "CPU")),
                             "ask for as many CPUs per task as threads, or start fewer ranks");
            }
        }
    });
}

/// Whether an MPI program is started in containers.
const ShellCommand* mpi_in_containers(const RuleContext& judging) {
    for (const ShellCommand& command : judging.script.commands) {
        if ((is_mpirun(command) || (is_srun(command) && command.has_start("--mpi"))) &&
            starts_container(command)) {
            return &command;
        }
    }
    return nullptr;
}

void judge_guard(const RuleContext& judging) {
    const ShellCommand* launch = mpi_in_containers(judging);
    const bool has_guard = judging.script.source.text().find("mpi-probe") != std::string::npos;
    if (launch != nullptr && !has_guard) {
        judging.tell("D3",
                     launch->line,
                     "7 of 20 tested MPI pairings ran as N separate one-rank jobs with exit code "
                     "0; nothing here would notice",
                     "ask the image's MPI for its size first, as a rendered script does");
    }
}

/// Words of a runtime on a command line, or in an array of options beside a launcher.
void judge_sharing(const RuleContext& judging) {
    constexpr std::array<std::string_view, 8> kWrong{
        "--pid", "-p", "--containall", "-C", "--contain", "-c", "--cleanenv", "-e"};
    const bool has_launcher =
        std::ranges::any_of(judging.script.commands, [](const ShellCommand& each) {
            return is_mpirun(each) || is_srun(each);
        });
    for (const ShellCommand& command : judging.script.commands) {
        auto at = std::ranges::find_if(command.words, [](const ShellWord& word) {
            return word.text == "apptainer" || word.text == "singularity" ||
                   word.text == "cybelectl";
        });
        const bool is_array = command.before == "(" && command.words.front().text.starts_with("--");
        if (is_array) {
            at = command.words.begin();
        }
        const bool is_mpi = is_mpirun(command) || is_srun(command) || (is_array && has_launcher);
        for (; is_mpi && at != command.words.end() && !at->text.ends_with(".sif"); ++at) {
            if (contains(kWrong, at->text)) {
                judging.tell("D4",
                             command.line,
                             fmt::format("`{}` hides from the ranks how they find each other: "
                                         "wrong results with exit code 0, or a crash",
                                         printable(at->text)),
                             "drop it");
            }
        }
    }
}

void judge_root(const RuleContext& judging) {
    for_launches(judging, is_mpirun, [&](const ShellCommand& command) {
        if (command.has("--allow-run-as-root")) {
            judging.tell("D6",
                         command.line,
                         "mpirun is let run as root",
                         "submit as a user, drop --allow-run-as-root");
        }
    });
}

void judge_hosts(const RuleContext& judging) {
    const auto& commands = judging.script.commands;
    const bool uses_file = std::ranges::any_of(commands, [](const ShellCommand& each) {
        return has_any(each, {"--hostfile", "-hostfile", "--machinefile", "-machinefile"}) ||
               (each.has("-f") && each.has_start("$PBS_NODEFILE"));
    });
    for_launches(judging, is_mpirun, [&](const ShellCommand& command) {
        if (has_any(command, {"--host", "-host", "-H"}) &&
            !has_any(command, {"--hostfile", "-hostfile"})) {
            judging.tell("D7",
                         command.line,
                         "hosts are typed; the allocation will be others",
                         "read them from the node file");
        } else if (judging.is_pbs() && !uses_file) {
            judging.tell(
                "D7",
                command.line,
                "an mpirun without tm starts all ranks on the first node, with exit code 0",
                "write --hostfile \"$PBS_NODEFILE\" and -np");
        }
    });
}

void judge_exports(const RuleContext& judging) {
    const auto& commands = judging.script.commands;
    const bool names_any = std::ranges::any_of(commands, [](const ShellCommand& command) {
        return (is_mpirun(command) && command.has("-x")) || command.words.front().text == "-x" ||
               command.has("-genvlist") || command.has("-genvall");
    });
    for_launches(judging, is_mpirun, [&](const ShellCommand& command) {
        if (judging.is_pbs() && judging.asked.nodes > 1 && !names_any) {
            judging.tell("D9",
                         command.line,
                         "over ssh ranks on other nodes get none of the script's variables, "
                         "OMP_NUM_THREADS neither",
                         "name each with -x");
        }
    });
}

/// What stands behind `NAME=` or `NAME:` in a line of code; empty: nowhere. Also in here-documents,
/// which commands leave out.
struct Setting {
    std::size_t line = 0;
    std::string value;
};
Setting setting_of(const RuleContext& judging, std::string_view name) {
    const auto line = judging.line_with(fmt::format("{}=", name));
    if (line == 0) {
        return {};
    }
    const auto& text = judging.script.lines[line - 1];
    const auto begin = text.find(fmt::format("{}=", name)) + name.size() + 1;
    return {line, text.substr(begin, text.find_first_of(" \t\"'", begin) - begin)};
}

bool is_this_machine(std::string_view host) {
    return host.starts_with("localhost") || host.starts_with("127.0.0.1");
}

void judge_rendezvous(const RuleContext& judging) {
    for (const auto name : {"MASTER_ADDR", "rdzv_endpoint", "rdzv-endpoint", "master_addr"}) {
        const auto [line, host] = setting_of(judging, name);
        if (judging.asked.nodes > 1 && is_this_machine(host)) {
            judging.tell("E1",
                         line,
                         "on every node that is another machine",
                         "use the first host of the allocation");
        }
        const auto colon = host.rfind(':');
        if (colon != std::string::npos && host.find('$') == std::string::npos) {
            judging.tell("E2",
                         line,
                         "two jobs on one node would meet on that port",
                         "derive it from the job's id");
        }
    }
    for (const auto name : {"MASTER_PORT", "master_port", "master-port"}) {
        const auto [line, port] = setting_of(judging, name);
        if (!port.empty() && port.find('$') == std::string::npos) {
            judging.tell("E2",
                         line,
                         "two jobs on one node would meet on that port",
                         "derive it from the job's id");
        }
    }
}

void judge_torch(const RuleContext& judging) {
    judge_rendezvous(judging);
    const auto torchrun =
        judging.line_with("torchrun") + judging.line_with("torch.distributed.run");
    const bool is_told = judging.line_with("--nnodes") != 0;
    if (torchrun != 0 && judging.asked.nodes > 1 && !is_told) {
        judging.tell("E3",
                     judging.line_with("torch.distributed.run") != 0
                         ? judging.line_with("torch.distributed.run")
                         : judging.line_with("torchrun"),
                     "torchrun does not know the other nodes: each trains alone",
                     "write --nnodes, --rdzv-backend=c10d and --rdzv-endpoint");
    }
    for (const auto name : {"--max_restarts", "--max-restarts"}) {
        const auto [line, count] = setting_of(judging, name);
        if (!count.empty() && count != "0") {
            judging.tell("E7",
                         line,
                         "a worker that dies again and again keeps the allocation",
                         "write --max-restarts=0");
        }
    }
    for (const ShellCommand& command : judging.script.commands) {
        if (command.program() == "horovodrun") {
            judging.tell("E6",
                         command.line,
                         "horovodrun starts ranks by an ssh of its own",
                         "start it by mpirun or srun");
        }
    }
}

void judge_spark(const RuleContext& judging) {
    const auto master =
        judging.line_with("start-master.sh") + judging.line_with("deploy.master.Master");
    const auto submit = judging.line_with("spark-submit");
    if (master == 0) {
        return;
    }
    if (judging.line_with("sleep") != 0 && judging.line_with("/json/") == 0) {
        judging.tell("F1",
                     judging.line_with("sleep"),
                     "the master takes 6 to 27 s to start, workers up to 100 s; a sleep is too "
                     "long or too short",
                     "ask its /json/ page until it is ALIVE");
    }
    if (judging.line_with("aliveworkers") == 0) {
        judging.tell("F2",
                     submit == 0 ? master : submit,
                     "nothing checks that all workers have started",
                     "compare `aliveworkers` of the master's /json/ page");
    }
    if (judging.line_with("spark.authenticate") == 0) {
        judging.tell(
            "F3",
            master,
            "every user of the network may use this Spark",
            "set spark.authenticate and a secret of the job's own in a file with mode 600");
    }
    const auto port = judging.line_with(":7077");
    if (port != 0) {
        judging.tell("F4",
                     port,
                     "two jobs on one node would meet on port 7077",
                     "derive the port from the job's id");
    }
    const auto daemon = judging.line_with("start-worker.sh") + judging.line_with("start-slave.sh") +
                        judging.line_with("spark-daemon.sh") + judging.line_with("start-master.sh");
    // Ours ends with its job, and removes what is left.
    const auto apart = judging.line_with("setsid", " sweep \"$$\" ");
    if (daemon != 0 || apart != 0) {
        judging.tell("F7",
                     daemon != 0 ? daemon : apart,
                     "daemons that leave the job's session outlive it",
                     "start them in the foreground by srun or pbsdsh, and end them");
    }
}

constexpr std::array<BreakRule, 11> kLaunchRules{{{"C5", judge_srun_cpus},
                                                  {"D8", judge_kill},
                                                  {"C6", judge_binding},
                                                  {"C2", judge_fit},
                                                  {"D3", judge_guard},
                                                  {"D4", judge_sharing},
                                                  {"D6", judge_root},
                                                  {"D7", judge_hosts},
                                                  {"D9", judge_exports},
                                                  {"E1 E2 E3 E6 E7", judge_torch},
                                                  {"F1 F2 F3 F4 F7", judge_spark}}};

} // namespace

std::span<const BreakRule> launch_rules() {
    return kLaunchRules;
}

} // namespace cybele::schedulers
