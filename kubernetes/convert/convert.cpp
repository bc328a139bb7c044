// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/convert/convert.hpp"

#include "kubernetes/convert/parts.hpp"
#include "launchers/documents/job.hpp"
#include "support/document.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

constexpr std::array kPodFields{
    LeftField{"automountServiceAccountToken",
              "a batch job does not speak to the API server",
              "drop it",
              Effect::kNone},
    LeftField{"enableServiceLinks", "a batch job has no services", "drop it", Effect::kNone},
    LeftField{"preemptionPolicy", "the batch system has its own", "drop it", Effect::kNone},
    LeftField{"topologySpreadConstraints", "a batch job is one pod", "drop it", Effect::kNone},
    LeftField{"initContainers",
              "a batch job is one program",
              "do its work in `script`, or in a job that this one comes `after`"},
    LeftField{"serviceAccountName", "a batch job does not speak to the API server", "drop it"},
    LeftField{"imagePullSecrets",
              "images are fetched by your own account",
              "log in with `cybelectl image login`",
              Effect::kNone},
    LeftField{"securityContext", "a batch job runs as you", "drop it"},
    LeftField{"affinity", "the batch system chooses nodes", "write `resources.constraint`"},
    LeftField{"tolerations", "the batch system has queues", "write `queue`", Effect::kNone},
    LeftField{"priorityClassName",
              "the batch system has its own priorities",
              "write `qos`",
              Effect::kNone},
    LeftField{"hostNetwork", "a batch job has its node's network", "drop it", Effect::kNone},
    LeftField{"terminationGracePeriodSeconds",
              "the batch system has its own",
              "write `signal` to be signalled before the end",
              Effect::kNone},
};

constexpr std::array kContainerFields{
    LeftField{"livenessProbe", "nothing asks a batch job how it is", "drop it", Effect::kNone},
    LeftField{"readinessProbe", "nothing asks a batch job how it is", "drop it", Effect::kNone},
    LeftField{"startupProbe", "nothing asks a batch job how it is", "drop it", Effect::kNone},
    LeftField{"lifecycle", "a batch job has no hooks", "do it in `script`"},
    LeftField{"ports", "nothing connects to a batch job", "drop it", Effect::kNone},
    LeftField{"securityContext", "a batch job runs as you", "drop it"},
    LeftField{"workingDir",
              "it is a folder of the container, `workdir` one of the cluster",
              "let `script` change to it"},
};

constexpr std::array kJobFields{
    LeftField{"podReplacementPolicy", "a batch job is not repeated", "drop it", Effect::kNone},
    LeftField{"backoffLimitPerIndex", "a batch job is not repeated", "drop it", Effect::kNone},
    LeftField{"maxFailedIndexes", "a batch job is not repeated", "drop it", Effect::kNone},
    LeftField{"managedBy", "it names who runs the Job", "drop it", Effect::kNone},
    LeftField{"ttlSecondsAfterFinished",
              "the batch system forgets jobs automatically",
              "drop it",
              Effect::kNone},
    LeftField{"podFailurePolicy", "a batch job is not repeated", "drop it", Effect::kNone},
    LeftField{"suspend", "a Job begins when it is submitted", "submit it later", Effect::kNone},
};

bool is_job(const yaml::Node& object) {
    const std::string kind = text_at(object, {"kind"});
    return (kind == "Job" && text_at(object, {"apiVersion"}) == "batch/v1") ||
           (kind == "Pod" && text_at(object, {"apiVersion"}) == "v1");
}

Result<void> choose(Conversion& conversion) {
    for (const yaml::Node& object : conversion.objects) {
        if (!is_job(object)) {
            continue;
        }
        if (conversion.object != nullptr) {
            return fail(
                document::fault_at(conversion.source,
                                   object.mark,
                                   problem("several-pods", "the file has more than one Job or Pod"),
                                   "one document of kind Job is made of one",
                                   "give each a file of its own"));
        }
        conversion.object = &object;
    }
    if (conversion.object == nullptr) {
        const bool has_any = !conversion.objects.empty();
        return fail(document::fault_at(
            conversion.source,
            has_any ? conversion.objects.front().mark : yaml::Mark{1, 1},
            problem("not-a-pod",
                    has_any ? fmt::format("'{}' is neither a batch/v1 Job nor a v1 Pod",
                                          printable(text_at(conversion.objects.front(), {"kind"})))
                            : "the file has no object"),
            "a Job is made of one of these",
            "give the file that has the Job"));
    }
    const bool is_pod = text_at(*conversion.object, {"kind"}) == "Pod";
    conversion.pod = is_pod ? conversion.object->find("spec")
                            : find_path(*conversion.object, {"spec", "template", "spec"});
    const auto* containers =
        conversion.pod == nullptr ? nullptr : conversion.pod->find("containers");
    if (containers == nullptr || containers->items.empty()) {
        return fail(
            document::fault_at(conversion.source,
                               conversion.object->mark,
                               problem("pod-without-container", "the object has no container"),
                               "its image and command are the Job's",
                               "add `containers`"));
    }
    conversion.container = containers->items.data();
    for (std::size_t at = 1; at < containers->items.size(); ++at) {
        conversion.leave(
            containers->items[at].mark,
            fmt::format("the container '{}'", printable(text_at(containers->items[at], {"name"}))),
            "a batch job is one program",
            "start both from `script`, in one image");
    }
    return {};
}

/// The object's name as a Job may be called.
std::string name_of(const Conversion& conversion) {
    std::string name = text_at(*conversion.object, {"metadata", "name"});
    if (name.empty()) {
        name = text_at(*conversion.object, {"metadata", "generateName"});
    }
    const std::string suggested = suggest_name(name);
    return suggested.empty() ? "job" : suggested;
}

/// `python:3.12` is Docker Hub's to Kubernetes; a registry's name says so itself.
std::string image_of(const Conversion& conversion) {
    const std::string image = text_at(*conversion.container, {"image"});
    const bool is_file = image.starts_with('/') || image.find("://") != std::string::npos;
    return is_file ? image : "docker://" + image;
}

std::optional<std::uint32_t> count_of(const yaml::Node* node) {
    std::uint32_t value = 0;
    if (node == nullptr) {
        return std::nullopt;
    }
    const auto& text = node->scalar;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                    : std::nullopt;
}

/// Several completions are an array; as many at once as `parallelism` says.
std::string array_of(Conversion& conversion, const yaml::Node& spec) {
    const auto completions = count_of(spec.find("completions")).value_or(1);
    const auto parallelism = count_of(spec.find("parallelism"));
    if (completions < 2) {
        if (parallelism.value_or(1) > 1) {
            conversion.leave(spec.find("parallelism")->mark,
                             "`parallelism` without `completions`",
                             "a batch job needs to know how many there are",
                             "write `array: 0-N`");
        }
        return {};
    }
    if (text_at(spec, {"completionMode"}) != "Indexed") {
        conversion.leave(spec.find("completions")->mark,
                         "that any pod may do any part",
                         "the elements of an array have indexes",
                         "let the program choose its part by CYBELE_ARRAY_INDEX");
    } else {
        conversion.leave(spec.find("completions")->mark,
                         "the variable JOB_COMPLETION_INDEX",
                         "the index of an element is CYBELE_ARRAY_INDEX",
                         "let the program read that");
    }
    std::string array = fmt::format("0-{}", completions - 1);
    if (const auto at_once = parallelism.value_or(completions); at_once < completions) {
        array += fmt::format("%{}", at_once);
    }
    return array;
}

/// What the Job's own spec says besides its template.
void add_job_spec(Conversion& conversion, Tree::Map& job, Tree::Map& resources) {
    const auto* spec = conversion.object->find("spec");
    if (conversion.pod == spec) {
        return;
    }
    leave_others(conversion,
                 *spec,
                 {"template",
                  "completions",
                  "parallelism",
                  "completionMode",
                  "activeDeadlineSeconds",
                  "backoffLimit",
                  "selector",
                  "manualSelector"},
                 kJobFields);
    if (const auto array = array_of(conversion, *spec); !array.empty()) {
        job.emplace_back("array", array);
    }
    if (const auto deadline = count_of(spec->find("activeDeadlineSeconds"))) {
        resources.emplace_back("time", fmt::format("{} s", *deadline));
        conversion.leave(spec->find("activeDeadlineSeconds")->mark,
                         "that the deadline counts from the submission",
                         "a wall time counts from the start",
                         "raise `resources.time` where the queue is what it was for",
                         Effect::kNone);
    }
    const auto* retries = spec->find("backoffLimit");
    if (retries == nullptr || retries->scalar != "0") {
        conversion.leave(retries == nullptr ? spec->mark : retries->mark,
                         "that a failed pod is started again",
                         "a batch job that failed has ended",
                         "write `backoffLimit: 0`, or submit it again yourself",
                         Effect::kNone);
    }
}

Tree::Map make_job(Conversion& conversion) {
    Tree::Map job{{"kind", "Job"}, {"name", name_of(conversion)}, {"image", image_of(conversion)}};
    const auto environment = convert_environment(conversion);
    if (auto words = convert_command(conversion); !words.empty()) {
        job.emplace_back("command", std::move(words));
    }
    auto resources = convert_resources(conversion);
    add_job_spec(conversion, job, resources);
    if (!resources.empty()) {
        job.emplace_back("resources", std::move(resources));
    }
    if (auto binds = convert_volumes(conversion); !binds.empty()) {
        job.emplace_back("binds", std::move(binds));
    }
    if (!environment.empty()) {
        job.emplace_back("environment", environment);
    }
    Tree::Map kubernetes;
    const std::string space = text_at(*conversion.object, {"metadata", "namespace"});
    if (!space.empty()) {
        kubernetes.emplace_back("namespace", space);
    }
    if (const auto* selector = conversion.pod->find("nodeSelector")) {
        Tree::Map map;
        for (const auto& [key, value] : selector->entries) {
            map.emplace_back(key.scalar, value.scalar);
        }
        kubernetes.emplace_back("node-selector", std::move(map));
    }
    if (!kubernetes.empty()) {
        job.emplace_back("kubernetes", std::move(kubernetes));
    }
    return job;
}

void leave_fields(Conversion& conversion) {
    leave_others(
        conversion,
        *conversion.pod,
        {"containers", "volumes", "nodeSelector", "restartPolicy", "schedulerName", "dnsPolicy"},
        kPodFields);
    leave_others(conversion,
                 *conversion.container,
                 {"name",
                  "image",
                  "imagePullPolicy",
                  "command",
                  "args",
                  "env",
                  "envFrom",
                  "resources",
                  "volumeMounts",
                  "terminationMessagePath",
                  "terminationMessagePolicy"},
                 kContainerFields);
    const auto* policy = conversion.pod->find("restartPolicy");
    if (policy != nullptr && policy->scalar != "Never") {
        conversion.leave(policy->mark,
                         fmt::format("`restartPolicy: {}`", printable(policy->scalar)),
                         "a batch job that failed has ended",
                         "submit it again yourself",
                         Effect::kNone);
    }
}

} // namespace

bool is_without_effect(const Fault& fault) {
    return fault.id == "pod-field-without-effect";
}

bool is_object(std::string_view text) {
    return text.starts_with("apiVersion:") || text.find("\napiVersion:") != std::string_view::npos;
}

Result<ConvertedObject> convert_object(const std::string& text, const std::string& file) {
    Conversion conversion{yaml::Source(file, text), {}, nullptr, nullptr, nullptr, {}, {}};
    CYBELE_TRY(conversion.objects, read_objects(text, file));
    CYBELE_CHECK(choose(conversion));
    const Tree::Map job = make_job(conversion);
    leave_fields(conversion);
    ConvertedObject converted;
    CYBELE_TRY(const std::string yaml, write_yaml(job));
    converted.text = fmt::format("# Made of {} by `cybelectl job convert`.\n{}",
                                 printable(std::filesystem::path(file).filename().native()),
                                 yaml);
    if (auto judged = launchers::read_job(converted.text, "the Job made of " + file); !judged) {
        return fail(std::move(judged).error().with_context("making a Job of " + file));
    }
    std::stable_sort(conversion.left.begin(),
                     conversion.left.end(),
                     [](const Fault& a, const Fault& b) { return a.where->line < b.where->line; });
    converted.left = std::move(conversion.left);
    return converted;
}

} // namespace cybele::kubernetes
