// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/oci/images.hpp"
#include "registry/store/layers.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// OCI images that others are built from: of registries, of layouts (OCI image layout 1.1) and of
/// archives.
namespace cybele::registry {

struct OciLayer {
    ContentDescriptor descriptor; ///< without a digest where its archive gives none
    std::string diff_id;          ///< digest of the tar that is in it
    HeldLayer file;
};

struct OciImage {
    std::string name;   ///< as people write it, with the transport
    std::string digest; ///< what a Lock keeps: of the manifest or list that the name stands for
    std::string image;  ///< of the configuration, which names all content
    std::string config; ///< JSON
    std::vector<OciLayer> layers;

    [[nodiscard]] std::uint64_t packed_bytes() const;
};

struct OciRequest {
    std::string transport;           ///< docker, oci, oci-archive, docker-archive
    std::string from;                ///< what follows the transport and its colon
    std::filesystem::path directory; ///< relative paths begin here
    std::string architecture;        ///< "amd64"
    std::string digest;              ///< of a Lock: this one and no other; empty: whatever it is
    std::int64_t now = 0;
    std::function<void(const std::string&)> say; ///< a line for each layer that comes
};

/// Whether fetch_oci() knows it.
[[nodiscard]] bool is_oci_transport(std::string_view name);

/// The image with its layers in the store (those of a layout stay where they are). What comes from
/// a registry is verified on the way; the other layers are by whoever unpacks them.
/// kInput: no such image, none for the architecture, damaged; kVerification: wrong bytes.
[[nodiscard]] Result<OciImage>
fetch_oci(const Transport& transport, const OciRequest& request, const Store& store);

/// What a name stands for now, for a Lock; nothing is downloaded but manifests.
[[nodiscard]] Result<std::string> resolve_oci(const Transport& transport,
                                              const OciRequest& request);

} // namespace cybele::registry
