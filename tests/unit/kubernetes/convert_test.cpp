// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/convert/convert.hpp"
#include "kubernetes/convert/parts.hpp"
#include "launchers/documents/job.hpp"
#include "support/message.hpp"

#include <algorithm>

#include <doctest/doctest.h>

namespace cybele::kubernetes {
namespace {

const std::string kPod =
    "    spec:\n      restartPolicy: Never\n      containers:\n        - name: main\n"
    "          image: python:3.12\n";
const std::string kBatchJob =
    "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: train\nspec:\n  backoffLimit: 0\n";

launchers::Job made(const std::string& text) {
    const auto converted = convert_object(text, "k.yaml");
    if (!converted) {
        FAIL(format_text(converted.error().faults()));
    }
    auto job = launchers::read_job(converted->text, "job.yaml");
    REQUIRE_MESSAGE(job.has_value(), converted->text);
    return std::move(*job);
}

/// "LINE: what" of all that was left.
std::vector<std::string> left(const std::string& text) {
    const auto converted = convert_object(text, "k.yaml");
    std::vector<std::string> list;
    REQUIRE(converted.has_value());
    for (const Fault& fault : converted->left) {
        CHECK(fault.is_warning);
        CHECK_FALSE(fault.because.empty());
        CHECK_FALSE(fault.help.empty());
        list.push_back(std::to_string(fault.where->line) + ": " + fault.message);
    }
    return list;
}

} // namespace

TEST_CASE("an ordinary Job becomes a batch job") {
    const std::string text =
        kBatchJob +
        "  completions: 10\n  parallelism: 2\n  completionMode: Indexed\n  template:\n" + kPod +
        "          command: [python3, /data/train.py]\n"
        "          args: [--epochs, \"10\", $(MODE)]\n"
        "          env:\n            - {name: MODE, value: fast}\n"
        "            - {name: LONG, value: \"$(MODE)-$$x\"}\n"
        "            - name: SIZE\n              valueFrom: {configMapKeyRef: {name: sizes, key: "
        "s}}\n"
        "          resources:\n            requests: {cpu: 500m, memory: 1Gi}\n"
        "            limits: {cpu: \"2.5\", memory: 1500M, nvidia.com/gpu: 1}\n"
        "          volumeMounts:\n            - {name: data, mountPath: /data, readOnly: true}\n"
        "      volumes:\n        - name: data\n          hostPath: {path: /srv/data}\n"
        "      nodeSelector: {disk: ssd}\n"
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: sizes\ndata:\n  s: \"12\"\n";
    const auto job = made(text);
    CHECK(job.name == "train");
    CHECK(job.image->reference == "docker://python:3.12");
    CHECK(job.command ==
          std::vector<std::string>{"python3", "/data/train.py", "--epochs", "10", "fast"});
    CHECK(job.array == "0-9%2");
    CHECK(job.resources.cpus_per_task == 3);
    CHECK(job.resources.memory_per_node_bytes == (1431ULL << 20U));
    CHECK(job.resources.gpus_per_node == 1);
    CHECK(job.binds == std::vector<std::string>{"/srv/data:/data:ro"});
    CHECK(job.environment.at("LONG") == "fast-$x");
    CHECK(job.environment.at("SIZE") == "12");
    CHECK(job.kubernetes->node_selector.at("disk") == "ssd");
    CHECK(left(text) ==
          std::vector<std::string>{"7: not converted: the variable JOB_COMPLETION_INDEX"});
}

TEST_CASE("a Pod is a job too, its entry point is the runscript") {
    const auto job =
        made("apiVersion: v1\nkind: Pod\nmetadata:\n  generateName: My_Pod-\n  namespace: "
             "herd\nspec:\n  restartPolicy: Never\n  containers:\n    - {name: a, image: "
             "r.example/cow:1, args: [moo]}\n");
    CHECK(job.name == "my-pod");
    CHECK(job.command == std::vector<std::string>{"/.singularity.d/runscript", "moo"});
    CHECK(job.kubernetes->name_space == "herd");
}

TEST_CASE("what a batch job has not is named, each at its place") {
    const std::string text =
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\nspec:\n  ttlSecondsAfterFinished: "
        "5\n"
        "  activeDeadlineSeconds: 90\n  template:\n    spec:\n      serviceAccountName: x\n"
        "      initContainers: []\n      containers:\n        - name: main\n          image: a:1\n"
        "          livenessProbe: {}\n          env:\n            - name: TOKEN\n"
        "              valueFrom: {secretKeyRef: {name: s, key: t}}\n"
        "            - {name: bad-name, value: x}\n"
        "          resources: {limits: {ephemeral-storage: 1Gi}}\n"
        "          volumeMounts: [{name: tmp, mountPath: /tmp}]\n        - {name: side, image: "
        "b:1}\n"
        "      volumes: [{name: tmp, emptyDir: {}}]\n";
    const auto messages = left(text);
    CHECK(made(text).resources.time->count() == 90);
    for (const char* wanted : {"6: not converted: `ttlSecondsAfterFinished`",
                               "10: not converted: `serviceAccountName`",
                               "11: not converted: `initContainers`",
                               "15: not converted: `livenessProbe`",
                               "17: not converted: the variable 'TOKEN'",
                               "19: not converted: the variable 'bad-name'",
                               "20: not converted: `ephemeral-storage: 1Gi`",
                               "21: not converted: the volume 'tmp'",
                               "22: not converted: the container 'side'"}) {
        CAPTURE(wanted);
        CHECK(std::find(messages.begin(), messages.end(), wanted) != messages.end());
    }
}

TEST_CASE("what is no Job or Pod, or several, is refused") {
    const auto message = [](const std::string& text) {
        const auto converted = convert_object(text, "k.yaml");
        REQUIRE_FALSE(converted.has_value());
        CHECK(converted.error().code() == ErrorCode::kInput);
        return converted.error().message();
    };
    CHECK(message("apiVersion: apps/v1\nkind: Deployment\n") ==
          "'Deployment' is neither a batch/v1 Job nor a v1 Pod");
    CHECK(message("") == "the file has no object");
    CHECK(message(kBatchJob + "  template:\n" + kPod + "---\n" + kBatchJob + "  template:\n" +
                  kPod) == "the file has more than one Job or Pod");
    CHECK(message("apiVersion: v1\nkind: Pod\nspec: {}\n") == "the object has no container");
    CHECK(message("a: [\n") == "`[` is not closed");
    CHECK(is_object("# c\napiVersion: v1\n"));
    CHECK_FALSE(is_object("kind: Job\n"));
}

TEST_CASE("quantities are read as Kubernetes writes them") {
    CHECK(quantity_in_thousandths("1") == 1000);
    CHECK(quantity_in_thousandths("500m") == 500);
    CHECK(quantity_in_thousandths("2.5") == 2500);
    CHECK(quantity_in_thousandths("1Ki") == 1024000);
    CHECK(quantity_in_thousandths("1.5Gi") == 1536ULL * 1024 * 1024 * 1000);
    CHECK(quantity_in_thousandths("1k") == 1000000);
    for (const char* bad :
         {"", "x", "1x", "-1", "1.2.3", "99999999999999999999", "999999999999T"}) {
        CAPTURE(bad);
        CHECK_FALSE(quantity_in_thousandths(bad).has_value());
    }
}

} // namespace cybele::kubernetes
