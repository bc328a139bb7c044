// SPDX-License-Identifier: Apache-2.0
#include "builder/apart.hpp"
#include "builder/bootstrap.hpp"
#include "builder/builder.hpp"
#include "builder/inside.hpp"
#include "builder/output.hpp"
#include "builder/plan.hpp"
#include "builder/stage.hpp"
#include "builder/workspace.hpp"
#include "support/digest.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

/// Root needs no user namespace; a user needs the range of subordinate ids, for packages own files
/// by many ids.
Result<namespaces::IdMap> choose_map() {
    if (::geteuid() == 0) {
        return namespaces::IdMap::kNone;
    }
    const namespaces::Abilities abilities = namespaces::probe_abilities();
    if (!abilities.user_namespaces || !abilities.subordinate_ids) {
        return fail(ErrorCode::kEnvironment,
                    "this user cannot build images here",
                    abilities.user_namespaces ? abilities.subordinate_ids_because
                                              : abilities.user_namespaces_because,
                    "'cybelectl doctor' says what is missing and how to mend it");
    }
    return namespaces::IdMap::kSubordinate;
}

/// The bases that must be made outside of our namespaces.
Result<void> make_bases(BuildPlan& plan,
                        const BuildRequest& request,
                        const Environment& environment,
                        const registry::Cache& cache) {
    for (StagePlan& stage : plan.stages) {
        if (stage.agent != "debootstrap") {
            continue;
        }
        CYBELE_TRY(const DebianBase base, debian_base(*stage.stage, request));
        CYBELE_TRY(stage.source, make_debian_base(base, request, environment, cache));
        CYBELE_CHECK(SignalCatcher::check());
        // The digest that the cache keeps beside the file: another base, other steps.
        CYBELE_TRY(const std::string digest, read_file(stage.source.native() + ".sha256"));
        stage.base_key = "debootstrap " + digest;
    }
    return {};
}

Result<void> pack(const StageContext& context, const fs::path& target) {
    const BuildRequest& request = context.request;
    images::NewContainer container;
    container.root = context.roots.back();
    container.definition = request.definition.text;
    container.is_deterministic = request.is_deterministic;
    container.build_time = request.now;
    container.pack = request.pack;
    if (request.is_deterministic && !container.pack.clamp_times) {
        container.pack.clamp_times = request.now;
    }
    return images::write_container(target, container);
}

Result<void> make_image(StageContext& context, const BuildPlan& plan, const fs::path& target) {
    for (const StagePlan& stage : plan.stages) {
        CYBELE_CHECK(build_stage(context, stage, &stage == &plan.stages.back()));
    }
    context.report("pack " + printable(context.request.output.filename().native()));
    return pack(context, target);
}

/// The store of packages that %post downloads: one per definition file, since a script may put
/// anything there.
fs::path package_store(const BuildRequest& request, const Environment& environment) {
    const std::string key =
        hex(sha256(absolute_path(request.definition_file).native())).substr(0, 16);
    return environment.cache_directory() / "debs" / key;
}

} // namespace

Result<BuildResult> build(const BuildRequest& request, const Environment& environment) {
    CYBELE_CHECK(check_output(request));
    CYBELE_TRY(BuildPlan plan, make_plan(request, environment));
    CYBELE_TRY(const namespaces::IdMap map, choose_map());
    const fs::path temporary = building_directory(environment, plan.needed_bytes);
    CYBELE_CHECK(need_space(temporary, plan.needed_bytes));
    const SignalCatcher signals;
    const registry::Cache cache(environment.cache_directory());
    CYBELE_TRY(const Workspace output,
               Workspace::make(folder_of(request.output), namespaces::IdMap::kNone));
    CYBELE_TRY(const Workspace work, Workspace::make(temporary, map));
    CYBELE_CHECK(make_bases(plan, request, environment, cache));
    CYBELE_TRY(Surroundings surroundings, find_surroundings(request, environment));
    surroundings.work = work.path();
    surroundings.packages = request.use_cache ? package_store(request, environment) : fs::path();
    if (!surroundings.ca_file.empty() && request.is_verbose && request.on_step) {
        request.on_step("build steps trust the certificates of " +
                        printable(surroundings.ca_file.native()));
    }
    const fs::path image = output.path() / "image.sif";
    const auto make = [&](const Report& report) -> Result<void> {
        StageContext context{request, environment, cache, surroundings, report, {}, {}, {}};
        return make_image(context, plan, image);
    };
    CYBELE_CHECK(run_apart(map, signals, request.on_step, make));
    return put_in_place(image, request);
}

} // namespace cybele::builder
