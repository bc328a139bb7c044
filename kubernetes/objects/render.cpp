// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/render.hpp"

#include "kubernetes/objects/documents.hpp"
#include "kubernetes/objects/names.hpp"
#include "kubernetes/objects/object.hpp"
#include "support/document.hpp"
#include "support/find.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"
#include "support/yaml.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::kubernetes {
namespace {

using launchers::Job;
using launchers::Site;

/// `kubectl apply` copies the object into an annotation, and annotations hold 256 KiB.
constexpr std::size_t kMostObjectBytes = std::size_t{256} << 10U;
constexpr std::size_t kManyBytes = std::size_t{128} << 10U;
/// Each change of the status is a new version of the complete object.
constexpr std::size_t kCostlyBytes = std::size_t{32} << 10U;

/// The text that the bridge gets out of the last document, as the batch system gets it.
using Extract = std::optional<std::string> (*)(const std::vector<yaml::Document>& documents);

std::optional<std::string> json_member(const std::string& text, const char* member) {
    const auto value = nlohmann::json::parse(text, nullptr, false);
    if (!value.is_object() || !value.contains(member) || !value[member].is_string()) {
        return std::nullopt;
    }
    return value[member].get<std::string>();
}

std::optional<std::string> extract_batch(const std::vector<yaml::Document>& documents) {
    const auto* batch = find_path(documents.back().root, {"spec", "batch"});
    return batch == nullptr ? std::nullopt : std::optional(batch->scalar);
}

std::optional<std::string> extract_mirrored(const std::vector<yaml::Document>& documents) {
    const auto* job =
        documents.size() < 2 ? nullptr : find_path(documents[1].root, {"data", "job"});
    return job == nullptr ? std::nullopt : json_member(job->scalar, "script");
}

struct Kind {
    std::string_view name;
    std::string_view dialect;     ///< of the script; empty: the Site's
    std::string_view api_version; ///< of the operator's objects
    Documents (*build)(const Object& object);
    Extract extract;      ///< of a kind that carries the script
    bool is_for_operator; ///< WLM-Operator reads the directives itself
    bool is_ours_too;     ///< `kube crd` defines it in our own group
    bool has_fixed_type;  ///< apiVersion and kind are Kubernetes' own
};
constexpr std::array<Kind, 5> kObjectKinds{
    {{"TorqueJob",
      "torque",
      "wlm.sylabs.io/v1alpha1",
      build_wlm_object,
      extract_batch,
      false,
      true,
      false},
     {"SlurmJob",
      "slurm",
      "wlm.sylabs.io/v1alpha1",
      build_wlm_object,
      extract_batch,
      true,
      true,
      false},
     {"MirrorJob", "", "batch/v1", build_mirror_job, extract_mirrored, false, false, true},
     {"Pod", "slurm", "v1", build_pod, nullptr, false, false, true},
     {kPlainKind, "", "batch/v1", build_job, nullptr, false, false, true}}};

struct Bridge {
    std::string_view name;
    std::array<std::string_view, 3> kinds; ///< that it serves, its own first
};
constexpr std::array<Bridge, 5> kBridges{{{"torque-operator", {"TorqueJob"}},
                                          {"wlm-operator", {"SlurmJob"}},
                                          {"hpc-connector", {"MirrorJob"}},
                                          {"interlink", {"Pod"}},
                                          {"cybelectl", {"TorqueJob", "SlurmJob", "MirrorJob"}}}};

const Bridge* find_bridge(const Site* site) {
    if (site == nullptr || !site->kubernetes) {
        return nullptr;
    }
    return find_row(kBridges,
                    [&](const Bridge& bridge) { return bridge.name == site->kubernetes->bridge; });
}

bool is_same_word(std::string_view left, std::string_view right) {
    return std::equal(
        left.begin(), left.end(), right.begin(), right.end(), [](char one, char other) {
            return (one | 0x20) == (other | 0x20);
        });
}

/// A kind's name, in capitals as written here, or as the Site spells it.
const Kind* find_kind(std::string_view name, const Site* site) {
    const bool is_the_sites =
        site != nullptr && site->kubernetes && !name.empty() && site->kubernetes->kind == name;
    const auto* found = std::ranges::find_if(kObjectKinds, [&](const Kind& kind) {
        const bool is_bridged = kind.name != kPlainKind; // a mirror Job is a Job, too
        return is_the_sites ? is_bridged && is_same_word(kind.name, name) : kind.name == name;
    });
    if (found != kObjectKinds.end()) {
        return found;
    }
    const Bridge* bridge = find_bridge(site);
    return is_the_sites && bridge != nullptr ? find_kind(bridge->kinds.front(), nullptr) : nullptr;
}

/// Kinds that earlier versions rendered.
struct RemovedKind {
    std::string_view name;
    std::string_view because;
    std::string_view help;
};
constexpr RemovedKind kRemovedKinds[] = {
    {"WlmJob",
     "a WlmJob runs the runscript of an image without arguments, which a SlurmJob does too",
     "use `--kind SlurmJob`"},
    {"BridgeJob",
     "its bridge passes on neither time, memory nor GPUs",
     "use `--kind MirrorJob`, which carries the complete script"},
};

Result<const Kind*> known_kind(const std::string& name, const Site* site) {
    if (const Kind* kind = find_kind(name, site)) {
        return kind;
    }
    const bool is_the_sites = site != nullptr && site->kubernetes && site->kubernetes->kind == name;
    const ErrorCode code = is_the_sites ? ErrorCode::kInput : ErrorCode::kUsage;
    for (const RemovedKind& removed : kRemovedKinds) {
        if (removed.name == name) {
            return fail(
                code,
                problem("kind-removed", fmt::format("the kind {} is not supported any more", name)),
                std::string(removed.because),
                std::string(removed.help));
        }
    }
    const std::vector<std::string> names = kind_names();
    const std::string meant =
        nearest(name, std::vector<std::string_view>(names.begin(), names.end()));
    return fail(code,
                problem("kind-unknown", fmt::format("no kind is called '{}'", printable(name))),
                fmt::format("known are {}; names are case-sensitive", fmt::join(names, ", ")),
                meant.empty() ? "name one of these" : fmt::format("did you mean `{}`?", meant));
}

/// Words of the command line that fit no object, or not this one.
Result<void> check_options(const ObjectOptions& options, const Kind& kind) {
    if (!options.name_space.empty() && !is_label_name(options.name_space)) {
        return fail(
            ErrorCode::kUsage,
            problem("namespace-malformed",
                    fmt::format("'{}' is not a valid namespace", printable(options.name_space))),
            "RFC 1123: lower-case letters, digits and `-`, 63 at most",
            "name one that `kubectl get namespaces` lists");
    }
    if (!options.dialect.empty() && !kind.dialect.empty() && options.dialect != kind.dialect) {
        return fail(
            ErrorCode::kUsage,
            problem("kind-dialect",
                    fmt::format("a {} has nothing of {}", kind.name, printable(options.dialect))),
            fmt::format("its bridge speaks {}", kind.dialect),
            "leave --scheduler out, or name another --kind");
    }
    return {};
}

/// apiVersion and kind as the Site's bridge has them, where it serves this kind.
void set_type(const Kind& kind, Object& object) {
    object.api_version = kind.api_version;
    object.kind = kind.name;
    const Site* site = object.input.site;
    const Bridge* bridge = find_bridge(site);
    const bool is_served = bridge != nullptr && contains(bridge->kinds, kind.name);
    if (kind.has_fixed_type || !is_served || !site->kubernetes) {
        return;
    }
    if (bridge->name == "cybelectl" && kind.is_ours_too) {
        object.api_version = fmt::format("{}/v1alpha1", kOwnGroup);
    }
    const auto& settings = *site->kubernetes;
    if (!settings.api_version.empty()) {
        object.api_version = settings.api_version;
    }
    if (!settings.kind.empty() && find_kind(settings.kind, site) == &kind) {
        object.kind = settings.kind;
    }
    if (!is_api_version(object.api_version)) {
        object.faults.add(document::fault_at(
            site->source,
            document::mark_of(site->marks, "kubernetes.api-version"),
            problem("api-version-malformed",
                    fmt::format("'{}' is not an apiVersion", printable(object.api_version))),
            "it is GROUP/VERSION, such as wlm.sylabs.io/v1alpha1",
            "fix `kubernetes.api-version` of the Site"));
    }
    if (!is_kind_name(object.kind)) {
        object.faults.add(document::fault_at(
            site->source,
            document::mark_of(site->marks, "kubernetes.kind"),
            problem("kind-malformed", fmt::format("'{}' is not a kind", printable(object.kind))),
            "a kind is letters and digits, a letter first",
            "fix `kubernetes.kind` of the Site"));
    }
}

/// What no bridge carries.
constexpr std::array kUnservedByAll{
    Unserved{"stage-in",
             [](const Job& job) { return !job.stage_in.empty(); },
             "bridges hand a script over, and no files",
             "put the data on the cluster, and name it in `binds`"},
    Unserved{"image",
             [](const Job& job) { return job.image && job.image->reference.starts_with("store:"); },
             "the local store is on this machine, and bridges copy no images to the cluster",
             "copy the image to a file system of the cluster (`cybelectl image path NAME` shows "
             "the file), and write its path"},
};

/// Which dialects of a Site read the script of a kind.
struct Readers {
    std::string_view script;
    std::array<std::string_view, 3> sites;
};
constexpr std::array<Readers, 2> kReaders{
    {{"torque", {"torque", "slurm-torque", "pbspro"}}, {"slurm", {"slurm", "slurm-torque"}}}};

/// A script that the Site's batch system does not read.
void check_dialect(const Object& object, const Kind& kind) {
    const Site* site = object.input.site;
    const auto* readers = std::ranges::find(kReaders, kind.dialect, &Readers::script);
    if (site == nullptr || readers == kReaders.end() || contains(readers->sites, site->dialect)) {
        return;
    }
    object.faults.add(document::fault_at(
        site->source,
        document::mark_of(site->marks, "scheduler.dialect"),
        problem("kind-site-dialect",
                fmt::format("a {} is for {}, and the Site's scheduler is {}",
                            kind.name,
                            kind.dialect,
                            site->dialect)),
        fmt::format("its script has directives of {} only", kind.dialect),
        "use --kind MirrorJob, which carries the script of any scheduler, or another Site"));
}

/// WLM objects fetch the one file of `kubernetes.results`; the rest stays on the cluster.
void note_results(const Object& object, const Kind& kind) {
    const bool fetches = kind.build == build_wlm_object;
    const auto& wanted = object.job.kubernetes;
    if (!fetches || object.job.output.results.empty() ||
        (wanted && !wanted->results_path.empty())) {
        return;
    }
    Fault fault = object.job.fault_at(
        "output.results",
        problem(
            "object-results-without-effect",
            fmt::format("`output.results` has no effect in a {}: the results stay on the cluster",
                        object.kind)),
        "its bridge fetches only the file that `kubernetes.results` names",
        "add `kubernetes: {results: {host-path: DIR, path: FILE}}`, or drop `output.results`");
    fault.is_warning = true;
    object.faults.add(std::move(fault));
}

/// Objects of our own group are accepted by a server, and nothing happens to them without a bridge.
void note_controller(const Object& object, const Kind& kind) {
    if (!kind.is_ours_too || !object.api_version.starts_with(kOwnGroup)) {
        return;
    }
    object.faults.add(warning(
        ErrorCode::kInternal,
        problem(
            "own-kind-needs-bridge",
            fmt::format("a {} of {} runs only where a bridge executes it", object.kind, kOwnGroup)),
        "a server accepts the object, and without a bridge nothing happens to it",
        "run `cybelectl bridge run` for its namespace, or use --kind MirrorJob, which "
        "needs no bridge"));
}

/// The server's rules for names.
void check_names(const Object& object) {
    if (!is_object_name(object.job.name)) {
        const std::string better = suggest_name(object.job.name);
        object.refuse(
            "name",
            problem("object-name-malformed",
                    fmt::format("'{}' is not a valid object name", printable(object.job.name))),
            "RFC 1123: lower-case letters, digits and `-`, 50 at most",
            better.empty() ? "rename the job" : fmt::format("rename it, e.g. `{}`", better));
    }
    if (!object.name_space.empty() && !is_label_name(object.name_space)) {
        object.refuse(
            "kubernetes.namespace",
            problem("object-namespace-malformed",
                    fmt::format("'{}' is not a valid namespace", printable(object.name_space))),
            "RFC 1123: lower-case letters, digits and `-`, 63 at most",
            "name one that `kubectl get namespaces` lists");
    }
}

void check_object_size(const Object& object) {
    const std::size_t bytes = object.script.size();
    if (bytes <= kCostlyBytes) {
        return;
    }
    const std::string what = fmt::format("the script has {} bytes", bytes);
    constexpr const char* kHelp = "put the program into a file of its own";
    Fault fault =
        bytes <= kManyBytes
            ? object.job.fault_at("script",
                                  problem("script-object-size", what),
                                  "each change of the object's status stores it again, and sends "
                                  "it to all that watch",
                                  kHelp)
            : object.job.fault_at("script",
                                  problem("script-annotation-size", what),
                                  "`kubectl apply` keeps a copy in an annotation, and those hold "
                                  "256 KiB",
                                  kHelp);
    fault.is_warning = bytes <= kMostObjectBytes;
    object.faults.add(std::move(fault));
}

/// Where the bridge's daemon runs, nobody knows who writes the Job.
void note_workdir(const Object& object, const Kind& kind) {
    if (kind.build != build_wlm_object || !object.job.workdir.empty()) {
        return;
    }
    Fault fault = object.job.fault_at(
        "workdir",
        problem("bridge-directory", "the job will run in the bridge's own directory"),
        "its daemon submits it, and relative paths start there",
        "add an absolute `workdir`");
    fault.is_warning = true;
    object.faults.add(std::move(fault));
}

/// The best single test of a block: what a reader gets is the script, byte for byte.
Result<void> check_round_trip(const Kind& kind,
                              const std::vector<std::string>& texts,
                              const std::string& script) {
    if (kind.extract == nullptr) {
        return {};
    }
    std::vector<yaml::Document> documents;
    for (const std::string& text : texts) {
        CYBELE_TRY(auto document, yaml::parse(text, "the rendered object"));
        documents.push_back(std::move(document));
    }
    if (kind.extract(documents) != script) {
        return fail(
            ErrorCode::kInternal,
            problem("script-yaml-changed", "the yaml does not give the script back byte for byte"));
    }
    return {};
}

Result<std::string>
write_documents(const Kind& kind, const Documents& documents, const std::string& script) {
    std::vector<std::string> texts;
    for (const Tree& document : documents) {
        CYBELE_TRY(auto text, write_yaml(document));
        texts.push_back(std::move(text));
    }
    CYBELE_CHECK(check_round_trip(kind, texts, script));
    return fmt::format("{}", fmt::join(texts, "---\n"));
}

/// The script in the dialect of the kind's reader, or the user's own.
std::string make_script(const Kind& kind,
                        schedulers::RenderInput& input,
                        const ObjectOptions& options,
                        std::vector<Fault>& notes,
                        Faults& faults) {
    if (kind.build == build_job) {
        return {}; // the container is started by Kubernetes
    }
    if (!kind.dialect.empty()) {
        input.dialect = kind.dialect;
    }
    input.is_for_operator = kind.is_for_operator;
    if (options.script) {
        return *options.script;
    }
    auto script = schedulers::render_script(input);
    if (!script) {
        faults.add(script.error());
        return {};
    }
    notes = std::move(script->notes);
    return std::move(script->text);
}

} // namespace

Result<schedulers::RenderedScript> render_object(schedulers::RenderInput input,
                                                 const ObjectOptions& options) {
    CYBELE_TRY(const Kind* kind, known_kind(options.kind, input.site));
    CYBELE_CHECK(check_options(options, *kind));
    const Job& job = *input.job;
    Faults faults;
    schedulers::RenderedScript rendered;
    std::string script = make_script(*kind, input, options, rendered.notes, faults);
    const bool names_space = job.kubernetes && job.kubernetes->name_space != "default";
    Object object{
        input,
        job,
        input.site != nullptr && input.site->kubernetes ? &*input.site->kubernetes : nullptr,
        options.name_space.empty() && names_space ? job.kubernetes->name_space : options.name_space,
        {},
        {},
        std::move(script),
        !options.script,
        faults};
    set_type(*kind, object);
    check_names(object);
    check_dialect(object, *kind);
    note_workdir(object, *kind);
    note_results(object, *kind);
    note_controller(object, *kind);
    check_object_size(object);
    if (kind->build != build_job) {
        refuse_asked(object, kUnservedByAll);
    }
    const Documents documents = kind->build(object);
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    CYBELE_TRY(rendered.text, write_documents(*kind, documents, object.script));
    for (const Fault& note : faults.all()) {
        rendered.notes.push_back(note);
    }
    return rendered;
}

std::string default_kind(const Site* site) {
    if (site != nullptr && site->kubernetes && !site->kubernetes->kind.empty()) {
        return site->kubernetes->kind;
    }
    const Bridge* bridge = find_bridge(site);
    if (bridge == nullptr) {
        return site != nullptr && site->dialect.starts_with("slurm") ? "SlurmJob" : "TorqueJob";
    }
    const bool is_slurm = bridge->name == "cybelectl" && site->dialect.starts_with("slurm");
    return std::string(bridge->kinds[is_slurm ? 1 : 0]);
}

std::vector<std::string> kind_names() {
    std::vector<std::string> names;
    names.reserve(std::size(kObjectKinds));
    for (const Kind& kind : kObjectKinds) {
        names.emplace_back(kind.name);
    }
    return names;
}

} // namespace cybele::kubernetes
