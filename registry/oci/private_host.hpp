// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cybele::registry {

/// Whether HOST[:PORT] is this machine or an address of a private network (RFC 1918), where
/// Apptainer speaks plain HTTP to a server that does not speak https. A name counts only if it ends
/// with `localhost` or `.local`: `10.example.org` is a name as any other.
[[nodiscard]] bool is_private_host(std::string_view host);

} // namespace cybele::registry
