// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/object.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

using launchers::Job;
using launchers::LaunchKind;

bool is_secret(const std::string& value) {
    return value.starts_with("@file:");
}

constexpr std::array kUnservedByPod{
    Unserved{"array",
             [](const Job& job) { return !job.array.empty(); },
             "a Pod is one job",
             "render one Pod an index"},
    Unserved{"launch",
             [](const Job& job) {
                 return job.launch.kind != LaunchKind::kSerial &&
                        job.launch.kind != LaunchKind::kOpenmp &&
                        job.launch.kind != LaunchKind::kMpi;
             },
             "interLink starts the container, by mpiexec or once",
             "use `--kind SlurmJob`"},
    Unserved{"workdir",
             [](const Job& job) { return !job.workdir.empty(); },
             "interLink runs the job in a folder of its own",
             "write absolute paths, drop `workdir`"},
    Unserved{"output.results",
             [](const Job& job) { return !job.output.results.empty(); },
             "interLink runs the job in a folder of its own",
             "let the program write to a folder that `binds` shows"},
    Unserved{"verify",
             [](const Job& job) { return !job.verify_keys.empty() || !job.verify_policy.empty(); },
             "interLink verifies no image",
             "use `--kind SlurmJob`"},
    Unserved{"environment",
             [](const Job& job) {
                 return std::ranges::any_of(
                     job.environment, [](const auto& entry) { return is_secret(entry.second); });
             },
             "`@file:` is read on the node, by a script that a Pod has not",
             "make a Secret, or use `--kind SlurmJob`"},
    Unserved{"name",
             [](const Job& job) {
                 return !job.expanded.empty() || !job.folders.empty() ||
                        !job.image_copy.text.empty() || !job.input.text.empty() ||
                        !job.expanded_workdir.empty() || !job.output.expanded_output.empty() ||
                        !job.output.expanded_error.empty() ||
                        (job.image && !job.image->expanded.empty());
             },
             "`expand`, `make`, `image-copy` and `input` are done by a script that a Pod has not",
             "write plain paths, or use `--kind SlurmJob`"},
};

/// What interLink sets itself, or reads from the container's limits.
constexpr std::array<std::string_view, 7> kNotAFlag{
    "--job-name", "--output", "--error", "--export", "--mem", "--mem-per-cpu", "--cpus-per-task"};

/// The head's directives as the words of one annotation.
std::string flags(const Object& object) {
    constexpr std::string_view kPrefix = "#SBATCH ";
    std::string words;
    for (std::string_view rest = object.script; !rest.empty();) {
        const auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (!line.starts_with(kPrefix)) {
            if (line.starts_with("#!")) {
                continue;
            }
            break;
        }
        const auto flag = line.substr(kPrefix.size());
        const auto name = flag.substr(0, flag.find('='));
        if (contains(kNotAFlag, name)) {
            continue;
        }
        if (flag.find_first_of(" \"") != std::string_view::npos) {
            refuse_directive(object,
                             flag,
                             problem("interlink-flag-word",
                                     fmt::format("'{}' has a blank or a quote", printable(flag))),
                             "interLink splits its flags at blanks",
                             "write it without");
        }
        words += (words.empty() ? "" : " ") + std::string(flag);
    }
    return words;
}

std::string pod_image(const Object& object) {
    const std::string& image = object.input.image;
    if (!object.job.image) {
        object.refuse("image",
                      problem("pod-without-image", "a Pod needs an `image`"),
                      "its container is one",
                      "name the image");
        return {};
    }
    if (image.starts_with("docker://") || image.starts_with("oras://") ||
        image.starts_with("library://")) {
        return image;
    }
    check_absolute(object, "image", image);
    return image;
}

Tree annotations(const Object& object) {
    Tree::Map map{{"slurm-job.vk.io/flags", flags(object)}};
    if (object.job.launch.kind == LaunchKind::kMpi) {
        std::string words;
        for (const auto& option : object.job.launch.options) {
            words += (words.empty() ? "" : " ") + option;
        }
        map.emplace_back("slurm-job.vk.io/mpi-flags", words);
    }
    std::string binds;
    for (const auto& bind : object.job.binds) {
        if (bind.starts_with("~") || bind.find(' ') != std::string::npos) {
            object.refuse("binds",
                          problem("interlink-bind-word",
                                  fmt::format("'{}' has a `~` or a blank", printable(bind))),
                          "interLink puts it on a command line as it is",
                          "write an absolute path without blanks");
        }
        binds += (binds.empty() ? "-B " : " -B ") + bind;
    }
    if (!binds.empty()) {
        map.emplace_back("slurm-job.vk.io/singularity-options", binds);
    }
    return map;
}

Tree environment(const Object& object) {
    std::map<std::string, std::string> values = object.job.environment;
    const auto threads = object.job.launch.threads.value_or(object.job.resources.cpus_per_task);
    if (!object.job.launch.has_own_threads) {
        values.emplace("OMP_NUM_THREADS", std::to_string(threads));
    }
    Tree::List list;
    for (const auto& [name, value] : values) {
        list.push_back(Tree::Map{{"name", name}, {"value", unexpanded(value)}});
    }
    return list;
}

Tree::List command(const Job& job) {
    Tree::List words;
    if (!job.script.empty()) {
        const auto shell =
            job.shell.empty() ? std::vector<std::string>{"/bin/sh", "-eu"} : job.shell;
        words.insert(words.end(), shell.begin(), shell.end());
        words.insert(words.end(), {"-c", job.script});
        if (job.shell_has_name()) {
            words.emplace_back(job.name);
        }
        return words;
    }
    for (const auto& word : job.command) {
        words.emplace_back(word);
    }
    return words;
}

/// As the server writes it back: 2Gi, not 2048Mi.
std::string quantity(std::int64_t mebibytes) {
    return mebibytes > 0 && mebibytes % 1024 == 0 ? fmt::format("{}Gi", mebibytes / 1024)
                                                  : fmt::format("{}Mi", mebibytes);
}

Tree limits(const Object& object) {
    const auto memory = launchers::memory_of_node(object.job.resources);
    // Spark, which no Pod can express, needs an amount of its own.
    if (!memory && object.job.launch.kind != launchers::LaunchKind::kSpark) {
        object.refuse("resources.memory-per-node",
                      problem("pod-without-memory", "a Pod needs `memory-per-node`"),
                      "without a limit interLink asks for one megabyte",
                      "write `memory-per-node: 4 GiB` under `resources`");
    }
    return Tree::Map{{"limits",
                      Tree::Map{{"cpu", std::to_string(object.job.resources.cpus_per_task)},
                                {"memory", quantity(mebibytes(memory.value_or(0)))}}}};
}

} // namespace

std::string unexpanded(std::string_view word) {
    std::string kept;
    for (std::size_t at = 0; at < word.size(); ++at) {
        kept += word[at];
        if (word[at] == '$' && at + 1 < word.size() &&
            (word[at + 1] == '(' || word[at + 1] == '$')) {
            kept += '$';
        }
    }
    return kept;
}

Documents build_pod(const Object& object) {
    refuse_asked(object, kUnservedByPod);
    Tree::Map container{{"name", "main"}, {"image", pod_image(object)}};
    if (auto words = command(object.job); !words.empty()) {
        container.emplace_back("command", std::move(words));
    }
    container.emplace_back("env", environment(object));
    container.emplace_back("resources", limits(object));
    Tree::Map spec{{"restartPolicy", "Never"}};
    if (auto selector = node_selector(object); !selector.empty()) {
        spec.emplace_back("nodeSelector", std::move(selector));
    }
    spec.emplace_back("tolerations",
                      Tree::List{Tree::Map{{"key", "virtual-node.interlink/no-schedule"},
                                           {"operator", "Exists"}}});
    spec.emplace_back("containers", Tree::List{std::move(container)});
    return {Tree::Map{
        {"apiVersion", "v1"},
        {"kind", "Pod"},
        {"metadata", object.metadata(object.job.name, {{"annotations", annotations(object)}})},
        {"spec", std::move(spec)}}};
}

} // namespace cybele::kubernetes
