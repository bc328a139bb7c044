// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/signatures/report.hpp"

#include <string>

namespace cybele::cli {

/// A table of the signatures, a line for each; then what is not covered, and the verdict if it is
/// good (else the error says it). Names are escaped.
[[nodiscard]] std::string verification_text(const images::Verification& verification,
                                            const std::string& image);

/// The same as JSON, format 1 (docs/reference/verify.md).
[[nodiscard]] std::string verification_json(const images::Verification& verification,
                                            const std::string& image,
                                            const std::string& require);

} // namespace cybele::cli
