// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/scripts/render.hpp"
#include "support/error.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cybele::kubernetes {

struct ObjectOptions {
    std::string kind;                  ///< TorqueJob, SlurmJob, …, or as the Site spells it
    std::string name_space;            ///< empty: the Job's, where it names one
    std::optional<std::string> script; ///< instead of the rendered one, byte for byte
    std::string dialect = {};          ///< asked for by name; empty: as the kind's reader takes it
};

/// The yaml of a bridge's object (docs/reference/kube-render.md). A script stands in it as a
/// literal block: parsed again, the yaml gives it back byte for byte. It is rendered in the dialect
/// that the kind's reader takes (`input.dialect` counts for MirrorJob alone). What the bridge
/// cannot carry, and what the server would refuse, is kInput, all at once, with its place in the
/// Job; an unknown kind, a namespace that is none and a dialect of other readers are kUsage.
[[nodiscard]] Result<schedulers::RenderedScript> render_object(schedulers::RenderInput input,
                                                               const ObjectOptions& options);

/// The kind for which the Site is made: as its `kubernetes.kind` or its bridge say, else TorqueJob.
[[nodiscard]] std::string default_kind(const launchers::Site* site);

[[nodiscard]] std::vector<std::string> kind_names();

/// The kind that no bridge carries: Kubernetes runs it.
inline constexpr std::string_view kPlainKind = "Job";

/// The API group of our own definitions of TorqueJob and SlurmJob.
inline constexpr std::string_view kOwnGroup = "cybelectl.io";

} // namespace cybele::kubernetes
