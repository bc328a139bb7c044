// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/signed.hpp"

#include <algorithm>

namespace cybele::images {

bool is_signed(const Image& image) {
    return std::any_of(
        image.descriptors().begin(), image.descriptors().end(), [](const Descriptor& object) {
            return object.type == DataType::kSignature;
        });
}

} // namespace cybele::images
