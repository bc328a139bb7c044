// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/files/listing.hpp"
#include "definitions/grammar/definition.hpp"
#include "definitions/grammar/lines.hpp"
#include "pipeline/document_kind.hpp"
#include "pipeline/image_build.hpp"
#include "support/environment.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::pipeline {

/// Files of the host that are copied into the image.
struct PlannedCopy {
    definitions::FileLine line;
    std::vector<std::string> allowed; ///< as recipes::FileCopy
    Fault place;                      ///< a fault at the Recipe's field; else without a place
};

/// What a source file is built from, after it was read and rendered.
struct ImagePlan {
    std::filesystem::path source; ///< the file, or the image as it was named
    definitions::Definition definition;
    bool is_recipe = false;
    bool is_image = false; ///< an image as the base of another
    std::vector<PlannedCopy> copies;
    std::shared_ptr<builder::ContextFiles> files; ///< lists what these copies take
    std::optional<std::int64_t> epoch; ///< of the Lock: the build's time, where none is given
    builder::ImageDescription image;
    std::string recipe;                              ///< its SHA-256; empty: there is none
    std::shared_ptr<const recipes::Recipe> document; ///< of a Recipe
    std::filesystem::path output;
    std::filesystem::path directory;            ///< that relative sources begin at
    std::map<std::string, std::string> digests; ///< of bases, by their `From:`
    std::map<std::string, std::set<std::filesystem::path>> keys;
};

/// "a Recipe", "a definition file", "an image".
[[nodiscard]] std::string_view name_of(SourceKind kind);

/// Options that are for another kind of source than this: kUsage.
[[nodiscard]] Result<void> check_source_options(const ImageBuild& request, SourceKind kind);

/// Reads and renders the Recipe or definition file `source`, or makes it the base; options of
/// `request` that are not for its kind are refused (kUsage), as are a Recipe's faults and a
/// definition's (kInput).
[[nodiscard]] Result<ImagePlan> plan_image(const ImageBuild& request,
                                           const std::filesystem::path& source,
                                           const Environment& environment);

} // namespace cybele::pipeline
