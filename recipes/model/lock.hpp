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
    /// Whether `recipe` covers what determines packages only (`rule: packages`). Locks of earlier
    /// versions cover the whole Recipe.
    bool covers_packages_only = false;
    /// Field of the Recipe that determines packages → SHA-256 of its value, with its prefix. Empty
    /// in Locks of earlier versions: what changed is not known by name.
    std::map<std::string, std::string> fields;
    std::vector<LockVariant> variants;
    yaml::Source source{"", ""};
    std::map<std::string, yaml::Mark> marks;
};

struct Recipe;

/// A Lock as yaml: sorted, the same bytes for the same packages.
[[nodiscard]] std::string print_lock(const Recipe& recipe,
                                     const std::vector<LockVariant>& variants);

/// SHA-256 (hex) of what determines packages in the Recipe with its includes: base, mpi, gpu,
/// compilers and packages of all stages, with `matrix`, `when` and the arguments that these use.
[[nodiscard]] std::string packages_digest(const Recipe& recipe);

/// SHA-256 (hex) of one variant of a Lock: what it pins.
[[nodiscard]] std::string lock_digest(const LockVariant& variant);

/// The variant of the Lock that is this Recipe's. kInput where the Lock is stale.
[[nodiscard]] Result<LockVariant> locked_variant(const Lock& lock, const Recipe& recipe);

/// Reads a document of kind Lock. All faults at once, each with its place (kInput).
[[nodiscard]] Result<Lock> read_lock(std::string text, const std::filesystem::path& file);

} // namespace cybele::recipes
