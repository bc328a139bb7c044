// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/oci/oci_image.hpp"

#include <memory>

/// Images in folders and archives on this machine.
namespace cybele::registry {

/// A name of a file and what stands behind it: `PATH[:TAG][@sha256:…]`.
struct LocalReference {
    std::filesystem::path path;
    std::string tag;
    std::string digest;
};
/// Where PATH itself has a colon, the longest PATH that exists is meant.
[[nodiscard]] LocalReference read_local_reference(const OciRequest& request);

/// Where the parts of an image lie: a folder, or the entries of a tar file.
class LocalFiles {
public:
    virtual ~LocalFiles() = default;
    /// A part as text; more than `limit` bytes are kInput.
    [[nodiscard]] virtual Result<std::string> text(const std::string& name) = 0;
    /// Whether there is such a part.
    [[nodiscard]] virtual bool has(const std::string& name) = 0;
    /// A part as file; `digest` may be empty.
    [[nodiscard]] virtual Result<HeldLayer> file(const std::string& name,
                                                 const ContentDescriptor& descriptor) = 0;
};

/// Reads images through the parts of a folder or archive.
[[nodiscard]] Result<OciImage>
read_layout(LocalFiles& files, const OciRequest& request, const LocalReference& reference);
[[nodiscard]] Result<OciImage>
read_docker_archive(LocalFiles& files, const OciRequest& request, const LocalReference& reference);

/// The entries of a tar file, plain or compressed.
[[nodiscard]] Result<std::unique_ptr<LocalFiles>>
open_archive(const std::filesystem::path& path, const Store& store, std::int64_t now);

/// The configuration's word on layers and machine, checked against what was asked for.
[[nodiscard]] Result<void> judge_config(OciImage& image, const OciRequest& request);

} // namespace cybele::registry
