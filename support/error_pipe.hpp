// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <optional>

namespace cybele {

/// Writes the first fault of an error, with its place and its context, into a pipe.
void send_error(int fd, const Error& error);

/// What the process at the other end sent; nothing when the pipe ended without an error.
[[nodiscard]] std::optional<Error> receive_error(int fd);

} // namespace cybele
