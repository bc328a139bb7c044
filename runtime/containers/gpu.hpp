// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/namespaces/sandbox.hpp"
#include "support/environment.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cybele::runtime {

enum class GpuMaker { kNvidia, kAmd };

/// A library that the host's loader knows.
struct HostLibrary {
    std::string name; ///< as programs ask for it: "libcuda.so.1"
    std::string path;
};
/// From what `ldconfig -p` prints, those of this machine's 64-bit kind (`mark`: "x86-64").
[[nodiscard]] std::vector<HostLibrary> read_loader_cache(std::string_view text,
                                                         std::string_view mark);

/// The driver's libraries among them, by the maker's table.
[[nodiscard]] std::vector<HostLibrary> driver_libraries(GpuMaker maker,
                                                        const std::vector<HostLibrary>& all);

/// What --nv and --rocm bring into a container: the driver's libraries to /.singularity.d/libs, its
/// programs to /usr/bin, and with a /dev of its own the devices. All are optional; empty where the
/// host has no such driver.
[[nodiscard]] std::vector<namespaces::Mount>
gpu_mounts(GpuMaker maker, bool is_contained, const Environment& environment);

} // namespace cybele::runtime
