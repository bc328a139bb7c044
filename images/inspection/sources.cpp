// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/sources.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace cybele::images {
namespace {

constexpr std::string_view kSourcesObject = "cybelectl-sources.json";
/// A line of some hundred bytes for each file that a Recipe copies.
constexpr std::uint64_t kMostSourcesBytes = std::uint64_t{256} << 20U;

} // namespace

NewObject sources_object(std::string text) {
    NewObject object;
    object.type = DataType::kGenericJson;
    object.name = kSourcesObject;
    object.bytes = std::move(text);
    return object;
}

Result<std::optional<std::string>> read_sources(const Image& image) {
    const auto& all = image.descriptors();
    const auto found = std::ranges::find_if(all, [](const Descriptor& descriptor) {
        return descriptor.type == DataType::kGenericJson && descriptor.name == kSourcesObject;
    });
    if (found == all.end()) {
        return std::optional<std::string>();
    }
    CYBELE_TRY(std::string text, image.read_object(*found, kMostSourcesBytes));
    return std::optional(std::move(text));
}

} // namespace cybele::images
