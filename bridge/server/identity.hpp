// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace cybele::bridge {

/// Different for each process that ever runs.
[[nodiscard]] std::string identity_of();

/// For chance that differs between processes.
[[nodiscard]] std::uint64_t seed_of(const std::string& identity);

} // namespace cybele::bridge
