// SPDX-License-Identifier: Apache-2.0
#include "launchers/mpi/rules.hpp"

#include <array>

#include <fmt/format.h>

namespace cybele::compatibility {
namespace {

constexpr std::array<std::string_view, 3> kSources{"seen", "source", "documented"};

std::string range_text(const VersionRange& range) {
    if (range.first.empty() && range.last.empty()) {
        return {};
    }
    if (range.first == range.last) {
        return fmt::format(" {}", range.first);
    }
    return fmt::format(" {}-{}", range.first, range.last.empty() ? "later" : range.last);
}

std::string speaks_text(Speaks speaks) {
    constexpr std::array<std::string_view, 4> kTexts{
        "", " with PMIx", " with PMI-2", " without PMI-2"};
    return std::string(kTexts[static_cast<std::size_t>(speaks)]);
}

std::string options_text(const Rule& rule) {
    std::string text;
    for (const Option& option : rule.options) {
        if (!option.variable.empty()) {
            text += fmt::format("{}`{}={}`",
                                text.empty() ? "" : " ",
                                option.variable,
                                option.value.empty() ? "NETWORK" : option.value);
        }
    }
    return text;
}

std::string verdict(const Rule& rule) {
    const std::string options = options_text(rule);
    return fmt::format("{} | {} | {}{}{} |\n",
                       outcome_text(rule.outcome),
                       source_text(rule.source),
                       rule.because,
                       options.empty() ? "" : ": ",
                       options);
}

std::string pairs_table() {
    std::string text = "| MPI of the image | launcher | verdict | known by | because |\n"
                       "|---|---|---|---|---|\n";
    for (const PairRow& row : pair_rows()) {
        text += fmt::format("| {}{}{} | {}{} | ",
                            row.family.empty() ? "any" : row.family,
                            range_text(row.image),
                            speaks_text(row.speaks),
                            launcher_text(row.launcher),
                            row.nodes == Nodes::kSeveral ? ", several nodes" : "");
        text += verdict(row.rule);
    }
    return text;
}

std::string pmix_table() {
    std::string text =
        "| PMIx of the image | PMIx of the launcher | verdict | known by | because |\n"
        "|---|---|---|---|---|\n";
    for (const PmixRow& row : pmix_rows()) {
        const std::string client = range_text(row.client);
        const std::string server = range_text(row.server);
        text +=
            fmt::format("| {} | {}{} | ",
                        client.empty() ? "any" : client.substr(1),
                        server.empty() ? "any" : server.substr(1),
                        row.order == Order::kClientNotNewer ? ", not older than the image's" : "");
        text += verdict(row.rule);
    }
    return text;
}

std::string circumstances_table() {
    std::string text =
        "| between launcher and ranks | MPI of the image | verdict | known by | because |\n"
        "|---|---|---|---|---|\n";
    for (const CircumstanceRow& row : circumstance_rows()) {
        text += fmt::format("| {}{} | {}{} | ",
                            circumstance_text(row.circumstance),
                            row.is_for_pmi2 ? ", srun with pmi2" : "",
                            row.family.empty() ? "any" : row.family,
                            range_text(row.image));
        text += verdict(row.rule);
    }
    return text;
}

std::string machine_table() {
    std::string text = "| rule | verdict | known by | because |\n|---|---|---|---|\n";
    for (const Rule& rule : machine_rules()) {
        text += fmt::format("| {} | {}", rule.id, verdict(rule));
    }
    return text;
}

} // namespace

std::string_view source_text(Source source) {
    return kSources[static_cast<std::size_t>(source)];
}

std::string rules_page() {
    return "### Launcher and image\n\n" + pairs_table() + "\n### PMIx on both sides\n\n" +
           pmix_table() + "\n### Between launcher and ranks\n\n" + circumstances_table() +
           "\n### Machine and bind model\n\n" + machine_table();
}

} // namespace cybele::compatibility
