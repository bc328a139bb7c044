// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/descriptor.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cybele::images {

/// A longer signature object is refused: real ones have some kilobytes.
inline constexpr std::uint64_t kMaximumSignatureSize = std::uint64_t{1} << 20U;

/// A SIF file, opened for reading and checked: counts, ranges, overlaps, ids, one primary
/// partition. What it holds is said by its own bytes alone, never by another file next to it.
class Image {
public:
    /// kInput with a precise message for what is not a SIF or is damaged, and for an image whose
    /// change was interrupted (its journal is next to it), with the command that finishes the
    /// change. A change that is under way is waited for.
    [[nodiscard]] static Result<Image> open(const std::filesystem::path& path);
    /// The same of a regular file that is open already; `path` is for messages.
    [[nodiscard]] static Result<Image> open_shared(UniqueFd fd, const std::filesystem::path& path);
    /// The same of a file that no other process changes; journals are not looked for.
    [[nodiscard]] static Result<Image> open(UniqueFd fd, const std::filesystem::path& path);

    [[nodiscard]] const Header& header() const {
        return header_;
    }
    [[nodiscard]] const std::vector<Descriptor>& descriptors() const {
        return descriptors_;
    }
    /// The object with this id; kInput naming those there are.
    [[nodiscard]] Result<Descriptor> object(std::uint32_t id) const;
    /// The primary system partition; kInput "no root file system" if there is none.
    [[nodiscard]] Result<Descriptor> primary_partition() const;
    /// The same, where it is a squashfs that can be read; kInput naming what it is instead
    /// (encrypted, ext3, …).
    [[nodiscard]] Result<Descriptor> root_squashfs() const;
    /// The overlay partitions that a runtime lays over this root partition, the lowest first: those
    /// of its group, in the table's order.
    [[nodiscard]] std::vector<Descriptor> overlays_of(const Descriptor& root) const;
    /// The whole object, at most `limit` bytes.
    [[nodiscard]] Result<std::string>
    read_object(const Descriptor& descriptor, std::uint64_t limit = std::uint64_t{16} << 20U) const;
    /// The object's bytes to a descriptor, in pieces; `name` is that file's, for messages.
    [[nodiscard]] Result<void>
    copy_object(const Descriptor& descriptor, int to, const std::filesystem::path& name) const;
    [[nodiscard]] int fd() const {
        return fd_.get();
    }
    [[nodiscard]] const std::filesystem::path& path() const {
        return path_;
    }

private:
    friend class ImageReader;
    Image() = default;
    UniqueFd fd_;
    std::filesystem::path path_;
    Header header_;
    std::vector<Descriptor> descriptors_;
};

} // namespace cybele::images
