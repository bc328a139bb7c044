// SPDX-License-Identifier: Apache-2.0
#include "pipeline/recipe_inputs.hpp"

#include "pipeline/document_kind.hpp"
#include "recipes/stage/base.hpp"
#include "registry/store/name.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>

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
    /// A folder is an image where it is a container's root; `recipe lock` wants a file then.
    void look_at_image(const std::string& field, const std::string& image) {
        std::error_code error;
        const fs::path path = recipe_.folder / image;
        if (!fs::is_directory(path, error)) {
            look(field, image);
            return;
        }
        if (fs::is_directory(path / ".singularity.d", error)) {
            return;
        }
        std::string file = path.lexically_normal().native();
        while (file.size() > 1 && file.ends_with('/')) {
            file.pop_back();
        }
        faults_.push_back(recipe_.fault_at(
            field,
            problem("recipe-base-is-folder",
                    "'" + printable(image) + "' is a folder, not an image"),
            "it has no /.singularity.d, by which the root of a container is known",
            find_recipe(path) ? "build it, and name the image that this makes: `cybelectl build " +
                                    shell_quote(file) + " -o " + shell_quote(file + ".sif") + "`"
                              : "name an image file, or an image of a registry as "
                                "docker://debian:12"));
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
        const auto& repositories = context.fields->packages.repositories;
        for (std::size_t i = 0; i < repositories.size(); ++i) {
            look(fmt::format("{}packages.repositories[{}].key", context.prefix, i),
                 repositories[i].key);
        }
        if (!context.fields->base) {
            return;
        }
        const recipes::Base& base = *context.fields->base;
        if (context.base.agent == "localimage" && !registry::is_store_reference(base.image)) {
            look_at_image(context.prefix + "base.image", base.image);
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

/// A file that is missing here may be there where the image is built.
bool may_come_later(const Fault& fault) {
    return fault.id == "recipe-file-missing";
}

} // namespace

std::vector<Fault> missing_inputs(const recipes::Recipe& recipe) {
    Inputs inputs(recipe);
    for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
        inputs.look_at(recipes::stage_context(recipe, i));
    }
    return inputs.take();
}

std::vector<Fault> wrong_inputs(const recipes::Recipe& recipe) {
    std::vector<Fault> wrong = missing_inputs(recipe);
    std::erase_if(wrong, may_come_later);
    return wrong;
}

namespace {

constexpr std::string_view kVersionMissing = "step-version-missing";

/// The place of the further repository that a step refused: the one that the package manager named,
/// or the only one.
std::optional<Place> place_of_refused(const recipes::Recipe& recipe, const Fault& fault) {
    std::optional<Place> only;
    std::size_t count = 0;
    for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
        const recipes::StageContext context = recipes::stage_context(recipe, i);
        const auto& all = context.fields->packages.repositories;
        for (std::size_t at = 0; at < all.size(); ++at) {
            only = recipe
                       .fault_at(fmt::format("{}packages.repositories[{}].url", context.prefix, at),
                                 problem(fault.id, fault.message))
                       .where;
            if (fault.subject.find(all[at].url) != std::string::npos) {
                return only;
            }
            ++count;
        }
    }
    return count == 1 ? only : std::nullopt;
}

} // namespace

Error at_recipe_packages(const recipes::Recipe& recipe, const Error& failed) {
    std::vector<Fault> faults = failed.faults();
    for (Fault& fault : faults) {
        if (fault.id == "step-repository-refused") {
            const auto place = place_of_refused(recipe, fault);
            fault.where = place ? place : fault.where;
            continue;
        }
        if (fault.id != "step-package-missing" && fault.id != kVersionMissing) {
            continue;
        }
        for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
            const recipes::StageContext context = recipes::stage_context(recipe, i);
            const auto& named = context.fields->packages.system;
            for (std::size_t at = 0; at < named.size(); ++at) {
                if (named[at].substr(0, named[at].find('=')) == fault.subject) {
                    const Fault place =
                        recipe.fault_at(fmt::format("{}packages.system[{}]", context.prefix, at),
                                        problem(fault.id, fault.message));
                    fault.where = place.where;
                    fault.help = "correct its name or version in the Recipe";
                }
            }
        }
    }
    return Error(std::move(faults));
}

Error with_lock_remedy(const recipes::Recipe& recipe, const Error& failed) {
    std::vector<Fault> faults = failed.faults();
    for (Fault& fault : faults) {
        if (fault.id == kVersionMissing || fault.id == "step-version-differs") {
            fault.code = ErrorCode::kExecution;
            fault.set(problem("step-lock-outdated",
                              "the package mirror does not have the versions of the Lock"));
            fault.help = fmt::format("write the Lock again: `cybelectl recipe lock {}`, or name a "
                                     "mirror that keeps old versions with --mirror",
                                     shell_quote(recipe.source.file()));
        }
    }
    return Error(std::move(faults));
}

std::vector<Fault> warnings_of(const std::vector<recipes::Recipe>& variants) {
    std::vector<Fault> all;
    const auto is_told = [&](const Fault& fault) {
        return std::ranges::any_of(all, [&](const Fault& told) {
            return told.message == fault.message && told.where && fault.where &&
                   told.where->file == fault.where->file && told.where->line == fault.where->line &&
                   told.where->column == fault.where->column;
        });
    };
    for (const recipes::Recipe& recipe : variants) {
        std::vector<Fault> more = recipes::warnings_of(recipe);
        for (Fault& missing : missing_inputs(recipe)) {
            if (may_come_later(missing)) {
                missing.is_warning = true;
                more.push_back(std::move(missing));
            }
        }
        std::copy_if(more.begin(), more.end(), std::back_inserter(all), [&](const Fault& fault) {
            return !is_told(fault);
        });
    }
    return all;
}

} // namespace cybele::pipeline
