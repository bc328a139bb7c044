// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/stage.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Binds of folders and files inside image files: `-B FILE:DST:image-src=PATH`, with `id=N` of a
/// SIF's partition.
namespace cybele::runtime {

class ImageBinds {
public:
    /// Opens the files, each partition once; before the stage covers anything. kInput: what is no
    /// image, a SIF without such a partition, one file twice for writing.
    [[nodiscard]] static Result<ImageBinds> open(const std::vector<namespaces::Mount>& mounts);
    /// Mounts them on the stage, and gives each bind its source. `way`: how the image was mounted.
    [[nodiscard]] Result<void>
    mount(const Stage& stage, const std::string& way, std::vector<namespaces::Mount>& mounts);

private:
    struct Part {
        std::filesystem::path path;
        std::uint32_t id = 0;
        UniqueFd fd;
        std::uint64_t offset = 0;
        std::uint64_t size = 0;
        bool is_extended = false;
        bool is_of_sif = false;
        bool is_writable = false;
        UniqueFd root;
    };
    [[nodiscard]] static Result<Part> open_part(const namespaces::Mount& mount);
    /// What Apptainer warns of, where a part cannot be written and was not bound read-only.
    static void warn_of_reading(const Part& part, const namespaces::Mount& mount);
    [[nodiscard]] Part* find(const namespaces::Mount& mount);

    std::vector<Part> parts_;
    std::vector<UniqueFd> sources_;
};

} // namespace cybele::runtime
