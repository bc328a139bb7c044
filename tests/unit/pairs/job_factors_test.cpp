// SPDX-License-Identifier: Apache-2.0
#include "job_factors.hpp"
#include "launchers/documents/job_fields.hpp"
#include "support/document.hpp"

#include <set>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::pairs {
namespace {

using nlohmann::json;

// Numbers differ from each other, and none is 1 or 2, so that a factor that is dropped, swapped or
// taken twice shows. Texts hold a blank, `~`, a leading `-`, `#`, `%` and a tab in turn. Each count
// has 0 and the largest that fits.
constexpr Factor kFactors[] = {
    {"",
     "target",
     R"(["slurm", "torque", "pbspro", "slurm-torque", "local", "TorqueJob", "SlurmJob", "Pod",
         "MirrorJob slurm", "MirrorJob torque", "MirrorJob pbspro"])"},
    {"", "facts", R"([null, "openmpi 4.1.4", "mpich 4.0.2", "no MPI", "rocm"])"},

    {"job",
     "name",
     R"(["grain-mill-9", "n234567890-234567890-234567890-234567890-234567890", "My Job"])"},
    {"job", "job-name", R"([null, "Mill_9.b", "a b", "-x", "a/b"])"},
    {"job",
     "image",
     R"([null, "/data/a b.sif", "~/x y.sif", "-x.sif", "a#b%c.sif", "/data/i,m:g.sif", "a\tb.sif",
         {"recipe": "rec ipes/-wheat.yaml", "variant": "mpich"}, {"recipe": "~wheat.yaml"},
         {"expand": "$W7/a b.sif"}, {"expand": "$W7/x.sif", "variant": "y"}])"},
    {"job",
     "*",
     R"([{"command": ["prog", "a b", "~", "-x", "#", "%j", "$HOME", "'", "\"", "`id`", "\\", ""]},
         {"command": ["train.py", "--level=3"]},
         {"script": "echo one\nprintf '%s' \"$#\" # ~ %\n\techo \\tab"},
         {},
         {"command": ["-prog", "@{index}", "x@{index}y"]},
         {"script": "  #SBATCH --mem=3"},
         {"command": []}, {"command": ["a\tb"]},
         {"command": ["p"], "script": "q"}])"},

    {"job",
     "launch.kind",
     R"([null, "serial", "openmp", "mpi", "mpi-bind", "horovod", "torch", "spark", "batch"])"},
    {"job", "launch.threads", R"([null, 3, 7, "all", "own", 0, 4294967295])"},
    {"job", "launch.exact", R"([null, true, false])"},
    {"job", "launch.places", R"([null, "cores", "threads", "sockets"])"},
    {"job", "launch.bind", R"([null, "close", "spread", "none"])"},
    {"job", "launch.launcher", R"([null, "auto", "mpirun", "srun", "hydra"])"},
    {"job", "launch.pmi", R"([null, "auto", "pmix", "pmi2", "default"])"},
    {"job", "launch.binding", R"([null, "auto", "core", "none"])"},
    {"job", "launch.guard", R"([null, true, false])"},
    {"job", "launch.ranks-multiple-of", R"([null, 3, 11, 0])"},
    {"job", "launch.oversubscribe", R"([null, true, false])"},
    {"job", "launch.allow-root", R"([null, true, false])"},
    {"job",
     "launch.options",
     R"([null, ["--tag-output", "a b", "#", "%", "~", "$HOME"], ["--hostfile=x"], ["a\tb"]])"},
    {"job", "launch.host-mpi", R"([null, "/opt/m p i", "~/m p", "-mpi", "/opt/#%"])"},
    {"job", "launch.processes-per-node", R"([null, 3, 12, 0])"},
    {"job", "launch.max-restarts", R"([null, 4, 0, 4294967295])"},
    {"job", "launch.worker-cores", R"([null, 3, 0, 4294967295])"},
    {"job", "launch.worker-memory", R"([null, "5 GiB", "1 MiB", "8191 PiB"])"},
    {"job", "launch.driver-memory", R"([null, "3 GiB", "8191 PiB"])"},
    {"job", "launch.executor-cores", R"([null, 3, 0])"},
    {"job", "launch.ready-within", R"([null, "7 min", "0 s"])"},
    {"job",
     "launch.properties",
     R"([null, {"spark.a": "a b\\c", "spark.b": "~#%'"}, {"spark.master": "x"}, {"x y": "z"}])"},

    {"job", "resources.nodes", R"([null, 3, 17, 0, 4294967295])"},
    {"job", "resources.tasks-per-node", R"([null, 5, 0, 4294967295])"},
    {"job", "resources.tasks", R"([null, 11, 1, 0])"},
    {"job", "resources.cpus-per-task", R"([null, 7, 13, 0, 4294967295])"},
    {"job",
     "resources.*",
     R"([{}, {"memory-per-node": "23 GiB"}, {"memory-per-node": "1025 KiB"}, {"memory-per-cpu": "3 GiB"},
         {"memory-per-cpu": "1025 KiB"}, {"memory-per-cpu": "8191 PiB"}, {"memory-per-node": "8191 PiB"},
         {"memory-per-node": "4 GiB", "memory-per-cpu": "3 GiB"}, {"memory": "all"},
         {"memory-per-gpu": "9 GiB"}, {"memory-per-gpu": "1025 KiB"}])"},
    {"job",
     "resources.gpus-per-node",
     R"([null, 4, {"count": 6, "type": "a100"}, {"count": 3, "type": "a b"}, 0,
         {"count": 8, "type": "h100", "form": "gres"}, {"count": 9, "form": "gpus-per-node"}])"},
    {"job",
     "resources.gpus",
     R"([null, 3, {"count": 12, "type": "a100"}, {"count": 3, "type": "a b"}, 0])"},
    {"job", "resources.gpus-per-task", R"([null, 3, {"count": 7, "type": "a100"}, 0, 4294967295])"},
    {"job", "resources.cpus-per-gpu", R"([null, 6, 0])"},
    {"job", "resources.hosts", R"([null, ["n4"], ["n5", "n6.b", "n7"], ["n[01-03]"], ["-x"]])"},
    {"job", "resources.exclude", R"([null, ["n8"], ["n[10,12]", "n9"], ["a b"]])"},
    {"job", "resources.threads-per-core", R"([null, 3, 0])"},
    {"job",
     "resources.licenses",
     R"([null, {"matlab": 3}, {"a@b": 4, "c": 6}, {"x": 0}, {"a b": 3}])"},
    {"job",
     "resources.gres",
     R"([null, {"lscratch": 99}, {"nvme:big": 3, "shard": 5}, {"gpu": 3}, {"x": 0}])"},
    {"job", "resources.time", R"([null, "49 h", "90 min", "00:00:59", "0 s"])"},
    {"job", "resources.exclusive", R"([null, true, false])"},
    {"job", "resources.constraint", R"([null, ["ib", "nvme"], ["a b"], ["-x"], ["#%"]])"},

    {"job", "shell", R"([null, "sh", ["bash", "-l"], ["/o p/perl", "-#"], [""]])"},
    {"job", "arguments", R"([null, ["a b", "~", "$1", ""], ["x@{index}"], ["a\tb"]])"},
    {"job", "modules", R"([null, ["grain/3", "a b", "-m"]])"},
    {"job",
     "setup",
     R"([null, "source /opt/s x.sh\nulimit -s 99", "#PBS -l mem=3", "a\rb",
         [{"run": "mkdir -p '/tmp/a b'", "on": "each-node"}, {"run": "export A=3", "on": "first-node"}],
         [{"run": "#SBATCH --mem=3"}]])"},
    {"job",
     "teardown",
     R"([null, [{"run": "echo 'o k'", "when": "failure"}, {"run": "true", "when": "success"}],
         [{"run": "echo x", "when": "always"}], [{"run": "#SBATCH --mem=3"}]])"},
    {"job",
     "directives",
     R"([null, {"slurm": ["--switches=3"], "torque": ["-p 5"], "pbspro": ["-p 6"]}, {"slurm": ["--mem=9"]},
         {"slurm": ["--swiches=3"]}, {"torque": ["-l nodes=3"]}, {"pbspro": ["-l place=pack"]}])"},
    {"job", "queue", R"([null, "long", "night", "a b", "-x", "a#b", "a%b", "~q", "a\tb"])"},
    {"job", "account", R"([null, "grant", "c d", "-y", "c#d", "c%d", "~a", "c\td"])"},
    {"job", "qos", R"([null, "high", "e f", "-z", "e#f", "~b"])"},
    {"job", "reservation", R"([null, "school", "g h", "-r", "g#h"])"},
    {"job", "begin", R"([null, "2031-03-04T05:06", "2031-03-04T05:06:07", "2031-13-01T00:00"])"},
    {"job", "comment", R"([null, "for grain", "it's", "a\"b", "-c", "c#d", "c\td"])"},
    {"job", "requeue", R"([null, true, false])"},
    {"job", "append-output", R"([null, true, false])"},
    {"job", "array", R"([null, "3-9", "3-9%4", "4-9:3", "5,7", "6", "0-0", "9-3", "0-20000"])"},
    {"job",
     "sweep",
     R"([null, {"lr": ["0.3", "0.7"], "seed": "3-5", "exclude": [{"lr": "0.3", "seed": "4"}]},
         {"lr": ["a b", "$HOME"], "at-once": 3}, {"lr": "3-9", "pack": 4, "at-once": 3},
         {"lr": "3-9", "pack": "all"}, {"table": "no such.csv"}, {"index": "3-5"},
         {"seed": "1-20000"}, {"lr": "3", "exclude": [{"lr": "3"}]}])"},
    {"job",
     "after",
     R"([null, [{"job": "31"}], [{"job": "32.head", "when": "failed"}, {"job": "33", "when": "any"}],
         [{"job": "34_5", "when": "started"}], [{"job": "36[7].head", "when": "ok"}], [{"job": "x y"}]])"},
    {"job",
     "mail",
     R"([null, {"to": "a@b.example"}, {"to": "c@d.example", "on": ["begin"]},
         {"to": "e@f.example", "on": ["begin", "end", "fail"]}, {"to": "g@h.example", "on": ["end", "all"]},
         {"to": "a b", "on": []}])"},
    {"job",
     "signal",
     R"([null, {"name": "USR2", "before": "11 min"}, {"name": "TERM", "before": "60 s"}, {"before": "59 s"},
         {"name": "HUP"}, {"name": "INT"}, {"name": "QUIT"}, {"name": "CONT"}, {"name": "USR1"}])"},
    {"job",
     "continue",
     R"([null, {"most": 3}, {"on": ["timeout"], "most": 7}, {"on": ["preempted", "node-fail"], "most": 4294967295},
         {"on": [], "most": 3}, {"most": 0}])"},
    {"job",
     "binds",
     R"([null, ["/a b:/c d:ro", "~/e f:/g", "-h:/i", "/j#%:/k"], ["a,b"], ["~x"],
         [{"expand": "$W7/b:/c d"}, "/a:/b"], [{"expand": "$w7"}]])"},
    {"job",
     "environment",
     R"([null, {"LEVEL": "7", "ODD": "a b~#%'\"$HOME`id`\\", "TAB": "-a"}, {"KEY": "@file:~/s x"},
         {"KEY": "@file:-s"}, {"EMPTY": ""}, {"INDEX": "@{index}"}, {"PATH": "x"},
         {"OMP_NUM_THREADS": "3"}, {"MKL_NUM_THREADS": "5"}, {"WHERE": {"expand": "$W7/a b"}},
         {"LD_LIBRARY_PATH": "/opt/l b", "LD_PRELOAD": {"expand": "$W7/p.so"}}])"},
    {"job",
     "workdir",
     R"([null, "/data/w x", "runs", "~/w y", "-w", "/w#x", "/w%x", "w\tx", {"expand": "$W7/w x"}])"},
    {"job",
     "make",
     R"([null, ["runs/a b", {"expand": "~/$W7/${W8:-x y}"}], [{"expand": "`id`"}], ["-m"]])"},
    {"job", "image-copy", R"([null, "/tmp/i c", {"expand": "$TMPDIR"}, {"expand": "plain"}])"},
    {"job", "input", R"([null, "in put.txt", {"expand": "$W7/in"}, "a\tb"])"},
    {"job",
     "output.stdout",
     R"([null, "/data/a b/%x-%j", "%a.%j", "~/o p", "-o", "#o", "100%%", "%", "o\tp", {"expand": "$W7/o"}])"},
    {"job",
     "output.stderr",
     R"([null, "/data/c d.%j", "%a-%x", "~/e", "-e%j", "%q", {"expand": "$W7/e%j"}])"},
    {"job", "output.results", R"([null, ["a b*", "#%", "~"], ["../x"], ["/x"]])"},
    {"job", "output.to", R"([null, "o u t", "~/t", "-t", "t#%"])"},
    {"job", "stage-in", R"([null, [{"from": "a b", "to": "c d"}], [{"from": "~/x", "to": "-y"}]])"},
    {"job",
     "verify",
     R"([null, {"keys": ["k y.pem", "~/j", "-k"], "require": "all"}, {"keys": ["#k"], "require": 3},
         "pol icy.yaml", {"keys": ["%k"], "require": "any"}])"},
    {"job", "target", R"([null, "auto", "cluster", "kubernetes"])"},
    {"job", "kubernetes.namespace", R"([null, "crops", "A b"])"},
    {"job", "kubernetes.image", R"([null, "lab.example/a-3:7"])"},
    {"job",
     "kubernetes.node-selector",
     R"([null, {"zone.example/row": "north-3"}, {"a b": "c"}, {"x": "~y"}])"},
    {"job",
     "kubernetes.results",
     R"([null, {"host-path": "/srv/r s", "path": "/data/o"}, {"claim": "barn", "path": "~/o"},
         {"claim": "barn"}])"},

    {"site", "name", R"([null, "hall-7"])"},
    {"site",
     "scheduler.dialect",
     R"([null, "slurm", "torque", "pbspro", "slurm-torque", "local"])"},
    {"site",
     "scheduler.version",
     R"([null, "4.2", "5.1", "6.1.3", "13", "18.2", "20.0", "23.02", "3"])"},
    {"site", "scheduler.account-option", R"([null, "-P", "-A"])"},
    {"site", "scheduler.patience", R"([null, "7 min", "0 s"])"},
    {"site",
     "scheduler.through",
     R"([null, "commands", {"ssh": "head"}, {"slurmrestd": "http://head:6820/"},
         {"rimrock": "https://rim.example", "host": "login", "token-command": "cat ~/t"}])"},
    {"site",
     "runtime",
     R"([null, {"program": "apptainer", "version": "1.4.5", "path": "/opt/a b/apptainer", "mode": "setuid"},
         {"program": "cybelectl", "path": "~/bin/cybelectl", "mode": "userns"},
         {"program": "singularity", "mode": "root", "path": "-s"}])"},
    {"site", "node", R"([null, {"arch": "amd64", "glibc": "2.31"}, {"arch": "arm64"}])"},
    {"site",
     "mpi",
     R"([null, [{"family": "openmpi", "version": "4.0.4", "prefix": "/opt/o m", "modules": ["openmpi/4.0.4"]}],
         [{"family": "openmpi", "version": "5.0.3", "prefix": "~/o m"}],
         [{"family": "mpich", "version": "4.1", "launcher": "mpiexec.hydra"}],
         [{"family": "mvapich2", "version": "2.3", "launcher": "~/bin/mpirun"}],
         [{"family": "mvapich", "version": "3.0", "launcher": "srun"}],
         [{"family": "intel", "version": "2021.19", "prefix": "/opt/i#%"}]])"},
    {"site", "pmi", R"([null, ["pmix_v4", "pmi2", "none"], ["none"], []])"},
    {"site",
     "interconnect",
     R"([null, {"kind": "infiniband", "network": "10.7.0.0/24"},
         {"kind": "omni-path"}, {"kind": "slingshot"}, {"kind": "ethernet", "network": "10.7.0.0/33"}])"},
    {"site",
     "scratch",
     R"([null, {"node": "/scratch/$USER/a b"}, {"node": "~/s#%"}, {"node": "-s"},
         {"node": {"expand": "$W7/s"}}])"},
    {"site",
     "queues",
     R"([null, [{"name": "long", "nodes": 18, "cores-per-node": 96, "memory-per-node": "512 GiB",
                 "gpus-per-node": 8, "gpu-type": "a100", "gpu-form": "gpus-per-node", "gpu-vendor": "nvidia", "time": "5 h", "max-time": "50 h", "features": ["ib", "nvme"], "account": "wheat",
                 "directives": {"slurm": ["--nice=4"], "torque": ["-K 4"], "pbspro": ["-R e"]},
                 "modules": ["q/3"], "setup": [{"run": "export Q=3", "on": "first-node"}, {"run": "true q", "on": "each-node"}],
                 "teardown": [{"run": "echo queue", "when": "always"},
                              {"run": "echo no", "when": "failure"}, {"run": "echo yes", "when": "success"}]},
                {"name": "night", "time": "6 h", "gpu-vendor": "intel"}],
         [{"name": "night", "gpus-per-node": 9, "gpu-vendor": "amd", "gpu-form": "gres", "qos": "owl"}], [{"name": "a b"}],
         [{"name": "tasks", "gpus-per-node": 9, "gpu-type": "h100", "gpu-form": "gpus-per-task"}]])"},
    {"site", "templates", R"([null, "none", "."])"},
    {"site", "account", R"([null, "barley", "c d", "-y", "c\td"])"},
    {"site", "qos", R"([null, "low", "e f", "-z"])"},
    {"site", "modules", R"([null, ["gcc/12", "a b", "-m", "#%"]])"},
    {"site",
     "setup",
     R"([null, "source '/opt/a b.sh'", "a\rb", [{"run": "true s", "on": "each-node"}, {"run": "true f", "on": "first-node"}]])"},
    {"site",
     "teardown",
     R"([null, [{"run": "echo site", "when": "always"}],
         [{"run": "echo bad", "when": "failure"}, {"run": "echo good", "when": "success"}]])"},
    {"site", "binds", R"([null, ["/site a:/b:ro"], [{"expand": "$W7:/w"}], ["a,b"]])"},
    {"site",
     "environment",
     R"([null, {"SITE": "3 x", "HALL": "9"}, {"SITE": {"expand": "$W7/s"}}, {"PATH": "y"}])"},
    {"site",
     "directives",
     R"([null, {"slurm": ["--priority=7"], "torque": ["-W x=7"], "pbspro": ["-W x=7"]}, {"slurm": ["x"]}])"},
    {"site",
     "verify",
     R"([null, {"keys": ["/k y", "~/k"], "require": "all"}, {"keys": ["/a"], "require": 3}, "pol", {"keys": ["/b"], "require": "any"}, "/pol"])"},
    {"site",
     "kubernetes",
     R"([null, {"bridge": "torque-operator", "api-version": "x.example/v3", "kind": "TorqueJob"},
         {"bridge": "wlm-operator", "node-name": "slurm-hall"}, {"bridge": "interlink", "kind": "A b"},
         {"bridge": "hpc-connector", "connector": {"image": "mirror.example/c:3", "backend": "barn",
                "credentials": "key", "monitoring-period": "45 s", "grace": "90 s"}},
         {"bridge": "cybelectl", "pod-cores": 7, "pod-memory": "9 GiB", "pod-time": "3 h", "connector": {"image": "mirror.example/c:4", "credentials": "key", "grace": "30 s"}}])"},
};

/// The paths of a table's fields that hold values, as `queues[].name`.
void list_fields(const document::Table& table,
                 const std::string& before,
                 std::set<std::string>& paths,
                 std::set<std::string>& words);

void list_shape(const document::Shape& shape,
                const std::string& path,
                std::set<std::string>& paths,
                std::set<std::string>& words) {
    if (shape.type == document::Type::kMap && shape.table->rest == nullptr) {
        list_fields(*shape.table, path + ".", paths, words);
    } else if (shape.type == document::Type::kList && shape.item->table != nullptr) {
        list_fields(*shape.item->table, path + "[].", paths, words);
    } else {
        paths.insert(path);
        const auto& list = shape.type == document::Type::kList ? shape.item->words : shape.words;
        for (const auto word : list) {
            words.insert(path + "=" + std::string(word));
        }
    }
}

void list_fields(const document::Table& table,
                 const std::string& before,
                 std::set<std::string>& paths,
                 std::set<std::string>& words) {
    for (const document::Field* field : table.all()) {
        list_shape(*field->shape, before + std::string(field->name), paths, words);
    }
}

/// The same of a value, also each of its words.
void list_value(const json& value, const std::string& path, std::set<std::string>& paths) {
    if (value.is_string()) {
        paths.insert(path + "=" + value.get<std::string>());
    }
    if (!value.is_null()) {
        paths.insert(path);
    }
    if (value.is_object()) {
        for (const auto& [name, below] : value.items()) {
            list_value(below, path.empty() ? name : fmt::format("{}.{}", path, name), paths);
        }
    } else if (value.is_array()) {
        for (const auto& item : value) {
            list_value(item, item.is_object() ? path + "[]" : path, paths);
        }
    }
}

std::set<std::string> tried_in(std::string_view document) {
    std::set<std::string> tried;
    for (const Factor& factor : kFactors) {
        if (factor.document == document) {
            std::string path(factor.path);
            if (path.ends_with('*')) {
                path.resize(path.size() < 2 ? 0 : path.size() - 2);
            }
            for (const auto& value : json::parse(factor.values)) {
                list_value(value, path, tried);
            }
        }
    }
    return tried;
}

} // namespace

std::span<const Factor> job_factors() {
    return kFactors;
}

TEST_CASE("every field of a Job and a Site is a factor, and every word of them a value") {
    for (const auto& [name, kind] :
         {std::pair{"job", &launchers::job_kind()}, std::pair{"site", &launchers::site_kind()}}) {
        std::set<std::string> paths;
        std::set<std::string> words;
        list_fields(*kind->table, "", paths, words);
        const auto tried = tried_in(name);
        CHECK(paths.size() > 25);
        for (const auto& path : paths) {
            CHECK_MESSAGE(tried.contains(path), name << ": " << path);
        }
        for (const auto& word : words) {
            CHECK_MESSAGE(tried.contains(word), name << ": " << word);
        }
    }
}

} // namespace cybele::pairs
