// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/sif.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

/// Images to read, to damage and to sign.
namespace sample {

namespace fs = std::filesystem;
using namespace cybele;
using namespace cybele::images;

inline fs::path data(std::string_view name) {
    return fs::path(CYBELE_TESTS_DIR) / "unit/images/data" / name;
}

inline TempDirectory directory() {
    auto made = TempDirectory::make(fs::temp_directory_path(), "cybele-images");
    REQUIRE(made.has_value());
    return std::move(*made);
}

/// In memory where there is such a place: many changes, each of which waits for the disk.
inline TempDirectory quick_directory() {
    auto made = TempDirectory::make(
        fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path(), "cybele-images");
    REQUIRE(made.has_value());
    return std::move(*made);
}

inline std::string content(const fs::path& path) {
    const auto text = read_file(path);
    REQUIRE_MESSAGE(text.has_value(), path);
    return *text;
}

/// As fail() shows it, for comparing with what is expected.
inline std::string words(const Error& error) {
    std::string text;
    for (const Fault& fault : error.faults()) {
        text += fault.message + " | " + fault.because + " | " + fault.help + "\n";
    }
    return text;
}

inline NewObject definition() {
    NewObject object;
    object.type = DataType::kDefinition;
    object.bytes = "bootstrap: scratch\n";
    return object;
}

inline NewObject partition(PartType part = PartType::kPrimary) {
    NewObject object;
    object.type = DataType::kPartition;
    object.extra = partition_extra(FsType::kSquashfs, part, "amd64");
    object.alignment = 4096;
    object.name = "root";
    object.bytes.assign(5000, 'p');
    return object;
}

/// A definition (object 1) and a root partition (object 2), both of group 1.
inline NewImage image() {
    NewImage image;
    image.id = std::array<std::uint8_t, 16>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    image.time = 1700000000;
    image.objects = {definition(), partition()};
    return image;
}

inline void write(const fs::path& path, const NewImage& image) {
    const auto written = write_image(path, image);
    REQUIRE_MESSAGE(written.has_value(), (written ? "" : words(written.error())));
}

/// Puts a little-endian number of `size` bytes into an image.
inline void put(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t size = 8) {
    for (std::size_t i = 0; i < size; ++i) {
        bytes[at + i] = static_cast<char>(value >> (8U * i) & 0xffU);
    }
}

/// Where entry `id` of the descriptor table starts.
inline std::size_t entry(std::uint32_t id) {
    return 4096 + std::size_t{585} * (id - 1);
}

// Places of fields in the header and, from its start, in a descriptor.
inline constexpr std::size_t kFree = 80;
inline constexpr std::size_t kTotal = 88;
inline constexpr std::size_t kTableOffset = 96;
inline constexpr std::size_t kTableSize = 104;
inline constexpr std::size_t kDataOffset = 112;
inline constexpr std::size_t kDataSize = 120;
inline constexpr std::size_t kUsed = 4;
inline constexpr std::size_t kId = 5;
inline constexpr std::size_t kGroup = 9;
inline constexpr std::size_t kLink = 13;
inline constexpr std::size_t kOffset = 17;
inline constexpr std::size_t kSize = 25;
inline constexpr std::size_t kPadded = 33;
inline constexpr std::size_t kName = 73;
inline constexpr std::size_t kExtra = 201;

} // namespace sample
