// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/gpu.hpp"

#include "runtime/containers/site_settings.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>
#include <sstream>

namespace cybele::runtime {
namespace {

using namespaces::Mount;

/// Of NVIDIA's driver; what belongs to CUDA's toolkit is the image's own.
constexpr std::string_view kNvidiaLibraries[] = {
    "libcuda.so",          "libcudadebugger.so",    "libnvidia-ml.so",
    "libnvidia-nvvm.so",   "libnvidia-opencl.so",   "libnvidia-ptxjitcompiler.so",
    "libnvidia-cfg.so",    "libnvidia-gpucomp.so",  "libnvidia-allocator.so",
    "libnvcuvid.so",       "libnvidia-encode.so",   "libnvidia-opticalflow.so",
    "libnvoptix.so",       "libnvidia-rtcore.so",   "libnvidia-eglcore.so",
    "libnvidia-glcore.so", "libnvidia-glsi.so",     "libnvidia-tls.so",
    "libEGL_nvidia.so",    "libGLX_nvidia.so",      "libGLESv1_CM_nvidia.so",
    "libnvidia-fbc.so",    "libGLESv2_nvidia.so",   "libnvidia-glvkspirv.so",
    "libnvidia-pkcs11.so", "libnvidia-compiler.so", "libnvidia-fatbinaryloader.so",
    "libvdpau_nvidia.so"};
constexpr std::string_view kNvidiaPrograms[] = {"nvidia-smi",
                                                "nvidia-debugdump",
                                                "nvidia-persistenced",
                                                "nvidia-cuda-mps-control",
                                                "nvidia-cuda-mps-server"};
/// From version 1.4 on Apptainer's list has these, too: without them EGL and Vulkan find no driver.
constexpr std::string_view kNvidiaFiles[] = {
    "/usr/share/glvnd/egl_vendor.d/10_nvidia.json",
    "/usr/share/vulkan/icd.d/nvidia_icd.json",
    "/usr/share/vulkan/implicit_layer.d/nvidia_layers.json",
    "/etc/vulkan/icd.d/nvidia_icd.json",
    "/etc/vulkan/implicit_layer.d/nvidia_layers.json",
    "/usr/share/egl/egl_external_platform.d/"
    "15_nvidia_gbm.json",
    "/usr/share/egl/egl_external_platform.d/"
    "10_nvidia_wayland.json",
    "/usr/share/nvidia/nvoptix.bin"};
constexpr std::string_view kNvidiaDevices[] = {"nvidia", "dri"};

/// ROCm has no split into driver and toolkit: these have to be those of the kernel's part. libdrm
/// is on every host with a screen, and in the images.
constexpr std::string_view kAmdLibraries[] = {"libamd_comgr.so",
                                              "libamdhip64.so",
                                              "libamdocl64.so",
                                              "libhsa-runtime64.so",
                                              "libhipblas.so",
                                              "libhipfft.so",
                                              "libhiprand.so",
                                              "libhipsparse.so",
                                              "libMIOpen.so",
                                              "librccl.so",
                                              "librocblas.so",
                                              "librocfft.so",
                                              "librocrand.so",
                                              "librocm_smi64.so",
                                              "librocsolver.so",
                                              "librocsparse.so",
                                              "libhsakmt.so"};
constexpr std::string_view kAmdPrograms[] = {"rocm-smi", "rocminfo"};
constexpr std::string_view kAmdDevices[] = {"kfd", "dri"};

struct Row {
    GpuMaker maker;
    std::span<const std::string_view> libraries; ///< up to ".so"
    std::span<const std::string_view> programs;
    std::span<const std::string_view> files;
    std::span<const std::string_view> devices; ///< beginnings of names in /dev
    const char* list;                          ///< Apptainer's name of the host's list
};
constexpr Row kRows[] = {
    {GpuMaker::kNvidia,
     kNvidiaLibraries,
     kNvidiaPrograms,
     kNvidiaFiles,
     kNvidiaDevices,
     "nvliblist.conf"},
    {GpuMaker::kAmd, kAmdLibraries, kAmdPrograms, {}, kAmdDevices, "rocmliblist.conf"},
};
constexpr std::size_t kMostList = std::size_t{1} << 16U;

#if defined(__aarch64__)
constexpr std::string_view kMark = "AArch64";
#else
constexpr std::string_view kMark = "x86-64";
#endif

const Row& row_of(GpuMaker maker) {
    return maker == GpuMaker::kNvidia ? kRows[0] : kRows[1];
}

Mount bring_in(const std::filesystem::path& source, const std::filesystem::path& target) {
    Mount mount;
    mount.source = source;
    mount.target = target;
    mount.is_optional = true;
    mount.options = "nosuid";
    return mount;
}

/// The loader's cache is in folders of the system that a user's PATH may lack.
std::string loader_cache(const Environment& environment) {
    const std::string path = environment.get_or("PATH", "") + ":/sbin:/usr/sbin";
    const auto program = find_program("ldconfig", path);
    if (!program) {
        return {};
    }
    Command command;
    command.argv = {program->string(), "-p"};
    const auto outcome = run_process(command);
    return outcome && outcome->ok() ? outcome->output : std::string();
}

void add_devices(std::vector<Mount>& mounts, const Row& row) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/dev", ignored)) {
        const std::string name = entry.path().filename();
        if (std::ranges::any_of(row.devices,
                                [&](std::string_view start) { return name.starts_with(start); })) {
            mounts.push_back(bring_in(entry.path(), entry.path()));
            mounts.back().options = "nosuid,noexec";
        }
    }
}

/// A library by its path, and the links beside it that lead to it. Empty where it is no file.
std::vector<HostLibrary> with_links(const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
        return {};
    }
    std::vector<HostLibrary> all{{path.filename(), path}};
    for (const auto& entry : std::filesystem::directory_iterator(path.parent_path(), error)) {
        if (entry.is_symlink(error) && entry.path() != path &&
            std::filesystem::equivalent(entry.path(), path, error)) {
            all.push_back({entry.path().filename(), entry.path()});
        }
    }
    std::sort(all.begin() + 1, all.end(), [](const HostLibrary& one, const HostLibrary& other) {
        return one.name < other.name;
    });
    return all;
}

/// The host's own list where it has one; where that cannot be read, the built-in one.
GpuList list_of_host(const Row& row) {
    for (const char* folder : kSettingsFolders) {
        const std::filesystem::path file = std::filesystem::path(folder) / row.list;
        std::error_code error;
        if (!std::filesystem::is_regular_file(file, error)) {
            continue;
        }
        if (const auto text = read_file(file, kMostList)) {
            return read_gpu_list(*text);
        }
    }
    return built_in_list(row.maker);
}

} // namespace

std::vector<HostLibrary> read_loader_cache(std::string_view text, std::string_view mark) {
    constexpr std::string_view kArrow = " => ";
    std::vector<HostLibrary> all;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        const auto start = line.find_first_not_of(" \t");
        const auto kind = line.find(" (");
        const auto arrow = line.find(kArrow);
        if (start == std::string::npos || kind == std::string::npos || arrow == std::string::npos ||
            kind > arrow || line.substr(kind, arrow - kind).find(mark) == std::string::npos) {
            continue;
        }
        all.push_back({line.substr(start, kind - start), line.substr(arrow + kArrow.size())});
    }
    return all;
}

GpuList built_in_list(GpuMaker maker) {
    const Row& row = row_of(maker);
    return {{row.libraries.begin(), row.libraries.end()},
            {row.programs.begin(), row.programs.end()},
            {row.files.begin(), row.files.end()}};
}

GpuList read_gpu_list(std::string_view text) {
    GpuList list;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        const std::string name(text::trimmed(line));
        if (name.empty() || name.front() == '#') {
            continue;
        }
        const bool is_path = name.front() == '/';
        if (name.find(".so") != std::string::npos) {
            list.libraries.push_back(name);
        } else if (is_path) {
            list.files.push_back(name);
        } else if (name.find('/') == std::string::npos) {
            list.programs.push_back(name);
        }
    }
    return list;
}

std::vector<HostLibrary> driver_libraries(const GpuList& list,
                                          const std::vector<HostLibrary>& all) {
    std::vector<HostLibrary> found;
    std::set<std::string> names; // the first of a name is the one that the loader takes
    for (const HostLibrary& library : all) {
        const bool is_driver = std::ranges::any_of(list.libraries, [&](std::string_view start) {
            return library.name.starts_with(start) &&
                   (library.name.size() == start.size() || library.name[start.size()] == '.');
        });
        if (is_driver && library.name.find('/') == std::string::npos &&
            names.insert(library.name).second) {
            found.push_back(library);
        }
    }
    for (const std::string& path : list.libraries) {
        if (path.front() != '/') {
            continue;
        }
        for (HostLibrary& library : with_links(path)) {
            if (names.insert(library.name).second) {
                found.push_back(std::move(library));
            }
        }
    }
    return found;
}

std::vector<Mount> gpu_mounts(GpuMaker maker, bool is_contained, const Environment& environment) {
    const Row& row = row_of(maker);
    const GpuList list = list_of_host(row);
    std::vector<Mount> mounts;
    for (const HostLibrary& library :
         driver_libraries(list, read_loader_cache(loader_cache(environment), kMark))) {
        mounts.push_back(bring_in(library.path, "/.singularity.d/libs/" + library.name));
    }
    for (const std::string& name : list.programs) {
        if (const auto program = find_program(name, environment.get_or("PATH", ""))) {
            mounts.push_back(bring_in(*program, std::filesystem::path("/usr/bin") / name));
        }
    }
    if (mounts.empty()) {
        return mounts;
    }
    std::error_code error;
    for (const std::string& file : list.files) {
        if (std::filesystem::is_regular_file(file, error)) {
            mounts.push_back(bring_in(file, file));
        }
    }
    if (is_contained) {
        add_devices(mounts, row);
    }
    return mounts;
}

} // namespace cybele::runtime
