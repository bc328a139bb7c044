// SPDX-License-Identifier: Apache-2.0
#include "registry/oci/registry.hpp"

#include "registry/oci/download.hpp"
#include "support/encoding.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::registry {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr int kRegistryOk = 200;
constexpr int kCreated = 201;
constexpr int kAccepted = 202;
constexpr int kBadRequest = 400;
constexpr int kRegistryNotFound = 404;
constexpr std::chrono::seconds kUploadStall{
    600}; ///< the registry hashes and moves it before it answers
constexpr std::uint64_t kMaximumManifest = std::uint64_t{4} << 20U;

/// Whether a registry that keeps its files without locks met another push of the same image: it
/// read a file that was being written. `docker-registry` then says that a digest or a blob is
/// wrong.
bool is_of_other_push(const HttpResponse& answer) {
    return !answer.failure && answer.status == kBadRequest &&
           (answer.body.find("DIGEST_INVALID") != std::string::npos ||
            answer.body.find("MANIFEST_BLOB_UNKNOWN") != std::string::npos);
}

} // namespace

Result<Manifest> Registry::manifest(const std::string& version) {
    const std::string what = printable(std::string(reference_.scheme) + reference_.place() +
                                       (version.starts_with("sha256:") ? "@" : ":") + version);
    HttpRequest request;
    request.url = connection_.repository_url("manifests/" + version);
    request.headers = {{"Accept", accepted_types()}};
    request.limits.answer_size = kMaximumManifest;
    CYBELE_TRY(HttpResponse answer, connection_.send(std::move(request)));
    if (answer.status != kRegistryOk) {
        return fail(connection_.refusal(answer,
                                        answer.status == kRegistryNotFound ? "no image " + what
                                                                           : "cannot get " + what));
    }
    const std::string type(answer.header("content-type"));
    const std::string told(answer.header("docker-content-digest"));
    CYBELE_TRY(Manifest manifest, read_manifest(std::move(answer.body), type));
    const std::string& wanted = version.starts_with("sha256:") ? version : told;
    if (!wanted.empty() && wanted.starts_with("sha256:") && wanted != manifest.digest) {
        return fail(ErrorCode::kVerification,
                    problem("manifest-wrong-digest",
                            "the manifest of " + what + " is not what it should be"),
                    "its digest is " + manifest.digest + ", not " + printable(wanted),
                    "do not use it; inform the registry's administrator");
    }
    return manifest;
}

Result<std::optional<std::string>> Registry::manifest_digest(const std::string& version) {
    HttpRequest request;
    request.method = "HEAD";
    request.url = connection_.repository_url("manifests/" + version);
    request.headers = {{"Accept", accepted_types()}};
    CYBELE_TRY(const HttpResponse answer, connection_.send(std::move(request)));
    if (answer.status == kRegistryNotFound) {
        return std::nullopt;
    }
    if (answer.status != kRegistryOk) {
        return fail(connection_.refusal(answer, "cannot look at " + reference_.text_of_place()));
    }
    return std::string(answer.header("docker-content-digest"));
}

Result<HttpResponse> Registry::send_manifest(const Manifest& manifest, const std::string& version) {
    constexpr unsigned kTries = 4;
    for (unsigned attempt = 1;; ++attempt) {
        HttpRequest request;
        request.method = "PUT";
        request.url = connection_.repository_url("manifests/" + version);
        request.headers = {{"Content-Type", manifest.media_type}};
        request.body = manifest.bytes;
        CYBELE_TRY(HttpResponse answer, connection_.send(std::move(request)));
        if (!is_of_other_push(answer) || attempt == kTries ||
            !connection_.wait_for(attempt, answer, "the manifest of " + reference_.place())) {
            return answer;
        }
    }
}

Result<bool> Registry::put_manifest(const Manifest& manifest, const std::string& version) {
    CYBELE_TRY(const HttpResponse answer, send_manifest(manifest, version));
    if (answer.status != kCreated) {
        return fail(connection_.refusal(
            answer, "the registry does not accept the manifest of " + reference_.text_of_place()));
    }
    const std::string_view told = answer.header("docker-content-digest");
    if (!told.empty() && told.starts_with("sha256:") && told != manifest.digest) {
        return fail(ErrorCode::kVerification,
                    problem("registry-kept-other-manifest",
                            "the registry keeps another manifest than was sent"),
                    "its digest is " + printable(told) + ", not " + manifest.digest,
                    "do not use it; inform the registry's administrator");
    }
    return !answer.header("oci-subject").empty();
}

Result<bool> Registry::has_blob(const std::string& digest) {
    HttpRequest request;
    request.method = "HEAD";
    request.url = connection_.repository_url("blobs/" + digest);
    CYBELE_TRY(const HttpResponse answer, connection_.send(std::move(request)));
    if (answer.status != kRegistryOk && answer.status != kRegistryNotFound) {
        return fail(connection_.refusal(answer, "cannot look at " + reference_.text_of_place()));
    }
    return answer.status == kRegistryOk;
}

Result<void>
Registry::get_blob(const ContentDescriptor& blob, const fs::path& file, const Progress& progress) {
    const std::string what =
        (reference_.scheme == "docker://" ? "the layer " : "the image ") + blob.digest;
    return download(connection_,
                    {connection_.repository_url("blobs/" + blob.digest), blob, file, what},
                    progress);
}

/// The address where the bytes go; unset: no upload is needed, a mount did it.
Result<std::optional<std::string>> Registry::begin_upload(const std::string& query) {
    HttpRequest request;
    request.method = "POST";
    request.url = connection_.repository_url("blobs/uploads/") + query;
    request.headers = {{"Content-Type", "application/octet-stream"}};
    const std::string url = request.url;
    CYBELE_TRY(const HttpResponse answer, connection_.send(std::move(request)));
    if (answer.status == kCreated && !query.empty()) {
        return std::nullopt;
    }
    const std::string location(answer.header("location"));
    if (answer.status != kAccepted || location.empty()) {
        return fail(connection_.refusal(
            answer, "the registry begins no upload to " + reference_.text_of_place()));
    }
    return resolve_location(location, url);
}

Result<std::string>
Registry::upload(const ContentDescriptor& blob, const Body& body, std::string location) {
    const std::string what = "the upload to " + reference_.place();
    for (unsigned attempt = 1;; ++attempt) {
        HttpRequest request;
        request.method = "PUT";
        request.url = with_parameter(location, "digest", blob.digest);
        request.headers = {{"Content-Type", "application/octet-stream"}};
        request.body = body.bytes;
        if (!body.file.empty()) {
            request.body_file = FileRange{body.file, 0, blob.size};
        }
        request.limits.exchange = std::chrono::milliseconds(0);
        request.limits.stall = kUploadStall;
        request.on_progress = body.progress;
        CYBELE_TRY(const HttpResponse answer, connection_.send(std::move(request), Retry::kNever));
        if (!answer.failure && answer.status == kCreated) {
            if (body.progress) {
                body.progress(blob.size, blob.size);
            }
            return std::string("uploaded");
        }
        const bool may_improve =
            answer.failure ? answer.is_passing
                           : is_passing(answer.status) || answer.status == kRegistryNotFound;
        if (!may_improve || !connection_.wait_for(attempt, answer, what)) {
            return fail(connection_.refusal(answer, "the registry does not accept " + what));
        }
        CYBELE_TRY(const bool is_there, has_blob(blob.digest));
        if (is_there) {
            return std::string("uploaded"); // only the answer was lost
        }
        CYBELE_TRY(const auto next, begin_upload(""));
        location = next.value_or("");
    }
}

std::string Registry::blob_start(const ContentDescriptor& blob, std::uint64_t size) {
    constexpr int kPartial = 206;
    HttpRequest request;
    request.url = connection_.repository_url("blobs/" + blob.digest);
    request.range = {0, std::min(size, std::max<std::uint64_t>(blob.size, 1)) - 1};
    request.limits.answer_size = size;
    request.tells_failure = true;
    auto answer = connection_.send(std::move(request), Retry::kNever);
    return answer && !answer->failure && answer->status == kPartial ? std::move(answer->body)
                                                                    : std::string();
}

Result<bool> Registry::mount(const std::string& digest, const std::string& place) {
    const std::string host = reference_.host + "/";
    const std::string from = place.starts_with(host) ? place.substr(host.size()) : "";
    if (from.empty() || from == reference_.repository) {
        return false;
    }
    connection_.add_scope(from, "pull");
    const auto mounted = begin_upload("?mount=" + digest + "&from=" + percent_encoded(from));
    connection_.forget_scopes();
    if (!mounted) {
        return false; // who may not read there has to upload
    }
    const std::string location = mounted->value_or("");
    if (location.empty()) {
        return true;
    }
    HttpRequest request; // an ordinary upload was begun, which nobody goes on with
    request.method = "DELETE";
    request.url = location;
    (void)connection_.send(std::move(request), Retry::kNever);
    return false;
}

Result<std::string> Registry::put_blob(const ContentDescriptor& blob,
                                       const fs::path& file,
                                       const std::vector<std::string>& repositories,
                                       const Progress& progress) {
    for (const std::string& place : repositories) {
        CYBELE_TRY(const bool is_mounted, mount(blob.digest, place));
        if (is_mounted) {
            return std::string("mounted");
        }
    }
    CYBELE_TRY(const auto location, begin_upload(""));
    return upload(blob, {{}, file, progress}, location.value_or(""));
}

Result<std::string> Registry::put_blob(const ContentDescriptor& blob, std::string bytes) {
    CYBELE_TRY(const auto location, begin_upload(""));
    return upload(blob, {std::move(bytes), {}, {}}, location.value_or(""));
}

Result<void> Registry::check_page(const std::string& url,
                                  std::set<std::string>& pages,
                                  std::size_t entries) const {
    constexpr std::size_t kMostPages = 1000;
    constexpr std::size_t kMostEntries = 100'000;
    const std::string host = printable(reference_.host);
    const auto refused = [&](std::string because) {
        return fail(ErrorCode::kEnvironment,
                    problem("registry-list-endless", host + " gives no list that ends"),
                    std::move(because),
                    "inform the registry's administrator");
    };
    if (!pages.insert(url).second) {
        return refused("a page of it leads back to an earlier one");
    }
    if (pages.size() > kMostPages || entries > kMostEntries) {
        return refused(
            fmt::format("it continues after {} pages with {} entries", kMostPages, entries));
    }
    if (!is_same_origin(url, connection_.url(""))) {
        return refused("its next page is on another host, " + printable(host_name(url)));
    }
    return {};
}

Result<std::vector<std::string>> Registry::tags() {
    std::vector<std::string> tags;
    std::string next = connection_.repository_url("tags/list");
    for (std::set<std::string> pages; !next.empty();) {
        CYBELE_CHECK(check_page(next, pages, tags.size()));
        HttpRequest request;
        request.url = next;
        CYBELE_TRY(const HttpResponse answer, connection_.send(std::move(request)));
        const Json document = parse_json<Json>(answer.body);
        if (answer.status != kRegistryOk || !document.is_object()) {
            return fail(
                connection_.refusal(answer, "no tags of " + printable(reference_.text_of_place())));
        }
        const auto found = document.find("tags");
        for (const Json& tag :
             found != document.end() && found->is_array() ? *found : Json::array()) {
            if (tag.is_string()) {
                tags.push_back(tag.get<std::string>());
            }
        }
        next = next_page(answer.header("link"), next);
    }
    std::sort(tags.begin(), tags.end());
    tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
    return tags;
}

Result<void> Registry::ping() {
    HttpRequest request;
    request.url = connection_.url("/v2/");
    CYBELE_TRY(const HttpResponse answer, connection_.send(std::move(request)));
    if (answer.status != kRegistryOk) {
        return fail(connection_.refusal(
            answer, printable(reference_.host) + " does not answer as a registry"));
    }
    return {};
}

} // namespace cybele::registry
