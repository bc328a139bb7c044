// SPDX-License-Identifier: Apache-2.0
#include "registry/oci/library.hpp"

#include "registry/oci/download.hpp"
#include "support/encoding.hpp"
#include "support/json.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <nlohmann/json.hpp>

namespace cybele::registry {

using Json = nlohmann::json;

namespace {

constexpr int kLibraryOk = 200;
constexpr int kLibraryNotFound = 404;
constexpr const char* kTokenVariable = "CYBELE_LIBRARY_TOKEN";

/// `sha256.…`, as libraries write it, with a colon; empty: it is none.
std::string digest_of_hash(const std::string& hash) {
    constexpr std::string_view kPrefix = "sha256.";
    const std::string digest =
        hash.starts_with(kPrefix) ? "sha256:" + hash.substr(kPrefix.size()) : std::string();
    return is_sha256_digest(digest) ? digest : std::string();
}

} // namespace

Library::Library(const HttpClient& client,
                 const Access& access,
                 const Environment& environment,
                 const Reference& reference)
    : connection_(client, access, environment, reference, ""), environment_(environment),
      reference_(reference) {}

Result<void> Library::show_token() {
    if (has_shown_) {
        return {};
    }
    has_shown_ = true;
    if (const auto token = environment_.get(kTokenVariable)) {
        connection_.show_token({{}, {}, *token, std::string("$") + kTokenVariable});
        return {};
    }
    CYBELE_TRY(
        auto login,
        find_login(
            reference_.host, reference_.repository, connection_.access().authfile, environment_));
    if (login) {
        connection_.show_token(std::move(*login));
    }
    return {};
}

std::string Library::address(const std::string& kind, const std::string& architecture) const {
    const std::string version =
        reference_.digest.empty()
            ? reference_.tag
            : "sha256." + reference_.digest.substr(reference_.digest.find(':') + 1);
    return connection_.url("/v1/" + kind + "/" + reference_.repository + ":" + version +
                           "?arch=" + percent_encoded(architecture));
}

Result<ContentDescriptor> Library::image(const std::string& architecture) {
    CYBELE_CHECK(show_token());
    const std::string what = printable(reference_.text());
    HttpRequest request;
    request.url = address("images", architecture);
    CYBELE_TRY(const HttpResponse answer, connection_.send(std::move(request)));
    if (answer.status == kLibraryNotFound) {
        return fail(ErrorCode::kInput,
                    problem("library-image-missing", "no image " + what + " for " + architecture),
                    printable(reference_.host) + " does not have it",
                    "check the name, its tag and the architecture (--arch)");
    }
    const Json document = parse_json<Json>(answer.body);
    const Json data = document.is_object() ? document.value("data", Json()) : Json();
    if (answer.status != kLibraryOk || !data.is_object()) {
        return fail(connection_.refusal(answer, "cannot get " + what));
    }
    ContentDescriptor image;
    image.digest = data.contains("hash") && data["hash"].is_string()
                       ? digest_of_hash(data["hash"].get<std::string>())
                       : std::string();
    image.size = data.contains("size") && data["size"].is_number_unsigned()
                     ? data["size"].get<std::uint64_t>()
                     : 0;
    if (image.digest.empty() || image.size == 0) {
        return fail(ErrorCode::kInput,
                    problem("library-not-verifiable", what + " cannot be verified"),
                    "the library does not give its SHA-256 and size",
                    "ask its owner to push it again, or to an OCI registry (oras://)");
    }
    if (!reference_.digest.empty() && reference_.digest != image.digest) {
        return fail(ErrorCode::kVerification,
                    problem("library-image-differs", what + " is another image"),
                    "the library has " + image.digest + " there",
                    "do not use it; inform the library's administrator");
    }
    return image;
}

Result<void> Library::get(const ContentDescriptor& image,
                          const std::string& architecture,
                          const std::filesystem::path& file,
                          const Progress& progress) {
    return download(connection_,
                    {address("imagefile", architecture), image, file, "the image " + image.digest},
                    progress);
}

} // namespace cybele::registry
