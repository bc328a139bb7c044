// SPDX-License-Identifier: Apache-2.0
// The fixed part of a container's root file system (images notes 3.2, 3.3): mount points, files
// below /etc, and what /.singularity.d holds in every image.
#include "images/container/layout_files.hpp"
#include "images/container/metadata.hpp"
#include "images/inspection/layout_root.hpp"

#include <array>
#include <utility>

namespace cybele::images {
namespace {

// Without one of these Apptainer warns or refuses, depending on its configuration.
constexpr std::array kDirectories = {
    "dev",
    "proc",
    "sys",
    "root",
    "tmp",
    "var/tmp",
    "home",
    "etc",
    ".singularity.d",
    ".singularity.d/actions",
    ".singularity.d/env",
    ".singularity.d/libs", // runtimes bind the host's GPU libraries there
};

struct EtcFile {
    const char* path;
    std::string_view bytes;
    bool is_of_apptainer = false; ///< which it makes, too
};
// Targets of binds, so an empty file does; the user lists are read and extended by runtimes.
constexpr std::array kEtcFiles = {
    EtcFile{"etc/hosts", "", true},
    EtcFile{"etc/resolv.conf", "", true},
    EtcFile{"etc/localtime", ""},
    EtcFile{"etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"},
    EtcFile{"etc/group", "root:x:0:\n"},
};

struct Link {
    const char* path;
    const char* target;
};
constexpr std::array kLinks = {
    Link{".exec", ".singularity.d/actions/exec"},
    Link{".run", ".singularity.d/actions/run"},
    Link{".shell", ".singularity.d/actions/shell"},
    Link{".test", ".singularity.d/actions/test"},
    Link{"singularity", ".singularity.d/runscript"},
    Link{"environment", ".singularity.d/env/90-environment.sh"},
};

} // namespace

Result<void> write_fixed_files(const RootDirectory& root, EtcFiles files) {
    for (const auto* directory : kDirectories) {
        CYBELE_CHECK(root.make_directory(directory, 0755));
    }
    for (const auto& file : kEtcFiles) {
        const bool is_wanted = files == EtcFiles::kAll || file.is_of_apptainer;
        if (is_wanted && !root.exists(file.path)) {
            CYBELE_CHECK(root.write(file.path, file.bytes, 0644));
        }
    }
    for (const auto& file : embedded::singularity_files()) {
        const auto path = ".singularity.d/" + std::string(file.name.substr(kDataFolder.size()));
        CYBELE_CHECK(root.write_if_missing(path, file.bytes, 0755));
    }
    for (const auto& link : kLinks) {
        CYBELE_CHECK(root.link_if_missing(link.path, link.target));
    }
    return {};
}

Result<void> write_base_layout(const std::filesystem::path& root, EtcFiles files) {
    CYBELE_TRY(const auto directory, RootDirectory::open(root));
    return write_fixed_files(directory, files);
}

} // namespace cybele::images
