// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/object.hpp"
#include "kubernetes/objects/operator_reader.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

using launchers::Job;

constexpr std::array kWlmUnserved{
    Unserved{"array",
             [](const Job& job) { return !job.array.empty(); },
             "its operator reports the first element only",
             "submit one job an index"},
};

constexpr std::array kWlmJobUnserved{
    Unserved{"command",
             [](const Job& job) { return !job.command.empty(); },
             "a WlmJob runs the image's runscript without arguments",
             "use `--kind SlurmJob`, or give the image a runscript"},
    Unserved{"script",
             [](const Job& job) { return !job.script.empty(); },
             "a WlmJob runs the image's runscript",
             "use `--kind SlurmJob`"},
    Unserved{"launch",
             [](const Job& job) {
                 return job.launch.kind != launchers::LaunchKind::kSerial &&
                        job.launch.kind != launchers::LaunchKind::kMpi;
             },
             "a WlmJob starts its image once a node, by srun",
             "use `--kind SlurmJob`"},
    Unserved{"resources.tasks-per-node",
             [](const Job& job) { return job.resources.tasks_per_node > 1; },
             "a WlmJob starts its image once a node, by srun",
             "use `--kind SlurmJob`"},
    Unserved{"environment",
             [](const Job& job) { return !job.environment.empty(); },
             "a WlmJob has no variables",
             "use `--kind SlurmJob`, or set them in the image"},
    Unserved{"resources.gpus-per-node",
             [](const Job& job) { return job.resources.gpus_per_node > 0; },
             "a WlmJob has no word for it",
             "use `--kind SlurmJob`"},
    Unserved{"resources.constraint",
             [](const Job& job) { return !job.resources.constraint.empty(); },
             "a WlmJob has no word for it",
             "write the feature's label as `kubernetes.node-selector`"},
    Unserved{"resources.exclusive",
             [](const Job& job) { return job.resources.exclusive; },
             "a WlmJob has no word for it",
             "drop `exclusive`"},
    Unserved{"account",
             [](const Job& job) { return !job.account.empty(); },
             "a WlmJob has no word for it",
             "use `--kind SlurmJob`"},
    Unserved{"qos",
             [](const Job& job) { return !job.qos.empty(); },
             "a WlmJob has no word for it",
             "use `--kind SlurmJob`"},
    Unserved{"after",
             [](const Job& job) { return !job.after.empty(); },
             "a WlmJob has no word for it",
             "use `--kind SlurmJob`"},
    Unserved{"mail",
             [](const Job& job) { return job.mail.has_value(); },
             "a WlmJob has no word for it",
             "use `--kind SlurmJob`"},
    Unserved{"signal",
             [](const Job& job) { return job.signal.has_value(); },
             "a WlmJob has no word for it",
             "use `--kind SlurmJob`"},
    Unserved{"verify",
             [](const Job& job) { return !job.verify_keys.empty() || !job.verify_policy.empty(); },
             "a WlmJob has no script that could verify its image",
             "use `--kind SlurmJob`"},
};

constexpr std::string_view kDirective = "#SBATCH ";

/// A line of a text, from 1.
std::string_view script_line(std::string_view text, std::size_t line) {
    for (; line > 1 && !text.empty(); --line) {
        text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    }
    return text.substr(0, text.find('\n'));
}

/// What the operator would crash on, ignore or misread is never written.
void refuse_what_operator_misreads(const Object& object) {
    if (object.job.resources.exclusive) {
        object.refuse("resources.exclusive",
                      fmt::format("`exclusive` cannot be expressed in a {}", object.kind),
                      "a directive without a value crashes WLM-Operator",
                      "drop `exclusive`");
        return;
    }
    for (const auto& finding : read_as_operator(object.script).findings) {
        if (finding.trouble == OperatorTrouble::kUnread) {
            continue; // only where the user brings a script of their own: sbatch reads it all the
                      // same
        }
        const std::string_view line = script_line(object.script, finding.line);
        if (object.is_rendered && line.starts_with(kDirective)) {
            const auto directive = line.substr(kDirective.size());
            refuse_directive(object,
                             directive,
                             fmt::format("WLM-Operator cannot read '{}'", printable(directive)),
                             finding.what,
                             "write it without blanks and quotes");
            continue;
        }
        object.refuse("script",
                      fmt::format("WLM-Operator cannot read line {} of the script", finding.line),
                      finding.what,
                      "write `#SBATCH --option=value` lines behind the first, one option a line, "
                      "without blanks in values");
    }
}

/// `local.file` goes straight before the path; the other ways of an image stay as they are.
std::string wlm_image(const Object& object) {
    const std::string& reference = object.input.image;
    if (reference.starts_with("library://") || reference.starts_with("docker://")) {
        return reference;
    }
    if (!object.job.image || reference.find("://") != std::string::npos ||
        reference.starts_with("store:")) {
        object.refuse("image",
                      object.job.image
                          ? fmt::format("a WlmJob cannot fetch '{}'", printable(reference))
                          : "a WlmJob needs an `image`",
                      "it takes `library://`, `docker://` or a path on the cluster",
                      "name one of these");
        return {};
    }
    check_absolute(object, "image", reference);
    return "local.file" + reference;
}

/// What all kinds of this operator have around and behind their own.
Documents whole(const Object& object, Tree::Map spec) {
    if (auto selector = node_selector(object); !selector.empty()) {
        spec.emplace_back("nodeSelector", std::move(selector));
    }
    if (auto results = wlm_results(object)) {
        spec.emplace_back("results", std::move(*results));
    }
    return {Tree::Map{{"apiVersion", object.api_version},
                      {"kind", object.kind},
                      {"metadata", object.metadata(object.job.name)},
                      {"spec", std::move(spec)}}};
}

} // namespace

Documents build_wlm_object(const Object& object) {
    refuse_asked(object, kWlmUnserved);
    if (object.input.is_for_operator && !object.script.empty()) {
        refuse_what_operator_misreads(object);
    }
    Tree::Map spec{{"batch", Tree::Block{object.script}}};
    return whole(object, std::move(spec));
}

Documents build_wlm_job(const Object& object) {
    refuse_asked(object, kWlmUnserved);
    refuse_asked(object, kWlmJobUnserved);
    const auto& resources = object.job.resources;
    Tree::Map spec{{"image", wlm_image(object)}};
    if (!object.job.binds.empty()) {
        Tree::List binds(object.job.binds.begin(), object.job.binds.end());
        spec.emplace_back("options", Tree::Map{{"binds", std::move(binds)}});
    }
    Tree::Map asked{
        {"nodes", std::int64_t{resources.nodes}},
        {"cpuPerNode", std::int64_t{resources.tasks_per_node} * resources.cpus_per_task}};
    if (const auto memory = launchers::memory_of_node(resources)) {
        asked.emplace_back("memPerNode", mebibytes(*memory));
    }
    if (resources.time) {
        asked.emplace_back("wallTime", std::int64_t{resources.time->count()});
    }
    spec.emplace_back("resources", std::move(asked));
    return whole(object, std::move(spec));
}

} // namespace cybele::kubernetes
