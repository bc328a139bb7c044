// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/job_fields.hpp"

#include "launchers/documents/field_shapes.hpp"
#include "launchers/documents/job_fields_rules.hpp"

namespace cybele::launchers {
namespace {

using document::Field;
using document::Group;
using document::Shape;
using document::Table;
using document::Type;

constexpr Shape kValue{.type = Type::kValue};
constexpr Shape kFlag{.type = Type::kFlag};
constexpr Shape kArgv{.type = Type::kList, .item = &kValue};

// image
constexpr Field kImageFields[] = {
    {"recipe", &kPath, "a Recipe to build the image from"},
    {"variant", &kText, "the variant of its matrix"},
    {"expand", &kExpansion, "a path with variables of the node, as `$SCRATCH/app.sif`"},
};
constexpr std::string_view kImageNames[] = {"recipe", "expand"};
constexpr Group kImageGroups[] = {{kImageNames, true}};
constexpr Table kImageTable{.title = "image", .fields = kImageFields, .groups = kImageGroups};
constexpr Shape kImage{.type = Type::kMap, .table = &kImageTable, .scalar = &kImageReference};

// launch
constexpr std::string_view kLaunchKinds[] = {
    "serial", "openmp", "mpi", "mpi-bind", "horovod", "torch", "spark", "batch"};
constexpr std::string_view kThreadWords[] = {"all", "own"};
constexpr std::string_view kPlaces[] = {"cores", "threads", "sockets"};
constexpr std::string_view kBinds[] = {"close", "spread", "none"};
constexpr std::string_view kLaunchers[] = {"auto", "mpirun", "srun", "hydra"};
constexpr std::string_view kPmis[] = {"auto", "pmix", "pmi2", "default"};
constexpr std::string_view kBindings[] = {"auto", "core", "none"};
constexpr Shape kLaunchKind{.type = Type::kWord, .words = kLaunchKinds};
constexpr Shape kThreads{.type = Type::kCount, .words = kThreadWords};
constexpr Shape kPlace{.type = Type::kWord, .words = kPlaces};
constexpr Shape kBind{.type = Type::kWord, .words = kBinds};
constexpr Shape kLauncher{.type = Type::kWord, .words = kLaunchers};
constexpr Shape kPmi{.type = Type::kWord, .words = kPmis};
constexpr Shape kBinding{.type = Type::kWord, .words = kBindings};
constexpr Table kProperties{.title = "properties", .rest = &kValue};
constexpr Shape kPropertyMap{.type = Type::kMap, .table = &kProperties};
constexpr Field kLaunchFields[] = {
    {"kind", &kLaunchKind, "how the program is started", false, "serial"},
    {"threads",
     &kThreads,
     "threads of a task; unset: `cpus-per-task`; `all`: of its cores; `own`: no variable is set"},
    {"exact",
     &kFlag,
     "serial: ask for what is written and no more; the process may leave some of it unused",
     false,
     "false"},
    {"places",
     &kPlace,
     "openmp: what a thread is bound to; without Slurm or `exclusive` no default",
     false,
     "cores"},
    {"bind",
     &kBind,
     "openmp: how threads are spread; without Slurm or `exclusive` no default",
     false,
     "close"},
    {"launcher",
     &kLauncher,
     "mpi, mpi-bind, horovod: who starts the ranks; `hydra`: mpirun of MPICH or Intel MPI",
     false,
     "auto"},
    {"pmi",
     &kPmi,
     "mpi, mpi-bind, horovod: how ranks find each other; `default`: srun by its own "
     "settings, also for cores of ranks and the end of one rank",
     false,
     "auto"},
    {"binding", &kBinding, "mpi, mpi-bind, horovod: what a rank is bound to", false, "auto"},
    {"guard", &kFlag, "mpi, mpi-bind, horovod: refuse N jobs of one rank", false, "true"},
    {"ranks-multiple-of", &kCount, "mpi, mpi-bind, horovod: a condition on tasks", false, "1"},
    {"oversubscribe",
     &kFlag,
     "mpi, mpi-bind, horovod, openmp: more ranks or threads than cores are meant",
     false,
     "false"},
    {"allow-root", &kFlag, "mpi, mpi-bind, horovod: mpirun may run as root", false, "false"},
    {"options", &kTexts, "mpi, mpi-bind, horovod: further words for the launcher"},
    {"host-mpi", &kPath, "mpi-bind: prefix of the host's MPI; unset: found"},
    {"processes-per-node", &kCount, "torch: unset: the GPUs of a node, or 1"},
    {"max-restarts", &kCount, "torch: restarts after a worker died", false, "0"},
    {"worker-cores", &kCount, "spark: cores of a worker; unset: the allotted"},
    {"worker-memory", &kSize, "spark: unset: the allotted less daemons and driver"},
    {"driver-memory", &kSize, "spark: memory of the driver", false, "1 GiB"},
    {"executor-cores", &kCount, "spark: cores of an executor"},
    {"ready-within", &kDuration, "spark: how long to wait for all workers", false, "2 min"},
    {"properties", &kPropertyMap, "spark: further properties"},
};
constexpr Table kLaunchTable{.title = "launch", .fields = kLaunchFields, .has_short_form = true};
constexpr Shape kLaunch{.type = Type::kMap, .table = &kLaunchTable};

// resources
constexpr std::string_view kGpuForms[] = {"gpus-per-node", "gres"};
constexpr Shape kGpuForm{.type = Type::kWord, .words = kGpuForms};
constexpr Field kGpuFields[] = {
    {"count", &kCount, "how many", true},
    {"type", &kText, "name of the GPU model in the scheduler"},
    {"form", &kGpuForm, "Slurm's option for it; unset: the Site's `gpu-form`"},
};
constexpr Field kGpuCountFields[] = {
    {"count", &kCount, "how many", true},
    {"type", &kText, "name of the GPU model in the scheduler"},
};
constexpr Table kGpuCountTable{.title = "gpus", .fields = kGpuCountFields, .has_short_form = true};
constexpr Shape kGpuCount{.type = Type::kMap, .table = &kGpuCountTable};
constexpr Table kGpuTable{.title = "gpus-per-node", .fields = kGpuFields, .has_short_form = true};
constexpr Shape kGpus{.type = Type::kMap, .table = &kGpuTable};
constexpr Shape kHost{.type = Type::kText, .rule = &kHostRule};
constexpr Shape kHosts{.type = Type::kList, .item = &kHost};
constexpr Table kLicenseTable{.title = "licenses", .rest = &kCount, .rest_key = &kLicenseRule};
constexpr Shape kLicenses{.type = Type::kMap, .table = &kLicenseTable};
constexpr Table kGresTable{.title = "gres", .rest = &kCount, .rest_key = &kGresRule};
constexpr Shape kGres{.type = Type::kMap, .table = &kGresTable};
constexpr std::string_view kMemoryWords[] = {"all"};
constexpr Shape kMemory{.type = Type::kWord, .words = kMemoryWords, .rule = &kMemoryRule};
constexpr Field kResourceFields[] = {
    {"nodes", &kCount, "nodes of the job", false, "1"},
    {"tasks-per-node", &kCount, "tasks (ranks) on each node", false, "1"},
    {"tasks", &kCount, "tasks in all; unset: nodes × tasks-per-node"},
    {"cpus-per-task", &kCount, "cores of a task", false, "1"},
    {"memory-per-node", &kSize, "memory on each node"},
    {"memory-per-cpu", &kSize, "memory per core"},
    {"memory-per-gpu", &kSize, "memory per GPU"},
    {"memory", &kMemory, "`all`: all memory of each node"},
    {"gpus-per-node", &kGpus, "GPUs on each node", false, "0"},
    {"gpus", &kGpuCount, "GPUs of the job in all"},
    {"gpus-per-task", &kGpuCount, "GPUs of each task"},
    {"cpus-per-gpu", &kCount, "batch: cores per GPU, in place of `cpus-per-task`"},
    {"time", &kDuration, "the job's time limit; unset: the queue's, from the Site"},
    {"exclusive", &kFlag, "no other job on the nodes", false, "false"},
    {"constraint", &kTexts, "features that the nodes must have"},
    {"hosts", &kHosts, "nodes that the job must get"},
    {"exclude", &kHosts, "nodes that the job must not get"},
    {"threads-per-core", &kCount, "hardware threads of a core that are used"},
    {"licenses", &kLicenses, "licences and how many, as `{matlab: 2}`"},
    {"gres", &kGres, "other resources of each node, as `{lscratch: 100}`"},
};
constexpr std::string_view kMemoryNames[] = {
    "memory", "memory-per-node", "memory-per-cpu", "memory-per-gpu"};
constexpr std::string_view kGpuNames[] = {"gpus-per-node", "gpus", "gpus-per-task"};
constexpr std::string_view kCoreNames[] = {"cpus-per-task", "cpus-per-gpu"};
constexpr Group kResourceGroups[] = {{kMemoryNames}, {kGpuNames}, {kCoreNames}};
constexpr Table kResourceTable{
    .title = "resources", .fields = kResourceFields, .groups = kResourceGroups};
constexpr Shape kResources{.type = Type::kMap, .table = &kResourceTable};

// after, mail, signal
constexpr std::string_view kAfterWords[] = {"ok", "any", "failed", "started"};
constexpr Shape kAfterWhen{.type = Type::kWord, .words = kAfterWords};
constexpr Field kAfterFields[] = {
    {"job", &kText, "the id of a job, or the name of one in this Project", true},
    {"when", &kAfterWhen, "how that job must have gone", false, "ok"},
};
constexpr Table kAfterTable{.title = "after", .fields = kAfterFields};
constexpr Shape kAfterItem{.type = Type::kMap, .table = &kAfterTable};
constexpr Shape kAfter{.type = Type::kList, .item = &kAfterItem};

constexpr std::string_view kMailWords[] = {"begin", "end", "fail", "all"};
constexpr Shape kMailWord{.type = Type::kWord, .words = kMailWords};
constexpr Shape kMailOn{.type = Type::kList, .item = &kMailWord};
constexpr Field kMailFields[] = {
    {"to", &kText, "address", true},
    {"on", &kMailOn, "when", false, "[end, fail]"},
};
constexpr Table kMailTable{.title = "mail", .fields = kMailFields};
constexpr Shape kMail{.type = Type::kMap, .table = &kMailTable};

constexpr std::string_view kSignalWords[] = {"USR1", "USR2", "TERM", "INT", "HUP", "QUIT", "CONT"};
constexpr Shape kSignalName{.type = Type::kWord, .words = kSignalWords};
constexpr Field kSignalFields[] = {
    {"name", &kSignalName, "the signal that the program gets", false, "USR1"},
    {"before", &kDuration, "how long before its time is up", false, "5 min"},
};
constexpr Table kSignalTable{.title = "signal", .fields = kSignalFields};
constexpr Shape kSignal{.type = Type::kMap, .table = &kSignalTable};

constexpr std::string_view kContinueWords[] = {"timeout", "preempted", "node-fail"};
constexpr Shape kContinueWord{.type = Type::kWord, .words = kContinueWords};
constexpr Shape kContinueOn{.type = Type::kList, .item = &kContinueWord};
constexpr Field kContinueFields[] = {
    {"on", &kContinueOn, "how the job has ended", false, "[timeout, preempted, node-fail]"},
    {"most", &kCount, "how often it is submitted again at most", true},
};
constexpr Table kContinueTable{.title = "continue", .fields = kContinueFields};
constexpr Shape kContinue{.type = Type::kMap, .table = &kContinueTable};

// binds, environment, files
constexpr Shape kResult{.type = Type::kText, .rule = &kResultRule};
constexpr Shape kResults{.type = Type::kList, .item = &kResult};
constexpr Field kOutputFields[] = {
    {"stdout", &kNodePath, "`%x` name, `%j` id, `%a` index", false, "%x-%j.out"},
    {"stderr", &kNodePath, "the same for standard error", false, "%x-%j.err"},
    {"results", &kResults, "patterns below `workdir` of files to bring back"},
    {"to", &kPath, "folder for them", false, "results"},
};
constexpr Table kOutputTable{.title = "output", .fields = kOutputFields};
constexpr Shape kOutput{.type = Type::kMap, .table = &kOutputTable};
constexpr Field kStageInFields[] = {
    {"from", &kPath, "file or folder of the submitting side", true},
    {"to", &kPath, "where it goes, below `workdir`", true},
};
constexpr Table kStageInTable{.title = "stage-in", .fields = kStageInFields};
constexpr Shape kStageInItem{.type = Type::kMap, .table = &kStageInTable};
constexpr Shape kStageIn{.type = Type::kList, .item = &kStageInItem};

// target, kubernetes
constexpr std::string_view kTargetWords[] = {"auto", "cluster", "kubernetes"};
constexpr Shape kTarget{.type = Type::kWord, .words = kTargetWords};
constexpr Table kSelectorTable{.title = "node-selector", .rest = &kValue};
constexpr Shape kSelector{.type = Type::kMap, .table = &kSelectorTable};
constexpr Field kKubeResultFields[] = {
    {"host-path", &kPath, "a folder of the node"},
    {"claim", &kName, "a PersistentVolumeClaim"},
    {"path", &kPath, "folder in it"},
};
constexpr std::string_view kKubeResultNames[] = {"host-path", "claim"};
constexpr Group kKubeResultGroups[] = {{kKubeResultNames, true}};
constexpr Table kKubeResultTable{
    .title = "kubernetes.results", .fields = kKubeResultFields, .groups = kKubeResultGroups};
constexpr Shape kKubeResults{.type = Type::kMap, .table = &kKubeResultTable};
constexpr Field kJobKubernetesFields[] = {
    {"namespace", &kName, "the namespace of the objects", false, "default"},
    {"image", &kText, "image of a registry, for a run on Kubernetes itself (`kind: Job`)"},
    {"node-selector", &kSelector, "labels that the node must have"},
    {"results", &kKubeResults, "where results are put"},
};
constexpr Table kJobKubernetesTable{.title = "kubernetes", .fields = kJobKubernetesFields};
constexpr Shape kJobKubernetes{.type = Type::kMap, .table = &kJobKubernetesTable};

constexpr Shape kJobName{.type = Type::kText, .rule = &kJobNameForm};
constexpr Shape kShell{.type = Type::kTextOrList};
constexpr Shape kBegin{.type = Type::kText, .rule = &kBeginRule};
constexpr Shape kArray{.type = Type::kText, .rule = &kArrayRule};
constexpr std::string_view kPackWords[] = {"all"};
constexpr Shape kPack{.type = Type::kCount, .words = kPackWords};
constexpr Shape kSweepValues{.type = Type::kTextOrList};
constexpr Table kExcludeTable{.title = "exclude", .rest = &kValue};
constexpr Shape kExcludeItem{.type = Type::kMap, .table = &kExcludeTable};
constexpr Shape kExclude{.type = Type::kList, .item = &kExcludeItem};
constexpr Field kSweepFields[] = {
    {"table", &kPath, "comma-separated rows; the first line has the names"},
    {"exclude", &kExclude, "combinations that are left out, as `{lr: 0.1, seed: 3}`"},
    {"pack", &kPack, "rows that share one element of the array; `all`: one job"},
    {"at-once", &kCount, "rows that run at the same time; with `pack`: of an element"},
};
constexpr Table kSweepTable{.title = "sweep", .fields = kSweepFields, .rest = &kSweepValues};
constexpr Shape kSweep{.type = Type::kMap, .table = &kSweepTable};
constexpr Field kJobFields[] = {
    {"name", &kName, "the job's name", true},
    {"job-name", &kJobName, "the name in the batch system; unset: `name`"},
    {"image",
     &kImage,
     "what the program runs in; a path is relative to the folder of this file; unset: the program "
     "is the host's"},
    {"command", &kArgv, "the program and its arguments; Spark: application and arguments"},
    {"script", &kScript, "instead of `command`; neither: the image's runscript"},
    {"launch", &kLaunch, "how the program is started", false, "serial"},
    {"shell",
     &kShell,
     "batch, serial, openmp: the program that reads `script`, as `[bash, -l]`; no "
     "`set -eu` then; unset: what the first line of `script` names (`#!/bin/dash`)"},
    {"arguments", &kArgv, "batch, serial, openmp: `$1`, `$2` … of `script`"},
    {"modules", &kTexts, "loaded before the program starts, after those of the Site"},
    {"setup", &kSetup, "shell code before the program, on the first node or on each"},
    {"teardown", &kTeardown, "shell code after the program, on the first node"},
    {"resources", &kResources, "what the job needs"},
    {"queue",
     &kText,
     "queue or partition, for Slurm also several: `a,b`; unset: the Site's first that it fits in"},
    {"account", &kText, "who pays"},
    {"qos", &kText, "quality of service"},
    {"reservation", &kText, "a reservation of the batch system"},
    {"begin", &kBegin, "not before this local time, as `2026-11-26T22:00`"},
    {"comment", &kText, "a comment that the batch system stores"},
    {"requeue", &kFlag, "start again after a lost node or a preemption; unset: `false`"},
    {"append-output", &kFlag, "append to the output files; unset: they are written new"},
    {"directives", &kDirectives, "further options of a batch system, written as they are"},
    {"array",
     &kArray,
     "`0-9`, `0-9:3`, `1,4,7`; `%2`: at most two at a time; see [Arrays](#arrays)"},
    {"sweep", &kSweep, "one run per row of values; see [Sweeps](#sweeps)"},
    {"after", &kAfter, "jobs that come before this one"},
    {"mail", &kMail, "address for messages"},
    {"signal", &kSignal, "to the program, before its time is up"},
    {"continue",
     &kContinue,
     "when it is submitted again by the command that waits; see [Continuing](#continuing)"},
    {"binds", &kBindList, "`SRC[:DST[:ro]]`; with variables of the node: `{expand: ...}`"},
    {"environment", &kEnvironment, "in the container; `@file:PATH` is read on the node (secrets)"},
    {"workdir", &kNodePath, "where it runs; unset: the folder of the Job's file"},
    {"make", &kNodePaths, "folders that are made before the program starts, on the first node"},
    {"image-copy", &kNodePath, "folder on each node where a copy of the image is started from"},
    {"input", &kNodePath, "file of the program's standard input"},
    {"output", &kOutput, "files of standard output and error, and results"},
    {"stage-in", &kStageIn, "copied before, when the digest differs"},
    {"verify", &kVerify, "a Policy, or keys: checked before submission and again in the job"},
    {"target", &kTarget, "where it runs", false, "cluster"},
    {"kubernetes", &kJobKubernetes, "settings for Kubernetes"},
};
constexpr std::string_view kProgramNames[] = {"command", "script"};
constexpr std::string_view kIndexNames[] = {"array", "sweep"};
constexpr Group kJobGroups[] = {{kProgramNames}, {kIndexNames}};
constexpr Table kJobTable{.title = "Job", .fields = kJobFields, .groups = kJobGroups};
constexpr document::Kind kJob{
    .name = "Job", .description = "How a program runs.", .table = &kJobTable};

} // namespace

const document::Kind& job_kind() {
    return kJob;
}

} // namespace cybele::launchers
