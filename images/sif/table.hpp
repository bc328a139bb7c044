// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/journal.hpp"
#include "images/sif/write.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cybele::images {

/// Header and descriptor table of an image while it is written or changed; the rules are
/// Apptainer's (docs/reference/sif-format.md, "Writing"). Objects' bytes go to the file at once,
/// where no object lies; header and table stay in memory.
class Table {
public:
    /// `path` is for messages.
    Table(Header header, const std::vector<Descriptor>& used, std::filesystem::path path);

    /// Writes the object's bytes behind all others and enters it in the first free entry.
    [[nodiscard]] Result<void> add(int fd, const NewObject& object, std::int64_t time);
    /// Frees the entry of an object; gives what it was.
    [[nodiscard]] Result<Descriptor> erase(std::uint32_t id);
    /// False where the object is the primary partition already.
    [[nodiscard]] Result<bool> set_primary(std::uint32_t id, std::int64_t time);
    /// Sets the data size to what the objects need.
    void compact();
    void set_modified(std::int64_t time) {
        header_.modified = time;
    }

    /// Where the last object ends, at least the start of the data area.
    [[nodiscard]] std::uint64_t end() const;
    [[nodiscard]] const Header& header() const {
        return header_;
    }

    /// All of it to a new file.
    [[nodiscard]] Result<void> write(int fd) const;
    /// What differs from the table and header in a file.
    [[nodiscard]] Result<std::vector<JournalPiece>> changes(int fd) const;

private:
    [[nodiscard]] Result<Descriptor> describe(const NewObject& object) const;
    [[nodiscard]] Result<void>
    write_bytes(int fd, const NewObject& object, Descriptor& descriptor) const;
    [[nodiscard]] Result<Descriptor*> find(std::uint32_t id);
    void take_architecture(const Descriptor* primary);

    Header header_;
    std::vector<std::optional<Descriptor>> entries_;
    std::vector<bool> is_erased_; ///< entries that others left unused keep their bytes
    std::filesystem::path path_;
};

} // namespace cybele::images
