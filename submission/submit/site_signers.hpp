// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/site.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>

namespace cybele::submission {

/// What of `verify` of the Site cannot be used on this machine, each at its place in the Site or
/// its Policy: keys, certificates and keyrings that are missing, unreadable, revoked or expired,
/// and a number of signers that cannot be met. `now` is Unix seconds.
[[nodiscard]] Faults
check_site_signers(const launchers::Site& site, const Environment& environment, std::int64_t now);

} // namespace cybele::submission
