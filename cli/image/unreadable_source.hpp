// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>

namespace cybele::cli {

/// An archive or a layout of this machine that cannot be opened, with the errno `number`; the
/// subject is how Apptainer tells that it is missing.
[[nodiscard]] Error unreadable_source(const std::string& transport,
                                      const std::string& path,
                                      const std::string& uri,
                                      int number);

} // namespace cybele::cli
