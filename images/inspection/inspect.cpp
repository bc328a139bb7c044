// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/inspect.hpp"

#include "images/inspection/inspect_json.hpp"
#include "images/squashfs/nodes.hpp"
#include "support/find.hpp"

namespace cybele::images {
namespace {

const Descriptor* find_object(const Image& image, DataType type, std::string_view name) {
    const auto& all = image.descriptors();
    return find_row(all, [&](const Descriptor& descriptor) {
        return descriptor.type == type && (name.empty() || descriptor.name == name);
    });
}

// An image without the metadata object (older Singularity, siftool) says it in its files. Other
// file systems than squashfs are not opened: nothing is known of them.
Result<Inspection> inspect_partition(const Image& image) {
    const auto partition = image.primary_partition();
    if (!partition || partition->fs_type() != FsType::kSquashfs) {
        return Inspection{};
    }
    CYBELE_TRY(const auto root, open_squashfs(image.fd(), partition->offset, partition->size));
    return inspect_files(root);
}

} // namespace

Result<Inspection> inspect_image(const Image& image) {
    Inspection inspection;
    if (const auto* object = find_object(image, DataType::kGenericJson, kInspectObject)) {
        CYBELE_TRY(const auto text, image.read_object(*object));
        CYBELE_TRY(inspection, parse_inspection(text));
        inspection.is_of_object = true;
    } else {
        CYBELE_TRY(inspection, inspect_partition(image));
    }
    if (const auto* object = find_object(image, DataType::kDefinition, {})) {
        CYBELE_TRY(inspection.definition, image.read_object(*object)); // whole, byte for byte
    }
    return inspection;
}

} // namespace cybele::images
