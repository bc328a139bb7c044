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

/// What the driver's parts are called on a host.
struct GpuList {
    std::vector<std::string> libraries; ///< up to ".so", or more of the name, or an absolute path
    std::vector<std::string> programs;  ///< as PATH finds them
    std::vector<std::string> files;     ///< absolute: settings that libraries read, for graphics
};
[[nodiscard]] GpuList built_in_list(GpuMaker maker);

/// Apptainer's nvliblist.conf and rocmliblist.conf: a name a line; `#` begins a comment. A name
/// with
/// ".so" is a library, another absolute path a file, any other name a program.
[[nodiscard]] GpuList read_gpu_list(std::string_view text);

/// The driver's libraries among `all`, once each, in the order of `all`; those of `list` with an
/// absolute path come after them, each with the links beside it that lead to it.
[[nodiscard]] std::vector<HostLibrary> driver_libraries(const GpuList& list,
                                                        const std::vector<HostLibrary>& all);

/// What --nv and --rocm bring into a container: the driver's libraries to /.singularity.d/libs, its
/// programs to /usr/bin, its files to where they are, and with a /dev of its own the devices. Which
/// these are, Apptainer's list of the host says (nvliblist.conf, rocmliblist.conf), else the
/// built-in one. All are optional; empty where the host has no such driver.
[[nodiscard]] std::vector<namespaces::Mount>
gpu_mounts(GpuMaker maker, bool is_contained, const Environment& environment);

} // namespace cybele::runtime
