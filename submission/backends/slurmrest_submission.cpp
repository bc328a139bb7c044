// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/asked.hpp"
#include "schedulers/reading/batch_script.hpp"
#include "submission/backends/command_backend.hpp"
#include "submission/backends/slurmrest_shapes.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace cybele::submission::slurmrest {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Put = bool (*)(const std::string& value, Version version, OrderedJson& job);

OrderedJson number(std::int64_t value, Version version) {
    return version < kFirstOfMaps ? OrderedJson(value)
                                  : OrderedJson{{"set", true}, {"number", value}};
}

template <const char* Name>
bool put_text(const std::string& value, Version, OrderedJson& job) {
    job[Name] = value;
    return true;
}

template <const char* Name>
bool put_count(const std::string& value, Version, OrderedJson& job) {
    const auto count = text::number(value);
    job[Name] = count.value_or(0);
    return count.has_value();
}

bool put_nodes(const std::string& value, Version version, OrderedJson& job) {
    const auto count = text::number(value);
    if (version < kFirstOfMaps) {
        job["nodes"] = OrderedJson::array({count.value_or(0), count.value_or(0)}); // least and most
    } else {
        job["nodes"] = value;
    }
    return count.has_value();
}

/// Mebibytes, as the renderer writes them: `2048M`.
template <const char* Name>
bool put_memory(const std::string& value, Version version, OrderedJson& job) {
    const bool has_unit = value.ends_with('M');
    const auto count = text::number(value.substr(0, value.size() - (has_unit ? 1 : 0)));
    job[Name] = number(count.value_or(0), version);
    return count.has_value();
}

/// slurmrestd counts whole minutes; a limit is never made shorter.
bool put_time(const std::string& value, Version version, OrderedJson& job) {
    const auto time = schedulers::slurm_time(value);
    if (!time) {
        return false;
    }
    job["time_limit"] = number(std::chrono::ceil<std::chrono::minutes>(*time).count(), version);
    return true;
}

bool put_gpus(const std::string& value, Version version, OrderedJson& job) {
    if (version < kFirstOfMaps) {
        job["gpus_per_node"] = value;
    } else {
        job["tres_per_node"] = "gres/gpu:" + value;
    }
    return true;
}

bool put_exclusive(const std::string& /*value*/, Version version, OrderedJson& job) {
    if (version < kFirstOfMaps) {
        job["exclusive"] = "true";
    } else {
        job["shared"] = OrderedJson::array({"none"});
    }
    return true;
}

bool put_mail_type(const std::string& value, Version version, OrderedJson& job) {
    if (version < kFirstOfMaps) {
        job["mail_type"] = value;
        return true;
    }
    job["mail_type"] = OrderedJson::array();
    for (const std::string_view word : text::split(value, ',')) {
        job["mail_type"].push_back(word);
    }
    return true;
}

/// `B:USR1@300`: to the script only, so many seconds before the end.
bool put_signal(const std::string& value, Version version, OrderedJson& job) {
    if (version < kFirstOfMaps) {
        job["signal"] = value;
        return true;
    }
    const std::size_t at = value.find('@');
    const auto before = text::number(value.substr(std::min(at, value.size() - 1) + 1));
    if (!value.starts_with("B:") || at == std::string::npos || !before) {
        return false;
    }
    job["kill_warning_signal"] = value.substr(2, at - 2);
    job["kill_warning_delay"] = number(*before, version);
    job["kill_warning_flags"] = OrderedJson::array({"BATCH_JOB"});
    return true;
}

/// The variables are given below; the script's own word for it has nothing to say.
bool put_nothing(const std::string& /*value*/, Version /*version*/, OrderedJson& /*job*/) {
    return true;
}

constexpr char kAccount[] = "account";
constexpr char kArray[] = "array";
constexpr char kConstraints[] = "constraints";
constexpr char kCpus[] = "cpus_per_task";
constexpr char kDependency[] = "dependency";
constexpr char kDirectory[] = "current_working_directory";
constexpr char kErrors[] = "standard_error";
constexpr char kMailUser[] = "mail_user";
constexpr char kMemoryPerCpu[] = "memory_per_cpu";
constexpr char kMemoryPerNode[] = "memory_per_node";
constexpr char kNameField[] = "name";
constexpr char kOutput[] = "standard_output";
constexpr char kPartition[] = "partition";
constexpr char kQos[] = "qos";
constexpr char kTasks[] = "tasks";
constexpr char kTasksPerNode[] = "tasks_per_node";

/// Every directive that templates of the dialect slurm write.
struct DirectiveRow {
    std::string_view option;
    Put put;
};
constexpr DirectiveRow kDirectives[] = {
    {"--nodes", put_nodes},
    {"--job-name", put_text<kNameField>},
    {"--ntasks", put_count<kTasks>},
    {"--ntasks-per-node", put_count<kTasksPerNode>},
    {"--cpus-per-task", put_count<kCpus>},
    {"--mem", put_memory<kMemoryPerNode>},
    {"--mem-per-cpu", put_memory<kMemoryPerCpu>},
    {"--gpus-per-node", put_gpus},
    {"--time", put_time},
    {"--exclusive", put_exclusive},
    {"--constraint", put_text<kConstraints>},
    {"--partition", put_text<kPartition>},
    {"--account", put_text<kAccount>},
    {"--qos", put_text<kQos>},
    {"--array", put_text<kArray>},
    {"--dependency", put_text<kDependency>},
    {"--mail-user", put_text<kMailUser>},
    {"--mail-type", put_mail_type},
    {"--signal", put_signal},
    {"--chdir", put_text<kDirectory>},
    {"--output", put_text<kOutput>},
    {"--error", put_text<kErrors>},
    {"--export", put_nothing},
};

OrderedJson environment_of(const Submission& submission, Version version) {
    const std::pair<const char*, std::string> variables[] = {
        {"PATH",
         submission.search_path.empty() ? "/usr/local/bin:/usr/bin:/bin" : submission.search_path},
        {"CYBELE_JOB", submission.uuid},
        {"CYBELE_JOB_DIR", submission.record.native()}};
    OrderedJson environment = version < kFirstOfMaps ? OrderedJson::object() : OrderedJson::array();
    for (const auto& [name, value] : variables) {
        if (version < kFirstOfMaps) {
            environment[name] = value;
        } else {
            environment.push_back(std::string(name) + "=" + value);
        }
    }
    return environment;
}

} // namespace

Result<std::string>
submission_body(const Submission& submission, const std::string& script, Version version) {
    CYBELE_TRY(const auto read,
               schedulers::read_batch_script(script, "job.sh", schedulers::Reader::kSlurm));
    OrderedJson job{{"name", submission.name},
                    {"current_working_directory", submission.workdir.native()},
                    {"environment", environment_of(submission, version)},
                    {"comment", "cybelectl:" + submission.uuid}};
    if (submission.is_held) {
        job["hold"] = true;
    }
    if (!submission.queue.empty()) {
        job["partition"] = submission.queue;
    }
    // Requeued, a job would run twice under one id. v0.0.38 takes `requeue: false` for true.
    if (version < kFirstOfMaps) {
        job["no_requeue"] = true;
    } else {
        job["requeue"] = false;
    }
    for (const schedulers::Directive& directive : read.directives) {
        const auto* const row =
            std::ranges::find(kDirectives, directive.option, &DirectiveRow::option);
        if (row == std::end(kDirectives) || !row->put(directive.value, version, job)) {
            return fail(ErrorCode::kInput,
                        problem("slurmrestd-option",
                                "slurmrestd does not support `" + printable(directive.option) +
                                    (directive.has_value ? "=" + printable(directive.value) : "") +
                                    "`"),
                        "it reads no directives of a script, and has no field for this one",
                        "reach the scheduler by ssh: `through: {ssh: HOST}`");
        }
    }
    const OrderedJson document{{"script", script}, {"job", job}};
    return json_text(document, -1);
}

} // namespace cybele::submission::slurmrest
