// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <string_view>

namespace cybele {

/// An exchange of `cybelectl-http` that failed: `kind` as the helper names it, `url` without its
/// query in the message.
[[nodiscard]] Error
http_failure(std::string_view kind, std::string_view message, const std::string& url);

/// Whether the same exchange may succeed later: no connection, a cut one, no answer in time.
[[nodiscard]] bool is_passing_http_failure(std::string_view kind);

} // namespace cybele
