// SPDX-License-Identifier: Apache-2.0
#include "bridge/configuration/managed_job.hpp"

#include "bridge/objects/patterns.hpp"
#include "bridge/objects/refusals.hpp"
#include "kubernetes/convert/convert.hpp"
#include "launchers/documents/job.hpp"
#include "schedulers/reading/default_outputs.hpp"
#include "schedulers/scripts/render.hpp"
#include "support/find.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <iterator>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

using ManagedJson = nlohmann::json;

std::string annotation_of(const ManagedJson& job, std::string_view name) {
    return member_text(member_of(member_of(job, "metadata"), "annotations"), name);
}

void refuse_managed(Object& object, std::string_view reason, std::string message) {
    if (!object.refusal) {
        object.refusal = Refusal{std::string(reason), std::move(message)};
    }
}

/// What cannot be carried, each fault as `what: because`.
std::string words_of_faults(const std::vector<Fault>& faults) {
    std::string words;
    for (const Fault& fault : faults) {
        words += words.empty() ? "" : "; ";
        words += fault.message + (fault.because.empty() ? "" : ": " + fault.because);
    }
    return words;
}

/// The Job with its name and spec only, without what the API server added.
std::string manifest_of(const ManagedJson& job) {
    const ManagedJson kept{{"apiVersion", "batch/v1"},
                           {"kind", "Job"},
                           {"metadata", {{"name", member_of(member_of(job, "metadata"), "name")}}},
                           {"spec", member_of(job, "spec")}};
    return json_text(kept);
}

Fault unserved(Problem problem, std::string because, std::string help) {
    return Fault(ErrorCode::kInput, std::move(problem), std::move(because), std::move(help));
}

/// What a document of kind Job can express, and the bridge cannot.
void add_unserved(const ManagedJson& spec,
                  const launchers::Job& document,
                  std::vector<Fault>& into) {
    const auto is_other = [&spec](std::string_view name) {
        const ManagedJson& count = member_of(spec, name);
        return count.is_number_integer() && count != 1;
    };
    if (is_other("completions") || is_other("parallelism")) {
        into.push_back(
            unserved(problem("managed-job-several", "not converted: several pods of one Job"),
                     "a Job of the bridge is one batch job",
                     "create one Job for each"));
    }
    constexpr std::string_view kEverywhere[] = {"kubernetes.io/os", "kubernetes.io/arch"};
    for (const auto& [key, value] : document.kubernetes ? document.kubernetes->node_selector
                                                        : std::map<std::string, std::string>()) {
        if (!contains(kEverywhere, key)) {
            into.push_back(
                unserved(problem("managed-job-selector",
                                 "not converted: nodeSelector `" + printable(key) + "`"),
                         "the batch system chooses the nodes",
                         fmt::format("name a queue with the annotation {}", kQueueAnnotation)));
        }
    }
}

Result<std::string>
script_of(const ManagedJson& job, const Configuration& configuration, Object& object) {
    CYBELE_TRY(const kubernetes::ConvertedObject converted,
               kubernetes::convert_object(manifest_of(job), "the Job"));
    std::vector<Fault> needed;
    for (const Fault& fault : converted.left) {
        if (!kubernetes::is_without_effect(fault)) {
            needed.push_back(fault);
        }
    }
    CYBELE_TRY(launchers::Job document, launchers::read_job(converted.text, "the Job"));
    add_unserved(member_of(job, "spec"), document, needed);
    if (!needed.empty()) {
        return fail(Error(std::move(needed)));
    }
    document.queue = object.spec.queue;
    schedulers::set_default_outputs(configuration.dialect, document);
    schedulers::RenderInput input;
    input.job = &document;
    input.site = &configuration.cluster;
    input.dialect = configuration.dialect;
    input.image = document.image ? document.image->reference : "";
    CYBELE_TRY(schedulers::RenderedScript rendered, schedulers::render_script(input));
    return std::move(rendered.text);
}

void read_job_spec(const ManagedJson& job, const Configuration& configuration, Object& object) {
    const ManagedJson& spec = member_of(job, "spec");
    object.kind = configuration.site.kind;
    object.job.is_suspended = member_of(spec, "suspend") == true;
    object.job.is_indexed = member_of(spec, "completionMode") == "Indexed";
    object.job.has_deadline = member_of(spec, "activeDeadlineSeconds").is_number_integer();
    object.spec.queue = annotation_of(job, kQueueAnnotation);
    object.spec.account = annotation_of(job, kAccountAnnotation);
    if (!object.spec.queue.empty() && !is_batch_name(object.spec.queue)) {
        refuse_managed(object,
                       kSpecInvalid,
                       fmt::format("annotation {} is not the name of a queue", kQueueAnnotation));
        return;
    }
    if (!object.spec.account.empty() && !is_batch_name(object.spec.account)) {
        refuse_managed(
            object,
            kSpecInvalid,
            fmt::format("annotation {} is not the name of an account", kAccountAnnotation));
        return;
    }
    auto script = script_of(job, configuration, object);
    if (!script) {
        refuse_managed(object, kNotConvertible, words_of_faults(script.error().faults()));
        return;
    }
    object.spec.batch = std::move(*script);
}

} // namespace

bool is_managed(const ManagedJson& job) {
    return member_of(member_of(job, "spec"), "managedBy") == kManager;
}

JobReader job_reader(const Configuration& configuration) {
    if (!configuration.document.manages_jobs) {
        return {};
    }
    return [&configuration](const ManagedJson& job, Object& object) {
        read_job_spec(job, configuration, object);
    };
}

} // namespace cybele::bridge
