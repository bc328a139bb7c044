// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/image.hpp"
#include "support/error.hpp"

#include <string>

namespace cybele::images {

/// Whether an image carries a signature, whoever made it and whatever it covers.
[[nodiscard]] bool is_signed(const Image& image);

/// Why no signature of a group fits the image any more, by what it says it signed: empty where one
/// fits, or where that cannot be seen without a key (OpenPGP, old signatures). A signature that
/// fits proves nothing without the key of its signer.
[[nodiscard]] Result<std::string> broken_signature(const Image& image);

} // namespace cybele::images
