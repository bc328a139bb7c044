// SPDX-License-Identifier: Apache-2.0
// The driver of a build: its phases (phases.hpp) in order, with the folders, locks and processes
// that they need.
#include "builder/bases/image_base.hpp"
#include "builder/files/output.hpp"
#include "builder/files/workspace.hpp"
#include "builder/pack/builder.hpp"
#include "builder/pack/failed_step.hpp"
#include "builder/pack/phase_json.hpp"
#include "builder/pack/phases.hpp"
#include "builder/processes/apart.hpp"
#include "builder/steps/inside.hpp"
#include "builder/steps/packages.hpp"
#include "support/own_folder.hpp"
#include "support/quote.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include <sys/stat.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

/// Values of phases come from the process apart among the lines for the user, with this before the
/// phase's name and before the value.
constexpr char kValueMark = '\x01';

template <class Value>
void show(const BuildRequest& request, const std::string& phase, const Value& value) {
    if (request.reporter.on_phase) {
        request.reporter.on_phase(phase, print_json(value));
    }
}

template <class Value>
void show_from_apart(const BuildRequest& request,
                     const Report& report,
                     const std::string& phase,
                     const Value& value) {
    if (request.reporter.on_phase) {
        report(kValueMark + phase + kValueMark + print_json(value));
    }
}

/// What is heard of the process apart.
Report hear(const BuildReporter& reporter) {
    return [&reporter](const StepEvent& event) {
        const std::string& text = event.line;
        if (text.empty() || text.front() != kValueMark) {
            reporter.tell(event);
        } else if (const std::size_t end = text.find(kValueMark, 1); reporter.on_phase) {
            reporter.on_phase(text.substr(1, end - 1), text.substr(end + 1));
        }
    };
}

Result<HostEnvironment>
surroundings_of(const BasedBuild& build, const fs::path& work, const AgentContext& context) {
    const BuildRequest& request = context.request;
    CYBELE_TRY(HostEnvironment found, find_surroundings(request, context.environment));
    found.work = work;
    found.has_one_id = build.map == namespaces::IdMap::kOwnRoot;
    found.cache = context.cache.directory(); // also with --no-cache: by content, so the same
    found.definition = absolute_path(request.source.file).native();
    if (!found.ca_file.empty() && request.reporter.is_verbose) {
        request.reporter.tell("build steps trust the certificates of " +
                              printable(found.ca_file.native()));
    }
    return found;
}

/// From bases to the packed image: what needs trees.
Result<PackedImage> make_image(BasedBuild& build,
                               const fs::path& file,
                               const SignalCatcher& signals,
                               const AgentContext& context) {
    const BuildRequest& request = context.request;
    const fs::path temporary = building_directory(context.environment, build.plan.needed_bytes);
    CYBELE_CHECK(make_own_folder(
        {temporary, "the tree that is built", "CYBELE_TMPDIR", OwnFolder::kScratch}));
    CYBELE_CHECK(need_space(temporary, build.plan.needed_bytes));
    CYBELE_TRY(const Workspace work, Workspace::make(temporary, build.map));
    // Bases that were not known before are known now, and with them all that lies on them.
    CYBELE_TRY(build, make_bases(std::move(build), context));
    CYBELE_TRY(const HostEnvironment host_environment,
               surroundings_of(build, work.path(), context));
    const auto make = [&](const Report& report) -> Result<void> {
        // Whatever the user's umask, every user can read what the build makes in the image. The
        // file of the image has the user's.
        const mode_t own_mask = ::umask(request.steps.umask);
        auto built = run_steps(build, host_environment, report, context);
        (void)::umask(own_mask);
        CYBELE_TRY(const BuiltTrees trees, std::move(built));
        show_from_apart(request, report, "built", trees);
        return pack_image(trees, build, file, report, context).map([](const auto&) {});
    };
    CYBELE_CHECK(run_apart(build.map, signals, hear(request.reporter), make));
    PackageCache(context.cache, {}).prune();
    return PackedImage{file, false};
}

Result<BuildResult>
make_output(BasedBuild& build, const SignalCatcher& signals, const AgentContext& context) {
    const BuildRequest& request = context.request;
    CYBELE_TRY(const Workspace folder,
               Workspace::make(folder_of(request.output), namespaces::IdMap::kNone));
    const fs::path file = folder.path() / "image.sif";
    CYBELE_TRY(std::optional<PackedImage> packed, reuse_image(build, file, context));
    if (!packed) {
        CYBELE_TRY(packed, make_image(build, file, signals, context));
    }
    show(request, "packed", *packed);
    CYBELE_CHECK(SignalCatcher::check());
    CYBELE_TRY(
        const SignedImage image,
        sign_image(std::move(*packed), build, context).map_error(during("signing the image")));
    show(request, "signed", image);
    return name_image(image, context);
}

} // namespace

Result<BuildResult> build(const BuildRequest& request, const Environment& environment) {
    const registry::Cache cache(environment.cache_directory());
    registry::KnownFiles files = registry::KnownFiles::open(cache.directory(), request.use_cache);
    const SignalCatcher signals;
    const AgentContext context{request, environment, cache, files};
    CYBELE_CHECK(check_output(request));
    CYBELE_TRY(BuildPlan plan,
               make_plan(request, environment).map_error(during("planning the build")));
    show(request, "planned", plan);
    CYBELE_CHECK(cache.prepare());
    CYBELE_TRY(const UniqueFd alone, lock_output(request.output, cache.directory()));
    CYBELE_TRY(BasedBuild build, find_bases(std::move(plan), context));
    show(request, "based", build);
    std::optional<BuildResult> result = find_made(build, context);
    if (!result) {
        CYBELE_TRY(result, make_output(build, signals, context));
    }
    forget_failed_step(cache, absolute_path(request.source.file));
    if (request.bases.tells_digests) {
        result->bases = used_bases(build.plan);
    }
    show(request, "named", *result);
    return std::move(*result);
}

} // namespace cybele::builder
