// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/render.hpp"

#include "kubernetes/literal_block.hpp"
#include "kubernetes/names.hpp"
#include "support/quote.hpp"
#include "support/yaml.hpp"
#include "templates/renderer.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

using launchers::Job;
using templates::Value;
using templates::Values;

/// `kubectl apply` copies the object into an annotation, and annotations hold 256 KiB.
constexpr std::size_t kMostBytes = std::size_t{256} << 10U;
constexpr std::size_t kManyBytes = std::size_t{128} << 10U;

/// `batch` stands two blanks in, its lines four.
constexpr std::size_t kIndentation = 4;

struct Kind {
    std::string_view name;
    std::string_view dialect; ///< empty: not yet
    bool is_for_operator;     ///< WLM-Operator reads the directives itself
};
constexpr std::array<Kind, 5> kKinds{{{"TorqueJob", "torque", false},
                                      {"SlurmJob", "slurm", true},
                                      {"WlmJob", "", false},
                                      {"BridgeJob", "", false},
                                      {"Job", "", false}}};

Result<Kind> find_kind(const std::string& name) {
    const auto* found = std::find_if(
        kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return kind.name == name; });
    if (found == kKinds.end()) {
        return fail(ErrorCode::kInput,
                    fmt::format("no kind is called '{}'", printable(name)),
                    fmt::format("known are {}; capitals count", fmt::join(kind_names(), ", ")),
                    "name one of these");
    }
    if (found->dialect.empty()) {
        return fail(ErrorCode::kInput,
                    fmt::format("not yet: kind {}", name),
                    "this version renders TorqueJob and SlurmJob",
                    "use `--kind TorqueJob`");
    }
    return *found;
}

struct ObjectRendering {
    const Job& job;
    const launchers::Site* site;
    Faults& faults;
};

/// A selector's value is a label's, since the server compares it with one.
void add_node_selector(const ObjectRendering& rendering, Values& values) {
    std::map<std::string, std::string> selector;
    const auto* site = rendering.site;
    if (site != nullptr && site->kubernetes && !site->kubernetes->node_name.empty()) {
        selector["kubernetes.io/hostname"] = site->kubernetes->node_name;
    }
    if (rendering.job.kubernetes) {
        for (const auto& [key, value] : rendering.job.kubernetes->node_selector) {
            selector[key] = value;
        }
    }
    std::vector<Values> list;
    for (const auto& [key, value] : selector) {
        if (!is_label_key(key) || !is_label_value(value)) {
            rendering.faults.add(rendering.job.fault_at(
                "kubernetes.node-selector",
                fmt::format("'{}: {}' is no label", printable(key), printable(value)),
                "a label is at most 63 letters, digits and `- _ .`, its key may have a domain "
                "before a `/`",
                "copy it from `kubectl get nodes --show-labels`"));
        }
        list.push_back({{"key", Value(key)}, {"value", Value(value)}});
    }
    values["has-node-selector"] = !list.empty();
    values["node-selector"] = std::move(list);
}

void check_absolute(const ObjectRendering& rendering,
                    std::string_view field,
                    const std::string& path) {
    const bool is_good = path.starts_with('/') && path.find('$') == std::string::npos &&
                         (path + "/").find("/../") == std::string::npos;
    if (!is_good) {
        rendering.faults.add(
            rendering.job.fault_at(field,
                                   fmt::format("'{}' is no absolute path", printable(path)),
                                   "nothing in the cluster expands `$`, `~`, `..` or knows where a "
                                   "relative path starts",
                                   "write it from `/` on"));
    }
}

void add_results(const ObjectRendering& rendering, Values& values) {
    values["has-results"] = false;
    values["results-from"] = "";
    values["results-host-path"] = false;
    values["results-claim"] = false;
    const auto& wanted = rendering.job.kubernetes;
    if (!wanted || (wanted->results_host_path.empty() && wanted->results_claim.empty())) {
        return;
    }
    values["has-results"] = true;
    values["results-from"] = wanted->results_path;
    check_absolute(rendering, "kubernetes.results.path", wanted->results_path);
    if (!wanted->results_claim.empty()) {
        values["results-claim"] = wanted->results_claim;
        return;
    }
    check_absolute(rendering, "kubernetes.results.host-path", wanted->results_host_path);
    values["results-host-path"] = wanted->results_host_path;
}

/// The words that stand in the yaml without quotes.
void add_type(const ObjectRendering& rendering, const std::string& kind, Values& values) {
    std::string version = "wlm.sylabs.io/v1alpha1";
    std::string name = kind;
    const auto* site = rendering.site;
    if (site != nullptr && site->kubernetes) {
        version = site->kubernetes->api_version.empty() ? version : site->kubernetes->api_version;
        // The Site says how its operator spells the kind, where it is the one that is asked for.
        const bool is_same =
            std::equal(name.begin(),
                       name.end(),
                       site->kubernetes->kind.begin(),
                       site->kubernetes->kind.end(),
                       [](char left, char right) { return (left | 0x20) == (right | 0x20); });
        name = is_same ? site->kubernetes->kind : name;
    }
    if (!is_api_version(version)) {
        Fault fault;
        fault.code = ErrorCode::kInput;
        fault.message = fmt::format("'{}' is no apiVersion", printable(version));
        fault.because = "it is GROUP/VERSION, such as wlm.sylabs.io/v1alpha1";
        fault.help = "mend `kubernetes.api-version` of the Site";
        rendering.faults.add(std::move(fault));
    }
    values["api-version"] = version;
    values["kind"] = name;
}

void check_size(const ObjectRendering& rendering, std::size_t bytes) {
    if (bytes <= kManyBytes) {
        return;
    }
    Fault fault = rendering.job.fault_at("script",
                                         fmt::format("the script has {} bytes", bytes),
                                         "`kubectl apply` keeps a copy in an annotation, and those "
                                         "hold 256 KiB",
                                         "put the program into a file of its own");
    fault.is_warning = bytes <= kMostBytes;
    rendering.faults.add(std::move(fault));
}

/// The best single test of a block: what a reader gets is the script, byte for byte.
Result<void> check_round_trip(const std::string& text, const std::string& script) {
    CYBELE_TRY(const auto document, yaml::parse(text, "the rendered object"));
    const auto* spec = document.root.find("spec");
    const auto* batch = spec == nullptr ? nullptr : spec->find("batch");
    if (batch == nullptr || batch->scalar != script) {
        return fail(ErrorCode::kInternal, "the yaml does not give the script back byte for byte");
    }
    return {};
}

} // namespace

Result<schedulers::RenderedScript> render_object(schedulers::RenderInput input,
                                                 const std::string& kind) {
    CYBELE_TRY(const Kind known, find_kind(kind));
    input.dialect = known.dialect;
    input.is_for_operator = known.is_for_operator;
    const Job& job = *input.job;
    Faults faults;
    const ObjectRendering rendering{job, input.site, faults};
    Values values;
    if (!is_object_name(job.name)) {
        faults.add(job.fault_at("name",
                                fmt::format("'{}' is no name for an object", printable(job.name)),
                                "RFC 1123: lower-case letters, digits and `-`, 50 at most",
                                "rename the job"));
    }
    if (known.is_for_operator && job.resources.exclusive) {
        faults.add(job.fault_at("resources.exclusive",
                                "`exclusive` cannot be expressed in a SlurmJob",
                                "a directive without a value crashes WLM-Operator",
                                "drop `exclusive`"));
    }
    if (!job.array.empty()) {
        faults.add(job.fault_at("array",
                                fmt::format("`array` cannot be expressed in a {}", kind),
                                "its operator reports the first element only",
                                "submit one job an index"));
    }
    values["name"] = job.name;
    values["namespace"] = job.kubernetes ? job.kubernetes->name_space : "default";
    add_type(rendering, kind, values);
    add_node_selector(rendering, values);
    add_results(rendering, values);
    auto script = schedulers::render_script(input);
    if (!script) {
        faults.add(script.error());
    } else {
        check_size(rendering, script->text.size());
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    CYBELE_TRY(std::string block, literal_block(script->text, kIndentation));
    block.pop_back();
    values["batch"] = Value(Value::Verbatim{std::move(block)});
    const templates::TemplateSet set;
    values["template-set"] = set.version();
    CYBELE_TRY(auto rendered,
               templates::render(set, "kubernetes/wlm-job", values, templates::Escape::kYaml));
    CYBELE_CHECK(check_round_trip(rendered.text, script->text));
    for (const Fault& note : faults.all()) {
        script->notes.push_back(note);
    }
    return schedulers::RenderedScript{std::move(rendered.text), std::move(script->notes)};
}

std::vector<std::string> kind_names() {
    std::vector<std::string> names;
    for (const Kind& kind : kKinds) {
        if (!kind.dialect.empty()) {
            names.emplace_back(kind.name);
        }
    }
    return names;
}

} // namespace cybele::kubernetes
