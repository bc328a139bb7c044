// SPDX-License-Identifier: Apache-2.0
// What the program finds: variables, the container's options, files with secrets.
#include "schedulers/scripts/values.hpp"
#include "schedulers/scripts/verification.hpp"
#include "support/quote.hpp"

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

using launchers::Job;
using templates::Value;
using templates::Values;

/// A path that may have `@{index}` in it.
std::string element_path(const Job& job, std::string_view path) {
    if (path.find(launchers::kIndexMark) == std::string_view::npos) {
        return path_expression(path);
    }
    return path.starts_with("~/")
               ? "\"$HOME\"/" + word_expression(job, path.substr(2))
               : word_expression(job, (path.starts_with('-') ? "./" : "") + std::string(path));
}

void add_secrets(const Rendering& rendering, Values& values) {
    std::vector<Values> secrets;
    secrets.reserve(rendering.plan.secrets.size());
    for (const auto& [name, path] : rendering.plan.secrets) {
        secrets.push_back(
            {{"variable", Value(name)}, {"path", Value(element_path(*rendering.input.job, path))}});
    }
    values["has-secrets"] = !secrets.empty();
    values["secrets"] = std::move(secrets);
}

/// The options of the container's start that the script writes down.
void add_container_options(const Rendering& rendering, Values& values) {
    const Job& job = *rendering.input.job;
    std::vector<std::string> options;
    if (!verification_demands(job, rendering.input.site).empty()) {
        options.emplace_back(R"("${verified[@]}")");
    }
    if (const auto* option = std::get_if<std::string>(&values["gpu-option"].held())) {
        options.push_back(*option);
    }
    for (const auto& bind : rendering.plan.binds) {
        options.push_back("-B " + node_expression(job, bind));
    }
    values["options"] = wrapped(options, 13);
    const auto& passed = program_words(rendering).container_variables;
    values["passes"] = job.image.has_value() && !passed.empty();
    values["passed"] = lines_of_words(passed, 12);
}

} // namespace

void add_environment(const Rendering& rendering, Values& values) {
    const auto& plan = rendering.plan;
    const Job& job = *rendering.input.job;
    std::vector<std::string> exports;
    std::vector<std::string> names;
    for (const auto* list : {&plan.variables, &plan.environment}) {
        for (const auto& [name, value] : *list) {
            if (is_set_inside(rendering, name)) {
                continue;
            }
            const bool expands = list == &plan.environment && plan.expanded.contains(name);
            exports.push_back(
                name + "=" +
                (expands ? expansion_expression(job, value) : word_expression(job, value)));
            names.push_back(name);
        }
    }
    values["exports"] = lines_of_words(exports, 11);
    values["exported"] = wrapped(names, 14);
    add_secrets(rendering, values);
    values["for-users"] = plan.single_copy == launchers::SingleCopy::kOffForUsers;
    values["single-copy"] = job.image.has_value() && !plan.launcher.empty() &&
                            plan.single_copy != launchers::SingleCopy::kOn;
    values["pmix-fence"] = plan.pmi.starts_with("pmix") && plan.nodes > 1;
    add_gpus(rendering, values);
    add_container_options(rendering, values);
    values["passes-exported"] = plan.uses_node_file && !names.empty() &&
                                names == program_words(rendering).container_variables;
    values["has-environment"] = job.image.has_value() || !exports.empty() || !plan.secrets.empty();
}

} // namespace cybele::schedulers
