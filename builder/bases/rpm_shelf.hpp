// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/cache/cache.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

/// Packages of rpm, kept by content for the builds that ask the same repositories.
namespace cybele::builder {

/// The cache's kind `packages`: each with its places in the tools' own caches, paths without `..`.
/// A tool that finds a file in its place compares it with the repository's
/// index, which it fetches itself, and fetches a file that differs again; so nothing of this has to
/// be trusted.
class RpmShelf {
public:
    /// `origin`: what the packages are for. `definition`: the file that is built, for the list.
    RpmShelf(registry::Cache cache, const std::string& origin, std::string definition)
        : cache_(std::move(cache)), origin_("its place for " + origin),
          definition_(std::move(definition)) {}

    /// Gives `put` the file of each package of this origin and its place, those used last first,
    /// 1 GiB at most; false: it was not put there. What was, with the digests.
    using Put =
        std::function<bool(const std::filesystem::path& file, const std::filesystem::path& place)>;
    [[nodiscard]] std::map<std::filesystem::path, std::string> lay(const Put& put) const;

    /// Keeps a copy of `file`, whose SHA-256 is `digest`. What cannot be kept costs the next build
    /// time, and no more.
    void keep(const std::filesystem::path& file,
              const std::filesystem::path& place,
              const std::string& digest) const;

private:
    /// Of this origin.
    [[nodiscard]] std::vector<std::filesystem::path>
    places_of(const registry::CacheEntry& entry) const;

    registry::Cache cache_;
    std::string origin_; ///< as the notes of entries name it
    std::string definition_;
};

} // namespace cybele::builder
