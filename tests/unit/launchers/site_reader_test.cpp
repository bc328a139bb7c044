// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/job_fields.hpp"
#include "launchers/documents/site.hpp"
#include "support/file.hpp"
#include "tests/unit/support/document_fields.hpp"
#include "tests/unit/support/document_golden.hpp"

using namespace cybele;
using namespace cybele::launchers;

namespace {

const std::string kEverySiteField = R"(kind: Site
name: everything
scheduler: {dialect: slurm, version: 22.05, patience: 1 min, account-option: -A, through: {ssh: login.example, token-command: t}}
runtime: {program: apptainer, version: 1.4.5, path: /usr/bin/apptainer, mode: userns}
node: {arch: amd64, glibc: 2.28}
mpi: [{family: openmpi, version: 4.1.4, prefix: /usr, launcher: mpirun, modules: [mpi]}]
pmi: [pmix]
interconnect: {kind: infiniband, network: 10.0.0.0/24}
scratch: {node: /local/$USER}
queues:
  - {name: batch, nodes: 2, cores-per-node: 20, memory-per-node: 128 GiB, gpus-per-node: 1,
     gpu-type: a100, gpu-form: gres, gpu-vendor: nvidia, time: 1 h, max-time: 2 d, features: [ib], account: a, qos: q,
     directives: {slurm: [--mem=0], torque: [-V], pbspro: [-V]}, modules: [a], setup: echo,
     teardown: [{run: echo, when: failure}]}
account: a
qos: q
modules: [openmpi]
setup: |
  source /opt/site.sh
teardown: [{run: echo, when: success}]
directives: {slurm: [--mem=0], torque: [-V], pbspro: [-V]}
templates: templates
binds: [{expand: "$SCRATCH:/scratch"}]
environment: {CACHE: {expand: $SCRATCH}}
verify: {keys: [a.pub], require: all}
kubernetes:
  bridge: hpc-connector
  api-version: v1
  kind: Job
  node-name: n
  pod-cores: 8
  pod-memory: 64 GiB
  pod-time: 1 d
  connector: {image: docker://c:1, backend: b, credentials: c, monitoring-period: 10 s, grace: 5 s}
)";

} // namespace

TEST_CASE("site: every field, once right and once wrong") {
    const std::string start = "kind: Site\nname: a\nscheduler: {dialect: slurm, through: ";
    test::check_every_field(site_kind(),
                            {kEverySiteField,
                             start + "commands}\nsetup: [{run: echo, on: each-node}]\n"
                                     "queues: [{name: a, setup: [{run: echo, on: first-node}]}]\n",
                             start + "{slurmrestd: http://a.example}}\n"
                                     "scratch: {node: {expand: $LOCAL_SCRATCH}}\n",
                             start + "{rimrock: http://a.example, host: b}}\n"});
}

TEST_CASE("site: how many keys must hold, and a network of one address") {
    const std::string start = "kind: Site\nname: a\nscheduler: slurm\n";
    for (const char* const require : {"all", "any", "3"}) {
        const auto site =
            read_site(start + "verify: {keys: [a.pub, b.pub, c.pub], require: " + require + "}\n" +
                          "interconnect: {network: 10.0.0.1/32}\n",
                      "s.yaml");
        REQUIRE_MESSAGE(site.has_value(), test::told(site));
        CHECK(site->verify_require == require);
        CHECK(site->interconnect_network == "10.0.0.1/32");
    }
}

TEST_CASE("site: the schema, the page and its example") {
    test::compare_generated(site_kind(), "site");
    const auto site = read_site(test::example_of("site"), "docs/site.yaml");
    REQUIRE_MESSAGE(site.has_value(), test::told(site));
    CHECK(site->dialect == "torque");
    CHECK(site->scheduler_version == "6.1.2");
    CHECK(site->through == "ssh");
    CHECK(site->through_settings.at("ssh") == "login.hall-a.example");
    CHECK(site->runtime.mode == "setuid");
    CHECK(site->mpi.front().modules == std::vector<std::string>{"openmpi/4.0.4"});
    CHECK(site->pmi->empty());
    CHECK(site->scratch_node.text == "/local/$USER");
    CHECK(site->queues.front().memory_per_node_bytes == std::uint64_t{128} << 30U);
    CHECK(site->queues.front().max_time == std::chrono::hours(48));
    CHECK(site->kubernetes->bridge == "torque-operator");
    CHECK_FALSE(site->kubernetes->connector.has_value());
    CHECK(site->interconnect == "ethernet");
    CHECK(site->verify_require == "any");
}

TEST_CASE("site: a patience of its own, none among them, is told from the usual one") {
    for (const auto& [text, seconds] : {std::pair("1 min", 60), std::pair("0 s", 0)}) {
        const auto site = read_site("kind: Site\nname: a\nscheduler: {dialect: slurm, patience: " +
                                        std::string(text) + "}\n",
                                    "s.yaml");
        REQUIRE_MESSAGE(site.has_value(), test::told(site));
        CHECK(site->patience == std::chrono::seconds(seconds));
    }
}

TEST_CASE("site: short forms") {
    const auto site = read_site(
        "kind: Site\nname: a\nscheduler: local\nruntime: cybelectl\nverify: p.yaml\n", "s.yaml");
    REQUIRE_MESSAGE(site.has_value(), test::told(site));
    CHECK(site->dialect == "local");
    CHECK(site->through == "commands");
    CHECK_FALSE(site->patience.has_value());
    CHECK(site->runtime.program == "cybelectl");
    CHECK(site->verify_policy == "p.yaml");
    CHECK_FALSE(site->pmi.has_value());
}

TEST_CASE("site: templates are the files of a folder and of two in it, by name; the folder must be "
          "there") {
    auto folder = TempDirectory::make(std::filesystem::temp_directory_path(), "site");
    REQUIRE(folder);
    const auto read = [&](const std::string& templates) {
        return read_site("kind: Site\nname: a\nscheduler: slurm\ntemplates: " + templates + "\n",
                         folder->path() / "site.yaml");
    };
    const auto names_in = [&](const std::string& templates) {
        const auto site = read(templates);
        REQUIRE_MESSAGE(site.has_value(), test::told(site));
        std::string names;
        for (const SiteTemplate& one : site->templates) {
            names += one.name + "=" + one.text + " ";
        }
        return names;
    };
    CHECK_FALSE(read("none").has_value());
    std::filesystem::create_directories(folder->path() / "own");
    CHECK(names_in("own").empty());
    REQUIRE(write_file(folder->path() / "own/end.mustache", "1"));
    REQUIRE(write_file(folder->path() / "own/README", "2"));
    CHECK(names_in("own") == "end=1 ");
    std::filesystem::create_directories(folder->path() / "own/script");
    REQUIRE(write_file(folder->path() / "own/script/begin.mustache", "3"));
    CHECK(names_in("own") == "end=1 script/begin=3 ");
    REQUIRE(write_file(folder->path() / "own/dialect", "a file"));
    CHECK_FALSE(read("own").has_value());
}

TEST_CASE("site: refusals with place and remedy") {
    struct Row {
        const char* text;
        const char* message;
        std::size_t line;
        std::size_t column;
    };
    const Row rows[] = {
        {"scheduler: slrm\n",
         "'scheduler' requires one of slurm, torque, pbspro, slurm-torque, local, not 'slrm'",
         3,
         12},
        {"scheduler: {dialect: torque, through: {slurmrestd: http://a.example}}\n",
         "slurmrestd speaks for Slurm only",
         3,
         39},
        {"scheduler: {dialect: torque, through: {rimrock: http://a.example}}\n",
         "'host' is missing",
         3,
         39},
        {"scheduler: {dialect: torque, account-option: -P}\n",
         "`account-option` is not supported by torque",
         3,
         46},
        {"scheduler: pbspro\nqos: high\n", "`qos` is not supported by pbspro", 4, 6},
        {"scheduler: torque\nqueues: [{name: a, qos: high}]\n",
         "`qos` is not supported by torque",
         4,
         25},
        {"scheduler: {dialect: slurm, through: shell}\n",
         "'scheduler.through' requires `commands`, not 'shell'",
         3,
         38},
        {"scheduler: slurm\nqueues: [{name: a}, {name: a}]\n",
         "queue 'a' appears two times",
         4,
         28},
        {"scheduler: slurm\nqueues: [{name: a, time: 2 h, max-time: 1 h}]\n",
         "'time' is longer than 'max-time'",
         4,
         26},
        {"scheduler: slurm\nmirrors: {debian:12: http://a.example}\n",
         "'mirrors' is not supported any more",
         4,
         1},
        {"scheduler: slurm\nnode: {kernel: 4.18}\n", "'kernel' is not supported any more", 4, 8},
        {"scheduler: slurm\ninterconnect: {devices: [/dev/infiniband]}\n",
         "'devices' is not supported any more",
         4,
         16},
        {"scheduler: slurm\nscratch: {shared: /lustre}\n",
         "'shared' is not supported any more",
         4,
         11},
        {"scheduler: slurm\nscratch: {node: /tmp/$USER-x/$SCRATCH}\n",
         "'$SCRATCH' is not expanded here",
         4,
         17},
        {"scheduler: slurm\nkubernetes: {bridge: bridge-operator}\n",
         "'bridge-operator' is not supported any more",
         4,
         22},
        {"scheduler: slurm\ninterconnect: {network: 10.0.0.0}\n",
         "'interconnect.network' requires a network as 10.0.0.0/24, not '10.0.0.0'",
         4,
         25},
        {"scheduler: slurm\ninterconnect: {network: 10.0.0.1/33}\n",
         "'interconnect.network' requires a network as 10.0.0.0/24, not '10.0.0.1/33'",
         4,
         25},
        {"runtime: apptainer\n", "'scheduler' is missing", 1, 1},
    };
    for (const auto& row : rows) {
        CAPTURE(std::string(row.text));
        const auto site = read_site("kind: Site\nname: a\n" + std::string(row.text), "s.yaml");
        REQUIRE_FALSE(site.has_value());
        CHECK_MESSAGE(site.error().faults().size() == 1, test::told(site));
        const Fault& fault = site.error().faults().front();
        CHECK(fault.message == row.message);
        CHECK(fault.where->line == row.line);
        CHECK(fault.where->column == row.column);
        CHECK(fault.because != "");
        CHECK(fault.help != "");
    }
}
