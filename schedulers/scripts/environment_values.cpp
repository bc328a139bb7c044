// SPDX-License-Identifier: Apache-2.0
// What the program finds: variables, the container's options, files with secrets.
#include "launchers/mpi/rules.hpp"
#include "schedulers/scripts/values.hpp"
#include "schedulers/scripts/verification.hpp"
#include "support/characters.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <map>

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

/// A secret is exported by the script itself, in whose log and command lines it must not be: its
/// name cannot be one that the script uses, all of which are in small letters.
void check_secret_name(const Rendering& rendering, const std::string& name) {
    const bool has_capital = std::ranges::any_of(name, is_upper);
    if (!rendering.input.is_plain && !has_capital) {
        rendering.faults.add(rendering.input.job->fault_at(
            "environment." + name,
            problem("secret-name-taken",
                    "the secret `" + name + "` has a name as the script's own variables"),
            "the script reads it into a variable of this name, and its own are in small letters",
            "give it a name in capitals"));
    }
}

void add_secrets(const Rendering& rendering, Values& values) {
    std::vector<Values> secrets;
    secrets.reserve(rendering.plan.secrets.size());
    for (const auto& [name, path] : rendering.plan.secrets) {
        check_secret_name(rendering, name);
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
}

constexpr std::string_view kThreads = "_NUM_THREADS";

/// Words that follow each other and differ before `_NUM_THREADS=` only, as one word:
/// `{OMP,MKL}_NUM_THREADS=2`.
std::vector<std::string> folded(const std::vector<std::string>& words) {
    std::vector<std::string> shorter;
    std::vector<std::string> names;
    std::string ending;
    const auto flush = [&] {
        if (!names.empty()) {
            shorter.push_back(
                (names.size() == 1 ? names.front() : fmt::format("{{{}}}", fmt::join(names, ","))) +
                ending);
            names.clear();
        }
    };
    for (const std::string& word : words) {
        const auto at = std::string_view(word).substr(0, word.find('=')).rfind(kThreads);
        const bool is_last = at != std::string::npos && word[at + kThreads.size()] == '=';
        const std::string rest = is_last ? word.substr(at) : "";
        if (rest.empty() || rest != ending) {
            flush();
        }
        ending = rest;
        names.push_back(word.substr(0, word.size() - rest.size()));
    }
    flush();
    return shorter;
}

/// The variables of the program. `set_variables` also gives them to the container and to hosts that
/// are reached by ssh; what no option can carry is exported alone.
void add_variables(const Rendering& rendering, Values& values) {
    const auto& plan = rendering.plan;
    const Job& job = *rendering.input.job;
    std::map<std::string, std::string> words; // by name: the last value counts
    std::vector<std::string> names;
    std::map<std::string, std::string> alone;
    for (const auto* list : {&plan.variables, &plan.environment}) {
        for (const auto& [name, value] : *list) {
            std::erase(names, name);
            if (is_set_inside(rendering, name)) {
                continue;
            }
            const bool expands = list == &plan.environment && plan.expanded.contains(name);
            const std::string word =
                expands ? expansion_expression(job, value) : word_expression(job, value);
            if (is_for_program_alone(rendering, name)) {
                alone[name] = word;
                continue;
            }
            names.push_back(name);
            words[name] = fmt::format("{}={}", name, word);
        }
    }
    std::vector<std::string> own; // of a batch launch
    own.reserve(alone.size());
    for (const auto& [name, word] : alone) {
        own.push_back(fmt::format("{}={}", name, word));
    }
    values["own-variables"] = lines_of_words(own, 18);
    const bool uses_node_file = plan.uses_node_file && plan.kind != launchers::LaunchKind::kBatch;
    const auto carried = program_words(rendering).container_variables;
    std::vector<std::string> all;
    std::vector<std::string> exports;
    std::vector<std::string> exported;
    std::vector<std::string> settings;
    for (const std::string& name : names) {
        const bool is_set = job.image ? contains(carried, name) : uses_node_file;
        all.push_back(words[name]);
        (is_set ? settings : exports).push_back(words[name]);
        if (!is_set) {
            exported.push_back(name);
        }
    }
    values["variables"] = lines_of_words(all, 11);
    values["exports"] = lines_of_words(folded(exports), 11);
    values["exported"] = wrapped(exported, 14);
    values["has-settings"] = !settings.empty();
    values["settings"] = lines_of_words(folded(settings), 18);
    values["has-environment"] =
        job.image.has_value() || !names.empty() || !own.empty() || !plan.secrets.empty();
}

/// What keeps an MPI from copying out of another process, unless the user has set it: the settings
/// of its family and version where they are known, and those of UCX, which any may use.
void add_copy_settings(const Rendering& rendering, Values& values) {
    const auto rows = compatibility::circumstance_rows();
    const auto& mpi = rendering.plan.image_mpi;
    const compatibility::Version version = compatibility::parse_version(mpi.version);
    const auto is_own = [&](const compatibility::CircumstanceRow& row) {
        return row.circumstance == compatibility::Circumstance::kOwnUserNamespace &&
               row.family == mpi.family && (!version.is_known || row.image.holds(version));
    };
    const bool is_known = std::ranges::any_of(rows, is_own);
    std::vector<std::string> settings;
    std::vector<std::string> names;
    for (const auto& row : rows) {
        if (row.circumstance != compatibility::Circumstance::kOwnUserNamespace) {
            continue;
        }
        for (const auto& option : row.rule.options) {
            const std::string name(option.variable);
            const bool is_needed = !is_known || is_own(row) || name.starts_with("UCX_");
            if (name.empty() || !is_needed || contains(names, name)) {
                continue;
            }
            settings.push_back(fmt::format("\"${{{}:={}}}\"", name, option.value));
            names.push_back(name);
        }
    }
    values["copy-settings"] = wrapped(settings, 6);
    values["copy-names"] = wrapped(names, 15);
}

} // namespace

void add_environment(const Rendering& rendering, Values& values) {
    const auto& plan = rendering.plan;
    const Job& job = *rendering.input.job;
    add_variables(rendering, values);
    add_secrets(rendering, values);
    values["for-users"] = plan.single_copy == launchers::SingleCopy::kOffForUsers;
    values["single-copy"] = job.image.has_value() && !plan.launcher.empty() &&
                            plan.single_copy != launchers::SingleCopy::kOn;
    add_copy_settings(rendering, values);
    values["pmix-fence"] = plan.pmi.starts_with("pmix") && plan.nodes > 1;
    add_gpus(rendering, values);
    add_container_options(rendering, values);
}

} // namespace cybele::schedulers
