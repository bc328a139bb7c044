// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cybele::cli {

/// Whether Apptainer speaks plain HTTP to this HOST[:PORT], too: this machine, and addresses of
/// private networks.
[[nodiscard]] bool is_plain_host(std::string_view host);

/// The same of the host of docker://HOST/… or oras://HOST/….
[[nodiscard]] bool has_plain_host(std::string_view image);

} // namespace cybele::cli
