// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/plan.hpp"
#include "runtime/containers/runtime.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

/// Directories that only one container has: in memory, or below --workdir.
namespace cybele::runtime {

inline constexpr const char* kUserFlags = "nosuid,nodev"; ///< of what belongs to the user

[[nodiscard]] namespaces::Mount bind(std::filesystem::path source, std::filesystem::path target);
[[nodiscard]] namespaces::Mount
fresh(namespaces::Mount::Kind kind, const std::filesystem::path& target, std::string options);

/// Of a tmpfs, with the size that the host's settings give.
[[nodiscard]] std::string memory_options(const Request& request, const std::string& mode);

/// A folder of --workdir, which is made; a tmpfs without --workdir.
[[nodiscard]] Result<namespaces::Mount> own_folder(const Request& request,
                                                   const std::filesystem::path& target,
                                                   const std::filesystem::path& name,
                                                   std::filesystem::perms mode);

/// --scratch: directories that nothing else sees, and that go with the container without --workdir.
[[nodiscard]] Result<void>
add_scratch(std::vector<namespaces::Mount>& mounts, const Request& request, const Home& home);

} // namespace cybele::runtime
