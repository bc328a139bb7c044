// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/yaml.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::recipes {

/// One package of a lock: `name version arch sha256:…`. For conda the second last word is the
/// build; for sources the second is the address or commit.
struct LockedPackage {
    std::string name;
    std::string version;
    std::string arch;
    std::string digest; ///< with its prefix `sha256:`
};

struct LockVariant {
    std::string name;
    std::string arch;
    std::string distribution; ///< and release, or image and digest
    std::vector<std::string> release;
    std::string image;
    std::string image_digest;
    std::map<std::string, std::string> images; ///< of further stages: image → digest
    std::uint64_t epoch = 0;                   ///< seconds since 1970
    /// "system", "pip", "conda", "spack", "source" → packages, as written
    std::map<std::string, std::vector<LockedPackage>> packages;

    /// Of an image that a stage begins with; empty: it is not locked.
    [[nodiscard]] std::string digest_of(const std::string& base_image) const;
};

/// The exact packages of a Recipe's images: the document of kind Lock, read and checked.
struct Lock {
    std::string recipe; ///< digest, with its prefix
    std::vector<LockVariant> variants;
    yaml::Source source{"", ""};
    std::map<std::string, yaml::Mark> marks;
};

struct Recipe;

/// A Lock as yaml: sorted, the same bytes for the same packages.
[[nodiscard]] std::string print_lock(const Recipe& recipe,
                                     const std::vector<LockVariant>& variants);

/// Whether the Lock was made from this Recipe, and its variant. A stale one is kInput.
[[nodiscard]] Result<LockVariant> locked_variant(const Lock& lock, const Recipe& recipe);

/// Reads a document of kind Lock. All faults at once, each with its place (kInput).
[[nodiscard]] Result<Lock> read_lock(std::string text, const std::filesystem::path& file);

} // namespace cybele::recipes
