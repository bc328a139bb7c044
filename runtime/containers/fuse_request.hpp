// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/stage.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <filesystem>
#include <string>
#include <vector>

/// --fusemount: file systems that a program serves, of the host or of the image.
namespace cybele::runtime {

struct FuseRequest {
    bool is_inside = false; ///< the program is the image's, and runs in the container
    bool is_daemon = false; ///< it goes into the background by itself
    std::vector<std::string> argv;
    std::filesystem::path target; ///< absolute, in the container
    UniqueFd device;              ///< of a program inside: /dev/fuse of this mount
};

/// Reads "TYPE:PROGRAM [ARGUMENTS] TARGET"; TYPE is host, container, host-daemon or
/// container-daemon. kUsage for what cannot be read, kEnvironment for a program that is missing.
[[nodiscard]] Result<std::vector<FuseRequest>>
read_fuse_requests(const std::vector<std::string>& words);

/// Starts the programs of the host; all targets become mounts. Gives what must stay open until
/// these are made. The namespaces of the container are entered already.
[[nodiscard]] Result<std::vector<UniqueFd>> mount_fuse(std::vector<FuseRequest>& requests,
                                                       const Stage& stage,
                                                       std::vector<namespaces::Mount>& mounts);

/// Starts the programs of the image, in the new root.
[[nodiscard]] Result<void> serve_inside(const std::vector<FuseRequest>& requests);

} // namespace cybele::runtime
