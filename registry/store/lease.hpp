// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/store/place.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

/// Leases keep gc from images that run. Each is an empty file, so that a thousand ranks that start
/// at once do not wait for the index:
///
///     HEX.p.HOST.PID.START   while that process lives (START: its start time by /proc), or, seen
///                            from another host, for 14 days
///     HEX.u.SECONDS          until then: of a job that waits in a queue
namespace cybele::registry {

/// Of this process; the program that takes its place by exec keeps it, and it ends with it.
/// Succeeds without one where the store cannot be written: then gc cannot run from here either.
[[nodiscard]] Result<void> lease_for_process(const Place& place, std::string_view digest);

[[nodiscard]] Result<void>
lease_until(const Place& place, std::string_view digest, std::int64_t until);

/// The digests that are leased now. Leases that are over are removed.
[[nodiscard]] std::set<std::string> leased(const Place& place, std::int64_t now);

} // namespace cybele::registry
