// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace cybele::cli {

/// How far something is: on a terminal a line on standard error that moves, and goes when it is
/// done; elsewhere by Session::doing(). Not with -q.
[[nodiscard]] std::function<void(std::uint64_t done, std::uint64_t total)>
progress(const Session& session, const std::string& what);

/// Of verify, which install_sign() calls: the verbs are one family.
void install_verify(CLI::App& app, Session& session);

} // namespace cybele::cli
