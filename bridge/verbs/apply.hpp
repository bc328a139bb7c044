// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/service/server_session.hpp"
#include "support/error.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace cybele::bridge {

/// What a document of install_manifest() is, as the API server addresses it.
struct Applied {
    std::string name; ///< "Role/cybelectl-bridge-hall-a"
    std::string path;
};

/// Unset parts: a kind that install_manifest() does not write.
[[nodiscard]] Applied applied_of(std::string_view document);

/// Applies the documents one after another, as `kubectl apply --server-side --force-conflicts`
/// does, and names each that the server has accepted. The first refusal ends it.
[[nodiscard]] Result<void> apply_manifest(ServerSession& server,
                                          std::string_view manifest,
                                          const std::function<void(const std::string&)>& report);

} // namespace cybele::bridge
