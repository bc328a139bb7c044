// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/image.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cybele::images {

/// An object to be written: its bytes from memory, or by a function that writes at an offset of the
/// file and says how many bytes it wrote.
struct NewObject {
    DataType type{};
    std::uint32_t group = 1; ///< 0: none
    std::uint32_t link = 0;  ///< an object's id, or kGroupMask | group
    std::string name;
    /// Of the type: partition_extra() and its like. Left empty for an OCI object: the digest of its
    /// bytes.
    std::vector<std::uint8_t> extra;
    std::uint64_t alignment = 1; ///< 4096 for partitions; 0 is 1
    std::string bytes;
    std::function<Result<std::uint64_t>(int fd, std::uint64_t offset)> write;
};

struct NewImage {
    std::string launch_script = "#!/usr/bin/env run-singularity\n";
    std::optional<std::array<std::uint8_t, 16>> id; ///< unset: deterministic, nil
    std::optional<std::int64_t> time; ///< Unix seconds; unset: deterministic, -62135596800
    std::uint32_t descriptors = 48;
    std::vector<NewObject> objects;
    /// Called when all objects are written, with the image as it then is, under a temporary name
    /// (path() is the final one): what it returns is appended, with the image's time, before the
    /// image appears. For signing, which reads the objects back from the page cache.
    std::function<Result<std::vector<NewObject>>(const Image& image)> finish;
};

/// Writes an image under its final name, complete or not at all, as Apptainer writes it from the
/// same inputs. kInput for what the reader would refuse.
[[nodiscard]] Result<void> write_image(const std::filesystem::path& path, const NewImage& image);

} // namespace cybele::images
