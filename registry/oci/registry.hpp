// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/oci/connection.hpp"
#include "registry/oci/manifest.hpp"
#include "registry/oci/reference.hpp"
#include "registry/store/transfer.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cybele::registry {

/// The requests of the distribution specification that images need, one function each.
class Registry {
public:
    /// `actions`: "pull", "pull,push".
    Registry(const HttpClient& client,
             const Access& access,
             const Environment& environment,
             const Reference& reference,
             const std::string& actions)
        : connection_(client, access, environment, reference, actions), reference_(reference) {}

    /// GET; its digest is checked where it was asked for by digest.
    [[nodiscard]] Result<Manifest> manifest(const std::string& version);
    /// HEAD; the digest that a tag stands for, unset: there is none.
    [[nodiscard]] Result<std::optional<std::string>> manifest_digest(const std::string& version);
    /// Whether the registry lists it for its subject by itself.
    [[nodiscard]] Result<bool> put_manifest(const Manifest& manifest, const std::string& version);
    /// What has this manifest as its subject, by the registry's list or the tag that stands for it.
    [[nodiscard]] Result<std::vector<ContentDescriptor>> referrers(const std::string& subject);
    /// Adds an attachment to the tag that stands for such a list.
    [[nodiscard]] Result<void> list_referrer(const Manifest& attachment);
    [[nodiscard]] Result<bool> has_blob(const std::string& digest);
    /// Downloads into `file`, which may have the beginning already, and resumes when the
    /// connection breaks. kVerification: the bytes are not those of the digest; then there is no
    /// file.
    [[nodiscard]] Result<void> get_blob(const ContentDescriptor& blob,
                                        const std::filesystem::path& file,
                                        const Progress& progress);
    /// At most so many of its first bytes; empty where the registry does not send a part.
    [[nodiscard]] std::string blob_start(const ContentDescriptor& blob, std::uint64_t size);
    /// Takes a blob over from another repository (HOST/REPOSITORY) of this host; false: it could
    /// not.
    [[nodiscard]] Result<bool> mount(const std::string& digest, const std::string& place);
    /// Mounts from one of the repositories of this host, else uploads; begins again when the
    /// connection breaks, for an upload cannot be resumed within its body.
    /// Gives how it came: "mounted", "uploaded".
    [[nodiscard]] Result<std::string> put_blob(const ContentDescriptor& blob,
                                               const std::filesystem::path& file,
                                               const std::vector<std::string>& repositories,
                                               const Progress& progress);
    [[nodiscard]] Result<std::string> put_blob(const ContentDescriptor& blob, std::string bytes);
    /// Sorted.
    [[nodiscard]] Result<std::vector<std::string>> tags();
    /// Whether the login is taken: GET /v2/.
    [[nodiscard]] Result<void> ping();

private:
    /// PUT, again where another push of the same image disturbs it.
    [[nodiscard]] Result<HttpResponse> send_manifest(const Manifest& manifest,
                                                     const std::string& version);
    struct Body {
        std::string bytes;
        std::filesystem::path file;
        Progress progress;
    };
    Result<std::optional<Manifest>> fallback_list(const std::string& subject);
    /// Before a further page of a list: of the registry itself, and not without end.
    [[nodiscard]] Result<void>
    check_page(const std::string& url, std::set<std::string>& pages, std::size_t entries) const;
    Result<std::optional<std::string>> begin_upload(const std::string& query);
    Result<std::string>
    upload(const ContentDescriptor& blob, const Body& body, std::string location);

    Connection connection_;
    Reference reference_;
};

} // namespace cybele::registry
