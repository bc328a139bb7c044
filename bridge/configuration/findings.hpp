// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/configuration/configuration.hpp"
#include "bridge/configuration/install.hpp"
#include "support/error.hpp"

#include <vector>

/// What a Bridge and its Site say that can be read, and must not be installed, or should not.
namespace cybele::bridge {

/// Errors of `bridge install` and `bridge check`: a login as root or as another user than the
/// account, a root of results without a limit, a Policy that the nodes would not find.
[[nodiscard]] std::vector<Fault> refused_fields(const Configuration& configuration);

/// Errors of the Deployment alone: what the Site needs and the pod does not have.
[[nodiscard]] std::vector<Fault> refused_in_pod(const Configuration& configuration);

/// Warnings of what would be applied and not work, or give more than is meant: files, commands and
/// records that a pod does not have, the account root, images without a version, rights to pods of
/// all namespaces, a Policy that scripts pass by.
[[nodiscard]] std::vector<Fault> install_notes(const InstallRequest& request);

} // namespace cybele::bridge
