// SPDX-License-Identifier: Apache-2.0
// The list of what is attached to an image: the registry's own, or a tag that its users keep
// (distribution specification 1.1, "Referrers tag schema").
#include "registry/oci/registry.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::registry {

using Json = nlohmann::json;

namespace {

constexpr int kReferrersOk = 200;
constexpr std::uint64_t kMaximumList = std::uint64_t{16} << 20U;
constexpr std::string_view kReferrersIndexType = "application/vnd.oci.image.index.v1+json";

/// `sha256:<hex>` → `sha256-<hex>`
std::string tag_of(std::string digest) {
    std::replace(digest.begin(), digest.end(), ':', '-');
    return digest;
}

Manifest index_with(const Json& entries) {
    nlohmann::ordered_json json{
        {"schemaVersion", 2}, {"mediaType", kReferrersIndexType}, {"manifests", entries}};
    Manifest manifest;
    manifest.bytes = json_text(json, -1);
    manifest.media_type = kReferrersIndexType;
    manifest.digest = "sha256:" + hex(sha256(manifest.bytes));
    return manifest;
}

/// The entries of a list as they stand.
Json entries_of(const std::string& bytes) {
    Json json = parse_json<Json>(bytes);
    return json.is_object() && json.contains("manifests") && json["manifests"].is_array()
               ? json["manifests"]
               : Json::array();
}

bool has_entry(const Json& entries, const std::string& digest) {
    return std::ranges::any_of(
        entries, [&](const Json& entry) { return member_text(entry, "digest") == digest; });
}

} // namespace

Result<std::optional<Manifest>> Registry::fallback_list(const std::string& subject) {
    CYBELE_TRY(const auto there, manifest_digest(tag_of(subject)));
    if (!there) {
        return std::nullopt;
    }
    CYBELE_TRY(Manifest list, manifest(tag_of(subject)));
    return std::optional<Manifest>(std::move(list));
}

Result<std::vector<ContentDescriptor>> Registry::referrers(const std::string& subject) {
    std::vector<ContentDescriptor> found;
    std::string next = connection_.repository_url("referrers/" + subject);
    for (std::set<std::string> pages; !next.empty();) {
        CYBELE_CHECK(check_page(next, pages, found.size()));
        HttpRequest request;
        request.url = next;
        request.headers = {{"Accept", std::string(kReferrersIndexType)}};
        request.limits.answer_size = kMaximumList;
        CYBELE_TRY(HttpResponse answer, connection_.send(std::move(request)));
        if (answer.status != kReferrersOk) { // a registry of before 1.1
            CYBELE_TRY(const auto list, fallback_list(subject));
            return list ? list->manifests : std::vector<ContentDescriptor>();
        }
        const std::string link(answer.header("link"));
        CYBELE_TRY(const Manifest list, read_manifest(std::move(answer.body), kReferrersIndexType));
        found.insert(found.end(), list.manifests.begin(), list.manifests.end());
        next = next_page(link, next);
    }
    return found;
}

Result<void> Registry::list_referrer(const Manifest& attachment) {
    const Json entry{{"mediaType", attachment.media_type},
                     {"digest", attachment.digest},
                     {"size", attachment.bytes.size()},
                     {"artifactType", attachment.artifact_type}};
    // Others write the same list, and no registry guards it: look whether ours stayed.
    constexpr int kTries = 8;
    for (int attempt = 0; attempt < kTries; ++attempt) {
        CYBELE_TRY(const auto before, fallback_list(attachment.subject));
        Json entries = before ? entries_of(before->bytes) : Json::array();
        if (has_entry(entries, attachment.digest)) {
            return {};
        }
        entries.push_back(entry);
        CYBELE_CHECK(put_manifest(index_with(entries), tag_of(attachment.subject)));
    }
    CYBELE_TRY(const auto after, fallback_list(attachment.subject));
    if (after && has_entry(entries_of(after->bytes), attachment.digest)) {
        return {};
    }
    return fail(
        ErrorCode::kEnvironment,
        problem("referrers-changed",
                "the list of what is attached to " + attachment.subject + " was not changed"),
        "concurrent updates overwrote each other",
        "try again later");
}

} // namespace cybele::registry
