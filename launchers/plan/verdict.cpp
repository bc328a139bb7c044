// SPDX-License-Identifier: Apache-2.0
#include "launchers/plan/verdict.hpp"

#include "images/inspection/facts.hpp"
#include "launchers/plan/plan_parts.hpp"
#include "support/counted.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::launchers {
namespace {

using compatibility::Circumstance;
using compatibility::Outcome;

constexpr std::array<std::string_view, 7> kVerdictTexts{"works",
                                                        "works with options",
                                                        "aborts",
                                                        "starts N jobs of one rank",
                                                        "not known, but guarded",
                                                        "cannot be guarded",
                                                        "not checked"};

std::string joined(const std::vector<std::string>& parts, std::string_view otherwise) {
    std::string text;
    for (const auto& part : parts) {
        if (!part.empty()) {
            text += (text.empty() ? "" : ", ") + part;
        }
    }
    return text.empty() ? std::string(otherwise) : text;
}

std::string named(std::string_view name, const std::string& value) {
    return value.empty() ? std::string() : fmt::format("{} {}", name, value);
}

std::string after_blank(const std::string& value) {
    return value.empty() ? std::string() : " " + value;
}

std::string host_text(const PlanInput& input, const LaunchPlan& plan) {
    const Site* site = input.site;
    std::vector<std::string> parts;
    if (plan.host_mpi.is_known()) {
        parts.push_back(plan.host_mpi.text());
    }
    if (site != nullptr) {
        const SiteRuntime& runtime = site->runtime;
        parts.push_back(named(site->dialect, site->scheduler_version));
        parts.push_back(site->pmi ? fmt::format("srun offers {}", fmt::join(*site->pmi, " "))
                                  : std::string());
        parts.push_back(joined(
            {runtime.program.empty()
                 ? ""
                 : runtime.program + after_blank(runtime.version) + after_blank(runtime.mode)},
            ""));
        parts.push_back(named("glibc", site->node_glibc));
        parts.push_back(site->node_arch);
    }
    const bool is_here = !input.place.has_queues; // the local scheduler
    return joined(parts,
                  site != nullptr ? "not known"
                  : is_here       ? "this machine; no Site describes its MPI (--site)"
                  : plan.starter
                      ? "not known: no Site is named (--site); assumed to have this launcher"
                      : "not known: no Site is named (--site)");
}

std::string image_text(const PlanInput& input) {
    if (!input.job->image) {
        return "none: the program is the host's";
    }
    if (input.facts == nullptr) {
        return !input.job->image->expanded.empty() ? "not known: only the node knows which it is"
               : input.job->image->recipe.empty()
                   ? "not known: it is not here"
                   : "not known: it is not built yet, or what it is built from changed since";
    }
    const images::ImageFacts& facts = *input.facts;
    return joined({facts.mpi, facts.pmi, facts.libc, facts.architecture},
                  "says nothing of its MPI");
}

/// What the Site's runtime puts between launcher and ranks.
std::vector<Circumstance> circumstances_of(const PlanInput& input) {
    if (input.site == nullptr || input.site->runtime.mode != "userns" || !input.job->image) {
        return {};
    }
    std::vector<Circumstance> circumstances{Circumstance::kOwnUserNamespace};
    if (input.site->runtime.program != "cybelectl") {
        circumstances.push_back(Circumstance::kApptainerWithUserns);
    }
    return circumstances;
}

Confidence sureness_of(Outcome outcome, bool is_guarded) {
    switch (outcome) {
    case Outcome::kWorks:
        return Confidence::kWorks;
    case Outcome::kWorksWithOptions:
        return Confidence::kWorksWithOptions;
    case Outcome::kSingletons:
        return Confidence::kSingletons;
    case Outcome::kAborts:
        return Confidence::kAborts;
    case Outcome::kUnknown:
        break;
    }
    return is_guarded ? Confidence::kGuarded : Confidence::kUnguarded;
}

std::string guard_text(const PlanInput& input, const LaunchPlan& plan) {
    if (!plan.probe.empty()) {
        return "asks " + plan.probe + " in the image before the program starts";
    }
    if (!input.job->launch.guard) {
        return "none: the Job says `guard: false`";
    }
    return "none: nothing in the image can be asked";
}

/// The first launcher of MPI that a line of the script calls; empty: none.
std::string_view launcher_in(std::string_view script) {
    constexpr std::array<std::string_view, 6> kRankStarters{
        "srun", "orterun", "prun", "ibrun", "aprun", "jsrun"};
    constexpr std::string_view kBetweenWords = " \t;&|(){}\"'`$=";
    while (!script.empty()) {
        std::string_view line = script.substr(0, script.find('\n'));
        script.remove_prefix(std::min(line.size() + 1, script.size()));
        while (!line.empty()) {
            const auto begin = std::min(line.find_first_not_of(kBetweenWords), line.size());
            const bool is_comment =
                begin < line.size() && line[begin] == '#' &&
                (begin == 0 || std::string_view(" \t;").find(line[begin - 1]) != line.npos);
            line.remove_prefix(is_comment ? line.size() : begin);
            const std::string_view word = line.substr(0, line.find_first_of(kBetweenWords));
            line.remove_prefix(word.size());
            const std::string_view name = word.substr(word.rfind('/') + 1);
            if (name.starts_with("mpirun") || name.starts_with("mpiexec") ||
                contains(kRankStarters, name)) {
                return name;
            }
        }
    }
    return {};
}

/// A script that starts programs itself, with what can be said without running it.
LaunchVerdict judge_own_launch(const PlanInput& input, const LaunchPlan& plan) {
    const std::string& script = input.job->script;
    const std::string_view launcher = launcher_in(script);
    LaunchVerdict verdict;
    verdict.launch = fmt::format(
        "{} on {} node{}; {}",
        kind_text(plan.kind),
        plan.nodes,
        plan.nodes == 1 ? "" : "s",
        launcher.empty() ? "the script calls no MPI launcher that is known by name"
                         : fmt::format("`{}` in the script starts the ranks", launcher));
    if (launcher.empty()) {
        verdict.guard = "none: the script names nothing that starts ranks";
        return verdict;
    }
    verdict.confidence = Confidence::kNotChecked;
    verdict.guard =
        script.find("CYBELE_GUARD") != std::string::npos ? "the script calls $CYBELE_GUARD itself"
        : input.job->image ? "none: cybelectl does not check that the ranks find each other; start "
                             "`\"$CYBELE_GUARD\" " +
                                 std::string(launcher) + "` before them in the script"
                           : "none: cybelectl does not check that the ranks find each other";
    return verdict;
}

} // namespace

std::string_view sureness_text(Confidence confidence) {
    return kVerdictTexts[static_cast<std::size_t>(confidence)];
}

LaunchVerdict judge_launch(const PlanInput& input, const LaunchPlan& plan) {
    LaunchVerdict verdict;
    const bool is_of_script = plan.kind == LaunchKind::kBatch || plan.kind == LaunchKind::kSerial ||
                              plan.kind == LaunchKind::kOpenmp;
    if (!plan.starter && is_of_script &&
        (plan.kind == LaunchKind::kBatch || !launcher_in(input.job->script).empty())) {
        verdict = judge_own_launch(input, plan);
        verdict.host = host_text(input, plan);
        verdict.image = image_text(input);
        return verdict;
    }
    verdict.host = host_text(input, plan);
    verdict.image = image_text(input);
    if (!plan.starter) {
        verdict.launch =
            fmt::format("{} on {}, without MPI", kind_text(plan.kind), counted(plan.nodes, "node"));
        verdict.guard = "none: no ranks have to find each other";
        const auto& image = input.job->image;
        if (image && input.facts == nullptr && image->recipe.empty() && image->expanded.empty()) {
            verdict.confidence = Confidence::kNotChecked;
        }
        return verdict;
    }
    verdict.launch = fmt::format("{}, {} on {} by {}",
                                 kind_text(plan.kind),
                                 counted(plan.ranks, "rank"),
                                 counted(plan.nodes, "node"),
                                 launcher_text(*plan.starter));
    verdict.guard = guard_text(input, plan);
    const bool is_guarded = !plan.probe.empty();
    if (!input.job->image) {
        // The host's program and launcher are of one MPI; only the guard could tell otherwise.
        verdict.confidence = Confidence::kUnguarded;
        return verdict;
    }
    if (!plan.image_mpi.is_known()) {
        verdict.confidence = is_guarded ? Confidence::kGuarded : Confidence::kUnguarded;
        return verdict;
    }
    verdict.judgement = judge_plan(input, plan, circumstances_of(input));
    verdict.confidence = sureness_of(verdict.judgement.outcome, is_guarded);
    return verdict;
}

std::string print_verdict(const LaunchVerdict& verdict) {
    std::string text =
        fmt::format("launch:  {}\nhost:    {}\nimage:   {}\nguard:   {}\nverdict: {}\n",
                    verdict.launch,
                    verdict.host,
                    verdict.image,
                    verdict.guard,
                    sureness_text(verdict.confidence));
    for (const compatibility::Option& option : verdict.judgement.options) {
        text +=
            fmt::format("  option {}={}\n",
                        option.variable,
                        option.value.empty() ? "the Site's interconnect.network" : option.value);
    }
    for (const compatibility::Rule* rule : verdict.judgement.rules) {
        text += fmt::format("  {} ({}, {}): {}\n",
                            outcome_text(rule->outcome),
                            source_text(rule->source),
                            rule->id,
                            rule->because);
    }
    return text;
}

} // namespace cybele::launchers
