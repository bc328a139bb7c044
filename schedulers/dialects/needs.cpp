// SPDX-License-Identifier: Apache-2.0
#include "schedulers/dialects/needs.hpp"

#include "schedulers/dialects/need_check.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

using launchers::Job;

struct Need {
    std::string_view name;
    std::string_view field; ///< where a refusal points
    bool (*is_asked)(const Job&);
};

/// A launch that asks for what is written alone leaves the name to the batch system.
bool names_output(const Job& job, std::string_view field) {
    return job.launch.asks_as_written() ? job.says(field) : !leaves_outputs_to_directives(job);
}

constexpr std::array kNeeds{
    Need{"name", "name", [](const Job&) { return true; }},
    Need{"nodes", "resources.nodes", [](const Job& job) { return job.resources.nodes > 1; }},
    Need{"tasks",
         "resources.tasks",
         [](const Job& job) {
             // The product of the other two is not asked for by itself.
             return job.launch.asks_as_written() ? job.says("resources.tasks")
                                                 : job.resources.tasks > 1;
         }},
    Need{"tasks-per-node",
         "resources.tasks-per-node",
         [](const Job& job) { return job.resources.tasks_per_node > 1; }},
    Need{"cpus-per-task",
         "resources.cpus-per-task",
         [](const Job& job) { return job.resources.cpus_per_task > 1; }},
    Need{"memory-per-node",
         "resources.memory-per-node",
         [](const Job& job) { return job.resources.memory_per_node_bytes.has_value(); }},
    Need{"memory-per-cpu",
         "resources.memory-per-cpu",
         [](const Job& job) { return job.resources.memory_per_cpu_bytes.has_value(); }},
    Need{"gpus-per-node",
         "resources.gpus-per-node",
         [](const Job& job) { return job.resources.gpus_per_node > 0; }},
    Need{"gpus", "resources.gpus", [](const Job& job) { return job.resources.gpus > 0; }},
    Need{"gpus-per-task",
         "resources.gpus-per-task",
         [](const Job& job) { return job.resources.gpus_per_task > 0; }},
    Need{"gpu-type",
         "resources.gpus-per-node",
         [](const Job& job) {
             return !job.resources.gpu_type.empty() && launchers::gpus_of_node(job.resources) > 0;
         }},
    Need{"cpus-per-gpu",
         "resources.cpus-per-gpu",
         [](const Job& job) { // other launches refuse it for every scheduler
             return job.resources.cpus_per_gpu && job.launch.kind == launchers::LaunchKind::kBatch;
         }},
    Need{"memory-per-gpu",
         "resources.memory-per-gpu",
         [](const Job& job) { return job.resources.memory_per_gpu_bytes.has_value(); }},
    Need{"memory", "resources.memory", [](const Job& job) { return job.resources.has_all_memory; }},
    Need{"time", "resources.time", [](const Job& job) { return job.resources.time.has_value(); }},
    Need{
        "exclusive", "resources.exclusive", [](const Job& job) { return job.resources.exclusive; }},
    Need{"constraint",
         "resources.constraint",
         [](const Job& job) { return !job.resources.constraint.empty(); }},
    Need{"hosts", "resources.hosts", [](const Job& job) { return !job.resources.hosts.empty(); }},
    Need{"exclude",
         "resources.exclude",
         [](const Job& job) { return !job.resources.exclude.empty(); }},
    Need{"threads-per-core",
         "resources.threads-per-core",
         [](const Job& job) { return job.resources.threads_per_core.has_value(); }},
    Need{"licenses",
         "resources.licenses",
         [](const Job& job) { return !job.resources.licenses.empty(); }},
    Need{"gres", "resources.gres", [](const Job& job) { return !job.resources.gres.empty(); }},
    Need{"queue", "queue", [](const Job& job) { return !job.queue.empty(); }},
    Need{"account", "account", [](const Job& job) { return !job.account.empty(); }},
    Need{"qos", "qos", [](const Job& job) { return !job.qos.empty(); }},
    Need{"reservation", "reservation", [](const Job& job) { return !job.reservation.empty(); }},
    Need{"begin", "begin", [](const Job& job) { return !job.begin.empty(); }},
    Need{"comment", "comment", [](const Job& job) { return !job.comment.empty(); }},
    Need{"requeue", "requeue", [](const Job& job) { return job.requeue.has_value(); }},
    Need{"append-output",
         "append-output",
         [](const Job& job) { return job.append_output.value_or(false); }},
    Need{"directives", "directives", [](const Job& job) { return !job.directives.empty(); }},
    Need{"array", "array", [](const Job& job) { return !job.array.empty(); }},
    Need{"after", "after", [](const Job& job) { return !job.after.empty(); }},
    Need{"mail", "mail", [](const Job& job) { return job.mail.has_value(); }},
    Need{"signal", "signal", [](const Job& job) { return job.signal.has_value(); }},
    Need{"workdir", "workdir", [](const Job& job) { return !job.workdir.empty(); }},
    Need{"stdout",
         "output.stdout",
         [](const Job& job) { return names_output(job, "output.stdout"); }},
    Need{"stderr",
         "output.stderr",
         [](const Job& job) { return names_output(job, "output.stderr"); }},
};

constexpr auto kNames = [] {
    std::array<std::string_view, kNeeds.size()> names{};
    for (std::size_t index = 0; index < names.size(); ++index) {
        names[index] = kNeeds[index].name;
    }
    return names;
}();

/// The type stands at one of three fields.
std::string_view field_of(const Need& need, const Job& job) {
    return need.name == "gpu-type" ? launchers::field_of_gpus(job.resources) : need.field;
}

/// One note for all that the dialect takes without effect, at the first of them.
void note_nothing(const Check& check) {
    std::string names;
    std::string_view field;
    for (const Need& need : kNeeds) {
        if (need.is_asked(check.job) &&
            check.rules.needs.find(need.name)->second.service == Service::kNothing) {
            field = names.empty() ? field_of(need, check.job) : field;
            names += fmt::format("{}`{}`", names.empty() ? "" : ", ", need.name);
        }
    }
    if (names.empty()) {
        return;
    }
    Fault note = check.job.fault_at(
        field,
        problem("field-without-effect",
                fmt::format("without effect in {}: {}", check.dialect.name, names)),
        "they are for a cluster's queues, accounts, nodes and mail, which this "
        "machine does not have",
        "keep them where the Job is for a cluster, too");
    note.is_warning = true;
    check.faults.add(std::move(note));
}

void check_services(const Check& check) {
    std::set<std::pair<std::string_view, std::string_view>> told; // GPUs and their type are one
    for (const Need& need : kNeeds) {
        const NeedRule& rule = check.rules.needs.find(need.name)->second;
        const std::pair<std::string_view, std::string_view> reason{field_of(need, check.job),
                                                                   rule.because};
        if (!need.is_asked(check.job) || told.contains(reason)) {
            continue;
        }
        if (rule.service == Service::kCannot || rule.service == Service::kLater) {
            told.insert(reason);
        }
        if (rule.service == Service::kCannot) {
            check.faults.add(check.job.fault_at(
                field_of(need, check.job),
                problem("field-inexpressible",
                        fmt::format(
                            "`{}` cannot be expressed in {}", need.name, check.who(rule.before))),
                rule.because,
                rule.help));
        } else if (rule.service == Service::kLater) {
            check.faults.add(check.job.fault_at(
                need.field,
                problem("field-unsupported",
                        "`" + std::string(need.name) + "` is not supported yet: " + rule.because),
                "this version cannot do it",
                rule.help));
        }
    }
}

void check_rules(const Check& check) {
    check_services(check);
    note_nothing(check);
    check_forms(check);
}

} // namespace

std::span<const std::string_view> need_names() {
    return kNames;
}

namespace {

/// `--output=a`, `--out a`, `-oa`, `-e a`: each form in which sbatch reads the names of outputs.
bool names_an_output(std::string_view word) {
    const std::string_view option = word.substr(0, word.find_first_of("= "));
    constexpr std::size_t kShortest = 4; // `--ou`: fewer letters begin other options, too
    const bool is_long =
        option.size() >= kShortest && (std::string_view("--output").starts_with(option) ||
                                       std::string_view("--error").starts_with(option));
    return is_long || word.starts_with("-o") || word.starts_with("-e");
}

} // namespace

bool leaves_outputs_to_directives(const Job& job) {
    const auto found = job.directives.find("slurm");
    const bool is_said = job.says("output.stdout") || job.says("output.stderr");
    return !is_said && found != job.directives.end() &&
           std::ranges::any_of(found->second, names_an_output);
}

bool is_need(std::string_view word) {
    return contains(kNames, word);
}

void check_needs(const Job& job, const Dialect& dialect, Faults& faults) {
    Faults refusals;
    check_rules({job, dialect, dialect, refusals});
    for (const Fault& fault : refusals.all()) {
        faults.add(fault);
    }
    if (!dialect.oldest) {
        return;
    }
    Faults older;
    check_rules({job, dialect, *dialect.oldest, older});
    for (Fault fault : older.all()) {
        const auto same = std::ranges::find_if(refusals.all(), [&](const Fault& known) {
            // Refused at this place by every version, it is not older ones that are told.
            return known.message == fault.message ||
                   (known.where && fault.where && known.where->line == fault.where->line &&
                    known.where->column == fault.where->column);
        });
        if (same == refusals.all().end()) {
            fault.is_warning = true;
            fault.because += "; no Site says which version this one is";
            fault.help = "write the version into the Site (scheduler), and name it with --site";
            faults.add(std::move(fault));
        }
    }
}

void check_carried(const Job& job,
                   const Dialect& dialect,
                   const std::set<std::string>& used,
                   Faults& faults) {
    for (const Need& need : kNeeds) {
        const NeedRule& rule = dialect.needs.find(need.name)->second;
        if (need.is_asked(job) && rule.service == Service::kDirective &&
            !used.contains(rule.value)) {
            Fault fault = job.fault_at(
                need.field,
                problem(
                    "field-dropped-by-template",
                    fmt::format("the head's template for {} drops `{}`", dialect.name, need.name)),
                fmt::format("it never uses '{}'", rule.value),
                "fix dialect/head.mustache");
            faults.add(std::move(fault));
        }
    }
}

} // namespace cybele::schedulers
