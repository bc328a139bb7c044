// SPDX-License-Identifier: Apache-2.0
#include "registry/oci/oci_image.hpp"

#include "registry/oci/layout.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/find.hpp"
#include "support/json.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"
#include "support/trusted_folders.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::registry {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr std::uint64_t kLargestConfig = std::uint64_t{8} << 20U;
constexpr std::size_t kMostLayers = 512;

/// What a layer may be by its media type; the bytes decide how it is packed.
constexpr std::string_view kLayerTypes[] = {
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.oci.image.layer.nondistributable.v1.tar",
};
constexpr std::string_view kForeign = "foreign";

Result<void> judge_layer(const ContentDescriptor& layer, const std::string& name) {
    const std::string& type = layer.media_type;
    const bool is_layer = std::ranges::any_of(
        kLayerTypes, [&](std::string_view known) { return type.starts_with(known); });
    if (type.find(kForeign) != std::string::npos) {
        return fail(ErrorCode::kInput,
                    problem("foreign-layer", "foreign layers are not supported yet: " + name),
                    "its bytes are on another server, which the manifest names",
                    "copy the complete image into a registry of yours, then begin with that");
    }
    if (!is_layer || type.find("+encrypted") != std::string::npos) {
        return fail(ErrorCode::kInput,
                    problem("layer-type-unknown", name + " has a layer that cannot be unpacked"),
                    "its type is '" + printable(type) + "'",
                    type.find("sif") == std::string::npos
                        ? "begin with an image whose layers are tar files"
                        : "it holds a SIF: begin with oras://… instead of docker://…");
    }
    return {};
}

/// Where a name leads before anything is downloaded.
struct FoundManifest {
    Manifest manifest;
    std::string digest; ///< of what the name stands for, perhaps a list
};

Result<FoundManifest>
find_manifest(Registry& registry, const Reference& reference, const OciRequest& request) {
    const std::string name = reference.text();
    CYBELE_TRY(Manifest manifest, registry.manifest(reference.version()));
    const std::string digest = manifest.digest;
    constexpr int kDeepest = 4; // lists of lists
    for (int depth = 0; manifest.is_index(); ++depth) {
        if (depth == kDeepest) {
            return fail(ErrorCode::kInput,
                        problem("image-list-too-deep", name + " is a list of lists of lists"),
                        "an image was not found in four of them",
                        "check the reference");
        }
        CYBELE_TRY(const auto entry, choose_platform(manifest, request.architecture, name));
        CYBELE_TRY(manifest, registry.manifest(entry.digest));
        if (manifest.bytes.size() != entry.size) {
            return fail(
                ErrorCode::kVerification,
                problem("manifest-wrong-size",
                        "the manifest of " + name + " is not what it should be"),
                fmt::format("it has {} bytes, its list says {}", manifest.bytes.size(), entry.size),
                "do not use the image; report this to its author");
        }
    }
    return FoundManifest{std::move(manifest), digest};
}

Result<Reference> reference_of(const OciRequest& request) {
    CYBELE_TRY(Reference reference, read_docker_reference(request.from));
    if (!request.digest.empty()) {
        if (!reference.digest.empty() && reference.digest != request.digest) {
            return fail(ErrorCode::kInput,
                        problem("lock-digest-differs",
                                "the Lock has another digest than " + reference.text()),
                        "it keeps " + request.digest,
                        "write it again: cybelectl recipe lock");
        }
        reference.digest = request.digest;
    }
    return reference;
}

class Fetching {
public:
    Fetching(const Transport& transport, const OciRequest& request, const Store& store)
        : transport_(transport), request_(request), layers_(store.place()) {}

    Result<OciImage> fetch() {
        CYBELE_TRY(const Reference reference, reference_of(request_));
        Registry registry(
            *transport_.client, transport_.access, transport_.environment, reference, "pull");
        CYBELE_TRY(const FoundManifest found, find_manifest(registry, reference, request_));
        OciImage image;
        image.name = reference.text();
        image.digest = found.digest;
        image.image = found.manifest.config.digest;
        if (found.manifest.layers.size() > kMostLayers) {
            return fail(
                ErrorCode::kInput,
                problem("too-many-layers",
                        fmt::format("{} has {} layers", image.name, found.manifest.layers.size())),
                fmt::format("at most {} are accepted", kMostLayers),
                "begin with another image");
        }
        for (const ContentDescriptor& layer : found.manifest.layers) {
            CYBELE_CHECK(judge_layer(layer, image.name));
        }
        CYBELE_CHECK(fetch_config(registry, found.manifest.config, image));
        CYBELE_CHECK(judge_config(image, request_));
        if (image.layers.size() != found.manifest.layers.size()) {
            return fail(
                ErrorCode::kInput,
                problem("layers-differ-from-configuration", image.name + " does not fit together"),
                fmt::format("its manifest has {} layers, its configuration {}",
                            found.manifest.layers.size(),
                            image.layers.size()),
                "do not use the image; report this to its author");
        }
        for (std::size_t i = 0; i < image.layers.size(); ++i) {
            image.layers[i].descriptor = found.manifest.layers[i];
            CYBELE_TRY(image.layers[i].file,
                       fetch_layer(registry,
                                   image.layers[i].descriptor,
                                   fmt::format("layer {} of {}", i + 1, image.layers.size())));
        }
        return image;
    }

private:
    Result<void>
    fetch_config(Registry& registry, const ContentDescriptor& config, OciImage& image) {
        if (config.size > kLargestConfig) {
            return fail(ErrorCode::kInput,
                        problem("oci-configuration-too-big",
                                "the configuration of " + image.name + " is too big"),
                        fmt::format("it has {} bytes", config.size),
                        "check the reference; is it an image?");
        }
        CYBELE_TRY(const HeldLayer file, fetch_layer(registry, config, ""));
        CYBELE_TRY(image.config, read_file(file.path, kLargestConfig));
        if ("sha256:" + hex(sha256(image.config)) != config.digest) { // damaged in the store
            layers_.forget(config.digest);
            CYBELE_TRY(const HeldLayer again, fetch_layer(registry, config, ""));
            CYBELE_TRY(image.config, read_file(again.path, kLargestConfig));
        }
        return {};
    }

    Result<HeldLayer>
    fetch_layer(Registry& registry, const ContentDescriptor& blob, const std::string& what) {
        bool is_new = false;
        const auto fill = [&](const fs::path& file) {
            is_new = true;
            return registry.get_blob(blob, file, transport_.progress);
        };
        CYBELE_TRY(HeldLayer held, layers_.get(blob.digest, blob.size, request_.now, fill));
        if (request_.say && !what.empty()) {
            constexpr double kMega = 1e6;
            request_.say(fmt::format("{}: {:.1f} MB{}",
                                     what,
                                     static_cast<double>(blob.size) / kMega,
                                     is_new ? "" : ", in the store"));
        }
        return held;
    }

    const Transport& transport_;
    const OciRequest& request_;
    Layers layers_;
};

/// The parts of an image layout in a folder. They stay where they are.
class Folder : public LocalFiles {
public:
    explicit Folder(fs::path path) : path_(std::move(path)) {}

    Result<std::string> text(const std::string& name) override {
        return read_file(path_ / name, kLargestConfig);
    }
    bool has(const std::string& name) override {
        std::error_code error;
        return fs::exists(path_ / name, error);
    }
    Result<HeldLayer> file(const std::string& name, const ContentDescriptor& descriptor) override {
        HeldLayer held;
        held.path = path_ / name;
        CYBELE_TRY(held.lock, open_for_reading(held.path));
        CYBELE_TRY(const std::uint64_t size, file_size(held.lock.get(), held.path));
        if (size != descriptor.size) {
            return fail(
                ErrorCode::kVerification,
                problem("layer-wrong-size",
                        "the layer " + printable(held.path.native()) + " is not what it should be"),
                fmt::format("it has {} bytes, its manifest says {}", size, descriptor.size),
                "re-create the layout from an intact source");
        }
        held.was_there = true;
        return held;
    }

private:
    fs::path path_;
};

/// `store`: of an archive's layers; a layout needs none.
Result<OciImage> read_local(const OciRequest& request, const Store* store) {
    const LocalReference reference = read_local_reference(request);
    std::error_code error;
    const bool is_folder = request.transport == "oci";
    if (is_folder ? !fs::is_directory(reference.path, error)
                  : !fs::is_regular_file(reference.path, error)) {
        return fail(ErrorCode::kInput,
                    problem("reference-kind",
                            fmt::format("{} is not {}",
                                        printable(reference.path.native()),
                                        is_folder ? "a folder" : "a file"),
                            request.transport),
                    "`" + request.transport + ":` requires " +
                        (is_folder ? "a folder with an image layout" : "an archive"),
                    "write " + request.transport +
                        ":PATH[:TAG]; relative paths begin at the "
                        "definition's folder");
    }
    if (is_folder) {
        Folder folder(reference.path);
        return read_layout(folder, request, reference);
    }
    CYBELE_TRY(const auto files, open_archive(reference.path, *store, request.now));
    return request.transport == "docker-archive" ? read_docker_archive(*files, request, reference)
                                                 : read_layout(*files, request, reference);
}

} // namespace

std::uint64_t OciImage::packed_bytes() const {
    std::uint64_t bytes = 0;
    for (const OciLayer& layer : layers) {
        bytes += layer.descriptor.size;
    }
    return bytes;
}

bool is_oci_transport(std::string_view name) {
    constexpr std::string_view kTransports[] = {"docker", "oci", "oci-archive", "docker-archive"};
    return contains(kTransports, name);
}

Result<OciImage>
fetch_oci(const Transport& transport, const OciRequest& request, const Store& store) {
    if (request.transport == "docker") {
        return Fetching(transport, request, store).fetch();
    }
    CYBELE_TRY(OciImage image, read_local(request, &store));
    for (const OciLayer& layer : image.layers) {
        if (!layer.descriptor.media_type.empty()) {
            CYBELE_CHECK(judge_layer(layer.descriptor, image.name));
        }
    }
    if (!request.digest.empty() && request.digest != image.digest) {
        return fail(
            ErrorCode::kVerification,
            problem("base-not-locked-image", image.name + " is not the image that the Lock names"),
            "its digest is " + image.digest + ", not " + request.digest,
            "restore the locked image, or write the Lock again: cybelectl recipe lock");
    }
    return image;
}

Result<std::string> resolve_oci(const Transport& transport, const OciRequest& request) {
    if (request.transport == "docker") {
        CYBELE_TRY(const Reference reference, reference_of(request));
        Registry registry(
            *transport.client, transport.access, transport.environment, reference, "pull");
        CYBELE_TRY(const FoundManifest found, find_manifest(registry, reference, request));
        return found.digest;
    }
    if (request.transport == "oci") { // its own files say it, and nothing is stored
        CYBELE_TRY(const OciImage image, read_local(request, nullptr));
        return image.digest;
    }
    CYBELE_TRY(const TrustedFolders trusted, TrustedFolders::load(transport.environment));
    const fs::path folder = store_directory(transport.environment);
    CYBELE_TRY(const Store store,
               Store::open({folder, trusted.allows(folder)})
                   .map_error(during("opening the local store of images")));
    CYBELE_TRY(const OciImage image, read_local(request, &store));
    return image.digest;
}

Result<void> judge_config(OciImage& image, const OciRequest& request) {
    const Json config = parse_json<Json>(image.config);
    const auto no_image = [&](const std::string& because) {
        return fail(
            ErrorCode::kInput,
            problem("image-without-root", image.name + " is not an image of a root file system"),
            because,
            "check the reference; a SIF is named by oras://…");
    };
    if (!config.is_object() || !config.contains("rootfs") || !config["rootfs"].is_object()) {
        return no_image("its configuration names no layers");
    }
    const auto word = [&](const char* name) {
        return config.contains(name) && config[name].is_string() ? config[name].get<std::string>()
                                                                 : std::string();
    };
    const std::string os = word("os");
    const std::string architecture = word("architecture");
    if ((!os.empty() && os != "linux") ||
        (!architecture.empty() && architecture != request.architecture)) {
        return fail(ErrorCode::kInput,
                    problem("image-other-platform",
                            fmt::format("{} is an image for {}/{}",
                                        image.name,
                                        printable(os),
                                        printable(architecture))),
                    fmt::format("an image for linux/{} was asked for", request.architecture),
                    "name another tag");
    }
    const Json& ids = config["rootfs"].value("diff_ids", Json::array());
    if (!ids.is_array() || ids.size() > kMostLayers) {
        return no_image("its configuration names no layers that can be counted");
    }
    for (const Json& id : ids) {
        if (!id.is_string() || !is_sha256_digest(id.get<std::string>())) {
            return no_image("a layer in its configuration has no SHA-256");
        }
        OciLayer layer;
        layer.diff_id = id.get<std::string>();
        image.layers.push_back(std::move(layer));
    }
    return {};
}

} // namespace cybele::registry
