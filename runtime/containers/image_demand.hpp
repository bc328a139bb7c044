// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/sif.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace cybele::images {
class Image;
}

namespace cybele::runtime {

/// Signatures that an image must carry before it is mounted (--verify-key, --policy). Who asks for
/// them brings the verification along: the small program that starts containers has no
/// cryptography.
struct ImageDemand {
    /// kVerification, unless the signatures hold. Called once for each image that is mounted.
    std::function<Result<void>(const images::Image& image)> verify;
    /// Equal for equal demands: whom they name, by the content of the files.
    std::string identity;
    /// Where private copies of images go.
    std::filesystem::path scratch;
};

} // namespace cybele::runtime
