// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/recipe_rules.hpp"
#include "recipes/model/recipe_fields.hpp"

namespace cybele::recipes {
namespace {

using document::Field;
using document::Group;
using document::Shape;
using document::Table;
using document::Type;

document::ValueFault check_locked_field(std::string_view text) {
    const bool is_field =
        !text.empty() && text.find_first_of(" \t{}[]\"'") == std::string_view::npos;
    return is_field ? document::ValueFault{}
                    : document::ValueFault{"it names no field of a Recipe",
                                           "make the Lock again with `cybelectl recipe lock`"};
}

constexpr Shape kLockText{.type = Type::kText};
constexpr Shape kEpoch{.type = Type::kText, .rule = &kEpochRule};
constexpr Shape kLockImage{.type = Type::kImage};
constexpr Shape kLockDistribution{.type = Type::kText, .rule = &kDistributionRule};
constexpr Shape kDigest{.type = Type::kText, .rule = &kDigestRule};
constexpr Shape kDigests{.type = Type::kList, .item = &kDigest};
constexpr Shape kLine{.type = Type::kText, .rule = &kLockLineRule};
constexpr Shape kLines{.type = Type::kList, .item = &kLine};

constexpr Field kLockBaseFields[] = {
    {"distribution", &kLockDistribution, "what was bootstrapped"},
    {"release", &kDigests, "SHA-256 of its signed release files"},
    {"image", &kLockImage, "or the image that was used"},
    {"digest", &kDigest, "of the image"},
};
constexpr std::string_view kLockBaseNames[] = {"distribution", "image"};
constexpr Group kLockBaseGroups[] = {{kLockBaseNames, true}};
constexpr Table kLockBaseTable{
    .title = "base", .fields = kLockBaseFields, .groups = kLockBaseGroups};
constexpr Shape kLockBase{.type = Type::kMap, .table = &kLockBaseTable};
constexpr Field kLockImageFields[] = {
    {"image", &kLockImage, "as the Recipe names it", true},
    {"digest", &kDigest, "of the image that it stood for", true},
};
constexpr Table kLockImageTable{.title = "images", .fields = kLockImageFields};
constexpr Shape kOneImage{.type = Type::kMap, .table = &kLockImageTable};
constexpr Shape kImages{.type = Type::kList, .item = &kOneImage};
constexpr Field kVariantFields[] = {
    {"name", &kLockText, "of the variant", true},
    {"arch", &kLockText, "its processors", true},
    {"base", &kLockBase, "what it begins with", true},
    {"images", &kImages, "images that earlier stages begin with"},
    {"epoch", &kEpoch, "seconds since 1970: no time stamp in the image is later", true},
    {"system", &kLines, "packages: `name version arch sha256:…`"},
    {"pip", &kLines, "packages: `name version arch sha256:…`"},
    {"conda", &kLines, "packages: `name version build sha256:…`"},
    {"spack", &kLines, "packages: `name version arch sha256:…`"},
    {"source", &kLines, "sources: `name URL-or-commit arch sha256:…`"},
    {"repository", &kLines, "repositories: `URL suite arch sha256:…` of the signed release file"},
};
constexpr Table kVariantTable{.title = "variants", .fields = kVariantFields};
constexpr Shape kVariant{.type = Type::kMap, .table = &kVariantTable};
constexpr Shape kVariants{.type = Type::kList, .item = &kVariant};
constexpr document::Rule kLockedFieldRule{"a field of a Recipe", "", check_locked_field};
constexpr Table kLockedFieldsTable{
    .title = "fields", .rest = &kDigest, .rest_key = &kLockedFieldRule};
constexpr Shape kLockedFields{.type = Type::kMap, .table = &kLockedFieldsTable};
constexpr std::string_view kLockRules[] = {"packages"};
constexpr Shape kLockRule{.type = Type::kWord, .words = kLockRules};
constexpr Field kLockFields[] = {
    {"rule", &kLockRule, "what `recipe` covers; unset, in Locks of earlier versions: all fields"},
    {"recipe",
     &kDigest,
     "SHA-256 of the fields of the Recipe with its includes that determine packages",
     true},
    {"fields",
     &kLockedFields,
     "SHA-256 of each of these fields, by which a stale Lock names what changed"},
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
