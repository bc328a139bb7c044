// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kubernetes/objects/render.hpp"
#include "submission/submit/job_input.hpp"
#include "submission/submit/placement.hpp"

#include <string>

namespace cybele::submission {

/// What the rule of placement looks at, of a Job and its Site: what is asked for, and why either
/// side refuses it, which rendering for each tells. What nobody has said stays unknown.
/// `asked`: auto, cluster or kubernetes; empty: the Job's.
[[nodiscard]] PlacementInput placement_input(const JobInput& input,
                                             const std::string& asked,
                                             const kubernetes::ObjectOptions& object);

/// Whether the Site says by which bridge Kubernetes hands jobs over.
[[nodiscard]] bool has_bridge(const JobInput& input);

} // namespace cybele::submission
