// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/journal.hpp"
#include "images/sif/write.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

/// Changes of an image that exists, with Apptainer's bytes as the result. Where the file system
/// can reflink, the change is made in a copy that replaces the image; elsewhere in the file itself,
/// with a journal next to it (IMAGE.journal), so that the next change or recover_image() makes of
/// what a killed process or a power cut left the image as it was before or as it was to be. One
/// process at a time changes an image; another one waits. `now` (Unix seconds) becomes the modified
/// time, unless the image is deterministic. kInput: the change is impossible, or the image is
/// damaged; kEnvironment: no permission, no space.
namespace cybele::images {

/// Adds objects (signatures, SBOM, partitions), each in the first free entry of the table.
[[nodiscard]] Result<void> add_objects(const std::filesystem::path& path,
                                       const std::vector<NewObject>& objects,
                                       std::int64_t now);

/// The same where `may` says so: it is asked when nobody else can change the image any more. False:
/// it did not, and nothing was changed.
[[nodiscard]] Result<bool> add_objects_if(const std::filesystem::path& path,
                                          const std::vector<NewObject>& objects,
                                          std::int64_t now,
                                          const std::function<bool()>& may);

struct DeleteOptions {
    bool zero = false;    ///< overwrites the objects' bytes with zeros
    bool compact = false; ///< cuts the file behind the last object that is left
};

/// Deletes objects, all or none. Without options only the table forgets them, as Apptainer
/// does: their bytes stay in the file.
[[nodiscard]] Result<void> delete_objects(const std::filesystem::path& path,
                                          const std::vector<std::uint32_t>& ids,
                                          const DeleteOptions& options,
                                          std::int64_t now);

/// Makes a system partition the primary one; the one that was becomes a system partition. Nothing
/// is written where it is the primary one already. Signatures over either are broken by it.
[[nodiscard]] Result<void>
set_primary(const std::filesystem::path& path, std::uint32_t id, std::int64_t now);

/// Finishes or undoes a change that was interrupted; what each of the changes above begins with.
/// Nothing where none is. kInput: this user may not write to the image.
[[nodiscard]] Result<void> end_interrupted_change(const std::filesystem::path& path);

/// The same because the user asks for it: of an image that was copied half changed, too. Gives what
/// it found. A journal of another file is removed once the image is seen to be complete without.
[[nodiscard]] Result<Settled> recover_image(const std::filesystem::path& path);

} // namespace cybele::images
