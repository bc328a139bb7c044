// SPDX-License-Identifier: Apache-2.0
#include "cli/job/verdict.hpp"

#include "launchers/plan/verdict.hpp"
#include "schedulers/dialects/dialect.hpp"
#include "support/counted.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace cybele::cli {
namespace {

using Json = nlohmann::ordered_json;

Json rules_json(const compatibility::Judgement& judgement) {
    Json rules = Json::array();
    for (const compatibility::Rule* rule : judgement.rules) {
        rules.push_back({{"id", rule->id},
                         {"outcome", outcome_text(rule->outcome)},
                         {"source", source_text(rule->source)},
                         {"because", rule->because},
                         {"help", rule->help}});
    }
    return rules;
}

/// `runs:    10 (2 lr x 5 seed)`; of a table, and where `exclude` leaves rows out, how many.
std::string runs_text(const launchers::Job& job) {
    if (!job.sweep || job.sweep->names.empty()) {
        return {};
    }
    const launchers::Sweep& sweep = *job.sweep;
    std::string factors;
    std::size_t product = 1;
    for (std::size_t column = 0; column < sweep.names.size(); ++column) {
        std::set<std::string_view> values;
        for (const auto& row : sweep.rows) {
            values.insert(row.at(column));
        }
        factors += fmt::format(
            "{}{} {}", column == 0 ? "" : " x ", values.size(), printable(sweep.names[column]));
        product = std::min(product, sweep.rows.size()) * values.size();
    }
    return fmt::format("runs:    {}{}{}\n",
                       sweep.rows.size(),
                       product == sweep.rows.size() ? fmt::format(" ({})", factors) : "",
                       sweep.pack > 0 ? " in " + counted(sweep.elements(), "element") : "");
}

} // namespace

Result<JobVerdict> job_verdict(const submission::JobInput& input) {
    CYBELE_TRY(const schedulers::Dialect dialect, schedulers::find_dialect(input.dialect));
    const schedulers::RenderInput render = input.render_input();
    const launchers::PlanInput plan_input{render.job, render.site, render.facts, dialect.place()};
    Faults told; // the check has told them already
    const launchers::LaunchPlan plan = launchers::make_plan(plan_input, told);
    const launchers::LaunchVerdict verdict = launchers::judge_launch(plan_input, plan);
    Json options = Json::object();
    for (const auto& option : verdict.judgement.options) {
        options[std::string(option.variable)] = option.value;
    }
    Json document{{"format", 1},
                  {"launch", verdict.launch},
                  {"host", verdict.host},
                  {"image", verdict.image},
                  {"guard", verdict.guard},
                  {"verdict", sureness_text(verdict.confidence)},
                  {"options", options},
                  {"rules", rules_json(verdict.judgement)}};
    return JobVerdict{launchers::print_verdict(verdict) + runs_text(input.job),
                      verdict.confidence == launchers::Confidence::kWorks,
                      verdict.confidence != launchers::Confidence::kNotChecked,
                      std::move(document)};
}

} // namespace cybele::cli
