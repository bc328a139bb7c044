// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/cache/cache.hpp"
#include "support/error.hpp"

#include <cstddef>
#include <filesystem>
#include <string>

/// Packages and package lists that builds download, kept by content for every later build.
namespace cybele::builder {

/// What the downloads of a tool, or of all in a script, came to.
struct PackageCount {
    std::size_t reused = 0;
    std::size_t fetched = 0;

    /// "12 packages and lists from the cache, 3 downloaded"; empty where there were none.
    [[nodiscard]] std::string text() const;
    PackageCount& operator+=(const PackageCount& other) {
        reused += other.reused;
        fetched += other.fetched;
        return *this;
    }
};

/// The kind `packages` of the cache. An entry is found by its SHA-256 alone, as the mirror's signed
/// index names it: so a snapshot of a mirror gets what it names, whatever a script did before, and
/// what two snapshots share is kept once. apt asks through a method of ours that stands in front of
/// its own (data/apt-method).
class PackageCache {
public:
    /// `definition`: the file that is built, for the cache's list.
    PackageCache(registry::Cache cache, std::string definition)
        : cache_(std::move(cache)), definition_(std::move(definition)) {}

    /// Where the entries lie; made where it is missing.
    [[nodiscard]] Result<std::filesystem::path> folder() const;
    /// No entry is removed while this lives.
    [[nodiscard]] Result<registry::Cache::Lock> hold() const;
    /// Writes `http` and `https` into a folder that is there, executable, each looking for `store`
    /// beside it.
    [[nodiscard]] static Result<void> write_methods(const std::filesystem::path& folder);
    /// Copies the entries that were used last to a folder for another user id, up to 512 MiB.
    [[nodiscard]] Result<void> copy_recent(const std::filesystem::path& folder) const;
    /// Takes over what a method kept. What cannot be kept costs the next build time, and no more.
    PackageCount take(const std::filesystem::path& kept) const;
    /// Removes the longest unused beyond 10 GiB.
    void prune() const;

private:
    [[nodiscard]] bool take_one(const std::filesystem::path& file, const std::string& name) const;
    registry::Cache cache_;
    std::string definition_;
};

/// The line of apt's configuration that makes a scheme's downloads go through `method`.
[[nodiscard]] std::string method_option(const std::string& scheme, const std::string& method);

} // namespace cybele::builder
