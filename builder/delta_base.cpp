// SPDX-License-Identifier: Apache-2.0
#include "builder/delta_base.hpp"

#include "builder/delta.hpp"
#include "builder/output.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBaseFolder = "base";
constexpr const char* kStep = "step";

struct FlatImage {
    std::shared_ptr<const KeptImage> image;
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
        auto image = KeptImage::open(entry->path);
        if (!image) {
            continue;
        }
        FlatImage last{std::make_shared<const KeptImage>(std::move(*image)), {}};
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
    Result<fs::path> compare(const images::ReadySquashfs& base) {
        const fs::path& output = context_.request.output;
        CYBELE_TRY(trees_.before, new_folder());
        CYBELE_CHECK(show_squashfs(base, output, trees_.before, context_.way));
        trees_.after = context_.roots.back();
        trees_.compared = {".singularity.d"};
        CYBELE_TRY(fs::path folder, new_folder());
        CYBELE_TRY(const std::size_t names, make_delta(trees_, folder));
        context_.report(fmt::format("pack {}: {} names over the last flat image",
                                    printable(output.filename().native()),
                                    names));
        return folder;
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
    std::vector<KeyPart> parts = {{kBaseFolder, keys.base}};
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
    const auto comparison = std::make_shared<Comparison>(context);
    CYBELE_TRY(const bool is_comparable, comparison->find_layers(flat->keys, own));
    if (!is_comparable) {
        return flat_since(context, "it has another base, or a step of the last one is not kept");
    }
    Delta delta;
    delta.base = flat->image;
    delta.compare = [comparison](const images::ReadySquashfs& base) {
        return comparison->compare(base);
    };
    return std::optional<Delta>(std::move(delta));
}

} // namespace cybele::builder
