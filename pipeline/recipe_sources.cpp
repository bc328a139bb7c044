// SPDX-License-Identifier: Apache-2.0
#include "pipeline/recipe_sources.hpp"

#include "builder/files/copy.hpp"
#include "builder/files/output.hpp"
#include "pipeline/recipe_inputs.hpp"
#include "recipes/stage/base.hpp"
#include "registry/store/store.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;
using SourcesJson = nlohmann::ordered_json;

/// Collects the files of one Recipe.
class SourceFinder {
public:
    SourceFinder(const SourcesRequest& request,
                 builder::ContextFiles& context,
                 const Environment& environment)
        : recipe_(*request.recipe), store_(request.store), context_(context),
          variables_(environment.all()) {
        folder_ = builder::absolute_path(recipe_.folder);
    }

    void add_copies(const std::string& prefix, const std::vector<recipes::FileCopy>& copies);
    void add_base(const std::string& image, const std::string& field);
    [[nodiscard]] Result<std::vector<SourceFile>> take();

private:
    void put(const builder::CopiedFile& file, bool is_relative);
    [[nodiscard]] std::string digest_of_folder(const fs::path& folder);

    const recipes::Recipe& recipe_;
    registry::StoreFolder store_;
    builder::ContextFiles& context_; ///< what a build leaves out is no source
    std::map<std::string, std::string> variables_;
    fs::path folder_;
    std::vector<SourceFile> files_;
    Faults faults_;
};

void SourceFinder::put(const builder::CopiedFile& file, bool is_relative) {
    const fs::path path = file.path.lexically_normal();
    files_.push_back({is_relative ? path.lexically_relative(folder_).native() : path.native(),
                      fmt::format("{:o}", file.mode),
                      file.content});
}

void SourceFinder::add_copies(const std::string& prefix,
                              const std::vector<recipes::FileCopy>& copies) {
    const builder::CopyFrom host{"/", folder_, false};
    for (std::size_t i = 0; i < copies.size(); ++i) {
        if (!copies[i].stage.empty()) {
            continue;
        }
        const definitions::FileLine line{copies[i].from, copies[i].to, 0, {}};
        auto found = builder::find_sources(line, host, variables_, recipe_.source.file());
        if (!found) {
            const Fault& fault = found.error().faults().front();
            faults_.add(
                recipe_.fault_at(fmt::format("{}files[{}].from", prefix, i),
                                 problem("recipe-copy-missing",
                                         "'" + printable(copies[i].from) + "' does not exist"),
                                 fault.because,
                                 fault.help));
            continue;
        }
        for (const builder::CopiedFile& file : context_.list(*found)->files) {
            if (file.is_input) {
                put(file, !copies[i].from.starts_with('/'));
            }
        }
    }
}

/// One digest for a folder with the root file system of a base.
std::string SourceFinder::digest_of_folder(const fs::path& folder) {
    Sha256 digest;
    const builder::Copy all{{"/."}, {}, false, nullptr, {}};
    builder::add_to_digest(
        {}, builder::list_all(all, {folder, {}, true}, context_.known()), digest);
    return hex(digest.finish());
}

/// An image of this machine that a stage begins with.
void SourceFinder::add_base(const std::string& image, const std::string& field) {
    if (registry::is_store_reference(image)) {
        const auto find = [&]() -> Result<registry::StoredImage> {
            CYBELE_TRY(const registry::StoreName name, registry::read_store_reference(image));
            CYBELE_TRY(const registry::Store store,
                       registry::Store::open_for_reading(store_).map_error(
                           during("opening the local store of images")));
            return store.find(name);
        };
        const auto stored = find();
        files_.push_back({image, "", stored ? stored->record.digest : ""});
        return;
    }
    const fs::path path = folder_ / image;
    std::error_code error;
    if (fs::is_directory(path, error)) {
        files_.push_back({image, "", digest_of_folder(path)});
        return;
    }
    const auto fd = open_for_reading(path);
    const auto digest =
        fd ? context_.known().content_of(fd->get(), path) : Result<Digest>(fail(fd.error()));
    if (!digest) {
        const Fault& fault = digest.error().faults().front();
        faults_.add(
            recipe_.fault_at(field, problem(fault.id, fault.message), fault.because, fault.help));
        return;
    }
    files_.push_back({image, "", hex(*digest)});
}

Result<std::vector<SourceFile>> SourceFinder::take() {
    if (faults_.has_errors()) {
        return fail(faults_.take());
    }
    const auto by_path = [](const SourceFile& left, const SourceFile& right) {
        return left.path < right.path;
    };
    const auto same_path = [](const SourceFile& left, const SourceFile& right) {
        return left.path == right.path;
    };
    std::sort(files_.begin(), files_.end(), by_path);
    files_.erase(std::unique(files_.begin(), files_.end(), same_path), files_.end());
    return std::move(files_);
}

Result<std::vector<SourceFile>> find_source_files(const SourcesRequest& request,
                                                  builder::ContextFiles& context_files,
                                                  const Environment& environment) {
    const recipes::Recipe& recipe = *request.recipe;
    Faults missing;
    for (Fault& fault : missing_inputs(recipe)) {
        missing.add(std::move(fault));
    }
    if (missing.has_errors()) {
        return fail(missing.take());
    }
    SourceFinder files(request, context_files, environment);
    for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
        const recipes::StageContext context = recipes::stage_context(recipe, i);
        files.add_copies(context.prefix, context.fields->files);
        if (context.fields->base && context.base.agent == "localimage") {
            files.add_base(context.fields->base->image, context.prefix + "base.image");
        }
    }
    for (const auto& [name, app] : recipe.apps) {
        files.add_copies(fmt::format("apps.{}.", name), app.files);
    }
    return files.take();
}

/// Names of this many changes are printed.
constexpr std::size_t kNamedChanges = 3;

void add_field_changes(const RecipeSources& before,
                       const RecipeSources& now,
                       std::vector<std::string>& changes) {
    std::set<std::string> names;
    for (const auto* const fields : {&before.fields, &now.fields}) {
        for (const auto& [name, digest] : *fields) {
            const auto then = before.fields.find(name);
            const auto later = now.fields.find(name);
            if (then == before.fields.end() || later == now.fields.end() ||
                then->second != later->second) {
                names.insert(name);
            }
        }
    }
    if (names.empty()) {
        changes.emplace_back("the arguments of the Recipe changed");
    }
    for (const std::string& name : names) {
        changes.push_back(fmt::format("`{}` of the Recipe changed", name));
    }
}

void add_lock_change(const RecipeSources& before,
                     const RecipeSources& now,
                     std::vector<std::string>& changes) {
    if (before.lock == now.lock || before.lock == RecipeSources::kUnlocked) {
        return;
    }
    changes.emplace_back(before.lock.empty() ? "the Lock is new"
                         : now.lock.empty()  ? "the Lock is gone"
                                             : "the Lock changed");
}

void add_file_changes(const RecipeSources& before,
                      const RecipeSources& now,
                      std::vector<std::string>& changes) {
    std::map<std::string, std::pair<const SourceFile*, const SourceFile*>> files;
    for (const SourceFile& file : before.files) {
        files[file.path].first = &file;
    }
    for (const SourceFile& file : now.files) {
        files[file.path].second = &file;
    }
    for (const auto& [path, pair] : files) {
        const auto& [then, later] = pair;
        if (then != nullptr && later != nullptr && *then == *later) {
            continue;
        }
        changes.push_back(fmt::format("{} {}",
                                      path,
                                      then == nullptr                 ? "is new"
                                      : later == nullptr              ? "is gone"
                                      : then->digest == later->digest ? "has another mode"
                                                                      : "changed"));
    }
}

} // namespace

Result<builder::BuildContext> rules_of_recipe(const recipes::Recipe& recipe,
                                              const fs::path& image) {
    return builder::BuildContext::open(builder::BuildContext::Rules::kRecipe, recipe.folder, image);
}

Result<RecipeSources> find_recipe_sources(const SourcesRequest& request,
                                          builder::ContextFiles& files,
                                          const Environment& environment) {
    RecipeSources sources;
    sources.recipe = request.recipe->digest;
    sources.name = request.recipe->name;
    for (const auto& [name, value] : request.recipe->fields) {
        sources.fields[name] = hex(sha256(value));
    }
    sources.lock = request.ignores_lock      ? std::string(RecipeSources::kUnlocked)
                   : request.lock != nullptr ? recipes::lock_digest(*request.lock)
                                             : "";
    CYBELE_TRY(sources.files, find_source_files(request, files, environment));
    return sources;
}

std::string print_recipe_sources(const RecipeSources& sources) {
    SourcesJson files = SourcesJson::array();
    for (const SourceFile& file : sources.files) {
        files.push_back({file.path, file.mode, file.digest});
    }
    const SourcesJson document{{"format", 1},
                               {"recipe", sources.recipe},
                               {"name", sources.name},
                               {"fields", sources.fields},
                               {"lock", sources.lock},
                               {"files", files}};
    return json_text(document, -1) + "\n";
}

Result<RecipeSources> parse_recipe_sources(std::string_view text) {
    const SourcesJson document = SourcesJson::parse(text, nullptr, false);
    try {
        if (document.is_object() && document.value("format", 0) == 1) {
            RecipeSources sources;
            sources.recipe = document.at("recipe").get<std::string>();
            sources.name = document.at("name").get<std::string>();
            document.at("fields").get_to(sources.fields);
            sources.lock = document.at("lock").get<std::string>();
            for (const SourcesJson& file : document.at("files")) {
                sources.files.push_back({file.at(0).get<std::string>(),
                                         file.at(1).get<std::string>(),
                                         file.at(2).get<std::string>()});
            }
            return sources;
        }
    } catch (const SourcesJson::exception&) {
        // as below
    }
    return fail(ErrorCode::kInput,
                problem("image-sources-unreadable", "what the image was made from cannot be read"),
                "its object `cybelectl-sources.json` has an unknown form",
                "build the image again");
}

std::vector<std::string> changes_between(const RecipeSources& before, const RecipeSources& now) {
    std::vector<std::string> changes;
    if (before.name != now.name) {
        changes.push_back(fmt::format("it is the image of '{}'", before.name));
    }
    if (before.recipe != now.recipe) {
        add_field_changes(before, now, changes);
    }
    add_lock_change(before, now, changes);
    add_file_changes(before, now, changes);
    if (changes.size() > kNamedChanges + 1) {
        const std::size_t more = changes.size() - kNamedChanges;
        changes.resize(kNamedChanges);
        changes.push_back(fmt::format("{} more changes", more));
    }
    for (std::string& change : changes) {
        change = printable(change);
    }
    return changes;
}

} // namespace cybele::pipeline
