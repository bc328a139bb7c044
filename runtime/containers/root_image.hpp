// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/image_file.hpp"
#include "runtime/containers/stage.hpp"
#include "runtime/namespaces/squashfs_mount.hpp"
#include "support/environment.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cybele::runtime {

struct GlobalOptions;

struct MountRequest {
    bool is_root = false;
    bool is_writable = false;
    bool is_verbose = false;
    bool is_image_writable = false;               ///< a directory, which takes what is written
    bool is_unpacked = false;                     ///< unpacked whatever else works
    std::vector<int> sources;                     ///< of the binds, O_PATH, see Stage::make()
    namespaces::SquashfsServer* server = nullptr; ///< see start_early(); null where there is none
    bool is_quiet = false;                        ///< unpacking is not reported
    std::string memory_size{};                    ///< of what is written in memory; empty: usual
};

struct MountedImage {
    Stage stage;
    UniqueFd root;   ///< of the image's root directory, O_PATH
    std::string way; ///< as MountChoice::way, or "directory"
    UniqueFd lock{}; ///< of an unpacked tree, which nobody removes while it is being mounted
};

/// For an image that will be mounted by FUSE: its server, before the namespaces of the container
/// are made. It prepares itself meanwhile, and sees none of their mounts. Nothing where another way
/// comes first or it cannot start, which mount_image() tells.
[[nodiscard]] std::optional<namespaces::SquashfsServer> start_early(const ImageFile& image,
                                                                    bool is_root);

/// Mounts the image in this mount namespace in the first way that works: by the kernel (root), by
/// FUSE, unpacked. kEnvironment with the reason of each when none does.
[[nodiscard]] Result<MountedImage>
mount_image(const ImageFile& image, const MountRequest& request, const Environment& environment);

/// A line on standard error, for -v.
void tell_if(bool is_wanted, const std::string& text);

/// How tell_if() and warn() write their lines from now on: by the name of Apptainer as there, which
/// writes no line with -q or -s.
void configure_messages(const GlobalOptions& global);

/// A warning on standard error.
void warn(const std::string& text);

/// One that only Apptainer has: by its name, and not with -q or -s.
void warn_as_apptainer(const std::string& text);

} // namespace cybele::runtime
