// SPDX-License-Identifier: Apache-2.0
#include "cli/job/submit_kube.hpp"

#include "cli/common/cli11.hpp"
#include "cli/common/output.hpp"
#include "kubernetes/objects/apply.hpp"
#include "kubernetes/objects/render.hpp"
#include "submission/submit/image.hpp"
#include "submission/submit/placement_input.hpp"

#include <nlohmann/json.hpp>

namespace cybele::cli {
namespace {

/// Whether Kubernetes can start the program without the cluster.
bool has_own_image(const submission::JobInput& input) {
    return input.job.kubernetes && !input.job.kubernetes->image.empty();
}

kubernetes::ObjectOptions object_options(const submission::JobInput& input,
                                         const TargetOptions& options) {
    kubernetes::ObjectOptions object;
    object.kind = options.kind.empty()
                      ? kubernetes::default_kind(input.site ? &*input.site : nullptr)
                      : options.kind;
    // A bridge would carry the Job to the cluster, which is the other side already.
    if (options.kind.empty() && !options.is_yaml && has_own_image(input)) {
        object.kind = kubernetes::kPlainKind;
    }
    object.name_space = options.name_space;
    return object;
}

Result<int>
submit_yaml(Session& session, const submission::JobInput& input, const TargetOptions& options) {
    if (options.is_followed) {
        return fail(ErrorCode::kUsage,
                    problem("kubernetes-job-not-waited", "a job in Kubernetes is not waited for"),
                    "the objects belong to Kubernetes from then on",
                    "wait there: kubectl wait --for=condition=complete job/NAME");
    }
    const kubernetes::ObjectOptions wanted = object_options(input, options);
    CYBELE_TRY(const schedulers::RenderedScript object,
               kubernetes::render_object(input.render_input(), wanted));
    session.note(submission::image_notes(input));
    session.note(object.notes);
    if (options.is_dry || (options.is_yaml && !options.is_applied)) {
        CYBELE_CHECK(write_rendered(
            session, "-", object.text, {{"name", input.job.name}, {"kind", wanted.kind}}));
        return 0;
    }
    CYBELE_TRY(const std::string names,
               kubernetes::apply_objects(object.text, session.environment));
    Session::print(names);
    return 0;
}

/// Why the rule chose Kubernetes.
std::vector<Fault> placement_note(const submission::Placement& placement) {
    const submission::PlacementReason& reason = placement.table[placement.decided];
    return {warning(ErrorCode::kInternal,
                    problem("target-chosen",
                            "`target: auto` chose Kubernetes by the rule `" + reason.rule + "`"),
                    reason.because,
                    "see the complete table with --explain")};
}

} // namespace

void add_target_options(CLI::App& verb, TargetOptions& options) {
    verb.add_option(
            "--target", options.target, "where the job runs (default: the Job's, or cluster)")
        ->check(CLI::IsMember({"auto", "cluster", "kubernetes"}));
    verb.add_flag("--explain",
                  options.is_explained,
                  "print what `--target auto` chooses and why; submit nothing");
    auto* const yaml = verb.add_flag(
        "--kube", options.is_yaml, "print the manifest of a bridge's object instead of submitting");
    verb.add_flag(
            "--apply", options.is_applied, "apply the manifest of --kube with `kubectl apply`")
        ->needs(yaml);
    verb.add_option("--kind", options.kind, "kind of the object (default: as in `kube render`)")
        ->check(CLI::IsMember(kubernetes::kind_names()));
    verb.add_option(
            "--namespace", options.name_space, "namespace of the object (default: the Job's)")
        ->type_name("NAME");
}

Result<std::optional<int>> submit_elsewhere(Session& session,
                                            const submission::JobInput& input,
                                            const TargetOptions& options) {
    if (options.is_yaml && !options.is_explained) {
        CYBELE_TRY(const int code, submit_yaml(session, input, options));
        return std::optional(code);
    }
    const std::string& target = options.target.empty() ? input.job.target : options.target;
    if (target == "cluster" && !options.is_explained) {
        return std::optional<int>();
    }
    const submission::Placement placement = submission::place(
        submission::placement_input(input, target, object_options(input, options)));
    if (options.is_explained) {
        Session::print(session.is_json() ? submission::placement_json(placement)
                                         : submission::placement_text(placement));
        return std::optional(0);
    }
    if (!placement.target) {
        return fail(input.job.fault_at(
            "target",
            problem("no-target-fits", "neither the cluster nor Kubernetes can run this Job"),
            placement.table[placement.decided].because,
            "see the complete table with --explain"));
    }
    if (*placement.target == submission::Target::kCluster) {
        return std::optional<int>();
    }
    if (target == "auto" && !has_own_image(input)) {
        return fail(input.job.fault_at(
            "target",
            problem("target-kubernetes-without-image",
                    "`target: auto` chose Kubernetes, and the Job has no image for it"),
            placement.table[placement.decided].because,
            "add `kubernetes: {image: REGISTRY/NAME:TAG}`, or write `--target cluster`"));
    }
    if (target == "auto") {
        session.note(placement_note(placement));
    }
    if (!submission::has_bridge(input) && options.kind.empty() && !has_own_image(input)) {
        return fail(input.job.fault_at(
            "target",
            problem("kubernetes-kind-unknown",
                    "it is not known which object Kubernetes is to have"),
            "no Site says which bridge is there, and without one nothing would run the object",
            "name a Site with `kubernetes: {bridge: NAME}`, or the object's kind: --kind"));
    }
    CYBELE_TRY(const int code, submit_yaml(session, input, options));
    return std::optional(code);
}

} // namespace cybele::cli
