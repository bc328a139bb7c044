// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/site.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>

namespace cybele::submission {

/// Tries what a Site says: renders a small Job of each kind of launch for each of its queues, lets
/// `bash -n` read set-up and teardown, and reads what `verify` names (check_site_signers()). All
/// mistakes of the Site and its files, each once at its place. `now` is Unix seconds.
[[nodiscard]] Faults
try_site(const launchers::Site& site, const Environment& environment, std::int64_t now);

} // namespace cybele::submission
