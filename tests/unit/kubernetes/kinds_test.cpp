// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/check/check.hpp"
#include "kubernetes/check/rules.hpp"
#include "kubernetes/objects/crd.hpp"
#include "kubernetes/objects/documents.hpp"
#include "kubernetes/objects/operator_reader.hpp"
#include "kubernetes/objects/render.hpp"
#include "support/message.hpp"

#include <algorithm>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace cybele::kubernetes {
namespace {

constexpr const char* kKindHead = "kind: Job\nname: wheat\nimage: /home/eve/wheat.sif\n";

launchers::Job kind_job(const std::string& fields) {
    auto job = launchers::read_job(kKindHead + fields, "job.yaml");
    if (!job) {
        FAIL(format_text(job.error().faults()));
    }
    return std::move(*job);
}

launchers::Site site_of(const std::string& fields) {
    auto site = launchers::read_site("kind: Site\nname: hall\n" + fields, "site.yaml");
    if (!site) {
        FAIL(format_text(site.error().faults()));
    }
    return std::move(*site);
}

Result<schedulers::RenderedScript> kind_rendered(const launchers::Job& job,
                                                 const std::string& kind,
                                                 const launchers::Site* site = nullptr) {
    schedulers::RenderInput input;
    input.job = &job;
    input.site = site;
    input.image = job.image ? job.image->reference : "";
    input.dialect = site == nullptr ? "slurm" : site->dialect;
    return render_object(input, {kind, {}, {}});
}

std::vector<yaml::Node> objects_of(const Result<schedulers::RenderedScript>& object) {
    if (!object) {
        FAIL(format_text(object.error().faults()));
    }
    // What is written trips no rule of our own.
    const auto report = check_objects(object->text, "rendered");
    CHECK_MESSAGE(report.count(lint::Severity::kError) == 0,
                  lint::text_of(report.findings, find_check_rule, false));
    return read_objects(object->text, "rendered").value();
}

constexpr const char* kMirrorSite =
    "scheduler: {dialect: slurm, through: {ssh: login.hall.example}}\nkubernetes: {bridge: "
    "hpc-connector, connector: {image: docker://registry.example/connector:1.0, backend: hall-a, "
    "credentials: hall-login, monitoring-period: 20 s}}\n";

/// The fields of all faults, sorted.
std::vector<std::string> lines_of_faults(const Result<schedulers::RenderedScript>& object) {
    std::vector<std::string> messages;
    if (object) {
        return {"rendered"};
    }
    for (const auto& fault : object.error().faults()) {
        CHECK_FALSE(fault.because.empty());
        CHECK_FALSE(fault.help.empty());
        messages.push_back(fault.message);
    }
    std::sort(messages.begin(), messages.end());
    return messages;
}

} // namespace

TEST_CASE("a Job of Kubernetes says that nothing there checks what its Site requires of images") {
    const auto job = kind_job("command: [run]\nkubernetes: {image: registry.example/w:1}\n");
    const auto ids_with = [&](const std::string& fields) {
        const auto site = site_of("scheduler: slurm\n" + fields);
        const auto rendered = kind_rendered(job, "Job", &site);
        REQUIRE(rendered.has_value());
        std::vector<std::string> ids;
        for (const Fault& note : rendered->notes) {
            CHECK(note.is_warning);
            ids.push_back(note.id);
        }
        return ids;
    };
    CHECK(ids_with("").empty());
    CHECK(ids_with("verify: /etc/policy.yaml\n") ==
          std::vector<std::string>{"site-verify-not-there"});
    CHECK(ids_with("verify: {keys: [/etc/a.pub]}\n") ==
          std::vector<std::string>{"site-verify-not-there"});
}

TEST_CASE("a Job of Kubernetes asks for the GPUs of the Job, and refuses what a pod has not") {
    const std::string head = "command: [run]\nkubernetes: {image: registry.example/w:1}\n";
    for (const char* gpus : {"gpus: 2", "gpus-per-node: 2", "gpus-per-task: 2"}) {
        CAPTURE(gpus);
        const auto job = kind_job(head + "resources: {" + gpus + "}\n");
        const auto objects = objects_of(kind_rendered(job, "Job"));
        const auto* pod = find_path(objects.front(), {"spec", "template", "spec"});
        REQUIRE(pod != nullptr);
        const auto* containers = find_path(*pod, {"containers"});
        REQUIRE(containers != nullptr);
        CHECK(text_at(containers->items.front(), {"resources", "limits", "nvidia.com/gpu"}) == "2");
    }
    for (const char* field : {"resources: {memory: all}",
                              "resources: {licenses: {matlab: 1}}",
                              "resources: {gres: {nvme: 1}}",
                              "begin: 2026-11-26T22:00",
                              "signal: {name: USR1, before: 5 min}"}) {
        CAPTURE(field);
        const auto job = kind_job(head + field + "\n");
        CHECK_FALSE(kind_rendered(job, "Job").has_value());
    }
}

TEST_CASE("a mirror Job follows one batch job, and submits once") {
    const auto site = site_of(kMirrorSite);
    const auto job =
        kind_job("command: [train, \"a \\\"b\\\" $HOME\"]\nresources: {time: 5 min}\n");
    const auto objects = objects_of(kind_rendered(job, "MirrorJob", &site));
    REQUIRE(objects.size() == 3);
    CHECK(text_at(objects[0], {"kind"}) == "ConfigMap");
    CHECK(text_at(objects[0], {"metadata", "name"}) == "hall-a");
    CHECK(text_at(objects[0], {"data", "name"}) == "SSH");
    const auto configuration =
        nlohmann::json::parse(text_at(objects[0], {"data", "configuration"}));
    CHECK(configuration["host"] == "login.hall.example");
    CHECK(text_at(objects[1], {"metadata", "name"}) == "wheat-job");
    CHECK(text_at(objects[1], {"data", "monitoring_period"}) == "20");
    const auto& root = objects[2];
    CHECK(text_at(root, {"apiVersion"}) == "batch/v1");
    CHECK(text_at(root, {"kind"}) == "Job");
    CHECK(text_at(root, {"spec", "backoffLimit"}) == "0");
    const auto* pod = find_path(root, {"spec", "template", "spec"});
    CHECK(text_at(*pod, {"restartPolicy"}) == "Never");
    CHECK(text_at(*pod, {"terminationGracePeriodSeconds"}) == "60");
    const auto& container = pod->find("containers")->items.front();
    const auto& stop = find_path(container, {"lifecycle", "preStop", "exec", "command"})->items;
    CHECK(stop[0].scalar == "kill");
    CHECK(stop[1].scalar == "-SIGINT");
    CHECK(stop[2].scalar == "1");
    CHECK(text_at(container.find("envFrom")->items.front(), {"secretRef", "name"}) == "hall-login");
    CHECK(container.find("env")->items.back().find("name")->scalar == "CYBELECTL_UID");
    schedulers::RenderInput input;
    input.job = &job;
    input.site = &site;
    input.image = "/home/eve/wheat.sif";
    input.dialect = "slurm";
    const auto mirrored = nlohmann::json::parse(text_at(objects[1], {"data", "job"}));
    CHECK(mirrored["script"] == schedulers::render_script(input)->text);
    CHECK(mirrored["host"] == "login.hall.example");
}

TEST_CASE("our own mirror has no privilege, no right and no secret in sight") {
    for (const bool is_ssh : {true, false}) {
        CAPTURE(is_ssh);
        const auto site =
            site_of(std::string("scheduler: {dialect: slurm, through: ") +
                    (is_ssh ? "{ssh: login.hall.example}" : "{slurmrestd: \"https://s.example\"}") +
                    "}\nkubernetes: {bridge: cybelectl, connector: {image: r.example/mirror:1, "
                    "credentials: hall-login, grace: 90 s}}\n");
        const auto job =
            kind_job("command: [train]\nworkdir: /home/eve\nresources: {time: 5 min}\n");
        const auto objects = objects_of(kind_rendered(job, "MirrorJob", &site));
        REQUIRE(objects.size() == 3);
        CHECK(nlohmann::json::parse(text_at(objects[0], {"data", "configuration"}))["scheduler"] ==
              "slurm");
        CHECK(nlohmann::json::parse(text_at(objects[1], {"data", "job"}))["workdir"] ==
              "/home/eve");
        const auto* pod = find_path(objects[2], {"spec", "template", "spec"});
        CHECK(text_at(*pod, {"securityContext", "runAsNonRoot"}) == "true");
        CHECK(text_at(*pod, {"automountServiceAccountToken"}) == "false");
        const auto& container = pod->find("containers")->items.front();
        CHECK(text_at(container, {"securityContext", "readOnlyRootFilesystem"}) == "true");
        CHECK(find_path(container, {"lifecycle"}) == nullptr);
        CHECK(find_path(container, {"envFrom"}) == nullptr);
        const auto& words = find_path(container, {"command"})->items;
        CHECK(words.front().scalar == "cybelectl");
        CHECK(words[words.size() - 2].scalar == "90");
        const auto& volumes = pod->find("volumes")->items;
        CHECK(volumes.size() == (is_ssh ? 4 : 3));
        CHECK(text_at(volumes[2], {"secret", "secretName"}) == "hall-login");
        CHECK(text_at(volumes[2], {"secret", "defaultMode"}) == "288");
    }
}

TEST_CASE("what a mirror Job needs of the Site is said") {
    const auto job = kind_job("command: [train]\n");
    CHECK(lines_of_faults(kind_rendered(job, "MirrorJob")) ==
          std::vector<std::string>{"a mirrored job needs an absolute `workdir`",
                                   "the Site says no `kubernetes.connector.credentials`",
                                   "the Site says no `kubernetes.connector.image`",
                                   "the Site says no `scheduler.through`"});
    const auto nowhere = kind_job("command: [train]\nworkdir: there\n");
    const auto ours =
        site_of("scheduler: {dialect: slurm, through: {ssh: h}}\nkubernetes: {bridge: "
                "cybelectl, connector: {image: r.example/c:1, credentials: s}}\n");
    CHECK(lines_of_faults(kind_rendered(nowhere, "MirrorJob", &ours)) ==
          std::vector<std::string>{"a mirrored job needs an absolute `workdir`"});
    const auto hasty =
        site_of("scheduler: {dialect: slurm, through: {ssh: h}}\nkubernetes: {bridge: "
                "hpc-connector, connector: {image: docker://r.example/c:1, "
                "credentials: s, grace: 30 s}}\n");
    const auto object = kind_rendered(job, "MirrorJob", &hasty);
    REQUIRE(object.has_value());
    CHECK(object->notes.back().message ==
          "a grace period of 30 s may end before the job is cancelled");
}

TEST_CASE("kinds of earlier versions are refused with what to use instead") {
    for (const auto& [kind, instead] : {std::pair{"WlmJob", "use `--kind SlurmJob`"},
                                        std::pair{"BridgeJob", "use `--kind MirrorJob`"}}) {
        const auto object = kind_rendered(kind_job("command: [train]\n"), kind);
        REQUIRE_FALSE(object.has_value());
        CHECK(object.error().code() == ErrorCode::kUsage);
        CHECK(object.error().faults().front().message ==
              std::string("the kind ") + kind + " is not supported any more");
        CHECK(object.error().faults().front().help.starts_with(instead));
    }
}

TEST_CASE("a Pod tells interLink what sbatch is to be told") {
    const auto site =
        site_of("scheduler: slurm\nkubernetes: {bridge: interlink, node-name: hpc-a}\n");
    const auto job =
        kind_job("command: [train, $(hostname)]\nlaunch: {kind: mpi, options: [--map-by, node]}\n"
                 "binds: [/data:/data:ro]\nenvironment: {A: \"$(B) $$ c\"}\nresources: {nodes: 2, "
                 "tasks-per-node: 2, cpus-per-task: 3, memory-per-node: 2 GiB, time: 20 min}\n");
    const auto root = objects_of(kind_rendered(job, "Pod", &site)).front();
    const auto* annotations = find_path(root, {"metadata", "annotations"});
    CHECK(text_at(*annotations, {"slurm-job.vk.io/flags"}) ==
          "--nodes=2 --ntasks=4 --ntasks-per-node=2 --time=00:20:00");
    CHECK(text_at(*annotations, {"slurm-job.vk.io/mpi-flags"}) == "--map-by node");
    CHECK(text_at(*annotations, {"slurm-job.vk.io/singularity-options"}) == "-B /data:/data:ro");
    CHECK(text_at(root, {"spec", "nodeSelector", "kubernetes.io/hostname"}) == "hpc-a");
    const auto& container = find_path(root, {"spec", "containers"})->items.front();
    CHECK(text_at(container, {"image"}) == "/home/eve/wheat.sif");
    CHECK(text_at(container, {"resources", "limits", "cpu"}) == "3");
    CHECK(text_at(container, {"resources", "limits", "memory"}) == "2Gi");
    CHECK(container.find("command")->items[1].scalar == "$(hostname)");
    CHECK(container.find("env")->items[0].find("value")->scalar == "$$(B) $$$ c");
    const auto bare =
        lines_of_faults(kind_rendered(kind_job("command: [x]\narray: 0-3\n"), "Pod", &site));
    CHECK(bare == std::vector<std::string>{"`array` cannot be expressed in a Pod",
                                           "a Pod needs `memory-per-node`"});
}

TEST_CASE("a script that the Site's scheduler does not read is refused at the Site") {
    struct Row {
        const char* scheduler;
        const char* kind;
        bool is_rendered;
    };
    const Row rows[] = {{"torque", "TorqueJob", true},
                        {"slurm-torque", "TorqueJob", true},
                        {"pbspro", "TorqueJob", true},
                        {"slurm", "TorqueJob", false},
                        {"local", "TorqueJob", false},
                        {"slurm", "SlurmJob", true},
                        {"slurm-torque", "SlurmJob", true},
                        {"torque", "SlurmJob", false},
                        {"pbspro", "SlurmJob", false}};
    const auto job = kind_job("command: [train]\nworkdir: /w\n");
    for (const Row& row : rows) {
        CAPTURE(std::string(row.scheduler));
        CAPTURE(std::string(row.kind));
        const auto site = site_of("scheduler: {dialect: " + std::string(row.scheduler) + "}\n");
        const auto rendered = kind_rendered(job, row.kind, &site);
        REQUIRE(rendered.has_value() == row.is_rendered);
        if (!row.is_rendered) {
            const Fault fault = rendered.error().faults().front();
            CHECK(fault.message.starts_with(std::string("a ") + row.kind + " is for "));
            CHECK(fault.where->line == 3);
            CHECK(fault.where->column == 22);
        }
    }
}

TEST_CASE("group, version and spelling of the kind are the Site's") {
    const auto job = kind_job("command: [train]\nworkdir: /w\n");
    const auto type = [&](const std::string& settings, const std::string& kind) {
        const std::string scheduler =
            kind == "SlurmJob" || settings == "{bridge: wlm-operator}" ? "slurm" : "torque";
        const auto site = site_of("scheduler: " + scheduler + "\nkubernetes: " + settings + "\n");
        const auto root =
            objects_of(kind_rendered(job, kind.empty() ? default_kind(&site) : kind, &site))
                .front();
        return text_at(root, {"apiVersion"}) + " " + text_at(root, {"kind"});
    };
    CHECK(default_kind(nullptr) == "TorqueJob");
    CHECK(type("{bridge: torque-operator}", "") == "wlm.sylabs.io/v1alpha1 TorqueJob");
    CHECK(type("{bridge: torque-operator, api-version: hpc.example/v1}", "") ==
          "hpc.example/v1 TorqueJob");
    CHECK(type("{bridge: wlm-operator}", "") == "wlm.sylabs.io/v1alpha1 SlurmJob");
    CHECK(type("{bridge: cybelectl}", "") == "cybelectl.io/v1alpha1 TorqueJob");
    CHECK(type("{bridge: cybelectl}", "SlurmJob") == "cybelectl.io/v1alpha1 SlurmJob");
    CHECK(type("{bridge: torque-operator, kind: PbsJob}", "") == "wlm.sylabs.io/v1alpha1 PbsJob");
    // Settings of a bridge that does not serve the kind do not count.
    CHECK(type("{bridge: torque-operator, api-version: hpc.example/v1}", "SlurmJob") ==
          "wlm.sylabs.io/v1alpha1 SlurmJob");
    const auto site = site_of("scheduler: torque\nkubernetes: {bridge: torque-operator, "
                              "api-version: \"a b\", kind: \"1 x\"}\n");
    const auto bad = kind_rendered(job, "1 x", &site);
    REQUIRE_FALSE(bad.has_value());
    CHECK(bad.error().faults().size() == 2);
    CHECK(bad.error().faults().front().where->file == "site.yaml");
}

TEST_CASE("a user's own script is carried byte for byte, and judged for its reader") {
    const auto job = kind_job("workdir: /w\n");
    schedulers::RenderInput input;
    input.job = &job;
    input.dialect = "torque";
    const std::string script = "#!/bin/sh\n#PBS -l nodes=1\n\n\techo \"cow\" \n\n";
    const auto object = render_object(input, {"TorqueJob", "herd", script});
    const auto root = objects_of(object).front();
    CHECK(text_at(root, {"spec", "batch"}) == script);
    CHECK(text_at(root, {"metadata", "namespace"}) == "herd");
    for (const char* bad : {"#!/bin/sh\n#SBATCH --exclusive\n",
                            "#!/bin/sh\n#SBATCH --mem=4G\n",
                            "#!/bin/sh\ntrue\n"}) {
        CAPTURE(bad);
        CHECK_FALSE(render_object(input, {"SlurmJob", {}, bad}).has_value());
    }
    CHECK(render_object(input, {"SlurmJob", {}, "#!/bin/sh\n#SBATCH --nodes=1\n"}).has_value());
    CHECK_FALSE(render_object(input, {"TorqueJob", "Bad_Space", script}).has_value());
}

TEST_CASE("definitions are of our own group, or of the operator's") {
    const auto own = read_objects(crd("TorqueJob", "").value(), "crd").value().front();
    CHECK(text_at(own, {"apiVersion"}) == "apiextensions.k8s.io/v1");
    CHECK(text_at(own, {"metadata", "name"}) == "torquejobs.cybelectl.io");
    const auto foreign = crd("SlurmJob", "wlm.sylabs.io").value();
    CHECK(foreign.find("name: slurmjobs.wlm.sylabs.io\n") != std::string::npos);
    CHECK(foreign.find("x-kubernetes-validations") == std::string::npos);
    CHECK_FALSE(crd("Torquejob", "").has_value());
    CHECK_FALSE(crd("TorqueJob", "Bad Group").has_value());
    CHECK_FALSE(crd("TorqueJob", "nodomain").has_value());
}

TEST_CASE(
    "the fields of a resource definition are those of spec and status, of lists their items'") {
    const std::vector<std::string> fields = crd_fields("SlurmJob");
    for (const char* field : {"spec.batch",
                              "spec.results.mount.name",
                              "status.jobId",
                              "status.conditions.reason",
                              "status.results.sha256"}) {
        CAPTURE(field);
        CHECK(std::count(fields.begin(), fields.end(), field) == 1);
    }
    CHECK(crd_fields("TorqueJob").size() == fields.size());
    CHECK(crd_fields("Job").empty());
}

} // namespace cybele::kubernetes
