// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/image.hpp"

namespace cybele::images {

/// Whether an image carries a signature, whoever made it and whatever it covers.
[[nodiscard]] bool is_signed(const Image& image);

} // namespace cybele::images
