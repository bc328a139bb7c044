// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/runtime.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

/// The Container Device Interface: files of a vendor that say what a device needs in a container
/// (specification 0.8: cncf-tags/container-device-interface, SPEC.md).
namespace cybele::runtime {

/// Puts what the devices ("vendor.com/class=name", or "=all") need into the request: device nodes,
/// mounts and variables. `folders` (empty: /etc/cdi and /var/run/cdi) hold the files; of two files
/// with one device the one of the later folder counts. Hooks are not run; a warning names them.
/// kInput: a name that is malformed or that no file has, a file that cannot be read.
[[nodiscard]] Result<void> add_devices(const std::vector<std::string>& devices,
                                       const std::vector<std::string>& folders,
                                       Request& request,
                                       std::vector<std::string>& warnings);

} // namespace cybele::runtime
