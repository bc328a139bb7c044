// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <string_view>

namespace cybele {

/// Kinds of failures that are the detail of their error, too.
inline constexpr std::string_view kNoSuchHost = "no-such-host";
inline constexpr std::string_view kNotConnected = "not-connected";
inline constexpr std::string_view kNotTls = "not-tls"; ///< the server does not speak TLS

/// An exchange of `cybelectl-http` that failed: `kind` as the helper names it, `url` without its
/// query in the message and as the subject.
[[nodiscard]] Error
http_failure(std::string_view kind, std::string_view message, const std::string& url);

/// Whether the same exchange may succeed later: no connection, a cut one, no answer in time.
[[nodiscard]] bool is_passing_http_failure(std::string_view kind);

} // namespace cybele
