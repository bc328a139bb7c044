// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/signatures/verify.hpp"
#include "registry/oci/images.hpp"
#include "registry/oci/oci_image.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

/// What lies beside an image in its registry: signatures, lists of packages, provenance. Each is a
/// manifest of its own with the image's as its subject (OCI distribution specification 1.1).
namespace cybele::registry {

struct AttachRequest {
    Reference reference; ///< of the image
    std::string type;    ///< media type: "application/spdx+json"
    std::string title;   ///< the file's name as others see it
    std::string bytes;
    std::int64_t now = 0; ///< for its annotation; 0: none
};

struct Attached {
    std::string manifest;   ///< digest of the attachment's manifest
    std::string subject;    ///< digest of the image's
    bool is_listed = false; ///< by the registry itself; else by a tag that we keep
};

/// Attaches a document; what is attached already is not attached twice.
[[nodiscard]] Result<Attached> attach(const Transport& transport, const AttachRequest& request);

struct Referrer {
    std::string digest;
    std::string type;
    std::uint64_t size = 0; ///< of the manifest
    std::string title;
};
/// What is attached to an image, all or of one type, in the registry's order.
[[nodiscard]] Result<std::vector<Referrer>>
referrers(const Transport& transport, const Reference& reference, const std::string& type);

/// The document of one of them; more than 64 MiB are kInput.
[[nodiscard]] Result<std::string>
attached_document(const Transport& transport, const Reference& reference, const Referrer& referrer);

/// kVerification unless a DSSE envelope is attached whose statement names this digest as subject,
/// signed by as many of those who are trusted as they ask for.
[[nodiscard]] Result<void> verify_attached(const Transport& transport,
                                           const OciRequest& image,
                                           const std::string& digest,
                                           const images::Trust& trust);

/// Whether an in-toto statement (v0.1, v1) speaks of the digest.
[[nodiscard]] bool names_subject(std::string_view statement, std::string_view digest);

} // namespace cybele::registry
