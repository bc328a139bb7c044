// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kubernetes/objects/yaml_tree.hpp"
#include "schedulers/scripts/render.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What the builders of the kinds share; used by this room alone.
namespace cybele::kubernetes {

/// One rendering: a Job, the Site's settings, the script, and where faults go.
struct Object {
    const schedulers::RenderInput& input;
    const launchers::Job& job;
    const launchers::SiteKubernetes* settings; ///< of the Site; may be null
    std::string name_space;                    ///< empty: none is written
    std::string api_version;
    std::string kind;
    std::string script; ///< in the reader's dialect; empty when its rendering failed
    bool is_rendered;   ///< the script; else it is the user's own
    Faults& faults;

    /// A fault at a field of the Job.
    void
    refuse(std::string_view field, Problem problem, std::string because, std::string help) const;
    /// A fault of the Site, which may not be there.
    void refuse_site(std::string_view field, std::string because) const;
    /// `metadata` with name, namespace and further entries.
    [[nodiscard]] Tree metadata(const std::string& name, Tree::Map more = {}) const;
    /// Settings of mirror Jobs, with their defaults where the Site has none.
    [[nodiscard]] launchers::Connector connector() const;
};

using Documents = std::vector<Tree>;

[[nodiscard]] Documents build_wlm_object(const Object& object); ///< TorqueJob, SlurmJob
[[nodiscard]] Documents build_mirror_job(const Object& object);
[[nodiscard]] Documents build_pod(const Object& object);
[[nodiscard]] Documents build_job(const Object& object); ///< for Kubernetes itself

/// The labels that the node must have: the Site's virtual node, then the Job's.
[[nodiscard]] Tree::Map node_selector(const Object& object);

/// A field that a bridge cannot carry.
struct Unserved {
    std::string_view field;
    bool (*is_asked)(const launchers::Job& job);
    std::string_view because;
    std::string_view help;
};
/// Refuses, each at its place, what the Job asks of the list.
void refuse_asked(const Object& object, std::span<const Unserved> list);

/// Refuses what the bridge cannot read of a rendered directive, such as `--partition="a b"`: at the
/// field of the Job that it stands for, or at the Site's queue.
void refuse_directive(const Object& object,
                      std::string_view directive,
                      Problem problem,
                      std::string because,
                      std::string help);

/// Such as `/a/b`: from the root on, without `$`, `..` and `~`.
[[nodiscard]] bool is_absolute_path(std::string_view path);
/// Refuses a path that the cluster would read in a way of its own.
void check_absolute(const Object& object, std::string_view field, const std::string& path);
/// `results` of a WLM object, or nothing; K13, K15.
[[nodiscard]] std::optional<Tree> wlm_results(const Object& object);
/// The word as a kubelet, or a virtual one, leaves it as it is: `$(X)` would be a variable to it,
/// `$$` a `$`.
[[nodiscard]] std::string unexpanded(std::string_view word);
/// Mebibytes, rounded up.
[[nodiscard]] std::int64_t mebibytes(std::uint64_t bytes);

} // namespace cybele::kubernetes
