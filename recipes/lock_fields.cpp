// SPDX-License-Identifier: Apache-2.0
#include "recipes/recipe_fields.hpp"
#include "recipes/recipe_rules.hpp"

namespace cybele::recipes {
namespace {

using document::Field;
using document::Group;
using document::Shape;
using document::Table;
using document::Type;

constexpr Shape kText{.type = Type::kText};
constexpr Shape kEpoch{.type = Type::kText, .rule = &kEpochRule};
constexpr Shape kImage{.type = Type::kImage};
constexpr Shape kDistribution{.type = Type::kText, .rule = &kDistributionRule};
constexpr Shape kDigest{.type = Type::kText, .rule = &kDigestRule};
constexpr Shape kDigests{.type = Type::kList, .item = &kDigest};
constexpr Shape kLine{.type = Type::kText, .rule = &kLockLineRule};
constexpr Shape kLines{.type = Type::kList, .item = &kLine};

constexpr Field kBaseFields[] = {
    {"distribution", &kDistribution, "what was bootstrapped"},
    {"release", &kDigests, "SHA-256 of its signed release files"},
    {"image", &kImage, "or the image that was taken"},
    {"digest", &kDigest, "of the image"},
};
constexpr std::string_view kBaseNames[] = {"distribution", "image"};
constexpr Group kBaseGroups[] = {{kBaseNames, true}};
constexpr Table kBaseTable{.title = "base", .fields = kBaseFields, .groups = kBaseGroups};
constexpr Shape kBase{.type = Type::kMap, .table = &kBaseTable};
constexpr Field kImageFields[] = {
    {"image", &kImage, "as the Recipe names it", true},
    {"digest", &kDigest, "of the image that it stood for", true},
};
constexpr Table kImageTable{.title = "images", .fields = kImageFields};
constexpr Shape kOneImage{.type = Type::kMap, .table = &kImageTable};
constexpr Shape kImages{.type = Type::kList, .item = &kOneImage};
constexpr Field kVariantFields[] = {
    {"name", &kText, "of the variant", true},
    {"arch", &kText, "its processors", true},
    {"base", &kBase, "what it begins with", true},
    {"images", &kImages, "images that earlier stages begin with"},
    {"epoch", &kEpoch, "seconds since 1970: no time stamp in the image is later", true},
    {"system", &kLines, "packages: `name version arch sha256:…`"},
    {"pip", &kLines, "packages: `name version arch sha256:…`"},
    {"conda", &kLines, "packages: `name version build sha256:…`"},
    {"spack", &kLines, "packages: `name version arch sha256:…`"},
    {"source", &kLines, "sources: `name URL-or-commit arch sha256:…`"},
};
constexpr Table kVariantTable{.title = "variants", .fields = kVariantFields};
constexpr Shape kVariant{.type = Type::kMap, .table = &kVariantTable};
constexpr Shape kVariants{.type = Type::kList, .item = &kVariant};
constexpr Field kLockFields[] = {
    {"recipe", &kDigest, "SHA-256 of the Recipe with its includes, normalised", true},
    {"variants", &kVariants, "one for each variant of the Recipe", true},
};
constexpr Table kLockTable{.title = "Lock", .fields = kLockFields};
constexpr document::Kind kLock{.name = "Lock",
                               .description = "The exact packages of a Recipe's images.",
                               .table = &kLockTable};

} // namespace

const document::Kind& lock_kind() {
    return kLock;
}

} // namespace cybele::recipes
