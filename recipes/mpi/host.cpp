// SPDX-License-Identifier: Apache-2.0
#include "launchers/mpi/judge.hpp"
#include "recipes/mpi/mpi.hpp"
#include "recipes/stage/compilers.hpp"

namespace cybele::recipes {
namespace {

using compatibility::Outcome;

compatibility::Image image_of(const Recipe& recipe, const StageContext& stage, const MpiRow* row) {
    compatibility::Image image;
    image.mpi = compatibility::parse_mpi(recipe.mpi.family +
                                         (row != nullptr ? " " + std::string(row->version) : ""));
    image.pmi = row != nullptr ? row->pmi : std::string_view{};
    if (stage.base.row != nullptr) {
        image.libc = stage.base.row->libc;
    }
    image.architecture = base_of(recipe, *stage.fields).arch;
    image.target = compilers_of(stage).target;
    return image;
}

compatibility::Host host_with(const HostMpi& said, const compatibility::Image& image) {
    compatibility::Host host;
    host.launcher = compatibility::launcher_of(
        said.launcher, said.family, said.pmi, compatibility::pmi_of(image.pmi, image.mpi));
    host.mpi = compatibility::parse_mpi(said.family + " " + said.version);
    if (said.pmi.starts_with("pmix_v")) {
        host.pmix = said.pmi;
    }
    // what holds between nodes holds on one
    host.has_several_nodes = true;
    return host;
}

} // namespace

void check_host(const Recipe& recipe, const StageContext& stage, Faults& faults) {
    const bool is_said =
        recipe.mpi.host && !(recipe.mpi.host->family.empty() && recipe.mpi.host->launcher.empty() &&
                             recipe.mpi.host->pmi.empty());
    if (recipe.mpi.family.empty() || !is_said) {
        return;
    }
    const auto row = mpi_row_of(recipe.mpi, stage.base.row);
    const compatibility::Image image = image_of(recipe, stage, row ? &*row : nullptr);
    const compatibility::Host host = host_with(*recipe.mpi.host, image);
    const auto judgement = compatibility::judge(image, host);
    const bool is_bad =
        judgement.outcome == Outcome::kSingletons || judgement.outcome == Outcome::kAborts;
    if (!is_bad && judgement.outcome != Outcome::kWorksWithOptions) {
        return;
    }
    std::string message = std::string(launcher_text(host.launcher)) + " with " + image.mpi.text() +
                          " in the image " + std::string(outcome_text(judgement.outcome));
    for (const auto& [variable, value] : judgement.options) {
        message += is_bad ? ""
                          : ", " + std::string(variable) + "=" +
                                (value.empty() ? "NETWORK" : std::string(value));
    }
    Fault fault = recipe.fault_at("mpi.host",
                                  problem("mpi-host-pair", std::move(message)),
                                  std::string(judgement.worst().because),
                                  std::string(judgement.worst().help));
    fault.is_warning = !is_bad;
    faults.add(std::move(fault));
}

} // namespace cybele::recipes
