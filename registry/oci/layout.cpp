// SPDX-License-Identifier: Apache-2.0
#include "registry/oci/layout.hpp"

#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace cybele::registry {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr std::string_view kLayoutIndexType = "application/vnd.oci.image.index.v1+json";
constexpr std::size_t kLayoutDigestStart = 7; ///< "sha256:"
constexpr int kDeepestIndex = 4;

std::string blob_name(const std::string& digest) {
    return "blobs/sha256/" + digest.substr(std::min(kLayoutDigestStart, digest.size()));
}

std::string name_of(const OciRequest& request) {
    return request.transport + ":" + printable(request.from);
}

tl::unexpected<Error> not_whole(const OciRequest& request, std::string because) {
    return fail(ErrorCode::kVerification,
                problem("layout-incomplete", name_of(request) + " is not complete"),
                std::move(because),
                "re-create it from an intact source");
}

/// A part whose bytes must have their digest and size.
Result<std::string>
checked_text(LocalFiles& files, const ContentDescriptor& part, const OciRequest& request) {
    CYBELE_TRY(std::string text, files.text(blob_name(part.digest)));
    if (text.size() != part.size) {
        return not_whole(
            request,
            fmt::format("{} has {} bytes, {} are named", part.digest, text.size(), part.size));
    }
    if (const std::string found = "sha256:" + hex(sha256(text)); found != part.digest) {
        return not_whole(request, "the digest of " + part.digest + " is " + found);
    }
    return text;
}

/// The entry that a tag or digest names; without either there must be one image.
Result<ContentDescriptor>
entry_of(const Manifest& index, const OciRequest& request, const LocalReference& reference) {
    std::vector<ContentDescriptor> fitting;
    std::vector<std::string> names;
    for (const ContentDescriptor& entry : index.manifests) {
        names.push_back(printable(entry.name.empty() ? entry.digest : entry.name));
        if ((reference.tag.empty() || reference.tag == entry.name) &&
            (reference.digest.empty() || reference.digest == entry.digest)) {
            fitting.push_back(entry);
        }
    }
    const bool are_same = std::ranges::all_of(fitting, [&](const ContentDescriptor& entry) {
        return entry.digest == fitting.front().digest;
    });
    if (!fitting.empty() && are_same) {
        return fitting.front();
    }
    const std::string list =
        names.empty() ? "it has none" : fmt::format("it has {}", fmt::join(names, ", "));
    if (fitting.empty()) {
        return fail(ErrorCode::kInput,
                    problem("layout-image-missing",
                            name_of(request) + " has no such image",
                            request.transport),
                    list,
                    "name one of them: " + request.transport + ":PATH:TAG");
    }
    // Images of one name for several machines.
    Manifest choice = index;
    choice.manifests = fitting;
    const bool have_platforms = std::ranges::all_of(
        fitting, [](const ContentDescriptor& entry) { return !entry.architecture.empty(); });
    if (have_platforms) {
        return choose_platform(choice, request.architecture, name_of(request));
    }
    return fail(ErrorCode::kInput,
                problem("layout-several-images", name_of(request) + " has several images"),
                list,
                "name one of them: " + request.transport + ":PATH:TAG");
}

/// `docker.io/library/base:1` is also base:1.
bool is_named(const std::string& name, const std::string& wanted) {
    const bool has_tag = wanted.find(':', wanted.rfind('/') + 1) != std::string::npos;
    const std::string whole = wanted + (has_tag ? "" : ":latest");
    return name == whole || name.ends_with("/" + whole);
}

} // namespace

LocalReference read_local_reference(const OciRequest& request) {
    LocalReference reference;
    std::string text = request.from;
    if (text.starts_with("//")) { // as Apptainer also takes it
        text.erase(0, 2);
    }
    const auto absolute = [&](const std::string& path) {
        return fs::path(path).is_absolute() ? fs::path(path) : request.directory / path;
    };
    std::error_code error;
    reference.path = absolute(text);
    if (fs::exists(reference.path, error)) {
        return reference;
    }
    if (const auto at = text.rfind("@sha256:"); at != std::string::npos) {
        reference.digest = text.substr(at + 1);
        text.erase(at);
    }
    reference.path = absolute(text);
    const auto slash = text.rfind('/');
    auto colon = text.find(':', slash == std::string::npos ? 0 : slash);
    // docker-archive:FILE:NAME:TAG, where NAME may have slashes
    for (auto at = text.find(':'); at != std::string::npos && !fs::exists(reference.path, error);
         at = text.find(':', at + 1)) {
        if (fs::exists(absolute(text.substr(0, at)), error)) {
            colon = at;
            break;
        }
    }
    if (colon != std::string::npos && !fs::exists(reference.path, error)) {
        reference.path = absolute(text.substr(0, colon));
        reference.tag = text.substr(colon + 1);
    }
    return reference;
}

Result<OciImage>
read_layout(LocalFiles& files, const OciRequest& request, const LocalReference& reference) {
    if (!files.has("index.json")) {
        return fail(ErrorCode::kInput,
                    problem("layout-without-index", name_of(request) + " is not an image layout"),
                    "it has no index.json",
                    "`skopeo copy` and `umoci` make layouts; is it the right folder?");
    }
    CYBELE_TRY(std::string text, files.text("index.json"));
    CYBELE_TRY(Manifest manifest, read_manifest(std::move(text), kLayoutIndexType));
    CYBELE_TRY(ContentDescriptor entry, entry_of(manifest, request, reference));
    OciImage image;
    image.name = name_of(request);
    image.digest = entry.digest;
    for (int depth = 0; manifest.is_index(); ++depth) {
        if (depth == kDeepestIndex) {
            return not_whole(request, "it is a list of lists of lists");
        }
        CYBELE_TRY(text, checked_text(files, entry, request));
        CYBELE_TRY(manifest, read_manifest(std::move(text), entry.media_type));
        if (manifest.is_index()) {
            CYBELE_TRY(entry, choose_platform(manifest, request.architecture, image.name));
        }
    }
    image.image = manifest.config.digest;
    CYBELE_TRY(image.config, checked_text(files, manifest.config, request));
    CYBELE_CHECK(judge_config(image, request));
    if (image.layers.size() != manifest.layers.size()) {
        return not_whole(request,
                         fmt::format("its manifest has {} layers, its configuration {}",
                                     manifest.layers.size(),
                                     image.layers.size()));
    }
    for (std::size_t i = 0; i < image.layers.size(); ++i) {
        image.layers[i].descriptor = manifest.layers[i];
        CYBELE_TRY(image.layers[i].file,
                   files.file(blob_name(manifest.layers[i].digest), manifest.layers[i]));
    }
    return image;
}

namespace {

/// The entry of a docker archive's manifest that Apptainer means.
Result<Json> chosen_entry(const Json& list, const OciRequest& request, const std::string& tag) {
    const Json* chosen = nullptr;
    std::vector<std::string> tags;
    for (const Json& entry : list) {
        const auto own = entry.contains("RepoTags") && entry.at("RepoTags").is_array()
                             ? entry.at("RepoTags").get<std::vector<std::string>>()
                             : std::vector<std::string>();
        tags.insert(tags.end(), own.begin(), own.end());
        const bool fits =
            tag.empty() ? list.size() == 1 : std::ranges::any_of(own, [&](const std::string& name) {
                return is_named(name, tag);
            });
        chosen = fits ? &entry : chosen;
    }
    if (chosen == nullptr) {
        return fail(ErrorCode::kInput,
                    problem("layout-tag",
                            tag.empty() ? name_of(request) + " has several images"
                                        : name_of(request) + " has no such image"),
                    fmt::format("it has {}", printable(fmt::format("{}", fmt::join(tags, ", ")))),
                    "name one of them: docker-archive:PATH:NAME:TAG");
    }
    return *chosen;
}

} // namespace

Result<OciImage>
read_docker_archive(LocalFiles& files, const OciRequest& request, const LocalReference& reference) {
    if (!files.has("manifest.json")) {
        return fail(ErrorCode::kInput,
                    problem("docker-archive-without-manifest",
                            name_of(request) + " is not an archive of docker"),
                    "it has no manifest.json",
                    files.has("index.json") ? "it is an image layout: oci-archive:PATH"
                                            : "`docker save` and `skopeo copy` make archives");
    }
    CYBELE_TRY(const std::string text, files.text("manifest.json"));
    OciImage image;
    image.name = name_of(request);
    std::vector<std::string> names;
    try {
        const Json list = parse_json<Json>(text);
        if (!list.is_array()) {
            return not_whole(request, "its manifest.json is not what docker writes");
        }
        CYBELE_TRY(const Json entry, chosen_entry(list, request, reference.tag));
        CYBELE_TRY(image.config, files.text(entry.at("Config").get<std::string>()));
        names = entry.at("Layers").get<std::vector<std::string>>();
    } catch (const Json::exception&) {
        return not_whole(request, "its manifest.json is not what docker writes");
    }
    image.image = "sha256:" + hex(sha256(image.config));
    image.digest = image.image;
    CYBELE_CHECK(judge_config(image, request));
    if (image.layers.size() != names.size()) {
        return not_whole(request,
                         fmt::format("its manifest has {} layers, its configuration {}",
                                     names.size(),
                                     image.layers.size()));
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        // Its layers are plain tar files, so that both digests are one.
        ContentDescriptor layer;
        layer.digest = image.layers[i].diff_id;
        CYBELE_TRY(image.layers[i].file, files.file(names[i], layer));
        std::error_code error;
        image.layers[i].descriptor.size = fs::file_size(image.layers[i].file.path, error);
    }
    return image;
}

} // namespace cybele::registry
