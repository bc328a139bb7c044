// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/field_shapes.hpp"
#include "launchers/documents/job_fields.hpp"
#include "launchers/documents/job_fields_rules.hpp"

namespace cybele::launchers {
namespace {

using document::Field;
using document::Group;
using document::Shape;
using document::Table;
using document::Type;

constexpr Shape kUrl{.type = Type::kText, .rule = &kUrlRule};

// scheduler
constexpr std::string_view kDialects[] = {"slurm", "torque", "pbspro", "slurm-torque", "local"};
constexpr std::string_view kThroughWords[] = {"commands"};
constexpr Shape kDialect{.type = Type::kWord, .words = kDialects};
constexpr Shape kThroughWord{.type = Type::kWord, .words = kThroughWords};
constexpr Field kThroughFields[] = {
    {"ssh", &kText, "a host with the scheduler's commands"},
    {"slurmrestd", &kUrl, "address of Slurm's REST service"},
    {"rimrock", &kUrl, "address of a rimrock service"},
    {"host", &kText, "rimrock: the login host"},
    {"token-command", &kText, "slurmrestd, rimrock: a command that prints the token"},
};
constexpr std::string_view kThroughNames[] = {"ssh", "slurmrestd", "rimrock"};
constexpr Group kThroughGroups[] = {{kThroughNames, true}};
constexpr Table kThroughTable{
    .title = "through", .fields = kThroughFields, .groups = kThroughGroups};
constexpr Shape kThrough{.type = Type::kMap, .table = &kThroughTable, .scalar = &kThroughWord};
constexpr std::string_view kAccountOptions[] = {"-A", "-P"};
constexpr Shape kAccountOption{.type = Type::kWord, .words = kAccountOptions};
constexpr Field kSchedulerFields[] = {
    {"dialect", &kDialect, "slurm-torque is Slurm's qsub", true},
    {"version", &kText, "its version"},
    {"through", &kThrough, "how it is reached", false, "commands"},
    {"patience", &kDuration, "until a job without any trace is lost", false, "5 min"},
    {"account-option",
     &kAccountOption,
     "pbspro: the option for `account`; -P where projects pay",
     false,
     "-A"},
};
constexpr Table kSchedulerTable{
    .title = "scheduler", .fields = kSchedulerFields, .has_short_form = true};
constexpr Shape kScheduler{.type = Type::kMap, .table = &kSchedulerTable};

// runtime, node
constexpr std::string_view kPrograms[] = {"apptainer", "singularity", "cybelectl"};
constexpr std::string_view kModes[] = {"setuid", "userns", "root"};
constexpr Shape kProgram{.type = Type::kWord, .words = kPrograms};
constexpr Shape kMode{.type = Type::kWord, .words = kModes};
constexpr Field kRuntimeFields[] = {
    {"program", &kProgram, "what starts containers on the nodes", true},
    {"version", &kText, "its version"},
    {"path", &kPath, "where it is, if not on PATH"},
    {"mode", &kMode, "how it gets its rights"},
};
constexpr Table kRuntimeTable{.title = "runtime", .fields = kRuntimeFields, .has_short_form = true};
constexpr Shape kRuntime{.type = Type::kMap, .table = &kRuntimeTable};
constexpr Field kNodeFields[] = {
    {"arch", &kText, "amd64, arm64 …"},
    {"glibc", &kText, "version of the nodes' C library"},
};
constexpr Table kNodeTable{.title = "node", .fields = kNodeFields};
constexpr Shape kNode{.type = Type::kMap, .table = &kNodeTable};

// mpi, interconnect, scratch
constexpr std::string_view kFamilies[] = {"openmpi", "mpich", "mvapich2", "mvapich", "intel"};
constexpr Shape kFamily{.type = Type::kWord, .words = kFamilies};
constexpr Field kMpiFields[] = {
    {"family", &kFamily, "whose MPI it is", true},
    {"version", &kText, "its version", true},
    {"prefix", &kPath, "where it is installed"},
    {"launcher", &kText, "its start program"},
    {"modules", &kTexts, "to load before it is used"},
};
constexpr Table kMpiTable{.title = "mpi", .fields = kMpiFields};
constexpr Shape kMpiItem{.type = Type::kMap, .table = &kMpiTable};
constexpr Shape kMpi{.type = Type::kList, .item = &kMpiItem};
constexpr std::string_view kFabrics[] = {"ethernet", "infiniband", "omni-path", "slingshot"};
constexpr Shape kFabric{.type = Type::kWord, .words = kFabrics};
constexpr Shape kNetwork{.type = Type::kText, .rule = &kNetworkRule};
constexpr Field kInterconnectFields[] = {
    {"kind", &kFabric, "the fast network", false, "ethernet"},
    {"network", &kNetwork, "its addresses, as `10.0.0.0/24`"},
};
constexpr Table kInterconnectTable{.title = "interconnect", .fields = kInterconnectFields};
constexpr Shape kInterconnect{.type = Type::kMap, .table = &kInterconnectTable};
constexpr Field kScratchFields[] = {
    {"node",
     &kNodePath,
     "for temporary files of Spark, local to each node; `$USER` and `$CYBELE_JOB` are expanded, "
     "other variables by `{expand: $LOCAL_SCRATCH}`"},
};
constexpr Table kScratchTable{.title = "scratch", .fields = kScratchFields};
constexpr Shape kScratch{.type = Type::kMap, .table = &kScratchTable};

// queues
constexpr std::string_view kGpuVendors[] = {"nvidia", "amd", "intel"};
constexpr Shape kGpuVendor{.type = Type::kWord, .words = kGpuVendors};
constexpr std::string_view kQueueGpuForms[] = {"gpus-per-node", "gpus-per-task", "gres"};
constexpr Shape kQueueGpuForm{.type = Type::kWord, .words = kQueueGpuForms};
constexpr Field kQueueFields[] = {
    {"name", &kText, "queue or partition", true},
    {"nodes", &kCount, "most nodes of a job"},
    {"cores-per-node", &kCount, "cores of a node"},
    {"memory-per-node", &kSize, "memory of a node"},
    {"gpus-per-node", &kCount, "GPUs of a node", false, "0"},
    {"gpu-type", &kText, "their name in the scheduler, for Jobs that name none"},
    {"gpu-form", &kQueueGpuForm, "Slurm's option for them", false, "gpus-per-node"},
    {"gpu-vendor", &kGpuVendor, "who made them, for images that do not say it"},
    {"time", &kDuration, "for jobs that name none"},
    {"max-time", &kDuration, "the longest"},
    {"features", &kTexts, "words that `constraint` may name"},
    {"account", &kText, "for jobs that name none; unset: that of the Site"},
    {"qos", &kText, "Slurm's quality of service, likewise"},
    {"directives", &kDirectives, "further options of the batch system for its jobs"},
    {"modules", &kTexts, "loaded by its jobs, after those of the Site"},
    {"setup", &kSetup, "shell code before the program, after that of the Site"},
    {"teardown", &kTeardown, "shell code after the program, before that of the Site"},
};
constexpr Table kQueueTable{.title = "queues", .fields = kQueueFields};
constexpr Shape kQueueItem{.type = Type::kMap, .table = &kQueueTable};
constexpr Shape kQueues{.type = Type::kList, .item = &kQueueItem};

// kubernetes
constexpr std::string_view kBridges[] = {
    "torque-operator", "wlm-operator", "hpc-connector", "interlink", "cybelectl"};
constexpr Shape kBridge{.type = Type::kWord, .words = kBridges};
constexpr Field kConnectorFields[] = {
    {"image", &kImageReference, "the connector's image"},
    {"backend", &kName, "ConfigMap with the back end's settings"},
    {"credentials", &kName, "Secret with its credentials"},
    {"monitoring-period", &kDuration, "between two looks at the job", false, "30 s"},
    {"grace", &kDuration, "for ending after a cancel", false, "60 s"},
};
constexpr Table kConnectorTable{.title = "connector", .fields = kConnectorFields};
constexpr Shape kConnector{.type = Type::kMap, .table = &kConnectorTable};
constexpr Field kSiteKubernetesFields[] = {
    {"bridge", &kBridge, "what carries jobs from Kubernetes to the cluster", true},
    {"api-version", &kText, "of its objects, where the bridge's default does not fit"},
    {"kind", &kText, "of its objects, likewise"},
    {"node-name", &kText, "the virtual node that stands for the cluster"},
    {"pod-cores", &kCount, "cores that a pod can have at most; for `target: auto`"},
    {"pod-memory", &kSize, "memory that a pod can have at most; for `target: auto`"},
    {"pod-time", &kDuration, "how long a pod is left alone; for `target: auto`"},
    {"connector", &kConnector, "settings of mirror Jobs"},
};
constexpr Table kSiteKubernetesTable{.title = "kubernetes", .fields = kSiteKubernetesFields};
constexpr Shape kSiteKubernetes{.type = Type::kMap, .table = &kSiteKubernetesTable};

constexpr Field kSiteFields[] = {
    {"name", &kName, "the site's name", true},
    {"scheduler", &kScheduler, "the batch system", true},
    {"runtime", &kRuntime, "the container runtime; unset: found by the script"},
    {"node", &kNode, "facts of the compute nodes"},
    {"mpi", &kMpi, "MPIs of the host; the first is the default"},
    {"pmi", &kTexts, "what `srun --mpi=list` prints, as `[pmix, pmi2, none]`"},
    {"interconnect", &kInterconnect, "the network between nodes"},
    {"scratch", &kScratch, "folders for temporary data"},
    {"queues",
     &kQueues,
     "queues with their limits; a Job that names none gets the first that it fits in"},
    {"account", &kText, "who pays for jobs that name no `account`"},
    {"qos", &kText, "Slurm's quality of service for jobs that name none"},
    {"modules", &kTexts, "loaded by each script"},
    {"setup", &kSetup, "shell code before each program, on the first node or on each"},
    {"teardown", &kTeardown, "shell code after each program, on the first node"},
    {"directives", &kDirectives, "further options of the batch system for each job"},
    {"templates", &kPath, "folder with templates that replace embedded ones"},
    {"binds", &kBindList, "for each container, before those of the Job"},
    {"environment", &kEnvironment, "for each program; a Job's own values count more"},
    {"verify", &kVerify, "as in a Job; required of every Job with an `image`"},
    {"kubernetes", &kSiteKubernetes, "how Kubernetes reaches this site"},
};
constexpr Table kSiteTable{.title = "Site", .fields = kSiteFields};
constexpr document::Kind kSite{
    .name = "Site", .description = "Facts of a place where jobs run.", .table = &kSiteTable};

} // namespace

const document::Kind& site_kind() {
    return kSite;
}

} // namespace cybele::launchers
