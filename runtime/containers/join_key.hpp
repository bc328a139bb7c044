// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/runtime.hpp"
#include "runtime/namespaces/sandbox.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cybele::runtime {

/// What a container is made from, besides who asks for it.
struct ContainerPlan {
    const std::vector<namespaces::Mount>& mounts;
    std::filesystem::path home; ///< in the container
    std::string user;
    std::string launch; ///< Rank::launch; empty: the parent process stands for it
};

/// Equal for two starts exactly when they may share one container: same user, group and namespaces
/// of the host, same launch, same state of the same image, same mounts.
[[nodiscard]] Result<std::string> join_key(const Request& request, const ContainerPlan& plan);

} // namespace cybele::runtime
