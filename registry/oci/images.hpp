// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/oci/registry.hpp"
#include "registry/store/store.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// SIF images between registries, the store and files.
namespace cybele::registry {

/// What every transfer needs.
struct Transport {
    const HttpClient* client = nullptr;
    Access access;
    Environment environment;
    Progress progress;
};

struct PullRequest {
    Reference reference;
    std::string architecture; ///< of an index's entry, and of the image itself
    std::optional<StoreName> name;
    bool may_unsign = false;      ///< as Arrival
    std::optional<Output> output; ///< a file besides
    std::int64_t now = 0;
    /// Looks at the file before it gets a name anywhere; its error refuses it.
    std::function<Result<void>(const std::filesystem::path&)> check;
};

struct PullResult {
    std::string digest;   ///< of the image
    std::string manifest; ///< digest of the manifest, for NAME@sha256:…
    std::uint64_t size = 0;
    bool is_downloaded = false; ///< else the store had it
    std::optional<StoredImage> stored;
    std::optional<CopyMethod> way; ///< how the output file came
    std::string name = {};         ///< in the store; empty: it was given none
};

/// Into the store, and from there into the output. Of several processes that want one image, one
/// downloads it. What a broken or killed pull left is gone on with.
[[nodiscard]] Result<PullResult>
pull(const Transport& transport, const PullRequest& request, const Store& store);

/// Straight into the output, written once.
[[nodiscard]] Result<PullResult> pull_to_file(const Transport& transport,
                                              const PullRequest& request);

struct PushRequest {
    Reference reference;
    std::filesystem::path file;
    std::string title;                     ///< the file's name as others see it
    std::string digest;                    ///< where it is known; else the file is hashed
    std::vector<std::string> repositories; ///< HOST/REPOSITORY that have it already
};

struct PushResult {
    std::string digest;
    std::string manifest;
    std::uint64_t size = 0;
    std::string how; ///< "there already", "mounted", "uploaded"
    /// Digest of the manifest that had the tag, where its image carries a signature and this one
    /// does not; else empty.
    std::string signed_before;
};

[[nodiscard]] Result<PushResult> push(const Transport& transport, const PushRequest& request);

/// From one registry to another, manifests to the byte; lists of several architectures too.
/// Gives the manifest's digest.
[[nodiscard]] Result<std::string>
copy(const Transport& from, const Transport& to, const Reference& source, const Reference& target);

} // namespace cybele::registry
