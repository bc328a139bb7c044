// SPDX-License-Identifier: Apache-2.0
#include "bridge/configuration/managed_job.hpp"
#include "bridge/objects/job_status.hpp"
#include "bridge/objects/refusals.hpp"
#include "bridge/objects/times.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;
using nlohmann::json;

namespace {

bridge::Configuration job_configuration() {
    bridge::Configuration configuration;
    configuration.document.manages_jobs = true;
    configuration.dialect = "slurm";
    auto cluster = launchers::read_site("kind: Site\nname: a\nscheduler: slurm\n", "site.yaml");
    REQUIRE(cluster);
    configuration.cluster = std::move(*cluster);
    return configuration;
}

/// As a server of version 1.34 has it, with all of its defaults.
json server_job() {
    return json::parse(R"({
      "apiVersion": "batch/v1", "kind": "Job",
      "metadata": {"name": "train", "namespace": "physics", "resourceVersion": "41", "generation": 1,
        "uid": "6f0f3b1c-2e14-4c1a-9d2e-0123456789ab", "creationTimestamp": "2026-11-25T02:35:47Z",
        "annotations": {"cybelectl.io/queue": "long", "cybelectl.io/account": "alice"}},
      "spec": {"backoffLimit": 6, "completionMode": "NonIndexed", "completions": 1, "parallelism": 1,
        "managedBy": "cybelectl.io/bridge", "manualSelector": false, "podReplacementPolicy": "TerminatingOrFailed",
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "6f0f"}}, "suspend": false,
        "activeDeadlineSeconds": 600,
        "template": {"metadata": {"creationTimestamp": null, "labels": {"a": "b"}}, "spec": {
          "containers": [{"name": "main", "image": "/data/train.sif", "command": ["train", "a b", "$HOME"],
            "env": [{"name": "MODE", "value": "'\"$x"}], "imagePullPolicy": "IfNotPresent",
            "resources": {"limits": {"cpu": "3", "memory": "2Gi"}},
            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}],
          "dnsPolicy": "ClusterFirst", "restartPolicy": "Never", "schedulerName": "default-scheduler",
          "securityContext": {}, "terminationGracePeriodSeconds": 30, "tolerations": [{"operator": "Exists"}],
          "nodeSelector": {"kubernetes.io/os": "linux"}}}},
      "status": {}})");
}

bridge::Object read_managed(const json& job) {
    static const bridge::Configuration configuration = job_configuration();
    auto object = bridge::read_object(job.dump(), bridge::job_reader(configuration));
    REQUIRE(object);
    return *object;
}

bridge::Status ended_managed(const char* type, const char* reason) {
    bridge::Status status;
    status.phase = "Succeeded";
    status.job_id = "77";
    status.token = "6f0f3b1c-2e14-4c1a-9d2e-0123456789ab";
    status.account = "alice";
    status.state = "COMPLETED";
    status.exit_code = 0;
    status.started = 1795574147;
    status.ended = 1795574190;
    status.set({"Submitted", "True", "Queued", "", 1795574140});
    status.set({type, "True", reason, "", 1795574195});
    return status;
}

std::string reason_in(const json& conditions, const char* type) {
    for (const json& condition : conditions) {
        if (condition["type"] == type) {
            return condition["reason"];
        }
    }
    return "";
}

} // namespace

TEST_CASE("an ordinary Job becomes a batch script") {
    const bridge::Object object = read_managed(server_job());
    CHECK(object.refusal.has_value() == false);
    CHECK(object.form == bridge::Form::kJob);
    CHECK(object.spec.queue == "long");
    CHECK(object.spec.account == "alice");
    CHECK(object.job.has_deadline);
    CHECK_FALSE(object.spec.seconds_to_live); // Kubernetes' own controller does that
    for (const char* line : {"#!/bin/bash\n",
                             "#SBATCH --partition=long\n",
                             "#SBATCH --time=00:10:00\n",
                             "#SBATCH --cpus-per-task=3\n",
                             "#SBATCH --mem=2048M\n",
                             "/data/train.sif",
                             "'a b'",
                             "'$HOME'"}) {
        CAPTURE(line);
        CAPTURE(object.spec.batch);
        CHECK(object.spec.batch.find(line) != std::string::npos);
    }
}

TEST_CASE("what a batch job cannot be given is refused, all of it, and what has no effect is not") {
    struct Case {
        const char* change; ///< a merge patch of the Job
        const char* words;  ///< in the refusal; empty: none
    };
    const Case cases[] = {
        {R"({"spec": {"ttlSecondsAfterFinished": 5, "backoffLimit": 0}})", ""},
        {R"({"spec": {"completions": 2}})", "several pods of one Job"},
        {R"({"spec": {"parallelism": 0}})", "several pods of one Job"},
        {R"({"spec": {"template": {"spec": {"initContainers": [{"name": "a"}]}}}})",
         "`initContainers`"},
        {R"({"spec": {"template": {"spec": {"nodeSelector": {"gpu": "a"}}}}})",
         "nodeSelector `gpu`"},
        {R"({"spec": {"template": {"spec": {"serviceAccountName": "a"}}}})",
         "`serviceAccountName`"},
        {R"({"spec": {"template": {"spec": {"securityContext": {"runAsNonRoot": true}}}}})", ""},
        {R"({"spec": {"template": {"spec": {"securityContext": {"runAsUser": 0}}}}})",
         "`securityContext`"},
        {R"({"spec": {"template": {"spec": {"affinity": {}}}}})", "`affinity`"},
        {R"({"spec": {"template": {"spec": {"hostPID": true}}}})", "`hostPID`"},
        {R"({"spec": {"template": {"spec": {"priorityClassName": "a"}}}})", ""},
        {R"({"metadata": {"annotations": {"cybelectl.io/queue": "a b"}}})", "cybelectl.io/queue"},
        {R"({"metadata": {"annotations": {"cybelectl.io/account": "-x"}}})",
         "cybelectl.io/account"},
        {R"({"spec": {"template": {"spec": null}}})", "no container"},
    };
    for (const Case& one : cases) {
        json job = server_job();
        job.merge_patch(json::parse(one.change));
        const bridge::Object object = read_managed(job);
        CAPTURE(one.change);
        CHECK(object.refusal.has_value() == (*one.words != '\0'));
        if (object.refusal) {
            CAPTURE(object.refusal->message);
            CHECK(object.refusal->message.find(one.words) != std::string::npos);
            CHECK(bridge::find_refusal(object.refusal->reason)->is_final);
        }
    }
    json job = server_job();
    job["spec"]["template"]["spec"]["containers"][0]["envFrom"] =
        json::parse(R"([{"secretRef": {"name": "s"}}])");
    job["spec"]["template"]["spec"]["containers"].push_back({{"name", "side"}, {"image", "b"}});
    const std::string words = read_managed(job).refusal->message;
    CHECK(words.find("`envFrom`") != std::string::npos);
    CHECK(words.find("the container 'side'") != std::string::npos);
}

TEST_CASE("a Job's status keeps what the bridge knows, and follows the server's rules") {
    bridge::Object object = read_managed(server_job());
    const bridge::Status status = ended_managed("Complete", "Succeeded");
    const json written = bridge::job_status_json(object, status);
    CHECK(written["active"] == 0);
    CHECK(written["succeeded"] == 1);
    CHECK(written["startTime"] == "2026-11-25T02:35:47Z");
    CHECK(written["completionTime"] == "2026-11-25T02:36:30Z");
    CHECK(reason_in(written["conditions"], "SuccessCriteriaMet") == "Succeeded");
    CHECK_FALSE(written.contains("failed"));
    CHECK(bridge::read_job_status(written, object.uid) == status);

    // Nothing that others wrote is believed: another uid, another shape, no record at all.
    CHECK(bridge::read_job_status(written, "7f0f3b1c-2e14-4c1a-9d2e-0123456789ab") ==
          bridge::Status());
    CHECK(bridge::read_job_status({{"conditions", {{{"type", "BatchJob"}, {"message", "[]"}}}}},
                                  object.uid) == bridge::Status());
    CHECK(bridge::read_job_status({{"conditions", {1}}}, object.uid) == bridge::Status());
    CHECK(bridge::read_job_status({{"active", 1}}, object.uid) == bridge::Status());
}

TEST_CASE("the end of a Job that failed, that ran too long, that never ran; a start that is kept") {
    bridge::Object object = read_managed(server_job());
    const auto patch = [&object](const bridge::Status& status) {
        return bridge::job_status_json(object, status);
    };
    json written = patch(ended_managed("Failed", "NonZeroExit"));
    CHECK(written["failed"] == 1);
    CHECK_FALSE(written.contains("completionTime"));
    CHECK(reason_in(written["conditions"], "FailureTarget") == "NonZeroExit");
    CHECK(reason_in(patch(ended_managed("Failed", "TimeLimit"))["conditions"], "Failed") ==
          "DeadlineExceeded");
    object.job.has_deadline = false;
    CHECK(reason_in(patch(ended_managed("Failed", "TimeLimit"))["conditions"], "Failed") ==
          "TimeLimit");

    bridge::Status refused;
    refused.phase = "Failed";
    refused.set({"Failed", "True", "NotConvertible", "", 1795574195});
    written = patch(refused);
    CHECK_FALSE(written.contains("failed"));
    CHECK(written["startTime"] == bridge::time_text(1795574195));

    // Clocks differ: the end is not before the start; a start that was written does not change.
    object.job.started = 1795574300;
    object.job.is_indexed = true;
    written = patch(ended_managed("Complete", "Succeeded"));
    CHECK(written["startTime"] == bridge::time_text(1795574300));
    CHECK(written["completionTime"] == bridge::time_text(1795574300));
    CHECK(written["completedIndexes"] == "0");

    bridge::Status running = ended_managed("Running", "Started");
    running.phase = "Running";
    written = patch(running);
    CHECK(written["active"] == 1);
    CHECK(written["ready"] == 1);
}

TEST_CASE("only Jobs that name the bridge are its own, and only where the Bridge says so") {
    json job = server_job();
    CHECK(bridge::is_managed(job));
    job["spec"]["managedBy"] = "example.org/other";
    CHECK_FALSE(bridge::is_managed(job));
    CHECK_FALSE(bridge::is_managed(json::array()));
    bridge::Configuration configuration = job_configuration();
    configuration.document.manages_jobs = false;
    CHECK_FALSE(bridge::job_reader(configuration));
    CHECK_FALSE(bridge::read_object(server_job().dump()));
}
