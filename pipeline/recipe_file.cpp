// SPDX-License-Identifier: Apache-2.0
#include "pipeline/recipe_file.hpp"

#include "launchers/documents/site.hpp"
#include "launchers/plan/site_pmi.hpp"
#include "support/file.hpp"

#include <algorithm>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

/// What the Site says of itself, for ranks of this family.
recipes::HostMpi host_of(const launchers::Site& site, const std::string& family) {
    recipes::HostMpi host;
    const auto same = std::ranges::find(site.mpi, family, &launchers::SiteMpi::family);
    if (!site.mpi.empty()) {
        const launchers::SiteMpi& mpi = same == site.mpi.end() ? site.mpi.front() : *same;
        host.family = mpi.family;
        host.version = mpi.version;
        host.launcher = "mpirun";
    }
    const std::string pmi =
        site.pmi ? launchers::pmi_name(&site, family == "openmpi" ? "pmix" : "pmi2") : "";
    if (site.dialect == "slurm" && !pmi.empty()) {
        host.launcher = "srun";
        host.pmi = pmi;
    }
    return host;
}

Result<void>
read_host(recipes::Recipe& recipe, recipes::RecipeMpi& mpi, const std::string& prefix) {
    if (!mpi.host || !mpi.host->is_unread()) {
        return {};
    }
    const std::string named = mpi.host->site;
    const fs::path file = recipe.folder / named;
    auto text = read_file(file);
    if (!text) {
        return fail(
            recipe.fault_at(prefix + "mpi.host",
                            problem("site-unreadable", "cannot read the Site '" + named + "'"),
                            text.error().message(),
                            "name a Site from the Recipe's folder, or write `host: "
                            "{family: …, version: …}`"));
    }
    CYBELE_TRY(const launchers::Site site, launchers::read_site(std::move(*text), file));
    recipes::HostMpi host = host_of(site, mpi.family);
    if (host.launcher.empty()) {
        return fail(
            recipe.fault_at(prefix + "mpi.host",
                            problem("site-without-mpi",
                                    "the Site '" + site.name + "' does not say what MPI it has"),
                            "without it nothing can be checked",
                            "add `mpi: [{family: …, version: …}]` to the Site, as "
                            "`cybelectl site probe` writes it"));
    }
    host.site = named;
    mpi.host = std::move(host);
    return {};
}

Result<void> read_hosts(recipes::Recipe& recipe) {
    CYBELE_CHECK(read_host(recipe, recipe.mpi, ""));
    for (std::size_t stage = 0; stage < recipe.stages.size(); ++stage) {
        CYBELE_CHECK(
            read_host(recipe, recipe.stages[stage].mpi, "stages[" + std::to_string(stage) + "]."));
    }
    return {};
}

} // namespace

Result<recipes::Recipe> read_variant(std::string text,
                                     const fs::path& file,
                                     const std::map<std::string, std::string>& arguments,
                                     const std::string& variant) {
    CYBELE_TRY(recipes::Recipe recipe,
               recipes::read_variant(std::move(text), file, arguments, variant));
    CYBELE_CHECK(read_hosts(recipe));
    return recipe;
}

Result<std::vector<recipes::Recipe>> read_variants(
    std::string text, const fs::path& file, const std::map<std::string, std::string>& arguments) {
    CYBELE_TRY(std::vector<recipes::Recipe> all,
               recipes::read_variants(std::move(text), file, arguments));
    for (recipes::Recipe& recipe : all) {
        CYBELE_CHECK(read_hosts(recipe));
    }
    return all;
}

} // namespace cybele::pipeline
