// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cybele::kubernetes {

/// The CustomResourceDefinition (apiextensions.k8s.io/v1) of TorqueJob or SlurmJob, as yaml. In our
/// own group (`group` empty: kOwnGroup) with rules for the server: the script begins with `#!`, has
/// no carriage return and cannot change. In another group, such as an operator's, without them: its
/// objects must stay what its users write. An unknown kind or a bad group is kUsage.
[[nodiscard]] Result<std::string> crd(const std::string& kind, const std::string& group);

/// The fields that the definition of the kind in our own group has: `spec.batch`, `status.jobId`,
/// `spec.results.from`; of a list those of its items. Empty: the kind is unknown.
[[nodiscard]] std::vector<std::string> crd_fields(std::string_view kind);

/// TorqueJob, SlurmJob.
[[nodiscard]] std::vector<std::string> crd_names();

} // namespace cybele::kubernetes
