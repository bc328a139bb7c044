// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"

#include <string>

namespace cybele::runtime {

/// What the launcher of a parallel program tells a process of it, by its environment.
struct Rank {
    bool is_rank = false;
    bool is_alone = false; ///< the launcher says that no other rank runs on this node
    /// Names the launch among those of this node and user; "" where the launcher gives no name.
    std::string launch;
};
[[nodiscard]] Rank read_rank(const Environment& environment);

/// For a rank in a user namespace of its own: MPI must not copy from another rank's memory, which
/// the kernel refuses across user namespaces. Variables that are set already stay.
void forbid_single_copy(EnvironmentMap& variables);

} // namespace cybele::runtime
