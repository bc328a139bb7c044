// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/packages.hpp"
#include "builder/rpm_base.hpp"
#include "registry/cache.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <map>
#include <string>

/// What dnf and zypper download for a base, kept for the next one of the same repositories.
namespace cybele::builder {

/// Packages lie in the tool's own cache, in a folder of the tree that is made: what is kept is
/// copied there before the tool runs, and what it fetched is kept afterwards, by content, as the
/// cache's kind `packages`. The tool compares each file with the repository's index, which it
/// fetches every time, and fetches a file that differs again; so nothing here has to be trusted.
class RpmPackages {
public:
    /// `folder`: the tool's cache in the tree. Packages of other repositories stay where they are.
    RpmPackages(registry::Cache cache,
                const RpmBase& base,
                std::filesystem::path folder,
                std::string definition);

    /// Those used last, 1 GiB at most. A package that cannot be copied is fetched again.
    void place();
    /// Whether the tool succeeded or not: what it fetched need not be fetched again.
    [[nodiscard]] PackageCount take() const;

private:
    /// Below the folder; empty for an entry that is none of these repositories.
    [[nodiscard]] std::filesystem::path place_of(const registry::CacheEntry& entry) const;
    void keep(const std::filesystem::path& file, const std::string& digest) const;

    registry::Cache cache_;
    std::filesystem::path folder_;
    std::string definition_;
    std::string repositories_;                            ///< a digest of their addresses
    std::map<std::filesystem::path, std::string> placed_; ///< and the digest of each
};

} // namespace cybele::builder
