// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/sif.hpp"
#include "images/squashfs/squashfs.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace cybele::images {

struct NewContainer {
    std::filesystem::path root; ///< with its metadata in place
    std::string definition;
    bool is_deterministic = false; ///< nil id and times
    /// Images are mounted nodev and get their /dev from the runtime, and device nodes in them keep
    /// an ordinary user from unpacking or building on them: left out unless this is set.
    bool keep_devices = false;
    std::int64_t build_time = 0;
    PackOptions pack;
    /// As NewImage::finish: for signatures, which then are in the image when it appears.
    std::function<Result<std::vector<NewObject>>(const Image& image)> finish;
    /// A list of the packages inside (SBOM) as an object behind the partition: "spdx";
    /// "none" or empty: no list. It names the image so:
    std::string sbom;
    std::string name = "image";
    std::string version;
    std::string sources; ///< what it is made from, for sources_object(); empty: no such object
};

/// A SIF as `apptainer build` writes it: definition (JSON labels, inspect metadata) and squashfs as
/// the primary partition, in Apptainer's order.
[[nodiscard]] Result<void> write_container(const std::filesystem::path& path,
                                           const NewContainer& container);

} // namespace cybele::images
