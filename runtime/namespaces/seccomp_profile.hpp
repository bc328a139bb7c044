// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string_view>
#include <vector>

#include <linux/filter.h>

namespace cybele::namespaces {

/// A seccomp profile of the OCI runtime specification (the JSON of `linux.seccomp`) as a program
/// for the kernel: the rules in their order, then `defaultAction`. Calls that this machine's kernel
/// headers do not know are passed over; calls of another architecture end the process.
/// kInput for what cannot be read or is not supported.
[[nodiscard]] Result<std::vector<sock_filter>> compile_seccomp_profile(std::string_view json,
                                                                       std::string_view file);

/// For this process and what it starts, for ever; it gains no privileges from then on.
[[nodiscard]] Result<void> install_seccomp_profile(const std::vector<sock_filter>& program);

} // namespace cybele::namespaces
