// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/inspect.hpp"
#include "images/sif/journal.hpp"
#include "images/sif/sif.hpp"
#include "support/file.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace {

namespace fs = std::filesystem;
using namespace cybele::images;

/// A folder of this process in memory, where there is one.
const fs::path& folder() {
    static const auto made = cybele::TempDirectory::make(
        fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path(), "cybele-fuzz");
    if (!made) {
        std::abort();
    }
    return made->path();
}

void read_all(const Image& image) {
    for (const Descriptor& descriptor : image.descriptors()) {
        (void)image.read_object(descriptor);
        (void)descriptor.fingerprint();
        (void)descriptor.oci_digest();
        (void)descriptor.linked_group();
    }
    (void)image.root_squashfs();
    (void)inspect_image(image); // opens the squashfs where no object tells
}

/// A change that was made leaves an image that is read.
void check(const fs::path& path, const cybele::Result<void>& changed) {
    if (changed && !Image::open(path)) {
        std::abort();
    }
}

void change_all(const fs::path& path, const std::vector<Descriptor>& descriptors) {
    constexpr std::int64_t kNow = 1700000000;
    NewObject object;
    object.type = DataType::kGeneric;
    object.bytes = "fuzz";
    object.alignment = 4096;
    check(path, add_objects(path, {object}, kNow));
    for (std::size_t i = 0; i < descriptors.size() && i < 8; ++i) {
        const std::uint32_t id = descriptors[i].id;
        check(path, set_primary(path, id, kNow));
        check(path, delete_objects(path, {id}, {i % 2 == 0, i % 3 == 0}, kNow));
    }
}

} // namespace

/// Whatever the bytes: an image whose ranges lie in the file, or a refusal; what is changed is read
/// again. Never a crash or a big allocation. As a journal beside an image they do no harm either.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    (void)decode_journal(bytes);
    const fs::path path = folder() / "fuzz.sif";
    if (!cybele::write_file(path, bytes)) {
        return 0;
    }
    std::vector<Descriptor> descriptors;
    if (const auto image = Image::open(path)) {
        read_all(*image);
        descriptors = image->descriptors();
    }
    change_all(path, descriptors);
    return 0;
}
