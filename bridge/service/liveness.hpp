// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/service/service.hpp"
#include "support/error.hpp"

#include <chrono>
#include <filesystem>

namespace cybele::bridge {

/// Shows other processes of this machine that `bridge run` works: a file that it renews, also while
/// API server or batch system do not answer. A probe that asked them would end a bridge that is
/// well, and what it remembers of jobs that ended meanwhile.
class Liveness {
public:
    explicit Liveness(const ServiceRequest& request);

    /// Often; the file is written every ten seconds.
    void beat(std::chrono::milliseconds now);

private:
    std::filesystem::path file_;
    std::chrono::milliseconds due_{0};
};

/// Whether the bridge of this document worked within the last five minutes.
[[nodiscard]] Result<void> check_liveness(const ServiceRequest& request);

} // namespace cybele::bridge
