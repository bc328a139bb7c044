// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/sbom.hpp"

namespace cybele::images {
namespace {

constexpr std::uint64_t kLargest = std::uint64_t{64} << 20U;

} // namespace

Result<std::vector<Sbom>> read_sboms(const Image& image) {
    std::vector<Sbom> sboms;
    for (const auto& descriptor : image.descriptors()) {
        if (descriptor.type == DataType::kSbom) {
            CYBELE_TRY(auto bytes, image.read_object(descriptor, kLargest));
            sboms.push_back({descriptor.id, descriptor.sbom(), std::move(bytes)});
        }
    }
    return sboms;
}

NewObject sbom_object(SbomFormat format, std::string bytes) {
    NewObject object;
    object.type = DataType::kSbom;
    object.extra = sbom_extra(format);
    object.bytes = std::move(bytes);
    return object;
}

} // namespace cybele::images
