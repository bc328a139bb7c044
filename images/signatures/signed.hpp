// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/image.hpp"
#include "support/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace cybele::images {

/// Whether an image carries a signature, whoever made it and whatever it covers.
[[nodiscard]] bool is_signed(const Image& image);

/// The same by the first bytes of its file, so many of which hold the table of a usual image; false
/// where they do not.
inline constexpr std::size_t kSignedStart = std::size_t{64} << 10U;
[[nodiscard]] bool is_signed(std::string_view start);

/// Why no signature of a group fits the image any more, by what it says it signed: empty where one
/// fits, or where that cannot be seen without a key (OpenPGP, old signatures). A signature that
/// fits proves nothing without the key of its signer.
[[nodiscard]] Result<std::string> broken_signature(const Image& image);

} // namespace cybele::images
