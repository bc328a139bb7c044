// SPDX-License-Identifier: Apache-2.0
#include "pipeline/recipe_inputs.hpp"

#include "recipes/stage/base.hpp"
#include "registry/store/name.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

class Inputs {
public:
    explicit Inputs(const recipes::Recipe& recipe) : recipe_(recipe) {}

    void look(const std::string& field, const std::string& path) {
        std::error_code error;
        if (path.empty() || fs::exists(recipe_.folder / path, error)) {
            return;
        }
        faults_.push_back(recipe_.fault_at(
            field,
            problem("recipe-file-missing", "'" + printable(path) + "' is not there"),
            fs::path(path).is_absolute() ? "nothing has this name on this machine"
                                         : "relative paths begin at the Recipe's folder",
            "correct the path, or make it before the build"));
    }
    void look_at(const recipes::StageContext& context) {
        const auto& files = context.fields->files;
        for (std::size_t i = 0; i < files.size(); ++i) {
            // What a build expands is looked for by it.
            const bool is_plain = files[i].from.find_first_of("*?[]{}$") == std::string::npos;
            if (files[i].stage.empty() && is_plain) {
                look(context.prefix + "files[" + std::to_string(i) + "].from", files[i].from);
            }
        }
        if (!context.fields->base) {
            return;
        }
        const recipes::Base& base = *context.fields->base;
        if (context.base.agent == "localimage" && !registry::is_store_reference(base.image)) {
            look(context.prefix + "base.image", base.image);
        }
        look(context.prefix + "base.key", base.key);
    }
    std::vector<Fault> take() {
        return std::move(faults_);
    }

private:
    const recipes::Recipe& recipe_;
    std::vector<Fault> faults_;
};

} // namespace

std::vector<Fault> missing_inputs(const recipes::Recipe& recipe) {
    Inputs inputs(recipe);
    for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
        inputs.look_at(recipes::stage_context(recipe, i));
    }
    return inputs.take();
}

std::vector<Fault> warnings_of(const std::vector<recipes::Recipe>& variants) {
    std::vector<Fault> all;
    const auto is_told = [&](const Fault& fault) {
        return std::any_of(all.begin(), all.end(), [&](const Fault& told) {
            return told.message == fault.message && told.where && fault.where &&
                   told.where->file == fault.where->file && told.where->line == fault.where->line &&
                   told.where->column == fault.where->column;
        });
    };
    for (const recipes::Recipe& recipe : variants) {
        std::vector<Fault> more = recipes::warnings_of(recipe);
        for (Fault& missing : missing_inputs(recipe)) {
            missing.is_warning = true;
            more.push_back(std::move(missing));
        }
        std::copy_if(more.begin(), more.end(), std::back_inserter(all), [&](const Fault& fault) {
            return !is_told(fault);
        });
    }
    return all;
}

} // namespace cybele::pipeline
