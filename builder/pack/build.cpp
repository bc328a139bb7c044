// SPDX-License-Identifier: Apache-2.0
#include "builder/bases/agents.hpp"
#include "builder/bases/image_base.hpp"
#include "builder/files/output.hpp"
#include "builder/files/workspace.hpp"
#include "builder/layers/kept_image.hpp"
#include "builder/layers/layers.hpp"
#include "builder/pack/builder.hpp"
#include "builder/pack/failed_step.hpp"
#include "builder/pack/id_choice.hpp"
#include "builder/pack/keys.hpp"
#include "builder/pack/plan.hpp"
#include "builder/pack/side_by_side.hpp"
#include "builder/pack/stage.hpp"
#include "builder/processes/apart.hpp"
#include "builder/steps/inside.hpp"
#include "builder/steps/packages.hpp"
#include "images/sif/change.hpp"
#include "support/digest.hpp"
#include "support/own_folder.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
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

/// One build on its way through the rooms.
class Build {
public:
    Build(const BuildRequest& request, const Environment& environment)
        : request_(request), environment_(environment), cache_(environment.cache_directory()),
          files_(registry::KnownFiles::open(cache_.directory(), request.use_cache)) {}

    [[nodiscard]] Result<BuildResult> run();

private:
    [[nodiscard]] std::optional<Digest> made_from() const;
    [[nodiscard]] std::optional<BuildResult> find_made();
    void mark_kept() const;
    [[nodiscard]] Result<bool> reuse(const fs::path& image) const;
    [[nodiscard]] Result<void> make_bases();
    [[nodiscard]] Result<void> make(const fs::path& image);
    [[nodiscard]] Result<void> make_apart(const Report& report, const fs::path& image) const;
    [[nodiscard]] Result<void> pack(const StageContext& context, const fs::path& image) const;
    void keep(const StageContext& context,
              const fs::path& image,
              const std::vector<images::CopiedRange>& copied) const;
    [[nodiscard]] Result<void> sign(const fs::path& image) const;
    [[nodiscard]] Result<BuildResult> make_output();
    void tell(const std::string& line) const {
        if (request_.on_step) {
            request_.on_step(line);
        }
    }
    [[nodiscard]] AgentContext agent_context() {
        return {request_, environment_, cache_, files_};
    }

    const BuildRequest& request_;
    const Environment& environment_;
    registry::Cache cache_;
    registry::KnownFiles files_;
    SignalCatcher signals_;
    BuildPlan plan_;
    namespaces::IdMap map_ = namespaces::IdMap::kNone;
    std::vector<StageKeys> keys_;
    std::string image_key_;
    Surroundings surroundings_;
};

/// The bases that must be made outside of our namespaces.
Result<void> Build::make_bases() {
    for (StagePlan& stage : plan_.stages) {
        if (const auto make = find_agent(stage.agent)->make) {
            CYBELE_CHECK(make(stage, agent_context())
                             .map_error(during("making the base (" + stage.agent + ")")));
            CYBELE_CHECK(SignalCatcher::check());
        }
    }
    return {};
}

/// The unsigned image, for a build from which nothing changed.
void Build::keep(const StageContext& context,
                 const fs::path& image,
                 const std::vector<images::CopiedRange>& copied) const {
    if (!request_.use_cache || image_key_.empty()) {
        return;
    }
    const auto layers = context.layers ? context.layers->files() : std::vector<LayerFile>();
    const auto lock = cache_.lock(kImages, image_key_);
    const auto put = lock ? cache_.put(kImages,
                                       image_key_,
                                       [&](const fs::path& file) {
                                           return keep_image(image, copied, layers, file);
                                       })
                          : Result<fs::path>(fail(lock.error()));
    if (!put) {
        context.report("warning: the image is not cached for the next build: " +
                       put.error().message());
        return;
    }
    KeptStep what;
    what.definition = absolute_path(request_.definition_file).native();
    what.step = request_.output.filename().native();
    cache_.note(kImages, image_key_, print_kept(what));
    cache_.prune(kImages, kImageCacheBytes);
}

Result<void> Build::pack(const StageContext& context, const fs::path& target) const {
    images::NewContainer container;
    container.root = context.roots.back();
    container.definition = request_.definition.text;
    container.is_deterministic = request_.is_deterministic;
    container.build_time = request_.now;
    container.pack = request_.pack;
    container.sbom = request_.sbom;
    container.name = request_.name.empty() ? container.name : request_.name;
    container.version = request_.version;
    container.sources = request_.sources;
    if (request_.is_deterministic && !container.pack.clamp_times) {
        container.pack.clamp_times = request_.now;
    }
    container.pack.all_root = map_ == namespaces::IdMap::kOwnRoot;
    std::vector<images::CopiedRange> copied;
    if (context.layers) {
        container.pack.layers = context.layers->shown();
        container.pack.on_copied = [&](const auto& ranges) { copied = ranges; };
    }
    context.report("pack " + printable(request_.output.filename().native()));
    CYBELE_CHECK(images::write_container(target, container).map_error(during("packing the image")));
    keep(context, target, copied);
    return {};
}

Result<void> Build::make_apart(const Report& report, const fs::path& image) const {
    LayerWay way;
    if (request_.use_cache) {
        way = find_layer_way(surroundings_.work);
        if (way.attributes.empty()) {
            report("warning: no step is cached for the next build: " + way.because);
        }
    }
    StageContext context{request_,
                         environment_,
                         cache_,
                         surroundings_,
                         report,
                         keys_,
                         std::string(owners_of(map_)),
                         way,
                         {},
                         {},
                         {}};
    std::vector<std::size_t> kept;
    for (std::size_t stage = 0; stage < plan_.stages.size(); ++stage) {
        kept.push_back(count_kept(context, stage));
    }
    for (std::size_t stage = 0; stage + 1 < plan_.stages.size(); ++stage) {
        CYBELE_CHECK(build_stage(context, plan_.stages[stage], false));
    }
    SideBySide others(context, find_needs(plan_, keys_, kept));
    CYBELE_CHECK(others.start());
    CYBELE_CHECK(build_stage(context, plan_.stages.back(), true));
    return pack(context, image);
}

/// What a finished output says of itself; nothing where that cannot be known.
std::optional<Digest> Build::made_from() const {
    if (image_key_.empty() || (request_.finish && request_.finish_name.empty())) {
        return std::nullopt;
    }
    return sha256(
        fmt::format("flat\n{}\n{}\n", request_.finish ? request_.finish_name : "", image_key_));
}

/// The output itself, where it is what this build would make.
std::optional<BuildResult> Build::find_made() {
    const auto made = made_from();
    if (!request_.use_cache || !made) {
        return std::nullopt;
    }
    auto found = find_in_place(request_, *made, files_);
    if (found) {
        tell("nothing changed: the image is in place");
        mark_kept();
    }
    return found;
}

/// What the output in place was made of stays as long as it is built.
void Build::mark_kept() const {
    if (const auto known = cache_.get(kImages, image_key_)) {
        (void)KeptImage::open(*known);
    }
}

/// An image that was made from the same: true where it was put at `image`.
Result<bool> Build::reuse(const fs::path& image) const {
    const auto known = request_.use_cache && !image_key_.empty() ? cache_.get(kImages, image_key_)
                                                                 : std::optional<fs::path>();
    const auto kept = known ? KeptImage::open(*known) : std::nullopt;
    if (!kept) {
        return false;
    }
    tell("nothing changed: the image is reused");
    const UniqueFd to(::open(image.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0755));
    if (!to.valid()) {
        return fail(system_error("cannot write " + printable(image.native()), errno));
    }
    CYBELE_CHECK(kept->write(to.get()));
    if (::fsync(to.get()) != 0) {
        return fail(system_error("cannot write " + printable(image.native()), errno));
    }
    return true;
}

Result<void> Build::sign(const fs::path& file) const {
    if (!request_.finish) {
        return {};
    }
    std::vector<images::NewObject> objects;
    {
        CYBELE_TRY(const images::Image image, images::Image::open(file));
        CYBELE_TRY(objects, request_.finish(image));
    }
    return objects.empty() ? Result<void>() : images::add_objects(file, objects, request_.now);
}

Result<void> Build::make(const fs::path& image) {
    const fs::path temporary = building_directory(environment_, plan_.needed_bytes);
    CYBELE_CHECK(make_own_folder(
        {temporary, "the tree that is built", "CYBELE_TMPDIR", OwnFolder::kScratch}));
    CYBELE_CHECK(need_space(temporary, plan_.needed_bytes));
    CYBELE_TRY(const Workspace work, Workspace::make(temporary, map_));
    CYBELE_CHECK(make_bases());
    // Bases that were not known before are now, and with them all that lies on them.
    CYBELE_TRY(keys_, find_keys(plan_, agent_context()));
    files_.save();
    image_key_ = image_key(keys_, request_, owners_of(map_));
    CYBELE_TRY(surroundings_, find_surroundings(request_, environment_));
    surroundings_.work = work.path();
    surroundings_.has_one_id = map_ == namespaces::IdMap::kOwnRoot;
    surroundings_.cache = cache_.directory(); // also with --no-cache: by content, so the same
    surroundings_.definition = absolute_path(request_.definition_file).native();
    if (!surroundings_.ca_file.empty() && request_.is_verbose) {
        tell("build steps trust the certificates of " + printable(surroundings_.ca_file.native()));
    }
    CYBELE_CHECK(run_apart(map_, signals_, request_.on_step, [&](const Report& report) {
        return make_apart(report, image);
    }));
    PackageCache(cache_, {}).prune();
    return {};
}

Result<BuildResult> Build::make_output() {
    CYBELE_TRY(const Workspace output,
               Workspace::make(folder_of(request_.output), namespaces::IdMap::kNone));
    const fs::path image = output.path() / "image.sif";
    CYBELE_TRY(const bool is_reused, reuse(image));
    if (!is_reused) {
        CYBELE_CHECK(make(image));
    }
    CYBELE_CHECK(SignalCatcher::check());
    CYBELE_CHECK(sign(image).map_error(during("signing the image")));
    const auto made = made_from();
    CYBELE_TRY(const UniqueFd fd, open_for_reading(image));
    CYBELE_TRY(BuildResult result, put_in_place(image, request_));
    if (made) {
        remember_in_place(fd.get(), *made, files_);
    }
    return result;
}

Result<BuildResult> Build::run() {
    CYBELE_CHECK(check_output(request_));
    CYBELE_TRY(plan_, make_plan(request_, environment_).map_error(during("planning the build")));
    CYBELE_CHECK(bring_images(plan_, request_, environment_)
                     .map_error(during("bringing the images that are bases")));
    CYBELE_TRY(map_, choose_map([this](const std::string& line) { tell(line); }));
    CYBELE_CHECK(cache_.prepare());
    CYBELE_TRY(const UniqueFd alone, lock_output(request_.output, cache_.directory()));
    CYBELE_TRY(keys_, find_keys(plan_, agent_context()));
    files_.save();
    image_key_ = image_key(keys_, request_, owners_of(map_));
    std::optional<BuildResult> result = find_made();
    if (!result) {
        CYBELE_TRY(result, make_output());
    }
    forget_failed_step(cache_, absolute_path(request_.definition_file));
    if (request_.tells_bases) {
        result->bases = used_bases(plan_);
    }
    return std::move(*result);
}

} // namespace

Result<BuildResult> build(const BuildRequest& request, const Environment& environment) {
    return Build(request, environment).run();
}

} // namespace cybele::builder
