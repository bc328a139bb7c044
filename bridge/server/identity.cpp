// SPDX-License-Identifier: Apache-2.0
#include "bridge/server/identity.hpp"

#include "support/random.hpp"

#include <array>
#include <functional>

#include <unistd.h>

namespace cybele::bridge {

std::string identity_of() {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) {
        host = {};
    }
    return std::string(host.data()) + "_" + random_uuid();
}

std::uint64_t seed_of(const std::string& identity) {
    return std::hash<std::string>{}(identity);
}

} // namespace cybele::bridge
