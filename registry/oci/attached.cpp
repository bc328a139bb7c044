// SPDX-License-Identifier: Apache-2.0
#include "registry/oci/attached.hpp"

#include "images/signatures/signer.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace cybele::registry {

using Json = nlohmann::json;

namespace {

constexpr std::uint64_t kLargest = std::uint64_t{64} << 20U;
constexpr std::string_view kEmptyType = "application/vnd.oci.empty.v1+json";
constexpr std::string_view kEnvelopeTypes[] = {"application/vnd.dsse.envelope.v1+json",
                                               "application/vnd.in-toto+json"};
constexpr std::size_t kAttachedDigestStart = 7; ///< "sha256:"

std::string time_text(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    return ::gmtime_r(&time, &parts) == nullptr ? "1970-01-01T00:00:00Z"
                                                : fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", parts);
}

std::string digest_of_bytes(const std::string& bytes) {
    return "sha256:" + hex(sha256(bytes));
}

std::string manifest_text(const AttachRequest& request, const Manifest& subject) {
    nlohmann::ordered_json json{
        {"schemaVersion", 2},
        {"mediaType", kManifestType},
        {"artifactType", request.type},
        {"config",
         {{"mediaType", kEmptyType},
          {"digest", sif_config().digest},
          {"size", kSifConfigBytes.size()},
          {"data", "e30="}}},
        {"layers",
         nlohmann::ordered_json::array(
             {{{"mediaType", request.type},
               {"digest", digest_of_bytes(request.bytes)},
               {"size", request.bytes.size()},
               {"annotations", {{"org.opencontainers.image.title", request.title}}}}})},
        {"subject",
         {{"mediaType", subject.media_type},
          {"digest", subject.digest},
          {"size", subject.bytes.size()}}}};
    if (request.now > 0) {
        json["annotations"]["org.opencontainers.image.created"] = time_text(request.now);
    }
    return json_text(json, -1);
}

/// The one layer of an attachment, into memory.
Result<std::string>
layer_bytes(Registry& registry, const Transport& transport, const ContentDescriptor& layer) {
    if (layer.size > kLargest) {
        return fail(
            ErrorCode::kInput,
            problem("attachment-too-big", "what is attached as " + layer.digest + " is too big"),
            fmt::format("it has {} bytes, at most 64 MiB are read", layer.size),
            "get it by another program: oras pull");
    }
    CYBELE_TRY(const TempDirectory folder,
               TempDirectory::make(transport.environment.temporary_directory(), "cybelectl-get."));
    const auto file = folder.path() / "document";
    CYBELE_CHECK(registry.get_blob(layer, file, {}));
    return read_file(file, kLargest);
}

bool is_envelope(const std::string& type) {
    return contains(kEnvelopeTypes, type);
}

} // namespace

Result<Attached> attach(const Transport& transport, const AttachRequest& request) {
    Registry registry(
        *transport.client, transport.access, transport.environment, request.reference, "pull,push");
    CYBELE_TRY(const Manifest subject, registry.manifest(request.reference.version()));
    ContentDescriptor document;
    document.digest = digest_of_bytes(request.bytes);
    document.size = request.bytes.size();
    const std::pair<const ContentDescriptor*, std::string> blobs[] = {
        {&sif_config(), std::string(kSifConfigBytes)}, {&document, request.bytes}};
    for (const auto& [blob, bytes] : blobs) {
        CYBELE_TRY(const bool is_there, registry.has_blob(blob->digest));
        if (!is_there) {
            CYBELE_CHECK(registry.put_blob(*blob, bytes));
        }
    }
    CYBELE_TRY(const Manifest manifest,
               read_manifest(manifest_text(request, subject), kManifestType));
    CYBELE_TRY(const bool is_listed, registry.put_manifest(manifest, manifest.digest));
    if (!is_listed) {
        CYBELE_CHECK(registry.list_referrer(manifest));
    }
    return Attached{manifest.digest, subject.digest, is_listed};
}

Result<std::vector<Referrer>>
referrers(const Transport& transport, const Reference& reference, const std::string& type) {
    Registry registry(
        *transport.client, transport.access, transport.environment, reference, "pull");
    CYBELE_TRY(const Manifest subject, registry.manifest(reference.version()));
    CYBELE_TRY(const auto entries, registry.referrers(subject.digest));
    std::vector<Referrer> found;
    for (const ContentDescriptor& entry : entries) {
        if (type.empty() || entry.artifact_type == type) {
            found.push_back({entry.digest, entry.artifact_type, entry.size, entry.title});
        }
    }
    return found;
}

Result<std::string> attached_document(const Transport& transport,
                                      const Reference& reference,
                                      const Referrer& referrer) {
    Registry registry(
        *transport.client, transport.access, transport.environment, reference, "pull");
    CYBELE_TRY(const Manifest manifest, registry.manifest(referrer.digest));
    if (manifest.layers.size() != 1) {
        return fail(ErrorCode::kInput,
                    problem("attachment-not-one",
                            "what is attached as " + referrer.digest + " is not a single document"),
                    fmt::format("it has {} parts", manifest.layers.size()),
                    "get it by another program: oras pull");
    }
    return layer_bytes(registry, transport, manifest.layers.front());
}

bool names_subject(std::string_view statement, std::string_view digest) {
    const Json json = parse_json<Json>(statement);
    if (!json.is_object() || !json.contains("subject") || !json["subject"].is_array()) {
        return false;
    }
    return std::ranges::any_of(json["subject"], [&](const Json& subject) {
        return subject.is_object() && subject.contains("digest") && subject["digest"].is_object() &&
               member_text(subject["digest"], "sha256") == digest.substr(kAttachedDigestStart);
    });
}

Result<void> verify_attached(const Transport& transport,
                             const OciRequest& image,
                             const std::string& digest,
                             const images::Trust& trust) {
    const std::string name = image.transport + "://" + image.from;
    const auto refuse = [&](const std::string& because) {
        return fail(ErrorCode::kVerification,
                    problem("base-not-verified",
                            "the base " + printable(name) +
                                " is not verified, and nothing is built from it"),
                    because,
                    "ask who made it to attach a signed statement: `oras attach --artifact-type "
                    "application/vnd.dsse.envelope.v1+json IMAGE FILE`");
    };
    if (image.transport != "docker") {
        return refuse("signatures are attached in registries; a layout or an archive has none");
    }
    CYBELE_TRY(Reference reference, read_docker_reference(image.from));
    reference.digest = digest;
    CYBELE_TRY(const auto list, referrers(transport, reference, ""));
    std::vector<images::SignatureState> signatures;
    std::size_t envelopes = 0;
    std::size_t speaking = 0; // of this image
    for (const Referrer& referrer : list) {
        if (!is_envelope(referrer.type)) {
            continue;
        }
        ++envelopes;
        CYBELE_TRY(const std::string text, attached_document(transport, reference, referrer));
        const auto envelope = images::parse_envelope(text);
        if (envelope && names_subject(envelope->payload, digest)) {
            ++speaking;
            CYBELE_TRY(auto own, images::judge_envelope(*envelope, trust));
            std::move(own.begin(), own.end(), std::back_inserter(signatures));
        }
    }
    const std::string lacks = images::lacking_signers(signatures, trust);
    if (lacks.empty()) {
        return {};
    }
    // Of somebody who is known tells best why it does not count.
    const auto known = std::ranges::find_if(
        signatures, [](const auto& state) { return !state.signer.empty() && !state.is_valid; });
    const std::string why = known == signatures.end() ? "" : "; " + known->because;
    return refuse(envelopes == 0 ? "no signed statement is attached to it"
                                 : fmt::format("of {} signed statements attached to it, {} speak "
                                               "of this digest: {}{}",
                                               envelopes,
                                               speaking,
                                               lacks,
                                               why));
}

} // namespace cybele::registry
