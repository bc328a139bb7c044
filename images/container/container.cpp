// SPDX-License-Identifier: Apache-2.0
#include "images/container/container.hpp"

#include "images/inspection/container_architecture.hpp"
#include "images/inspection/inspect_json.hpp"
#include "images/inspection/layout_root.hpp"
#include "images/inspection/packages.hpp"
#include "images/inspection/sbom.hpp"
#include "images/inspection/sources.hpp"
#include "images/squashfs/squashfs.hpp"
#include "support/quote.hpp"
#include "support/random.hpp"

#include <array>
#include <cerrno>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

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

NewObject partition(const RootDirectory& root, PartType type) {
    NewObject object;
    object.type = DataType::kPartition;
    object.extra = partition_extra(FsType::kSquashfs, type, root_architecture(root));
    object.alignment = kPartitionAlignment;
    return object;
}

PackOptions pack_options(const NewContainer& container) {
    PackOptions pack = container.pack;
    pack.skip_devices = pack.skip_devices || !container.keep_devices;
    if (container.is_deterministic && !pack.clamp_times) {
        pack.clamp_times = container.build_time;
    }
    return pack;
}

NewObject primary_partition(const RootDirectory& root, const NewContainer& container) {
    NewObject object = partition(root, PartType::kPrimary);
    object.write = [&container](int fd, std::uint64_t offset) -> Result<std::uint64_t> {
        return write_squashfs(container.root, fd, offset, pack_options(container));
    };
    return object;
}

Result<NewObject> list_object(const NewContainer& container) {
    if (container.sbom != "spdx") {
        return fail(ErrorCode::kInput,
                    problem("sbom-format-unknown",
                            fmt::format("unknown form of an SBOM '{}'", printable(container.sbom))),
                    "an SBOM is written as SPDX",
                    "use spdx, or none");
    }
    CYBELE_TRY(const auto files, open_directory(container.root.native()));
    CYBELE_TRY(const auto survey, survey_files(files));
    CYBELE_TRY(const auto packages, read_packages(files, survey));
    const SbomSubject subject{container.name, container.version, container.build_time, {}};
    return sbom_object(SbomFormat::kSpdxJson, make_sbom(subject, packages));
}

} // namespace

Result<void> write_container(const std::filesystem::path& path, const NewContainer& container) {
    CYBELE_TRY(const auto root, RootDirectory::open(container.root));
    NewImage image;
    if (!container.is_deterministic) {
        image.id = random_id();
        image.time = container.build_time;
    }
    // Apptainer's order (images notes 3.1).
    image.objects.push_back(definition_object(container.definition));
    CYBELE_TRY(auto inspection, inspect_object(root));
    image.objects.push_back(std::move(inspection));
    image.objects.push_back(primary_partition(root, container));
    if (!container.sbom.empty() && container.sbom != "none") {
        CYBELE_TRY(auto list, list_object(container));
        image.objects.push_back(std::move(list));
    }
    if (!container.sources.empty()) {
        image.objects.push_back(sources_object(container.sources));
    }
    image.finish = container.finish;
    return write_image(path, image);
}

} // namespace cybele::images
