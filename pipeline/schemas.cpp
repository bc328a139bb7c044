// SPDX-License-Identifier: Apache-2.0
#include "pipeline/schemas.hpp"

#include "images/signatures/policy.hpp"
#include "launchers/documents/bridge.hpp"
#include "launchers/documents/job_fields.hpp"
#include "pipeline/project_file.hpp"
#include "recipes/model/recipe_fields.hpp"
#include "support/document.hpp"
#include "support/file.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>

namespace cybele::pipeline {
namespace {

using KindOf = const document::Kind& (*)();
constexpr std::array<KindOf, 7> kKinds{recipes::recipe_kind,
                                       recipes::lock_kind,
                                       launchers::job_kind,
                                       launchers::site_kind,
                                       project_kind,
                                       images::policy_kind,
                                       launchers::bridge_kind};

} // namespace

std::vector<const document::Kind*> document_kinds() {
    std::vector<const document::Kind*> kinds;
    for (const KindOf kind : kKinds) {
        kinds.push_back(&kind());
    }
    return kinds;
}

const document::Kind* find_document_kind(std::string_view name) {
    const auto* found = std::ranges::find_if(
        kKinds, [&](KindOf known) { return text::lowered(known().name) == text::lowered(name); });
    return found == kKinds.end() ? nullptr : &(*found)();
}

std::optional<std::string> schema_of(std::string_view kind) {
    const document::Kind* found = find_document_kind(kind);
    return found == nullptr ? std::nullopt : std::optional(document::json_schema(*found));
}

Result<std::vector<std::filesystem::path>>
write_schemas(const std::filesystem::path& folder, const std::vector<std::string_view>& kinds) {
    std::vector<std::filesystem::path> files;
    for (const auto kind : kinds) {
        const auto path = folder / kSchemaFolder / (text::lowered(kind) + ".schema.json");
        CYBELE_CHECK(make_directories(path.parent_path()));
        CYBELE_CHECK(write_file(path, schema_of(kind).value_or("{}\n")));
        files.push_back(path);
    }
    return files;
}

} // namespace cybele::pipeline
