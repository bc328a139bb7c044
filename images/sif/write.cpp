// SPDX-License-Identifier: Apache-2.0
#include "images/sif/write.hpp"

#include "images/sif/disk.hpp"
#include "images/sif/format.hpp"
#include "images/sif/journal.hpp"
#include "images/sif/table.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

constexpr unsigned kNewImageMode = 0755;

Result<void> check_limits(const NewImage& image) {
    if (image.launch_script.size() >= kLaunchScriptSize) {
        return fail(ErrorCode::kInput,
                    problem("launch-script-too-long", "the launch script is too long"),
                    fmt::format("it has {} bytes; {} is the most",
                                image.launch_script.size(),
                                kLaunchScriptSize - 1),
                    "shorten it");
    }
    if (image.descriptors > kMaximumDescriptors) {
        return fail(ErrorCode::kInput,
                    problem("sif-too-many-descriptors", "too many descriptors are asked for"),
                    fmt::format("{} of {}", image.descriptors, kMaximumDescriptors),
                    "ask for fewer");
    }
    return {};
}

Header empty_header(const NewImage& image, std::int64_t time) {
    Header header;
    header.launch_script = image.launch_script;
    header.arch_code = {'0', '0', '\0'};
    header.id = image.id.value_or(std::array<std::uint8_t, 16>{});
    header.created = time;
    header.modified = time;
    header.descriptors_free = image.descriptors;
    header.descriptors_total = image.descriptors;
    header.descriptors_offset = kDescriptorsOffset;
    header.descriptors_size = image.descriptors * kDescriptorSize;
    header.data_offset = header.descriptors_offset + header.descriptors_size;
    return header;
}

} // namespace

Result<void> write_image(const fs::path& path, const NewImage& image) {
    CYBELE_CHECK(check_limits(image));
    const std::int64_t time = image.time.value_or(kDeterministicTime);
    CYBELE_TRY(PendingFile file, PendingFile::create(path, kNewImageMode));
    Table table(empty_header(image, time), {}, path);
    for (const NewObject& object : image.objects) {
        CYBELE_CHECK(table.add(file.fd(), object, time));
    }
    CYBELE_CHECK(set_length(file.fd(), table.end(), path));
    CYBELE_CHECK(table.write(file.fd()));
    if (image.finish) {
        CYBELE_TRY(UniqueFd again, file.reopen());
        CYBELE_TRY(const Image whole, Image::open(std::move(again), path));
        CYBELE_TRY(const std::vector<NewObject> more, image.finish(whole));
        for (const NewObject& object : more) {
            CYBELE_CHECK(table.add(file.fd(), object, time));
        }
        CYBELE_CHECK(set_length(file.fd(), table.end(), path));
        CYBELE_CHECK(table.write(file.fd()));
    }
    return file.commit();
}

} // namespace cybele::images
