// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"

namespace cybele::cli {

/// `registry login` and `logout`, also called as `remote login` and `logout` of a registry.
[[nodiscard]] Result<int> registry_login(const Session& session, const OtherCall& call);
[[nodiscard]] Result<int> registry_logout(const Session& session, const OtherCall& call);
/// The registries that have a login, as Apptainer notes them in remote.yaml.
[[nodiscard]] Result<int> registry_list(const Session& session, const OtherCall& call);

} // namespace cybele::cli
