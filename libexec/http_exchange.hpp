// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libexec/http_request.hpp"

namespace cybele::http {

/// The whole exchange, redirects followed. Credentials go to the origin of the first URL only; a
/// redirect from https: to http: is refused.
[[nodiscard]] Answer exchange(const Request& request);

} // namespace cybele::http
