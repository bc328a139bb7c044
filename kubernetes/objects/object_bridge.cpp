// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/object.hpp"
#include "support/quote.hpp"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::kubernetes {
namespace {

using launchers::Job;

constexpr std::string_view kNoWord =
    "Bridge-Operator sends slurmrestd the queue, tasks, nodes, name, folder and PATH, nothing else";
constexpr std::string_view kOther = "drop it, or use another bridge";

constexpr std::array kUnservedByBridgeOperator{
    Unserved{"array", [](const Job& job) { return !job.array.empty(); }, kNoWord, kOther},
    Unserved{"after", [](const Job& job) { return !job.after.empty(); }, kNoWord, kOther},
    Unserved{"mail", [](const Job& job) { return job.mail.has_value(); }, kNoWord, kOther},
    Unserved{"signal", [](const Job& job) { return job.signal.has_value(); }, kNoWord, kOther},
    Unserved{"account", [](const Job& job) { return !job.account.empty(); }, kNoWord, kOther},
    Unserved{"qos", [](const Job& job) { return !job.qos.empty(); }, kNoWord, kOther},
    Unserved{"resources.time",
             [](const Job& job) { return job.resources.time.has_value(); },
             kNoWord,
             "drop it: the queue's limit counts"},
    Unserved{"resources.memory-per-node",
             [](const Job& job) { return job.resources.memory_per_node_bytes.has_value(); },
             kNoWord,
             kOther},
    Unserved{"resources.memory-per-cpu",
             [](const Job& job) { return job.resources.memory_per_cpu_bytes.has_value(); },
             kNoWord,
             kOther},
    Unserved{"resources.cpus-per-task",
             [](const Job& job) { return job.resources.cpus_per_task > 1; },
             kNoWord,
             kOther},
    Unserved{"resources.gpus-per-node",
             [](const Job& job) { return job.resources.gpus_per_node > 0; },
             kNoWord,
             kOther},
    Unserved{"resources.exclusive",
             [](const Job& job) { return job.resources.exclusive; },
             kNoWord,
             kOther},
    Unserved{"resources.constraint",
             [](const Job& job) { return !job.resources.constraint.empty(); },
             kNoWord,
             kOther},
};

/// The bridge puts the text between the quotes of a JSON string as it is, newlines too, which
/// slurmrestd's reader takes. So what JSON would read otherwise is escaped here.
std::string escaped_for_json(std::string_view script) {
    std::string text;
    for (const char character : script) {
        if (character == '"' || character == '\\') {
            text += '\\';
            text += character;
        } else if (character == '\t') {
            text += "\\t";
        } else {
            text += character;
        }
    }
    return text;
}

/// Values that the bridge pastes into its JSON: no quotes, no backslashes.
std::string pasted(const Object& object, std::string_view field, const std::string& text) {
    if (text.find_first_of("\"\\") != std::string::npos) {
        object.refuse(field,
                      fmt::format("'{}' has a quote or a backslash", printable(text)),
                      "Bridge-Operator pastes it into JSON without escaping",
                      "write it without");
    }
    return text;
}

std::string resource_url(const Object& object) {
    const auto* site = object.input.site;
    if (site == nullptr || site->through != "slurmrestd") {
        object.refuse_site("scheduler.through.slurmrestd", "a BridgeJob goes to slurmrestd");
        return {};
    }
    std::string url = site->through_settings.at("slurmrestd");
    while (url.ends_with('/')) {
        url.pop_back();
    }
    return url.find("/slurm/") == std::string::npos ? url + "/slurm/v0.0.36" : url;
}

} // namespace

Documents build_bridge_job(const Object& object) {
    refuse_asked(object, kUnservedByBridgeOperator);
    const Job& job = object.job;
    const launchers::Connector connector = object.connector();
    if (connector.credentials.empty()) {
        object.refuse_site("kubernetes.connector.credentials",
                           "`resourcesecret` names the Secret with username and password");
    }
    if (connector.image.empty()) {
        object.refuse_site("kubernetes.connector.image",
                           "without it the bridge starts its LSF pod");
    }
    if (!is_absolute_path(job.workdir)) {
        object.refuse("workdir",
                      "a BridgeJob needs an absolute `workdir`",
                      "slurmrestd is told the folder, and there is no submit directory",
                      "write it from `/` on");
    }
    std::string queue = job.queue;
    if (queue.empty() && object.input.site != nullptr && !object.input.site->queues.empty()) {
        queue = object.input.site->queues.front().name;
    }
    if (queue.empty()) {
        object.refuse("queue",
                      "a BridgeJob needs a `queue`",
                      "an empty one is no partition to slurmrestd",
                      "name the partition");
    }
    const nlohmann::json properties{{"Queue", pasted(object, "queue", queue)},
                                    {"Tasks", std::to_string(job.resources.tasks)},
                                    {"NodesNumber", std::to_string(job.resources.nodes)},
                                    {"slurmJobName", job.name},
                                    {"currentWorkingDir", pasted(object, "workdir", job.workdir)},
                                    {"envPath", "/usr/local/bin:/usr/bin:/bin"},
                                    {"envLibPath", ""}};
    return {Tree::Map{
        {"apiVersion", object.api_version},
        {"kind", object.kind},
        {"metadata", object.metadata(job.name)},
        {"spec",
         Tree::Map{{"resourceURL", resource_url(object)},
                   {"resourcesecret", connector.credentials},
                   {"image", connector.image},
                   {"updateinterval", std::int64_t{connector.monitoring_period.count()}},
                   {"jobdata",
                    Tree::Map{{"scriptlocation", "inline"},
                              {"jobscript", Tree::Block{escaped_for_json(object.script)}}}},
                   {"jobproperties", properties.dump()}}}}};
}

} // namespace cybele::kubernetes
