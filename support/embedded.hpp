// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace cybele {

/// A file of the source tree that the program carries inside (cmake/EmbedFiles.cmake).
struct EmbeddedFile {
    std::string_view name; ///< relative to the folder that embeds it
    std::string_view bytes;
    std::string_view digest; ///< the SHA-256 of `bytes`, 64 hexadecimal digits
};

} // namespace cybele
