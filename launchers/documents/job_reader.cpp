// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/job.hpp"
#include "launchers/documents/job_fields.hpp"
#include "launchers/documents/job_options.hpp"
#include "launchers/documents/job_parts.hpp"
#include "support/counted.hpp"
#include "support/digest.hpp"
#include "support/document_view.hpp"
#include "support/duration.hpp"
#include "support/encoding.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

namespace cybele::launchers {
namespace {

using document::Reading;
using document::View;

struct KindName {
    std::string_view word;
    LaunchKind kind;
};
constexpr std::array<KindName, 8> kLaunchKindNames{{{"serial", LaunchKind::kSerial},
                                                    {"openmp", LaunchKind::kOpenmp},
                                                    {"mpi", LaunchKind::kMpi},
                                                    {"mpi-bind", LaunchKind::kMpiBind},
                                                    {"horovod", LaunchKind::kHorovod},
                                                    {"torch", LaunchKind::kTorch},
                                                    {"spark", LaunchKind::kSpark},
                                                    {"batch", LaunchKind::kBatch}}};

/// Which launch kinds a setting belongs to (docs/reference/job.md, table of `launch`).
struct SettingOwners {
    std::string_view setting;
    std::string_view kinds;
};
constexpr std::string_view kMpiKinds = "mpi, mpi-bind, horovod";
constexpr std::array<SettingOwners, 20> kOwners{
    {{"exact", "serial"},
     {"places", "openmp"},
     {"bind", "openmp"},
     {"launcher", kMpiKinds},
     {"pmi", kMpiKinds},
     {"binding", kMpiKinds},
     {"guard", kMpiKinds},
     {"ranks-multiple-of", kMpiKinds},
     {"oversubscribe", "mpi, mpi-bind, horovod, openmp"},
     {"allow-root", kMpiKinds},
     {"options", kMpiKinds},
     {"host-mpi", "mpi-bind"},
     {"processes-per-node", "torch"},
     {"max-restarts", "torch"},
     {"worker-cores", "spark"},
     {"worker-memory", "spark"},
     {"driver-memory", "spark"},
     {"executor-cores", "spark"},
     {"ready-within", "spark"},
     {"properties", "spark"}}};

bool names_kind(std::string_view kinds, std::string_view kind) {
    while (!kinds.empty()) {
        const auto comma = kinds.find(", ");
        if (kinds.substr(0, comma) == kind) {
            return true;
        }
        kinds = comma == std::string_view::npos ? std::string_view{} : kinds.substr(comma + 2);
    }
    return false;
}

Launch read_launch(const View& view) {
    Launch launch;
    const std::string kind = view.has("kind") ? view.text("kind") : "serial";
    for (const auto& entry : kLaunchKindNames) {
        if (entry.word == kind) {
            launch.kind = entry.kind;
        }
    }
    launch.threads = view.maybe_count("threads");
    launch.takes_all_threads = view.has("threads") && view.text("threads") == "all";
    launch.has_own_threads = view.has("threads") && view.text("threads") == "own";
    launch.is_exact = view.flag("exact");
    launch.places = view.text("places");
    launch.bind = view.text("bind");
    launch.launcher = view.text("launcher");
    launch.pmi = view.text("pmi");
    launch.binding = view.text("binding");
    launch.guard = view.flag("guard");
    launch.ranks_multiple_of = view.count("ranks-multiple-of");
    launch.oversubscribe = view.flag("oversubscribe");
    launch.allow_root = view.flag("allow-root");
    launch.options = view.list("options");
    if (view.has("host-mpi")) {
        launch.host_mpi = view.text("host-mpi");
    }
    launch.processes_per_node = view.maybe_count("processes-per-node");
    launch.max_restarts = view.count("max-restarts");
    launch.worker_cores = view.maybe_count("worker-cores");
    launch.worker_memory_bytes = view.maybe_size("worker-memory");
    launch.driver_memory_bytes =
        view.maybe_size("driver-memory").value_or(launch.driver_memory_bytes);
    launch.executor_cores = view.maybe_count("executor-cores");
    launch.ready_within = view.duration("ready-within");
    launch.properties = view.map("properties");
    return launch;
}

Resources read_resources(const View& view) {
    Resources resources;
    resources.nodes = view.maybe_count("nodes").value_or(1);
    resources.tasks_per_node = view.maybe_count("tasks-per-node").value_or(1);
    resources.tasks =
        view.maybe_count("tasks").value_or(resources.nodes * resources.tasks_per_node);
    resources.cpus_per_task = view.maybe_count("cpus-per-task").value_or(1);
    resources.memory_per_node_bytes = view.maybe_size("memory-per-node");
    resources.memory_per_cpu_bytes = view.maybe_size("memory-per-cpu");
    const View gpus = view.table("gpus-per-node");
    resources.gpus_per_node = gpus.maybe_count("count").value_or(0);
    resources.gpu_type = gpus.text("type");
    resources.time = view.maybe_duration("time");
    resources.exclusive = view.flag("exclusive");
    resources.constraint = view.list("constraint");
    read_resource_options(view, resources);
    return resources;
}

void read_people(const View& root, Job& job) {
    for (const View& item : root.tables("after")) {
        job.after.push_back({item.text("job"), item.text("when")});
    }
    if (root.has("mail")) {
        const View mail = root.table("mail");
        job.mail = Mail{mail.text("to"), mail.list("on")};
    }
    if (root.has("signal")) {
        const View signal = root.table("signal");
        job.signal = PreSignal{signal.text("name"), signal.duration("before")};
    }
    if (root.has("continue")) {
        const View view = root.table("continue");
        job.continuation = Continuation{view.list("on"), view.count("most")};
    }
}

void read_files(const View& root, Job& job) {
    read_node_files(root, job);
    for (const View& item : root.tables("stage-in")) {
        job.stage_in.emplace_back(item.text("from"), item.text("to"));
    }
    const View verify = root.table("verify");
    job.verify_policy = verify.scalar();
    job.verify_keys = verify.list("keys");
    job.verify_require = root.has("verify") ? verify.text("require") : "any";
    if (verify.is_scalar()) {
        job.verify_require = "any";
    }
}

void read_places(const View& root, Job& job) {
    if (root.has("image")) {
        const View image = root.table("image");
        job.image = JobImage{
            image.scalar(), image.text("recipe"), image.text("variant"), image.text("expand")};
    }
    job.target = root.text("target");
    if (root.has("kubernetes")) {
        const View view = root.table("kubernetes");
        KubernetesTarget target;
        target.name_space = view.text("namespace");
        target.image = view.text("image");
        target.node_selector = view.map("node-selector");
        const View results = view.table("results");
        target.results_host_path = results.text("host-path");
        target.results_claim = results.text("claim");
        target.results_path = results.text("path");
        job.kubernetes = std::move(target);
    }
}

void check_positive(Reading& reading, std::string_view path, std::optional<std::uint32_t> value) {
    if (reading.is_good(path) && value == 0U) {
        reading.complain(path,
                         problem("value-is-zero", "'" + std::string(path) + "' is 0"),
                         "nothing can run with none of them",
                         "write `1`, or more");
    }
}

void check_tasks(Reading& reading, const Job& job) {
    const Resources& wanted = job.resources;
    for (const auto& [path, value] :
         {std::pair{"resources.nodes", wanted.nodes},
          std::pair{"resources.tasks-per-node", wanted.tasks_per_node},
          std::pair{"resources.tasks", wanted.tasks},
          std::pair{"resources.cpus-per-task", wanted.cpus_per_task},
          std::pair{"launch.ranks-multiple-of", job.launch.ranks_multiple_of}}) {
        // a product of 0 is told at its factor
        if (reading.marks().contains(path)) {
            check_positive(reading, path, value);
        }
    }
    if (job.continuation) {
        check_positive(reading, "continue.most", job.continuation->most);
    }
    check_positive(reading, "launch.threads", job.launch.threads);
    check_positive(reading, "launch.processes-per-node", job.launch.processes_per_node);
    check_positive(reading, "launch.worker-cores", job.launch.worker_cores);
    check_positive(reading, "launch.executor-cores", job.launch.executor_cores);
    if (!reading.is_good("resources") || !reading.is_good("launch")) {
        return;
    }
    const std::uint64_t most = std::uint64_t{wanted.nodes} * wanted.tasks_per_node;
    const bool is_placed = !job.launch.asks_as_written() || has_placed_tasks(reading);
    if (wanted.tasks > most && is_placed) {
        reading.complain(
            "resources.tasks",
            problem("tasks-do-not-fit", "tasks: " + std::to_string(wanted.tasks) + " do not fit"),
            "nodes × tasks-per-node is " + std::to_string(most),
            "raise `nodes` or `tasks-per-node`, or lower `tasks`");
    } else if (wanted.tasks < wanted.nodes && is_placed && job.launch.kind != LaunchKind::kTorch &&
               job.launch.kind != LaunchKind::kSpark) {
        reading.complain(
            "resources.tasks",
            problem("tasks-fewer-than-nodes",
                    counted(wanted.tasks, "task") + (wanted.tasks == 1 ? " does" : " do") +
                        " not use " + std::to_string(wanted.nodes) + " nodes"),
            "each node runs at least one task; sbatch would use fewer nodes",
            "write `nodes: " + std::to_string(std::max<std::uint64_t>(wanted.tasks, 1)) + "`");
    } else if (most > kMostTasks) {
        reading.complain(
            "resources.nodes",
            problem("too-many-tasks", "nodes × tasks-per-node is " + std::to_string(most)),
            "more cores than any machine has",
            "lower one of them");
    } else if (wanted.tasks % job.launch.ranks_multiple_of != 0) {
        reading.complain("launch.ranks-multiple-of",
                         problem("tasks-not-multiple",
                                 counted(wanted.tasks, "task") +
                                     (wanted.tasks == 1 ? " is" : " are") + " not a multiple of " +
                                     std::to_string(job.launch.ranks_multiple_of)),
                         "the program deals its work out in such groups",
                         "change `tasks` or `tasks-per-node`");
    }
}

/// A size is at most what a signed number of 64 bits holds; so is a node's memory.
void check_memory(Reading& reading, const Job& job) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const Resources& wanted = job.resources;
    const std::uint64_t cores = std::uint64_t{wanted.tasks_per_node} * wanted.cpus_per_task;
    if (!wanted.memory_per_cpu_bytes || cores == 0 || !reading.is_good("resources") ||
        *wanted.memory_per_cpu_bytes <= kMost / cores) {
        return;
    }
    reading.complain(
        "resources.memory-per-cpu",
        problem("node-memory-too-large", "the memory of a node is too large"),
        fmt::format("it is that of {} cores, which is more than any machine has", cores),
        "write a smaller size");
}

void check_time(Reading& reading, const Job& job) {
    if (!job.resources.time || !reading.is_good("resources.time")) {
        return;
    }
    if (job.resources.time->count() == 0) {
        reading.complain("resources.time",
                         problem("time-is-zero", "'resources.time' is 0"),
                         "the job would be over before it begins",
                         "write for example `30 min`");
    } else if (job.signal && reading.is_good("signal") &&
               job.signal->before >= *job.resources.time) {
        reading.complain(
            "signal.before",
            problem("signal-before-start", "the signal comes before the job begins"),
            "'signal.before' is not shorter than 'resources.time'",
            "write `before: " +
                format_duration(std::chrono::seconds((job.resources.time->count() + 1) / 2)) +
                "`, or raise `time`");
    }
}

void check_settings(Reading& reading, const View& launch) {
    if (launch.is_scalar() || !reading.is_good("launch.kind")) {
        return;
    }
    const std::string kind = launch.has("kind") ? launch.text("kind") : "serial";
    for (const auto& owner : kOwners) {
        if (launch.has(owner.setting) && !names_kind(owner.kinds, kind)) {
            reading.complain("launch." + std::string(owner.setting),
                             problem("launch-setting-unknown",
                                     "'" + std::string(owner.setting) +
                                         "' is not a setting of launch kind '" + kind + "'"),
                             "it belongs to: " + std::string(owner.kinds),
                             "remove `" + std::string(owner.setting) + "`, or change `kind`");
        }
    }
}

void check_program(Reading& reading, const View& root, const Job& job) {
    if (root.has("command") && job.command.empty() && reading.is_good("command")) {
        reading.complain("command",
                         problem("command-empty", "'command' is empty"),
                         "it begins with the program",
                         "name a program, or leave the line out for the image's runscript");
    }
    const bool has_program = root.has("command") || root.has("script");
    if (!job.image && !has_program && reading.is_good("image")) {
        reading.complain("name",
                         problem("nothing-to-run", "nothing to run"),
                         "without an image there is no runscript",
                         "add `image`, `command` or `script`");
    }
    if (!job.command.empty() && job.command.front().empty() && reading.is_good("command")) {
        reading.complain("command[0]",
                         problem("program-name-empty", "the program's name is empty"),
                         {},
                         "name a program");
    }
    if (root.has("verify") && !job.image && reading.is_good("verify")) {
        reading.complain("verify",
                         problem("verify-without-image", "'verify' without an image"),
                         "only images carry signatures",
                         "add `image`, or remove `verify`");
    }
}

} // namespace

std::optional<std::uint64_t> memory_of_node(const Resources& resources) {
    if (!resources.memory_per_cpu_bytes) {
        return resources.memory_per_node_bytes;
    }
    const std::uint64_t cores = std::uint64_t{resources.tasks_per_node} * resources.cpus_per_task;
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t a_core = *resources.memory_per_cpu_bytes;
    return cores != 0 && a_core > kMost / cores ? kMost : a_core * cores;
}

bool Job::says(std::string_view field) const {
    return marks.contains(std::string(field)) || replaced.contains(std::string(field));
}

Fault Job::fault_at(std::string_view field,
                    Problem problem,
                    std::string because,
                    std::string help) const {
    for (const auto& [given, option] : replaced) {
        const bool is_within = field.size() > given.size() &&
                               (field[given.size()] == '.' || field[given.size()] == '[');
        if (field == given || (field.starts_with(given) && is_within)) {
            Fault fault;
            fault.code = ErrorCode::kInput;
            problem.message += " (" + option + ")";
            fault.set(std::move(problem));
            fault.because = std::move(because);
            fault.help = std::move(help);
            return fault;
        }
    }
    return document::fault_at(source,
                              document::mark_of(marks, field),
                              std::move(problem),
                              std::move(because),
                              std::move(help));
}

Result<Job> read_job(std::string text, const std::filesystem::path& file) {
    Job job;
    const Digest digest = sha256(text);
    CYBELE_TRY(Reading reading, Reading::open(job_kind(), std::move(text), file.string()));
    const View root = reading.root();
    job.name = root.text("name");
    job.command = root.list("command");
    job.script = root.text("script");
    job.launch = read_launch(root.table("launch"));
    read_batch(root, job);
    job.resources = read_resources(root.table("resources"));
    job.queue = root.text("queue");
    job.account = root.text("account");
    job.qos = root.text("qos");
    read_job_options(root, job);
    job.array = root.text("array");
    job.folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
    read_sweep(reading, root, job);
    read_people(root, job);
    read_files(root, job);
    read_places(root, job);
    check_tasks(reading, job);
    check_memory(reading, job);
    check_time(reading, job);
    check_settings(reading, root.table("launch"));
    check_program(reading, root, job);
    check_batch(reading, root, job);
    check_options(reading, job);
    check_expanded(reading, root, job);
    if (reading.faults().has_errors()) {
        return fail(reading.faults().take());
    }
    job.digest = hex(digest);
    job.source = reading.source();
    job.marks = reading.marks();
    if (job.sweep) {
        job.marks.emplace("array", document::mark_of(job.marks, "sweep"));
    }
    return job;
}

} // namespace cybele::launchers
