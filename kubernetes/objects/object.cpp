// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/object.hpp"

#include "kubernetes/objects/names.hpp"
#include "launchers/plan/plan.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

namespace cybele::kubernetes {

void Object::refuse(std::string_view field,
                    Problem problem,
                    std::string because,
                    std::string help) const {
    faults.add(job.fault_at(field, std::move(problem), std::move(because), std::move(help)));
}

void Object::refuse_site(std::string_view field, std::string because) const {
    Fault fault;
    fault.code = ErrorCode::kInput;
    fault.set(problem("site-connector-field-missing", fmt::format("the Site says no `{}`", field)));
    fault.because = std::move(because);
    fault.help = input.site == nullptr ? "name a Site with --site"
                                       : fmt::format("add `{}` to the Site", field);
    if (input.site != nullptr) {
        fault.where = input.site->source.place({1, 1});
    }
    faults.add(std::move(fault));
}

Tree Object::metadata(const std::string& name, Tree::Map more) const {
    Tree::Map map{{"name", name}};
    if (!name_space.empty()) {
        map.emplace_back("namespace", name_space);
    }
    for (auto& entry : more) {
        map.push_back(std::move(entry));
    }
    return map;
}

launchers::Connector Object::connector() const {
    return settings != nullptr && settings->connector ? *settings->connector
                                                      : launchers::Connector{};
}

Tree::Map node_selector(const Object& object) {
    std::map<std::string, std::string> selector;
    if (object.settings != nullptr && !object.settings->node_name.empty()) {
        selector["kubernetes.io/hostname"] = object.settings->node_name;
    }
    if (object.job.kubernetes) {
        for (const auto& [key, value] : object.job.kubernetes->node_selector) {
            selector[key] = value;
        }
    }
    Tree::Map map;
    for (const auto& [key, value] : selector) {
        if (!is_label_key(key) || !is_label_value(value)) {
            object.refuse(
                "kubernetes.node-selector." + key,
                problem(
                    "label-malformed",
                    fmt::format("'{}: {}' is not a valid label", printable(key), printable(value))),
                "a label is at most 63 letters, digits and `- _ .`, its key may have a "
                "domain before a `/`",
                "copy it from `kubectl get nodes --show-labels`");
        }
        map.emplace_back(key, value);
    }
    return map;
}

void refuse_asked(const Object& object, std::span<const Unserved> list) {
    for (const Unserved& row : list) {
        if (row.is_asked(object.job)) {
            object.refuse(
                row.field,
                problem("object-field-inexpressible",
                        fmt::format("`{}` cannot be expressed in a {}", row.field, object.kind)),
                std::string(row.because),
                std::string(row.help));
        }
    }
}

void refuse_directive(const Object& object,
                      std::string_view directive,
                      Problem problem,
                      std::string because,
                      std::string help) {
    struct Row {
        std::string_view option;
        std::string_view field;
    };
    constexpr Row kFields[] = {
        {"--account", "account"},
        {"--array", "array"},
        {"--begin", "begin"},
        {"--chdir", "workdir"},
        {"--comment", "comment"},
        {"--constraint", "resources.constraint"},
        {"--cpus-per-gpu", "resources.cpus-per-gpu"},
        {"--dependency", "after"},
        {"--error", "output.stderr"},
        {"--exclude", "resources.exclude"},
        {"--exclusive", "resources.exclusive"},
        {"--gpus", "resources.gpus"},
        {"--gpus-per-node", "resources.gpus-per-node"},
        {"--gpus-per-task", "resources.gpus-per-task"},
        {"--gres", "resources.gres"},
        {"--job-name", "name"},
        {"--licenses", "resources.licenses"},
        {"--mail-type", "mail.on"},
        {"--mail-user", "mail.to"},
        {"--mem", "resources.memory"},
        {"--mem-per-gpu", "resources.memory-per-gpu"},
        {"--no-requeue", "requeue"},
        {"--nodelist", "resources.hosts"},
        {"--open-mode", "append-output"},
        {"--output", "output.stdout"},
        {"--partition", "queue"},
        {"--qos", "qos"},
        {"--requeue", "requeue"},
        {"--reservation", "reservation"},
        {"--signal", "signal"},
        {"--threads-per-core", "resources.threads-per-core"},
        {"--time", "resources.time"},
    };
    const std::string_view option = directive.substr(0, directive.find('='));
    const auto* row = std::ranges::find(kFields, option, &Row::option);
    std::string_view field = row == std::end(kFields) ? "script" : row->field;
    if (option == "--gres" && object.job.resources.gpu_form == launchers::GpuForm::kGres) {
        field = "resources.gpus-per-node";
    }
    if (field == "queue") {
        object.faults.add(launchers::fault_at_queue(object.job,
                                                    object.input.site,
                                                    std::move(problem),
                                                    std::move(because),
                                                    std::move(help)));
    } else if (field == "account" || field == "qos") {
        object.faults.add(launchers::fault_at_default(object.job,
                                                      object.input.site,
                                                      field,
                                                      std::move(problem),
                                                      std::move(because),
                                                      std::move(help)));
    } else {
        object.refuse(field, std::move(problem), std::move(because), std::move(help));
    }
}

bool is_absolute_path(std::string_view path) {
    return path.starts_with('/') && path.find('$') == std::string_view::npos &&
           (std::string(path) + "/").find("/../") == std::string::npos;
}

void check_absolute(const Object& object, std::string_view field, const std::string& path) {
    if (!is_absolute_path(path)) {
        object.refuse(
            field,
            problem("object-path-not-absolute",
                    fmt::format("'{}' is not an absolute path", printable(path))),
            "nothing in the cluster expands `$`, `~`, `..` or knows where a relative path "
            "starts",
            "write an absolute path");
    }
}

std::optional<Tree> wlm_results(const Object& object) {
    const auto& wanted = object.job.kubernetes;
    if (!wanted || (wanted->results_host_path.empty() && wanted->results_claim.empty())) {
        return std::nullopt;
    }
    if (wanted->results_path.empty()) {
        object.refuse("kubernetes.results",
                      problem("object-result-path-missing", "`path` is missing"),
                      "the bridge fetches one file, and must know which",
                      "add `path: /home/you/job.out`");
    } else {
        check_absolute(object, "kubernetes.results.path", wanted->results_path);
    }
    Tree::Map mount{{"name", "results"}};
    if (wanted->results_claim.empty()) {
        check_absolute(object, "kubernetes.results.host-path", wanted->results_host_path);
        mount.emplace_back(
            "hostPath",
            Tree::Map{{"path", wanted->results_host_path}, {"type", "DirectoryOrCreate"}});
    } else {
        mount.emplace_back("persistentVolumeClaim",
                           Tree::Map{{"claimName", wanted->results_claim}});
    }
    return Tree::Map{{"from", wanted->results_path}, {"mount", std::move(mount)}};
}

std::int64_t mebibytes(std::uint64_t bytes) {
    constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
    return static_cast<std::int64_t>(bytes / kMebibyte + (bytes % kMebibyte == 0 ? 0 : 1));
}

} // namespace cybele::kubernetes
