// SPDX-License-Identifier: Apache-2.0
#include "images/container.hpp"

#include "images/container_architecture.hpp"
#include "images/inspect_json.hpp"
#include "images/layout_root.hpp"
#include "support/digest.hpp"

#include <algorithm>
#include <array>

namespace cybele::images {
namespace {

constexpr std::uint64_t kPartitionAlignment = 4096;

// Version 4, from the kernel's random bytes.
std::array<std::uint8_t, 16> random_id() {
    std::array<std::uint8_t, 16> id{};
    const auto bytes = random_bytes(id.size());
    std::transform(bytes.begin(), bytes.end(), id.begin(), [](char byte) {
        return static_cast<std::uint8_t>(byte);
    });
    id[6] = static_cast<std::uint8_t>((id[6] & 0x0FU) | 0x40U);
    id[8] = static_cast<std::uint8_t>((id[8] & 0x3FU) | 0x80U);
    return id;
}

NewObject definition_object(const std::string& definition) {
    NewObject object;
    object.type = DataType::kDefinition;
    object.bytes = definition;
    return object;
}

Result<NewObject> inspect_object(const RootDirectory& root) {
    CYBELE_TRY(const auto inspection, inspect_root(root));
    NewObject object;
    object.type = DataType::kGenericJson;
    object.name = kInspectObject;
    object.bytes = print_inspection(inspection);
    return object;
}

NewObject partition_object(const RootDirectory& root, const NewContainer& container) {
    NewObject object;
    object.type = DataType::kPartition;
    object.extra = partition_extra(FsType::kSquashfs, PartType::kPrimary, root_architecture(root));
    object.alignment = kPartitionAlignment;
    auto pack = container.pack;
    pack.skip_devices = pack.skip_devices || !container.keep_devices;
    if (container.is_deterministic && !pack.clamp_times) {
        pack.clamp_times = container.build_time;
    }
    object.write = [path = container.root, pack](int fd, std::uint64_t offset) {
        return write_squashfs(path, fd, offset, pack);
    };
    return object;
}

} // namespace

Result<void> write_container(const std::filesystem::path& path, const NewContainer& container) {
    CYBELE_TRY(const auto root, RootDirectory::open(container.root));
    NewImage image;
    if (!container.is_deterministic) {
        image.id = random_id();
        image.time = container.build_time;
    }
    // The reference's order (images notes 3.1).
    image.objects.push_back(definition_object(container.definition));
    CYBELE_TRY(auto inspection, inspect_object(root));
    image.objects.push_back(std::move(inspection));
    image.objects.push_back(partition_object(root, container));
    return write_image(path, image);
}

} // namespace cybele::images
