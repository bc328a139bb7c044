// SPDX-License-Identifier: Apache-2.0
#include "registry/oci/manifest.hpp"

#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/find.hpp"
#include "support/json.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cybele::registry {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kManifestTypes[] = {
    kManifestType, "application/vnd.docker.distribution.manifest.v2+json"};
constexpr std::string_view kIndexTypes[] = {
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json"};
constexpr std::string_view kSifTypes[] = {
    kSifLayerType, "application/vnd.sylabs.sif.layer.tar", "appliciation/vnd.sylabs.sif.layer.tar"};

tl::unexpected<Error> no_manifest(std::string because) {
    return fail(ErrorCode::kInput,
                problem("manifest-malformed", "the registry's answer is not a manifest"),
                std::move(because),
                "check the reference; is it an image?");
}

Result<ContentDescriptor> descriptor_of(const Json& object) {
    ContentDescriptor descriptor;
    if (!object.at("size").is_number_unsigned()) {
        return no_manifest("a size in it is " + printable(object.at("size").dump()) +
                           ", not a number of bytes");
    }
    descriptor.media_type = object.at("mediaType").get<std::string>();
    descriptor.digest = object.at("digest").get<std::string>();
    descriptor.size = object.at("size").get<std::uint64_t>();
    if (object.contains("platform")) {
        descriptor.architecture = object.at("platform").value("architecture", "");
        descriptor.os = object.at("platform").value("os", "");
        descriptor.variant = object.at("platform").value("variant", "");
    }
    if (object.contains("annotations")) {
        const Json& annotations = object.at("annotations");
        descriptor.title = annotations.value("org.opencontainers.image.title", "");
        descriptor.name = annotations.value("org.opencontainers.image.ref.name", "");
    }
    descriptor.artifact_type = object.value("artifactType", "");
    return descriptor;
}

/// As Go writes a string into JSON.
std::string go_string(std::string_view text) {
    constexpr std::pair<std::string_view, std::string_view> kEscapes[] = {
        {"&", "\\u0026"},
        {"<", "\\u003c"},
        {">", "\\u003e"},
        {"\xe2\x80\xa8", "\\u2028"},
        {"\xe2\x80\xa9", "\\u2029"},
        {"\x7f", "\x7f"}};
    std::string written = json_text(Json(std::string(text)), -1);
    for (const auto& [from, to] : kEscapes) {
        for (std::size_t at = 0; (at = written.find(from, at)) != std::string::npos;
             at += to.size()) {
            written.replace(at, from.size(), to);
        }
    }
    return written;
}

Result<void> read_fields(const Json& object, Manifest& manifest) {
    if (manifest.is_index()) {
        for (const Json& entry : object.at("manifests")) {
            CYBELE_TRY(ContentDescriptor descriptor, descriptor_of(entry));
            manifest.manifests.push_back(std::move(descriptor));
        }
        return {};
    }
    CYBELE_TRY(manifest.config, descriptor_of(object.at("config")));
    manifest.artifact_type = object.value("artifactType", manifest.config.media_type);
    if (object.contains("subject")) {
        manifest.subject = object.at("subject").at("digest").get<std::string>();
    }
    for (const Json& entry : object.at("layers")) {
        CYBELE_TRY(ContentDescriptor descriptor, descriptor_of(entry));
        manifest.layers.push_back(std::move(descriptor));
    }
    return {};
}

} // namespace

bool Manifest::is_index() const {
    return contains(kIndexTypes, media_type);
}

const ContentDescriptor& sif_config() {
    static const ContentDescriptor config{
        "application/vnd.sylabs.sif.config.v1+json",
        "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        kSifConfigBytes.size(),
        {},
        {},
        {},
        {},
        {},
        {}};
    return config;
}

std::string sif_manifest(std::string_view digest, std::uint64_t size, std::string_view title) {
    const ContentDescriptor& config = sif_config();
    return fmt::format(R"({{"schemaVersion":2,"mediaType":"{}",)"
                       R"("config":{{"mediaType":"{}","size":{},"digest":"{}"}},)"
                       R"("layers":[{{"mediaType":"{}","size":{},"digest":"{}",)"
                       R"("annotations":{{"org.opencontainers.image.title":{}}}}}]}})",
                       kManifestType,
                       config.media_type,
                       config.size,
                       config.digest,
                       kSifLayerType,
                       size,
                       digest,
                       go_string(title));
}

Result<Manifest> read_manifest(std::string bytes, std::string_view content_type) {
    Manifest manifest;
    content_type = content_type.substr(0, content_type.find(';'));
    try {
        const Json object = parse_json<Json>(bytes);
        manifest.media_type = object.value("mediaType", std::string(content_type));
        if (!content_type.empty() && content_type != manifest.media_type) {
            return no_manifest(fmt::format("it is sent as {} and says that it is {}",
                                           printable(content_type),
                                           printable(manifest.media_type)));
        }
        if (!manifest.is_index() && !contains(kManifestTypes, manifest.media_type)) {
            return no_manifest(fmt::format("its type is '{}'", printable(manifest.media_type)));
        }
        CYBELE_CHECK(read_fields(object, manifest));
    } catch (const Json::exception&) {
        return no_manifest("it is not the JSON object that the OCI image specification asks for");
    }
    for (const auto* const list : {&manifest.manifests, &manifest.layers}) {
        for (const ContentDescriptor& entry : *list) {
            if (!is_sha256_digest(entry.digest)) {
                return no_manifest(fmt::format("'{}' is not a SHA-256", printable(entry.digest)));
            }
        }
    }
    if (!manifest.is_index() && !is_sha256_digest(manifest.config.digest)) {
        return no_manifest("its configuration has no SHA-256");
    }
    manifest.digest = "sha256:" + hex(sha256(bytes));
    manifest.bytes = std::move(bytes);
    return manifest;
}

Result<ContentDescriptor> sif_layer(const Manifest& manifest, const std::string& what) {
    if (manifest.layers.size() != 1) {
        return fail(ErrorCode::kInput,
                    problem("sif-artifact-layers", what + " is not a SIF"),
                    fmt::format("it has {} layers, a SIF has one", manifest.layers.size()),
                    "an OCI image is converted by a build that begins with docker://…");
    }
    const ContentDescriptor& layer = manifest.layers.front();
    if (!contains(kSifTypes, layer.media_type)) {
        return fail(ErrorCode::kInput,
                    problem("sif-artifact-type", what + " is not a SIF").about(layer.media_type),
                    fmt::format("its type is '{}'", printable(layer.media_type)),
                    "check the reference; SIF files are pushed by `cybelectl image push`, "
                    "Apptainer and oras");
    }
    return layer;
}

Result<ContentDescriptor>
choose_entry(const Manifest& index, const std::string& architecture, const std::string& what) {
    const ContentDescriptor* open = nullptr;
    std::vector<std::string> there;
    for (const ContentDescriptor& entry : index.manifests) {
        if (entry.architecture == architecture) {
            return entry;
        }
        if (entry.architecture.empty()) {
            open = open == nullptr ? &entry : open;
        } else if (entry.architecture != "unknown") {
            there.push_back(printable(entry.architecture));
        }
    }
    if (open != nullptr) {
        return *open;
    }
    return fail(ErrorCode::kInput,
                problem("image-architecture-missing",
                        fmt::format("{} has no image for {}", what, architecture)),
                there.empty() ? "its list is empty"
                              : fmt::format("it has {}", fmt::join(there, ", ")),
                "name one that is there: --arch ARCH");
}

Result<ContentDescriptor>
choose_platform(const Manifest& index, const std::string& architecture, const std::string& what) {
    // The variant that each machine of its architecture can run, best first.
    constexpr std::string_view kVariants[] = {"", "v1", "v8", "v7", "v6", "v5"};
    const auto rank = [&](const ContentDescriptor& entry) {
        return std::ranges::find(kVariants, entry.variant) - kVariants;
    };
    const ContentDescriptor* best = nullptr;
    std::vector<std::string> there;
    for (const ContentDescriptor& entry : index.manifests) {
        if (entry.architecture == "unknown") {
            continue; // an attestation beside an image
        }
        const bool is_ours = (entry.os.empty() || entry.os == "linux") &&
                             (entry.architecture.empty() || entry.architecture == architecture);
        if (is_ours && (best == nullptr || rank(entry) < rank(*best))) {
            best = &entry;
        }
        there.push_back(printable(entry.os + (entry.os.empty() ? "" : "/") + entry.architecture));
    }
    if (best != nullptr) {
        return *best;
    }
    return fail(ErrorCode::kInput,
                problem("image-architecture-missing",
                        fmt::format("{} has no image for linux/{}", what, architecture)),
                there.empty() ? "its list is empty"
                              : fmt::format("it has {}", fmt::join(there, ", ")),
                "name an image for this architecture");
}

const std::string& accepted_types() {
    static const std::string types =
        fmt::format("{}, {}", fmt::join(kManifestTypes, ", "), fmt::join(kIndexTypes, ", "));
    return types;
}

} // namespace cybele::registry
