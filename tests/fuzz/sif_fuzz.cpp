// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/inspect.hpp"
#include "images/sif/journal.hpp"
#include "images/sif/sif.hpp"
#include "support/file.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/scratch.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;
using namespace cybele::images;

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

/// One change of the image, by its number. They are slower than all else.
void change(const fs::path& path,
            const std::vector<Descriptor>& descriptors,
            std::uint64_t number) {
    constexpr std::int64_t kNow = 1700000000;
    const std::uint64_t what = number % 3;
    if (what == 0) {
        NewObject object;
        object.type = DataType::kGeneric;
        object.bytes = "fuzz";
        object.alignment = 4096;
        check(path, add_objects(path, {object}, kNow));
    } else if (!descriptors.empty()) {
        const std::uint64_t i = number / 3 % descriptors.size();
        const std::uint32_t id = descriptors[i].id;
        check(path,
              what == 1 ? set_primary(path, id, kNow)
                        : delete_objects(path, {id}, {i % 2 == 0, i % 3 == 0}, kNow));
    }
}

} // namespace

/// Whatever the bytes: an image whose ranges lie in the file, or a refusal; what is changed is read
/// again. Never a crash or a big allocation. As a journal beside an image they do no harm either.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    (void)decode_journal(bytes);
    const fs::path path = cybele::fuzz::scratch_folder("sif-fuzz") / "fuzz.sif";
    if (!cybele::write_file(path, bytes)) {
        return 0;
    }
    std::vector<Descriptor> descriptors;
    if (const auto image = Image::open(path)) {
        read_all(*image);
        descriptors = image->descriptors();
    }
    if (cybele::fuzz::kIsReplay) {
        for (std::uint64_t number = 0; number < 24; ++number) {
            change(path, descriptors, number);
        }
    } else if (const std::uint64_t number = cybele::fuzz::choice_of(bytes); number % 4 != 0) {
        change(path, descriptors, number / 4);
    }
    return 0;
}
