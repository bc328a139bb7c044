// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"

#include <optional>

namespace cybele::cli {

/// `remote add|list|remove|use`: the user's list of endpoints, ~/.apptainer/remote.yaml or that of
/// `remote --config FILE`. No endpoint is asked for anything: a library is named by --library.
[[nodiscard]] Result<int> remote_verb(const Session& session, const OtherCall& call);

/// `remote login` and `logout` of an endpoint, named or the default one: the exit code; nothing
/// where there is none of that name, so that it is a registry. A login ends where no token is
/// given.
[[nodiscard]] Result<std::optional<int>> endpoint_access(const Session& session,
                                                         const OtherCall& call);

} // namespace cybele::cli
