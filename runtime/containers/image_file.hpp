// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/image_demand.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace cybele::runtime {

/// Where a squashfs lies in a file.
struct SquashfsPlace {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

/// The state of a file; any change of its bytes changes it.
struct FileState {
    std::int64_t size = 0;
    std::int64_t modified[2] = {}; ///< seconds, nanoseconds
    std::int64_t changed[2] = {};

    [[nodiscard]] bool operator==(const FileState&) const = default;
};

/// Where the root file system of an image lies.
struct ImageFile {
    enum class Kind { kDirectory, kSquashfs, kExtended }; ///< the last: ext3
    Kind kind = Kind::kDirectory;
    std::filesystem::path path; ///< absolute
    UniqueFd fd;                ///< of the file; of a directory O_PATH
    std::uint64_t offset = 0;   ///< of the squashfs in the file
    std::uint64_t size = 0;
    /// Overlay partitions of the same SIF and group, the lowest first: they lie over it, as
    /// Apptainer mounts them.
    std::vector<SquashfsPlace> overlays;
    /// The ext3 overlay partition of the same SIF, above those; written with --writable.
    std::optional<SquashfsPlace> extended;
    /// Of a verified file that is not a private copy: as it was when it was verified.
    std::optional<FileState> verified;
};

/// Opens a SIF (its primary partition), a bare squashfs or ext3 file, or a directory. kInput for
/// anything else, for a partition that is no squashfs, and for an image of another architecture
/// than `host`
/// ("amd64").
///
/// With a demand it must be a SIF whose signatures hold, and `fd` is what was verified: a private
/// copy without a name, which no other process can change; or, of an image larger than
/// kMaximumCopy that only this user and root may write to, the file itself.
[[nodiscard]] Result<ImageFile> open_image(const std::filesystem::path& path,
                                           const std::string& host_architecture,
                                           const ImageDemand* demand = nullptr);

inline constexpr std::int64_t kMaximumCopy = std::int64_t{256} << 20U;

/// kVerification where a file was changed since it was verified. Others pass.
[[nodiscard]] Result<void> check_unchanged(const ImageFile& file);

} // namespace cybele::runtime
