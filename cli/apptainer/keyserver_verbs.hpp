// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"

namespace cybele::cli {

/// `keyserver list`: the key servers of each endpoint. No endpoint is asked for its own ones.
[[nodiscard]] Result<int> list_key_servers(const Session& session, const OtherCall& call);

/// `remote status`: what is wrong with the name; no endpoint is asked.
[[nodiscard]] Result<int> show_remote_status(const Session& session, const OtherCall& call);

} // namespace cybele::cli
