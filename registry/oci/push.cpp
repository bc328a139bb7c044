// SPDX-License-Identifier: Apache-2.0
#include "images/sif/sif.hpp"
#include "images/signatures/signed.hpp"
#include "registry/oci/images.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::registry {

namespace fs = std::filesystem;

namespace {

constexpr int kDeepestList = 4; ///< of lists of lists

/// Everything that a manifest names, so that a registry takes it.
Result<void> copy_blob(Registry& from,
                       Registry& to,
                       const ContentDescriptor& blob,
                       const Reference& source,
                       const Transport& transport) {
    CYBELE_TRY(const bool is_there, to.has_blob(blob.digest));
    if (is_there) {
        return {};
    }
    CYBELE_TRY(const bool is_mounted, to.mount(blob.digest, source.place()));
    if (is_mounted) {
        return {};
    }
    if (blob.digest == sif_config().digest) {
        return to.put_blob(blob, std::string(kSifConfigBytes)).map([](const std::string&) {});
    }
    CYBELE_TRY(const TempDirectory folder,
               TempDirectory::make(transport.environment.temporary_directory(), "cybelectl-copy"));
    const fs::path file = folder.path() / "blob";
    CYBELE_CHECK(from.get_blob(blob, file, transport.progress));
    return to.put_blob(blob, file, {}, transport.progress).map([](const std::string&) {});
}

struct Copying {
    Registry& from;
    Registry& to;
    const Reference& source;
    const Transport& transport;
};

Result<std::string> copy_manifest(const Copying& copying,
                                  const std::string& version,
                                  const std::string& target,
                                  int depth) {
    CYBELE_TRY(const Manifest manifest, copying.from.manifest(version));
    if (depth > kDeepestList) {
        return fail(ErrorCode::kInput,
                    problem("image-list-too-deep",
                            "too many lists of images within lists in " + copying.source.text()),
                    {},
                    "copy its images one by one, by their digests");
    }
    for (const ContentDescriptor& entry : manifest.manifests) {
        CYBELE_CHECK(copy_manifest(copying, entry.digest, entry.digest, depth + 1));
    }
    if (!manifest.is_index()) {
        std::vector<ContentDescriptor> blobs = manifest.layers;
        blobs.push_back(manifest.config);
        for (const ContentDescriptor& blob : blobs) {
            CYBELE_CHECK(
                copy_blob(copying.from, copying.to, blob, copying.source, copying.transport));
        }
    }
    CYBELE_CHECK(copying.to.put_manifest(manifest, target));
    return manifest.digest;
}

/// Whether the image of a manifest carries a signature; false where that cannot be seen.
bool is_signed_there(Registry& registry, const std::string& digest) {
    const auto manifest = registry.manifest(digest);
    return manifest && manifest->layers.size() == 1 &&
           images::is_signed(registry.blob_start(manifest->layers.front(), images::kSignedStart));
}

} // namespace

Result<PushResult> push(const Transport& transport, const PushRequest& request) {
    CYBELE_TRY(const images::Image image, images::Image::open(request.file));
    PushResult result;
    CYBELE_TRY(result.size, file_size(image.fd(), request.file));
    result.digest = request.digest;
    if (result.digest.empty()) {
        CYBELE_TRY(result.digest, digest_of_file(request.file));
    }
    Manifest manifest;
    manifest.media_type = kManifestType;
    manifest.bytes = sif_manifest(result.digest, result.size, request.title);
    manifest.digest = "sha256:" + hex(sha256(manifest.bytes));
    result.manifest = manifest.digest;

    const Reference& reference = request.reference;
    if (!reference.digest.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("push-to-digest", "an image is pushed under a tag, not under a digest"),
                    "the digest follows from its bytes",
                    "write oras://HOST/NAME:TAG");
    }
    Registry registry(
        *transport.client, transport.access, transport.environment, reference, "pull,push");
    CYBELE_TRY(const auto there, registry.manifest_digest(reference.tag));
    if (there && *there == manifest.digest) {
        result.how = "there already";
        return result;
    }
    if (there && there->starts_with("sha256:") && !images::is_signed(image) &&
        is_signed_there(registry, *there)) {
        result.signed_before = *there;
    }
    CYBELE_TRY(const bool has_config, registry.has_blob(sif_config().digest));
    if (!has_config) {
        CYBELE_CHECK(registry.put_blob(sif_config(), std::string(kSifConfigBytes)));
    }
    CYBELE_TRY(const bool has_image, registry.has_blob(result.digest));
    result.how = "there already";
    if (!has_image) {
        const ContentDescriptor blob{
            std::string(kSifLayerType), result.digest, result.size, {}, request.title};
        CYBELE_TRY(result.how,
                   registry.put_blob(blob, request.file, request.repositories, transport.progress));
    }
    CYBELE_CHECK(registry.put_manifest(manifest, reference.tag));
    CYBELE_TRY(const auto now, registry.manifest_digest(reference.tag));
    if (now && !now->empty() && *now != manifest.digest && now != there) {
        return fail(ErrorCode::kEnvironment,
                    problem("tag-moved", reference.text() + " names another image by now"),
                    "another push to this tag came after; the tag names the manifest " +
                        printable(*now) + ", this image is " + manifest.digest,
                    "push it again, or under another tag");
    }
    return result;
}

Result<std::string>
copy(const Transport& from, const Transport& to, const Reference& source, const Reference& target) {
    Registry reading(*from.client, from.access, from.environment, source, "pull");
    Registry writing(*to.client, to.access, to.environment, target, "pull,push");
    return copy_manifest({reading, writing, source, from}, source.version(), target.tag, 0);
}

} // namespace cybele::registry
