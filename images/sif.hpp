// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The Singularity Image Format, version 01 (reference: apptainer/sif, pkg/sif). All integers are
/// little-endian and packed.
namespace cybele::images {

enum class DataType : std::int32_t {
    kDefinition = 0x4001,
    kEnvironment = 0x4002,
    kLabels = 0x4003,
    kPartition = 0x4004,
    kSignature = 0x4005,
    kGenericJson = 0x4006,
    kGeneric = 0x4007,
    kCryptoMessage = 0x4008,
    kSbom = 0x4009,
    kOciRootIndex = 0x400A,
    kOciBlob = 0x400B,
};

enum class FsType : std::int32_t {
    kNone = 0,
    kSquashfs = 1,
    kExt3 = 2,
    kArchive = 3,
    kRaw = 4,
    kEncryptedSquashfs = 5,
    kGocryptfs = 6
};
enum class PartType : std::int32_t {
    kNone = 0,
    kSystem = 1,
    kPrimary = 2,
    kData = 3,
    kOverlay = 4
};

inline constexpr std::uint32_t kGroupMask = 0xF0000000U;

/// Stored for every time of a deterministic image: the zero time of the reference's language,
/// 1 January of the year 1.
inline constexpr std::int64_t kDeterministicTime = -62135596800;

/// A longer signature object is refused: real ones have some kilobytes.
inline constexpr std::uint64_t kMaximumSignatureSize = std::uint64_t{1} << 20U;

/// One used entry of the descriptor table, checked.
struct Descriptor {
    DataType type{};
    std::uint32_t id = 0;     ///< table index + 1
    std::uint32_t group = 0;  ///< 0: none (stored as kGroupMask)
    std::uint32_t link = 0;   ///< as stored: an object id, or kGroupMask | group
    std::uint64_t offset = 0; ///< from the start of the file
    std::uint64_t size = 0;
    std::uint64_t size_with_padding = 0;
    std::int64_t created = 0;
    std::int64_t modified = 0;
    std::int64_t uid = 0;
    std::int64_t gid = 0;
    std::string name;
    std::array<std::uint8_t, 384> extra{};

    [[nodiscard]] bool is_group_link() const {
        return (link & kGroupMask) == kGroupMask;
    }
    [[nodiscard]] FsType fs_type() const;     ///< of a partition, else kNone
    [[nodiscard]] PartType part_type() const; ///< of a partition, else kNone
    [[nodiscard]] std::string arch() const;   ///< of a partition: "amd64", else ""
};

struct Header {
    std::string launch_script;
    std::string arch;                ///< "amd64", … or "unknown"
    std::array<char, 3> arch_code{}; ///< as stored: two digits and NUL
    std::array<std::uint8_t, 16> id{};
    std::int64_t created = 0;
    std::int64_t modified = 0;
    std::uint64_t descriptors_free = 0;
    std::uint64_t descriptors_total = 0;
    std::uint64_t descriptors_offset = 0;
    std::uint64_t descriptors_size = 0;
    std::uint64_t data_offset = 0;
    std::uint64_t data_size = 0;

    /// Nil id and both times kDeterministicTime: what is added later keeps that time.
    [[nodiscard]] bool is_deterministic() const;
};

/// A SIF file, opened for reading and checked: counts, ranges, overlaps, ids, one primary
/// partition.
class Image {
public:
    /// kInput with a precise message for what is no SIF or is damaged.
    [[nodiscard]] static Result<Image> open(const std::filesystem::path& path);

    [[nodiscard]] const Header& header() const {
        return header_;
    }
    [[nodiscard]] const std::vector<Descriptor>& descriptors() const {
        return descriptors_;
    }
    /// The primary system partition; kInput "no root file system" if there is none.
    [[nodiscard]] Result<Descriptor> primary_partition() const;
    /// The whole object, at most `limit` bytes.
    [[nodiscard]] Result<std::string>
    read_object(const Descriptor& descriptor, std::uint64_t limit = std::uint64_t{16} << 20U) const;
    [[nodiscard]] int fd() const {
        return fd_.get();
    }
    [[nodiscard]] const std::filesystem::path& path() const {
        return path_;
    }

private:
    Image() = default;
    UniqueFd fd_;
    std::filesystem::path path_;
    Header header_;
    std::vector<Descriptor> descriptors_;
};

/// An object to be written: its bytes from memory, or by a function that writes at an offset of the
/// file and says how many bytes it wrote.
struct NewObject {
    DataType type{};
    std::uint32_t group = 1;
    std::uint32_t link = 0;
    std::string name;
    std::vector<std::uint8_t> extra;
    std::uint64_t alignment = 1; ///< 4096 for partitions
    std::string bytes;
    std::function<Result<std::uint64_t>(int fd, std::uint64_t offset)> write;
};

struct NewImage {
    std::string launch_script = "#!/usr/bin/env run-singularity\n";
    std::optional<std::array<std::uint8_t, 16>> id; ///< unset: deterministic, nil
    std::optional<std::int64_t> time; ///< Unix seconds; unset: deterministic, -62135596800
    std::uint32_t descriptors = 48;
    std::vector<NewObject> objects;
};

/// Writes an image under its final name, whole or not at all.
[[nodiscard]] Result<void> write_image(const std::filesystem::path& path, const NewImage& image);

/// Adds objects (signatures, SBOM) to an image, in a copy that replaces it by rename (reflink where
/// the file system can); modified times become `now`, or stay deterministic in a deterministic
/// image.
[[nodiscard]] Result<void> add_objects(const std::filesystem::path& path,
                                       const std::vector<NewObject>& objects,
                                       std::int64_t now);

/// `extra` of a partition object.
[[nodiscard]] std::vector<std::uint8_t>
partition_extra(FsType fs, PartType part, std::string_view arch);

/// A random id (UUID version 4, raw bytes) for NewImage::id.
[[nodiscard]] std::array<std::uint8_t, 16> random_image_id();

/// "02" for "amd64", and back; "00" and "unknown" for what the format has no word for.
[[nodiscard]] std::string_view architecture_code(std::string_view name);
[[nodiscard]] std::string_view architecture_name(std::string_view code);

/// "amd64" for the machine this runs on, in the format's words.
[[nodiscard]] std::string host_architecture();

} // namespace cybele::images
