// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/expansion.hpp"
#include "launchers/documents/sweep.hpp"
#include "support/error.hpp"
#include "support/yaml.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::launchers {

enum class LaunchKind { kSerial, kOpenmp, kMpi, kMpiBind, kHorovod, kTorch, kSpark, kBatch };

/// The `launch` field of a Job (docs/reference/job.md). Settings of other kinds keep their
/// defaults.
struct Launch {
    LaunchKind kind = LaunchKind::kSerial;
    bool is_exact = false;                ///< serial: the allocation is asked for as it is written
    std::optional<std::uint32_t> threads; ///< unset: cpus-per-task; of Spark 1
    bool takes_all_threads = false;       ///< `threads: all`, in place of a number
    bool has_own_threads = false;         ///< `threads: own`: the program counts them by itself
    std::string places = "cores";         ///< openmp: cores, threads, sockets
    std::string bind = "close";           ///< openmp: close, spread, none
    std::string launcher = "auto";        ///< mpi: auto, mpirun, srun, hydra
    std::string pmi = "auto";             ///< mpi: auto, pmix, pmi2, default
    std::string binding = "auto";         ///< mpi: auto, core, none
    bool guard = true;
    std::uint32_t ranks_multiple_of = 1;
    bool oversubscribe = false;
    bool allow_root = false;
    std::vector<std::string> options; ///< further words for the launcher
    std::optional<std::string> host_mpi;
    std::optional<std::uint32_t> processes_per_node; ///< torch
    std::uint32_t max_restarts = 0;                  ///< torch
    std::optional<std::uint32_t> worker_cores;       ///< spark …
    std::optional<std::uint64_t> worker_memory_bytes;
    std::uint64_t driver_memory_bytes = std::uint64_t{1} << 30U;
    std::optional<std::uint32_t> executor_cores;
    std::chrono::seconds ready_within{120};
    std::map<std::string, std::string> properties;

    /// Whether nothing is asked for but what is written: unset numbers are left to the batch
    /// system.
    [[nodiscard]] bool asks_as_written() const {
        return kind == LaunchKind::kBatch || is_exact;
    }
};

/// No machine has more cores; what is asked for beyond it is a mistyped number.
inline constexpr std::uint64_t kMostTasks = 100'000'000;

/// How Slurm is asked for GPUs: the option.
enum class GpuForm { kPerNode, kPerTask, kGres };

struct Resources {
    std::uint32_t nodes = 1;
    std::uint32_t tasks_per_node = 1;
    std::uint32_t tasks = 1; ///< nodes × tasks-per-node unless the Job says less
    std::uint32_t cpus_per_task = 1;
    std::optional<std::uint64_t> memory_per_node_bytes;
    std::optional<std::uint64_t> memory_per_cpu_bytes;
    std::uint32_t gpus_per_node = 0;
    std::string gpu_type;
    std::optional<GpuForm> gpu_form; ///< of `gpus_per_node`; unset: as the Site says of the queue
    std::uint32_t gpus = 0;          ///< of the job in all
    std::uint32_t gpus_per_task = 0;
    std::optional<std::uint32_t> cpus_per_gpu;
    std::optional<std::uint64_t> memory_per_gpu_bytes;
    bool has_all_memory = false;      ///< `memory: all`
    std::vector<std::string> hosts;   ///< of these the job gets all …
    std::vector<std::string> exclude; ///< … and of these none
    std::optional<std::uint32_t> threads_per_core;
    std::map<std::string, std::uint32_t> licenses;
    std::map<std::string, std::uint32_t> gres; ///< per node
    std::optional<std::chrono::seconds> time;  ///< unset: the queue's
    bool exclusive = false;
    std::vector<std::string> constraint;
};

/// Memory of each node, in bytes: as it is written, or that of a core for all cores of the node's
/// tasks.
[[nodiscard]] std::optional<std::uint64_t> memory_of_node(const Resources& resources);

/// GPUs of each node: as they are written, or counted from those of the tasks. Those of a job on
/// several nodes may be spread in any way: at least one.
[[nodiscard]] std::uint32_t gpus_of_node(const Resources& resources);

/// The field that asks for GPUs.
[[nodiscard]] std::string_view field_of_gpus(const Resources& resources);

struct After {
    std::string job;
    std::string when = "ok"; ///< ok, any, failed, started
};

struct Mail {
    std::string to;
    std::vector<std::string> on{"end", "fail"};
};

struct PreSignal {
    std::string name = "USR1";
    std::chrono::seconds before{300};
};

/// When a job that has ended is submitted again, by the client that waits for it.
struct Continuation {
    std::vector<std::string> on{"timeout", "preempted", "node-fail"};
    std::uint32_t most = 1;
};

/// Shell code that runs before the program.
struct Setup {
    std::string run;
    bool is_on_each_node = false; ///< else on the first one, in the shell of the script
    auto operator<=>(const Setup&) const = default;
};

/// Shell code that runs after the program.
struct Teardown {
    std::string run;
    std::string when = "always"; ///< always, failure, success
};

/// Words for a batch system that no field has, by the dialect that reads them: slurm, torque,
/// pbspro.
using Directives = std::map<std::string, std::vector<std::string>>;

struct Output {
    std::string standard_output = "%x-%j.out";
    std::string standard_error = "%x-%j.err";
    std::string expanded_output; ///< where the program writes to instead, known on the node …
    std::string expanded_error;
    std::vector<std::string> results;
    std::string to = "results";
};

/// The image of a Job: a path or reference, or a Recipe to build first.
struct JobImage {
    std::string reference; ///< path, store:…, oras://…; empty when `recipe` is given
    std::string recipe;    ///< path of a Recipe, relative to the Job's folder
    std::string variant;
    std::string expanded; ///< a path with variables, known on the node
};

struct KubernetesTarget {
    std::string name_space = "default";
    std::string image; ///< of a registry, where the Job stays on Kubernetes
    std::map<std::string, std::string> node_selector;
    std::string results_host_path;
    std::string results_claim;
    std::string results_path;
};

/// Stands in `command` and `environment` for the index of an array's element.
inline constexpr std::string_view kIndexMark = "@{index}";

/// How a program runs: the document of kind Job, read and checked. Every field of it is here.
struct Job {
    std::string name;
    std::optional<JobImage> image; ///< unset: the program is the host's
    std::vector<std::string> command;
    std::string script;                 ///< instead of command
    std::vector<std::string> shell;     ///< what reads `script`; empty: `/bin/sh -eu`; of batch
    std::vector<std::string> arguments; ///< batch: `$1`, `$2` … of `script`
    std::vector<std::string> modules;
    std::vector<Setup> setup;
    std::vector<Teardown> teardown;
    Directives directives;
    Launch launch;
    Resources resources;
    std::string queue;
    std::string account;
    std::string qos;
    std::string reservation;
    std::string begin; ///< `2026-11-26T22:00` or with seconds; empty: as soon as possible
    std::string comment;
    std::optional<bool> requeue;
    std::optional<bool> append_output;
    std::string array; ///< as written, e.g. "0-9%2", or as the sweep makes it; checked
    std::optional<Sweep> sweep;
    std::vector<After> after;
    std::optional<Mail> mail;
    std::optional<PreSignal> signal;
    std::optional<Continuation> continuation;
    std::vector<std::string> binds; ///< SRC[:DST[:ro]]
    std::map<std::string, std::string> environment;
    std::string workdir;            ///< empty: the submit directory
    std::string expanded_workdir;   ///< where the program runs instead, known on the node
    std::vector<NodeText> folders;  ///< `make`: made before the program starts
    NodeText image_copy;            ///< folder on each node for a copy of the image; empty: none
    NodeText input;                 ///< file of standard input; empty: none
    std::set<std::string> expanded; ///< `binds[0]`, `environment.X`: texts with variables
    Output output;
    std::vector<std::pair<std::string, std::string>> stage_in; ///< from, to
    std::string verify_policy;                                 ///< path of a Policy …
    std::vector<std::string> verify_keys;                      ///< … or public keys
    std::string verify_require = "any";
    std::string target = "cluster";
    std::optional<KubernetesTarget> kubernetes;

    std::string digest;           ///< SHA-256 (hex) of the document's text
    std::filesystem::path folder; ///< where the document lies; relative inputs start here
    std::filesystem::path home;   ///< what `~/` stands for on this machine; empty: not known
    yaml::Source source{"", ""};
    std::map<std::string, yaml::Mark>
        marks; ///< dotted field path ("resources.time") → where it stands

    /// Fields whose value is the command line's, with the option that gave it ("-t").
    std::map<std::string, std::string> replaced;

    /// Whether `@{index}` stands for the number of an element or row.
    [[nodiscard]] bool has_index() const {
        return !array.empty() || sweep.has_value();
    }

    /// Whether the word after `-c TEXT` is `$0` to what reads `script`; to Python it is an
    /// argument.
    [[nodiscard]] bool shell_has_name() const;

    /// Where a path of the document leads on this machine: `~/` to the home, another relative one
    /// to the document's folder.
    [[nodiscard]] std::filesystem::path place(std::string_view path) const {
        return is_of_home(path) ? home / path.substr(2) : folder / path;
    }
    /// Whether it begins with `~/`, and this machine knows what that is.
    [[nodiscard]] bool is_of_home(std::string_view path) const {
        return path.starts_with("~/") && !home.empty();
    }

    /// Whether the document or the command line gives the field a value.
    [[nodiscard]] bool says(std::string_view field) const;

    /// A fault at a field (or at the document's start if it is not written); of a replaced one it
    /// names the option instead of a place.
    [[nodiscard]] Fault fault_at(std::string_view field,
                                 Problem problem,
                                 std::string because = {},
                                 std::string help = {}) const;
};

/// Reads a document of kind Job. All faults at once, each with its place (kInput).
[[nodiscard]] Result<Job> read_job(std::string text, const std::filesystem::path& file);

} // namespace cybele::launchers
