// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cybele::bridge {

/// Reasons of a condition while commands as the account of an object fail.
inline constexpr std::string_view kCredentialsFailed = "CredentialsFailed";
inline constexpr std::string_view kClusterUnavailable = "ClusterUnavailable";

/// Which of the two these words of ssh, sudo, a token or a service mean.
[[nodiscard]] std::string_view reason_of_trouble(std::string_view words);

} // namespace cybele::bridge
