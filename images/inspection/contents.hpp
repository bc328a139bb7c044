// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/inspection/inspect.hpp"
#include "images/sif/sif.hpp"
#include "images/squashfs/file_node.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace cybele::images {

/// Something that holds a root file system, opened for reading in place.
struct Contents {
    std::optional<Image> image; ///< of a SIF
    FilePointer root;           ///< null where the files cannot be read: see `because`
    std::string because;        ///< why there is no root: "its root file system is ext3, …"
    std::string note;           ///< what of the files cannot be seen; empty: nothing
};

/// Opens a SIF (its overlay partitions laid over its root file system), a bare squashfs (behind a
/// first line `#!…` too, as Singularity 2 wrote it) or a directory. A SIF without files that can be
/// read is opened all the same. Else kInput.
[[nodiscard]] Result<Contents> open_contents(const std::filesystem::path& path);

/// The files; without them kInput with the reason, saying that `what` needs them.
[[nodiscard]] Result<FilePointer> files_of(const Contents& contents, std::string_view what);

/// As inspect_image(), of whatever was opened. Without the metadata object it is read from the
/// files; nothing is started.
[[nodiscard]] Result<Inspection> inspect_contents(const Contents& contents);

} // namespace cybele::images
