// SPDX-License-Identifier: Apache-2.0
#include "builder/delta_base.hpp"

#include "builder/delta.hpp"
#include "builder/output.hpp"
#include "images/sif/image.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBase = "base";
constexpr const char* kStep = "step";

struct FlatImage {
    fs::path file;
    std::vector<std::string> keys; ///< of its steps, behind the base's
};

std::optional<FlatImage> last_flat_image(const StageContext& context) {
    const std::string definition = absolute_path(context.request.definition_file).native();
    const std::vector<registry::CacheEntry> all = context.cache.list();
    // Of one kind the one that was used last is the last one.
    for (auto entry = all.rbegin(); entry != all.rend(); ++entry) {
        const KeptStep kept = entry->kind == "images" ? read_kept(entry->about) : KeptStep();
        if (kept.parts.empty() || kept.definition != definition || !registry::Cache::use(*entry)) {
            continue;
        }
        FlatImage last{entry->path, {}};
        for (const KeyPart& part : kept.parts) {
            last.keys.push_back(part.digest);
        }
        return last;
    }
    return std::nullopt;
}

/// The layers of both trees above what they have in common; nothing where one is no longer kept.
class Comparison {
public:
    explicit Comparison(const StageContext& context) : context_(context) {}

    Result<bool> find_layers(const std::vector<std::string>& before,
                             const std::vector<std::string>& after) {
        const auto common = static_cast<std::size_t>(
            std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first -
            before.begin());
        if (common == 0) {
            return false;
        }
        for (std::size_t i = common; i < before.size(); ++i) {
            const auto file = context_.cache.get(
                "steps", layer_key(before[i], context_.way.attributes, context_.owners));
            if (!file) {
                return false;
            }
            CYBELE_TRY(const fs::path folder, new_folder());
            CYBELE_CHECK(show_squashfs(*file, 0, fs::file_size(*file), folder, context_.way));
            trees_.layers.push_back(folder);
        }
        const auto own = context_.layers->folders();
        for (std::size_t i = common; i < own.size(); ++i) {
            trees_.layers.push_back(own[i]);
        }
        trees_.layers.push_back(context_.layers->upper());
        return true;
    }
    Result<fs::path> new_folder() {
        fs::path folder = context_.surroundings.work / fmt::format("delta-{}", count_++);
        CYBELE_CHECK(make_directories(folder));
        return folder;
    }
    [[nodiscard]] DeltaTrees& trees() {
        return trees_;
    }

private:
    const StageContext& context_;
    DeltaTrees trees_;
    unsigned count_ = 0;
};

Result<std::optional<Delta>> flat_since(const StageContext& context, const std::string& why) {
    context.report("not a delta but a flat image, since " + why);
    return std::optional<Delta>();
}

} // namespace

std::vector<KeyPart> parts_of_flat(const StageKeys& keys) {
    std::vector<KeyPart> parts = {{kBase, keys.base}};
    for (const StepKey& step : keys.steps) {
        parts.push_back({kStep, step.key});
    }
    return parts;
}

Result<std::optional<Delta>> find_delta(const StageContext& context) {
    if (!context.layers) {
        return flat_since(context, "its steps are not kept");
    }
    const auto flat = last_flat_image(context);
    if (!flat) {
        return flat_since(context, "no flat image of this file is kept");
    }
    std::vector<std::string> own;
    for (const KeyPart& part : parts_of_flat(context.keys.back())) {
        own.push_back(part.digest);
    }
    Comparison comparison(context);
    CYBELE_TRY(const bool is_comparable, comparison.find_layers(flat->keys, own));
    if (!is_comparable) {
        return flat_since(context, "it has another base, or a step of the last one is not kept");
    }
    Delta delta;
    CYBELE_TRY(const images::Image image, images::Image::open(flat->file));
    CYBELE_TRY(const images::Descriptor partition, image.root_squashfs());
    CYBELE_TRY(delta.image, open_for_reading(flat->file));
    delta.base = {delta.image.get(), partition.offset, partition.size};
    DeltaTrees& trees = comparison.trees();
    CYBELE_TRY(trees.before, comparison.new_folder());
    CYBELE_CHECK(
        show_squashfs(flat->file, partition.offset, partition.size, trees.before, context.way));
    trees.after = context.roots.back();
    trees.compared = {".singularity.d"};
    CYBELE_TRY(delta.folder, comparison.new_folder());
    CYBELE_TRY(delta.names, make_delta(trees, delta.folder));
    return std::optional<Delta>(std::move(delta));
}

} // namespace cybele::builder
