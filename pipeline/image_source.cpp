// SPDX-License-Identifier: Apache-2.0
#include "pipeline/image_source.hpp"

#include "images/sif/start.hpp"
#include "registry/oci/oci_image.hpp"
#include "registry/store/name.hpp"
#include "support/file.hpp"

#include <algorithm>
#include <string_view>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

bool is_image_file(const fs::path& file) {
    const auto fd = open_for_reading(file);
    return fd && images::image_start(fd->get()).kind != images::ImageStart::Kind::kOther;
}

/// "registry.example/tools/app:1.2@sha256:…" is called app_1.2.
std::string source_name(std::string_view reference) {
    reference = reference.substr(0, reference.find('@'));
    reference.remove_prefix(reference.rfind('/') + 1); // npos + 1 is 0
    std::string name(reference);
    std::replace(name.begin(), name.end(), ':', '_');
    return name.empty() ? "image" : name;
}

/// An image's root file system, or one that another program unpacked.
bool is_root_folder(const fs::path& folder) {
    std::error_code error;
    return fs::is_directory(folder / ".singularity.d", error) ||
           fs::exists(fs::symlink_status(folder / "bin/sh", error));
}

} // namespace

std::optional<ImageSource> image_source(const fs::path& source) {
    std::error_code error;
    const fs::path folder = source.has_parent_path() ? source.parent_path() : fs::path(".");
    if (fs::is_directory(source, error)) {
        if (!is_root_folder(source)) {
            return std::nullopt;
        }
        const fs::path whole = fs::absolute(source, error).lexically_normal() / "";
        const std::string name = whole.parent_path().filename();
        const fs::path above = source.filename().empty() ? source / ".." : folder;
        return ImageSource{"localimage", name, above, above / (name + ".sif")};
    }
    if (fs::is_regular_file(source, error)) {
        const std::string name = source.filename();
        const fs::path output = folder / (source.stem().native() + ".sif");
        return is_image_file(source)
                   ? std::optional(ImageSource{"localimage", name, folder, output})
                   : std::nullopt;
    }
    const std::string& text = source.native();
    if (registry::is_store_reference(text)) {
        return ImageSource{
            "localimage", text, ".", source_name(text.substr(text.find(':') + 1)) + ".sif"};
    }
    const std::size_t colon = text.find(':');
    const std::string agent = text.substr(0, colon);
    // An agent that is not known gets its refusal where the base is planned.
    const bool has_slashes = text.find("://") == colon && colon != std::string::npos;
    if (!has_slashes && (colon == std::string::npos || !registry::is_oci_transport(agent))) {
        return std::nullopt;
    }
    const std::string from = text.substr(colon + (has_slashes ? 3 : 1));
    return ImageSource{agent, from, ".", source_name(from) + ".sif"};
}

} // namespace cybele::pipeline
