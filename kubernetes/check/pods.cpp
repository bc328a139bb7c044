// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/check/context.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && !text.empty() && end == text.data() + text.size()
               ? std::optional(value)
               : std::nullopt;
}

bool has_pre_stop(const yaml::Node& spec) {
    const auto* containers = spec.find("containers");
    return containers != nullptr &&
           std::ranges::any_of(containers->items, [](const yaml::Node& one) {
               return find_path(one, {"lifecycle", "preStop"}) != nullptr;
           });
}

bool is_for_interlink(const CheckedObject& object) {
    const auto* annotations = find_path(object.root, {"metadata", "annotations"});
    const auto* pod = pod_spec(object);
    const auto* tolerations = pod == nullptr ? nullptr : pod->find("tolerations");
    const bool is_annotated =
        annotations != nullptr && std::ranges::any_of(annotations->entries, [](const auto& one) {
            return one.first.scalar.starts_with("slurm-job.vk.io/");
        });
    return pod != nullptr &&
           (is_annotated ||
            (tolerations != nullptr &&
             std::ranges::any_of(tolerations->items, [](const yaml::Node& one) {
                 return text_at(one, {"key"}).starts_with("virtual-node.interlink/");
             })));
}

/// A pod without a token, a Secret, a ConfigMap or another controller asks no batch system for
/// anything: it runs the work itself.
bool may_queue(const CheckedObject& object) {
    const auto* pod = pod_spec(object);
    const auto* token = pod == nullptr ? nullptr : pod->find("automountServiceAccountToken");
    bool has_input = pod == nullptr || token == nullptr || token->scalar != "false";
    if (pod != nullptr) {
        each_reference(*pod, [&](const std::string&, yaml::Mark) { has_input = true; });
    }
    return has_input || is_for_interlink(object) ||
           find_path(object.root, {"spec", "managedBy"}) != nullptr;
}

void check_job(Check& check, const CheckedObject& object) {
    const auto* spec = find_path(object.root, {"spec"});
    if (object.kind != "Job" || object.group != "batch" || spec == nullptr) {
        return;
    }
    const auto* limit = spec->find("backoffLimit");
    if (limit == nullptr || limit->scalar != "0") {
        check.found("K19",
                    limit == nullptr ? spec->mark : limit->mark,
                    limit == nullptr ? "the Job says no `backoffLimit`"
                                     : fmt::format("the Job starts its pod {} times again",
                                                   printable(limit->scalar)));
    }
    const auto* pod = pod_spec(object);
    const auto* policy = pod == nullptr ? nullptr : pod->find("restartPolicy");
    if (policy == nullptr || (policy->scalar != "Never" && policy->scalar != "OnFailure")) {
        check.found("K20",
                    policy != nullptr ? policy->mark
                    : pod != nullptr  ? pod->mark
                                      : spec->mark,
                    "the Job's pod has no `restartPolicy` that a Job may have");
    }
    const auto* deadline = spec->find("activeDeadlineSeconds");
    if (deadline != nullptr && may_queue(object)) {
        check.found("K22",
                    deadline->mark,
                    fmt::format("the Job ends after {} s, in the queue or not",
                                printable(deadline->scalar)));
    }
}

void check_grace(Check& check, const CheckedObject& object) {
    const auto* pod = pod_spec(object);
    if (pod == nullptr || !has_pre_stop(*pod)) {
        return;
    }
    const auto* grace = pod->find("terminationGracePeriodSeconds");
    if (grace == nullptr || number(grace->scalar).value_or(0) < 60) {
        check.found("K21",
                    grace == nullptr ? pod->mark : grace->mark,
                    grace == nullptr
                        ? "a preStop that cancels has the default of 30 s"
                        : fmt::format("a preStop that cancels has {} s", printable(grace->scalar)));
    }
}

void check_order(Check& check) {
    std::set<std::string> later;
    for (std::size_t index = check.objects.size(); index-- > 0;) {
        const CheckedObject& object = check.objects[index];
        if (object.kind == "ConfigMap" || object.kind == "Secret") {
            later.insert(text_at(object.root, {"metadata", "name"}));
            continue;
        }
        const auto* pod = pod_spec(object);
        if (pod == nullptr) {
            continue;
        }
        std::set<std::string> told;
        each_reference(*pod, [&](const std::string& name, yaml::Mark mark) {
            if (later.contains(name) && told.insert(name).second) {
                check.found("K30", mark, fmt::format("'{}' is made after it", printable(name)));
            }
        });
    }
}

void check_interlink(Check& check, const CheckedObject& object) {
    if (!is_for_interlink(object)) {
        return;
    }
    const auto* containers = pod_spec(object)->find("containers");
    bool has_limits = containers != nullptr && !containers->items.empty();
    yaml::Mark mark = pod_spec(object)->mark;
    for (const auto& one : has_limits ? containers->items : std::vector<yaml::Node>{}) {
        if (find_path(one, {"resources", "limits", "memory"}) == nullptr ||
            find_path(one, {"resources", "limits", "cpu"}) == nullptr) {
            has_limits = false;
            mark = one.mark;
        }
    }
    if (!has_limits) {
        check.found("K40", mark, "the container has no limits of cpu and memory");
        return;
    }
    const auto* flags =
        find_path(object.root, {"metadata", "annotations", "slurm-job.vk.io/flags"});
    for (const std::string_view flag : {"--mem", "--cpus-per-task"}) {
        if (flags != nullptr && flags->scalar.find(flag) != std::string::npos) {
            check.found("K36",
                        flags->mark,
                        fmt::format("{} is asked for in the flags and in the limits", flag),
                        "interLink uses the limits",
                        "drop it from the flags");
        }
    }
}

constexpr std::string_view kSlinky = "slurmjob.slinky.slurm.net/";

void check_slinky(Check& check, const CheckedObject& object) {
    const auto* inner = find_path(object.root, {"spec", "template", "metadata", "annotations"});
    if (inner != nullptr && (object.kind == "Job" || object.kind == "JobSet")) {
        for (const auto& [key, value] : inner->entries) {
            if (key.scalar.starts_with(kSlinky)) {
                check.found("K41",
                            key.mark,
                            fmt::format("'{}' stands on the pod template", printable(key.scalar)));
            }
        }
    }
    const auto* outer = find_path(object.root, {"metadata", "annotations"});
    const auto* limit =
        outer == nullptr ? nullptr : outer->find(std::string(kSlinky) + "timelimit");
    if (limit != nullptr && !number(limit->scalar)) {
        check.found("K41",
                    limit->mark,
                    fmt::format("'{}' is not a number of minutes", printable(limit->scalar)));
    }
}

} // namespace

void check_pods(Check& check) {
    for (const CheckedObject& object : check.objects) {
        check_job(check, object);
        check_grace(check, object);
        check_interlink(check, object);
        check_slinky(check, object);
    }
    check_order(check);
}

} // namespace cybele::kubernetes
