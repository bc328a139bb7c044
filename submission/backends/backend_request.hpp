// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/connection.hpp"
#include "submission/backends/host.hpp"
#include "support/environment.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace cybele::submission {

struct BackendRequest {
    std::string scheduler; ///< a dialect's name
    Connection connection;
    std::filesystem::path sockets; ///< folder of kept ssh connections
    Environment environment;
    std::filesystem::path program;       ///< this program, beside which the HTTP helper lies
    std::function<std::int64_t()> clock; ///< Unix seconds
    Meanwhile meanwhile = nullptr;       ///< while a command of this machine has not answered
};

} // namespace cybele::submission
