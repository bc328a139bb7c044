// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/bases/rpm_base.hpp"
#include "builder/bases/rpm_shelf.hpp"
#include "builder/steps/packages.hpp"
#include "registry/cache/cache.hpp"

#include <filesystem>
#include <map>
#include <string>

/// What dnf and zypper download for a base, kept for the next one of the same repositories.
namespace cybele::builder {

/// Packages lie in the tool's own cache, in a folder of the tree that is made: what is kept is
/// copied there before the tool runs, and what it fetched is kept afterwards.
class RpmPackages {
public:
    /// `folder`: the tool's cache in the tree. Packages of other repositories stay where they are.
    RpmPackages(const registry::Cache& cache,
                const RpmBase& base,
                std::filesystem::path folder,
                std::string definition);

    /// A package that cannot be copied is fetched again.
    void place();
    /// Whether the tool succeeded or not: what it fetched need not be fetched again.
    [[nodiscard]] PackageCount take() const;

private:
    bool is_wanted_;
    RpmShelf shelf_;
    std::filesystem::path folder_;
    std::map<std::filesystem::path, std::string> placed_; ///< and the digest of each
};

} // namespace cybele::builder
