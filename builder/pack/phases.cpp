// SPDX-License-Identifier: Apache-2.0
#include "builder/pack/phases.hpp"

#include "builder/bases/agents.hpp"
#include "builder/bases/image_base.hpp"
#include "builder/files/output.hpp"
#include "builder/layers/kept_image.hpp"
#include "builder/pack/id_choice.hpp"
#include "builder/pack/side_by_side.hpp"
#include "builder/pack/stage.hpp"
#include "images/container/container.hpp"
#include "images/sif/change.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kImages = "images";
constexpr std::uint64_t kImageCacheBytes = std::uint64_t{10} << 30U;

/// All names of trees that can be known by now.
Result<void> find_names(BasedBuild& build, const AgentContext& context) {
    CYBELE_TRY(build.keys, find_keys(build.plan, context));
    context.files.save();
    build.image_key = image_key(build.keys, context.request, owners_of(build.map));
    return {};
}

/// The unsigned image, for a build from which nothing changed.
Result<void> keep(const BuiltTrees& trees,
                  const BasedBuild& build,
                  const fs::path& image,
                  const std::vector<images::CopiedRange>& copied,
                  const AgentContext& context) {
    const BuildRequest& request = context.request;
    const registry::Cache& cache = context.cache;
    if (!request.use_cache || build.image_key.empty()) {
        return {};
    }
    const auto layers = trees.layers ? trees.layers->files() : std::vector<LayerFile>();
    CYBELE_TRY(const auto lock, cache.lock(kImages, build.image_key));
    CYBELE_CHECK(cache.put(kImages, build.image_key, [&](const fs::path& file) {
        return keep_image(image, copied, layers, file);
    }));
    KeptStep what;
    what.definition = absolute_path(request.source.file).native();
    what.step = request.output.filename().native();
    cache.note(kImages, build.image_key, print_kept(what));
    cache.prune(kImages, kImageCacheBytes);
    return {};
}

/// What a finished output says of itself; nothing where that cannot be known.
std::optional<Digest> made_from(const BasedBuild& build, const BuildSigning& signing) {
    if (build.image_key.empty() || (signing.sign && signing.signers.empty())) {
        return std::nullopt;
    }
    return sha256(
        fmt::format("flat\n{}\n{}\n", signing.sign ? signing.signers : "", build.image_key));
}

/// The stages before the image's, while it is made.
struct StagesAtWork {
    StageContext context;
    std::optional<SideBySide> others = {};
};

/// The first stage whose header says the same, but for the stage's name: its base is this one's.
const StagePlan& first_with_base_of(const StagePlan& wanted, const std::vector<StagePlan>& stages) {
    const auto base_of = [](const StagePlan& stage) {
        auto header = stage.stage->header;
        std::erase_if(header, [](const auto& line) { return line.first == "stage"; });
        return header;
    };
    return *std::ranges::find_if(
        stages, [&](const StagePlan& stage) { return base_of(stage) == base_of(wanted); });
}

} // namespace

Result<BasedBuild> find_bases(BuildPlan plan, const AgentContext& context) {
    BasedBuild build;
    build.plan = std::move(plan);
    CYBELE_CHECK(bring_images(build.plan, context.request, context.environment)
                     .map_error(during("bringing the images that are bases", "bases")));
    CYBELE_TRY(build.map, choose_map([&context](const std::string& line) {
                   context.request.reporter.tell(line);
               }));
    CYBELE_CHECK(find_names(build, context));
    return build;
}

Result<BasedBuild> make_bases(BasedBuild build, const AgentContext& context) {
    for (StagePlan& stage : build.plan.stages) {
        const StagePlan& first = first_with_base_of(stage, build.plan.stages);
        if (const auto make = find_agent(stage.agent)->make; make && &first != &stage) {
            stage.source = first.source;
            stage.base_key = first.base_key;
        } else if (make) {
            CYBELE_CHECK(
                make(stage, context).map_error(during("making the base (" + stage.agent + ")")));
            CYBELE_CHECK(SignalCatcher::check());
        }
    }
    CYBELE_CHECK(find_names(build, context));
    return build;
}

Result<BuiltTrees> run_steps(const BasedBuild& build,
                             const HostEnvironment& host_environment,
                             const Report& report,
                             const AgentContext& context) {
    OverlaySupport way;
    if (context.request.use_cache) {
        way = find_overlay_support(host_environment.work);
        if (way.attributes.empty()) {
            report("warning: no step is cached for the next build: " + way.because);
        }
    }
    const auto work =
        std::make_shared<StagesAtWork>(StagesAtWork{{context.request,
                                                     context.environment,
                                                     context.cache,
                                                     host_environment,
                                                     report,
                                                     build.keys,
                                                     std::string(owners_of(build.map)),
                                                     way,
                                                     {},
                                                     {},
                                                     {}}});
    StageContext& stages = work->context;
    const std::vector<StagePlan>& plans = build.plan.stages;
    std::vector<std::size_t> kept;
    for (std::size_t stage = 0; stage < plans.size(); ++stage) {
        kept.push_back(count_kept(stages, stage));
    }
    for (std::size_t stage = 0; stage + 1 < plans.size(); ++stage) {
        add_stage(stages, plans[stage]);
    }
    SideBySide& others = work->others.emplace(stages, find_needs(build.plan, build.keys, kept));
    CYBELE_CHECK(others.start());
    CYBELE_CHECK(build_last_stage(stages, plans.back()));
    return BuiltTrees{stages.roots, stages.layers, work};
}

Result<PackedImage> pack_image(const BuiltTrees& trees,
                               const BasedBuild& build,
                               const fs::path& file,
                               const Report& report,
                               const AgentContext& context) {
    const BuildRequest& request = context.request;
    images::NewContainer container;
    container.root = trees.roots.back();
    container.definition = request.source.definition.text;
    container.is_deterministic = request.time.is_deterministic;
    container.build_time = request.time.now;
    container.pack.compression = request.image.compression;
    container.sbom = request.image.sbom;
    container.name = request.image.name.empty() ? container.name : request.image.name;
    container.version = request.image.version;
    container.sources = request.image.sources;
    if (request.time.is_deterministic) {
        container.pack.clamp_times = request.time.now;
    }
    container.pack.all_root = build.map == namespaces::IdMap::kOwnRoot;
    std::vector<images::CopiedRange> copied;
    if (trees.layers) {
        container.pack.layers = trees.layers->shown();
        container.pack.on_copied = [&](const auto& ranges) { copied = ranges; };
    }
    report({StepEvent::Kind::kPack, "pack " + printable(request.output.filename().native())});
    CYBELE_CHECK(images::write_container(file, container).map_error(during("packing the image")));
    if (const auto kept = keep(trees, build, file, copied, context); !kept) {
        report("warning: the image is not cached for the next build: " + kept.error().message());
    }
    return PackedImage{file, false};
}

Result<SignedImage>
sign_image(PackedImage image, const BasedBuild& build, const AgentContext& context) {
    const BuildSigning& signing = context.request.signing;
    SignedImage done{std::move(image.file), 0, made_from(build, signing)};
    if (!signing.sign) {
        return done;
    }
    std::vector<images::NewObject> objects;
    {
        CYBELE_TRY(const images::Image opened, images::Image::open(done.file));
        CYBELE_TRY(objects, signing.sign(opened));
    }
    done.signatures = objects.size();
    if (!objects.empty()) {
        CYBELE_CHECK(images::add_objects(done.file, objects, context.request.time.now));
    }
    return done;
}

Result<BuildResult> name_image(const SignedImage& image, const AgentContext& context) {
    CYBELE_TRY(const UniqueFd fd, open_for_reading(image.file));
    CYBELE_TRY(BuildResult result, put_in_place(image.file, context.request));
    if (image.made_from) {
        remember_in_place(fd.get(), *image.made_from, context.files);
    }
    return result;
}

std::optional<BuildResult> find_made(const BasedBuild& build, const AgentContext& context) {
    const auto made = made_from(build, context.request.signing);
    if (!context.request.use_cache || !made) {
        return std::nullopt;
    }
    auto found = find_in_place(context.request, *made, context.files);
    if (found) {
        context.request.reporter.tell(
            {StepEvent::Kind::kUnchanged, "nothing changed: the image is in place"});
        // What it was made of stays cached as long as it is built.
        if (const auto known = context.cache.get(kImages, build.image_key)) {
            (void)KeptImage::open(*known);
        }
    }
    return found;
}

Result<std::optional<PackedImage>>
reuse_image(const BasedBuild& build, const fs::path& file, const AgentContext& context) {
    const bool may_be_known = context.request.use_cache && !build.image_key.empty();
    const auto known =
        may_be_known ? context.cache.get(kImages, build.image_key) : std::optional<fs::path>();
    const auto kept = known ? KeptImage::open(*known) : std::nullopt;
    if (!kept) {
        return std::optional<PackedImage>();
    }
    context.request.reporter.tell(
        {StepEvent::Kind::kUnchanged, "nothing changed: the image is reused"});
    const UniqueFd to(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0755));
    if (!to.valid()) {
        return fail(system_error("cannot write " + printable(file.native()), errno));
    }
    CYBELE_CHECK(kept->write(to.get()));
    if (::fsync(to.get()) != 0) {
        return fail(system_error("cannot write " + printable(file.native()), errno));
    }
    return std::optional(PackedImage{file, true});
}

} // namespace cybele::builder
