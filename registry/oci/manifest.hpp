// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Manifests of the OCI image specification 1.1, as far as SIF artifacts need them.
namespace cybele::registry {

inline constexpr std::string_view kManifestType = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view kSifLayerType = "application/vnd.sylabs.sif.layer.v1.sif";

struct ContentDescriptor {
    std::string media_type;
    std::string digest;
    std::uint64_t size = 0;
    std::string architecture;    ///< of an index's entry; empty: says none
    std::string title;           ///< the file's name
    std::string os{};            ///< of an index's entry: "linux"; empty: says none
    std::string variant{};       ///< of the architecture: "v8"
    std::string name{};          ///< of an image layout's entry: its tag
    std::string artifact_type{}; ///< of a list of referrers
};

/// A manifest or an index with its bytes, which alone have the digest.
struct Manifest {
    std::string bytes;
    std::string media_type;
    std::string digest;
    std::vector<ContentDescriptor> manifests; ///< of an index
    ContentDescriptor config;
    std::vector<ContentDescriptor> layers;
    std::string artifact_type{}; ///< of what is no image; else the type of its configuration
    std::string subject{};       ///< digest of the manifest that it belongs to

    [[nodiscard]] bool is_index() const;
};

/// The configuration of every SIF artifact: `{}`.
[[nodiscard]] const ContentDescriptor& sif_config();
inline constexpr std::string_view kSifConfigBytes = "{}";

/// The bytes that Apptainer 1.3 to 1.5 writes for a SIF (order of keys and all), so that the same
/// file pushed by either has one digest. `title`: the file's base name.
[[nodiscard]] std::string
sif_manifest(std::string_view digest, std::uint64_t size, std::string_view title);

/// Checks what is read: kInput for what is no manifest, or where `content_type` is another than the
/// manifest's own.
[[nodiscard]] Result<Manifest> read_manifest(std::string bytes, std::string_view content_type);

/// The one SIF of a manifest; kInput for none, several, or something else. Media types of older
/// programs (before Singularity 3.7, with its slip of the pen) are taken.
[[nodiscard]] Result<ContentDescriptor> sif_layer(const Manifest& manifest,
                                                  const std::string& what);

/// The entry of an index for an architecture: its own, else the one that names none.
[[nodiscard]] Result<ContentDescriptor>
choose_entry(const Manifest& index, const std::string& architecture, const std::string& what);

/// The entry for Linux, an architecture and its commonest variant; attestations and images of other
/// systems are passed over.
[[nodiscard]] Result<ContentDescriptor>
choose_platform(const Manifest& index, const std::string& architecture, const std::string& what);

/// Every type that a registry may answer with.
[[nodiscard]] const std::string& accepted_types();

} // namespace cybele::registry
