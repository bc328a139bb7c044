// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/definition.hpp"
#include "recipes/import/import.hpp"
#include "recipes/model/recipe.hpp"
#include "tests/unit/support/document_golden.hpp"

#include <map>
#include <string>
#include <vector>

/// Definition files as they are imported, for tests.
namespace cybele::recipes {

using Texts = std::vector<std::string>;

inline Result<Imported> import_file(const std::string& text,
                                    const std::map<std::string, std::string>& arguments = {}) {
    ImportRequest request;
    request.text = text;
    request.file = "app.def";
    request.kind = ImportKind::kDefinition;
    request.name = "app";
    request.build_arguments = arguments;
    return import_recipe(request);
}

inline Recipe recipe_from(const std::string& text) {
    const auto imported = import_file(text);
    REQUIRE_MESSAGE(imported.has_value(), test::told(imported));
    auto recipe = read_recipe(imported->text, "app.yaml");
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    return *recipe;
}

/// The definition that the Recipe renders to, as Apptainer's parser reads it.
inline definitions::Definition rendered_from(const std::string& text) {
    const auto rendered = render_definition(recipe_from(text), "http://mirror.example/debian");
    REQUIRE_MESSAGE(rendered.has_value(), test::told(rendered));
    auto parsed = definitions::parse_definition(rendered->definition.text, "app.def");
    REQUIRE_MESSAGE(parsed.has_value(), test::told(parsed));
    return *parsed;
}

inline Texts messages_from(const std::string& text) {
    const auto imported = import_file(text);
    Texts list;
    for (const auto& fault : imported ? imported->notes : imported.error().faults()) {
        list.push_back(std::to_string(fault.where ? fault.where->line : 0) + " " + fault.message);
    }
    return list;
}

inline const std::string kUbuntu = "Bootstrap: docker\nFrom: ubuntu:22.04\n\n%post\n";

} // namespace cybele::recipes
