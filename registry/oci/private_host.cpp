// SPDX-License-Identifier: Apache-2.0
#include "registry/oci/private_host.hpp"

#include <array>
#include <cstdint>
#include <string>

#include <arpa/inet.h>

namespace cybele::registry {
namespace {

struct Network {
    std::uint32_t address;
    unsigned bits; ///< of its prefix
};
constexpr std::array<Network, 4> kPrivateNetworks{{
    {0x7f000000, 8},  // 127.0.0.0
    {0x0a000000, 8},  // 10.0.0.0
    {0xac100000, 12}, // 172.16.0.0
    {0xc0a80000, 16}, // 192.168.0.0
}};

bool is_private_address(const std::string& text) {
    in_addr address{};
    if (inet_pton(AF_INET, text.c_str(), &address) != 1) {
        return false;
    }
    constexpr unsigned kBits = 32;
    const std::uint32_t number = ntohl(address.s_addr);
    for (const Network& network : kPrivateNetworks) {
        if ((number ^ network.address) >> (kBits - network.bits) == 0) {
            return true;
        }
    }
    return false;
}

} // namespace

bool is_private_host(std::string_view host) {
    if (host.starts_with('[')) {
        return host.substr(0, host.find(']') + 1) == "[::1]";
    }
    const std::string name(host.substr(0, host.find(':')));
    return name == "localhost" || name.ends_with(".localhost") || name.ends_with(".local") ||
           is_private_address(name);
}

} // namespace cybele::registry
