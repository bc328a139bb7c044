// SPDX-License-Identifier: Apache-2.0
#include "cli/recipe/checked.hpp"

#include "cli/common/assignments.hpp"
#include "cli/recipe/text.hpp"
#include "pipeline/project_file.hpp"
#include "pipeline/recipe_file.hpp"
#include "pipeline/recipe_inputs.hpp"
#include "pipeline/recipe_lock.hpp"
#include "recipes/model/recipe.hpp"
#include "support/message.hpp"

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <tuple>

namespace cybele::cli {
namespace {

namespace fs = std::filesystem;

Result<CheckedRecipe>
check_one(const std::string& file, const std::vector<std::string>& given, bool unlocked) {
    CYBELE_TRY(std::string text, recipe_text(file));
    CYBELE_TRY(const auto arguments, read_assignments(kRecipeArguments, given));
    CYBELE_TRY(const auto variants, pipeline::read_variants(std::move(text), file, arguments));
    Faults faults;
    CheckedRecipe checked{file, {}, pipeline::warnings_of(variants)};
    for (const auto& recipe : variants) {
        checked.names.push_back(recipe.name);
        for (Fault& wrong : pipeline::wrong_inputs(recipe)) {
            faults.add(std::move(wrong));
        }
        if (faults.has_errors()) {
            break;
        }
        recipes::RenderOptions render;
        std::optional<recipes::LockVariant> lock;
        if (!unlocked) {
            CYBELE_TRY(lock, pipeline::find_lock(recipe, file));
        }
        render.lock = lock ? &*lock : nullptr;
        render.may_be_unverified = unlocked;
        const auto rendered = recipes::render_definition(recipe, render);
        for (Fault fault : rendered ? std::vector<Fault>() : rendered.error().faults()) {
            if (!lock && fault.id == "requirement-without-checksum") {
                fault.is_warning = true; // a Recipe is written before it is locked
                checked.warnings.push_back(std::move(fault));
            } else {
                faults.add(std::move(fault));
            }
        }
        if (!rendered) {
            break; // the others have the same faults, or tell theirs the next time
        }
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return checked;
}

/// A mistake of an included file is one of each Recipe that includes it, and is said once.
class SeenFaults {
public:
    /// False where the same one was added before.
    bool add(const Fault& fault) {
        if (!fault.where) {
            return true;
        }
        const fs::path file = fs::path(fault.where->file).lexically_normal();
        return seen_
            .emplace(fault.id, fault.message, fault.where->line, fault.where->column, file.native())
            .second;
    }

private:
    std::set<std::tuple<std::string, std::string, std::size_t, std::size_t, std::string>> seen_;
};

} // namespace

nlohmann::json CheckedRecipe::json() const {
    const auto told = nlohmann::json::parse(format_json(warnings));
    return {{"file", file}, {"variants", names}, {"faults", told["faults"]}};
}

Result<std::vector<CheckedRecipe>> check_each(const std::vector<std::string>& given,
                                              const std::vector<std::string>& arguments,
                                              bool unlocked) {
    std::vector<CheckedRecipe> all;
    Faults faults;
    SeenFaults seen;
    for (const std::string& one : given) {
        CYBELE_TRY(const auto files,
                   pipeline::recipe_files(one).map_error(during("looking for Recipes")));
        for (const fs::path& file : files) {
            auto checked = check_one(file.native(), arguments, unlocked)
                               .map_error(during("checking the Recipe '" + file.native() + "'"));
            if (checked) {
                all.push_back(std::move(*checked));
                continue;
            }
            for (const Fault& fault : checked.error().faults()) {
                if (seen.add(fault)) {
                    faults.add(fault);
                }
            }
        }
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return all;
}

} // namespace cybele::cli
