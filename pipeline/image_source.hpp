// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace cybele::pipeline {

/// A source that is an image already, and becomes the base of one without steps.
struct ImageSource {
    std::string agent;               ///< "docker", "oci-archive", "localimage" …
    std::string from;                ///< the header's `From:`
    std::filesystem::path directory; ///< that a relative `from` begins at
    std::filesystem::path output;    ///< the image's usual name
};

/// `AGENT://REFERENCE` or `AGENT:PATH` of an agent that takes images, `store:NAME`, a SIF, a bare
/// squashfs, or a folder that holds a root file system (with /.singularity.d or /bin/sh); nothing
/// for any other text. A file of that name comes first. The output is Apptainer's last part and
/// its tag in the working directory (`debian_12.sif`, as Apptainer's pull names it), or lies
/// beside.
[[nodiscard]] std::optional<ImageSource> image_source(const std::filesystem::path& source);

} // namespace cybele::pipeline
