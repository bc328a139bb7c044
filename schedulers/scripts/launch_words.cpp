// SPDX-License-Identifier: Apache-2.0
// Words on lines: the launch, the log, and what shellcheck has to be told of them.
#include "schedulers/scripts/values.hpp"
#include "schedulers/scripts/verification.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cybele::schedulers {
namespace {

using templates::Value;
using templates::Values;

constexpr std::size_t kWidth = 100;
constexpr std::string_view kIndent = "        ";

/// Functions of the script whose names a program of the host may have, too.
constexpr std::array<std::string_view, 3> kOwnNames{"launch", "main", "refuse"};

std::string number_text(const Values& values, const char* name) {
    const auto* text = std::get_if<std::string>(&values.at(name).held());
    return text == nullptr ? "" : *text;
}

/// `1 node`, `2 nodes`
std::string quantity(const std::string& number, std::string_view what) {
    return fmt::format("{} {}{}", number, what, number == "1" ? "" : "s");
}

/// What the log says of the image.
std::string image_text(const Rendering& rendering) {
    const auto& input = rendering.input;
    if (!input.job->image) {
        return "no image";
    }
    const std::string digest = input.image_digest.value_or("");
    return digest.empty() ? verification_demands(*input.job, input.site).empty()
                                ? "no signature required"
                                : "signature required"
                          : "image " + digest;
}

/// The line of the log that says what starts.
std::vector<std::string> log_words(const Rendering& rendering, const Values& values) {
    const auto& plan = rendering.plan;
    const auto& input = rendering.input;
    const bool is_packed = input.job->sweep && input.job->sweep->pack > 0;
    const std::string processes =
        quantity(number_text(values, "ranks"), is_packed ? "row" : "rank");
    const std::string what = fmt::format("cybelectl: job {}, {}, {}{}, {} each,",
                                         input.job->name,
                                         quantity(number_text(values, "nodes"), "node"),
                                         processes,
                                         is_packed ? " at a time" : "",
                                         quantity(number_text(values, "threads"), "thread"));
    const std::string image = image_text(rendering);
    if (!plan.starter) {
        return {shell_quote(what + " " + image)};
    }
    std::vector<std::string> known;
    if (plan.host_mpi.is_known()) {
        known.push_back("of the host: " + plan.host_mpi.text());
    }
    if (input.job->image) {
        known.push_back("in the image: " + plan.image_mpi.text());
    }
    const std::string mpi = known.empty() ? "" : fmt::format("MPI {}, ", fmt::join(known, ", "));
    return {shell_quote(what), shell_quote(mpi + image)};
}

/// How the program is started: in the container, by the image's runscript, or here.
std::vector<std::string> launch_words(const Rendering& rendering) {
    const auto& plan = rendering.plan;
    const bool has_image = rendering.input.job->image.has_value();
    const ProgramWords program = program_words(rendering);
    std::vector<std::string> words;
    if (!rendering.input.job->input.text.empty()) {
        words.emplace_back("with_input");
    }
    if (plan.starter) {
        words.emplace_back(R"("${launcher[@]}")");
    }
    if (has_image && program.action == "run" && !plan.bind) {
        for (const char* word : {R"("$runtime")", "run", R"("${options[@]}")", R"("$image")"}) {
            words.emplace_back(word);
        }
    } else if (has_image) {
        words.emplace_back(R"("${container[@]}")");
        if (program.action == "run") {
            words.emplace_back("/.singularity.d/runscript");
        }
    } else if (!plan.starter && program.before.empty() && !program.own.empty() &&
               contains(kOwnNames, program.own.front())) {
        words.emplace_back("env");
    }
    words.insert(words.end(), program.before.begin(), program.before.end());
    words.insert(words.end(), program.own.begin(), program.own.end());
    return words;
}

bool has_any(std::string_view text, std::string_view characters) {
    return text.find_first_of(characters) != std::string_view::npos;
}

/// Whether shellcheck would take a literal `$` for a forgotten expansion, a comma for a separator.
bool is_literal(const Rendering& rendering) {
    const launchers::Job& job = *rendering.input.job;
    const auto& plan = rendering.plan;
    const bool is_batch = plan.kind == launchers::LaunchKind::kBatch; // its script is no word
    bool is_found = !is_batch && has_any(job.script, plan.torch ? "$`," : "$`");
    for (const std::string& word : job.command) {
        is_found = is_found || has_any(word, plan.torch ? "$`," : "$`");
    }
    for (const std::string& word : job.arguments) {
        is_found = is_found || has_any(word, "$`");
    }
    for (const launchers::Setup& step : plan.setup) {
        is_found = is_found || (step.is_on_each_node && has_any(step.run, "$`"));
    }
    for (const std::string& word : plan.launcher) {
        is_found = is_found || has_any(word, "$`,");
    }
    for (const auto* list : {&plan.variables, &plan.environment}) {
        for (const auto& [name, value] : *list) {
            const bool expands = list == &plan.environment && plan.expanded.contains(name);
            is_found = is_found || (!expands && has_any(value, "$`"));
        }
    }
    for (std::size_t at = 0; plan.spark && at < plan.spark->properties.size(); ++at) {
        is_found = is_found || has_any(plan.spark->properties[at].second, "$`");
    }
    for (const auto& bind : plan.binds) {
        is_found = is_found || (!bind.expands && has_any(bind.text, "$`,"));
    }
    for (const auto& [name, value] : plan.environment) {
        is_found = is_found || is_set_inside(rendering, name);
    }
    return is_found;
}

} // namespace

Value wrapped(const std::vector<std::string>& words, std::size_t column) {
    const std::size_t room = kWidth - 2; // for a backslash, or a parenthesis
    std::string text;
    for (const std::string& word : words) {
        const auto first = word.substr(0, word.find('\n'));
        if (!text.empty() && column + 1 + first.size() > room) {
            text.append(" \\\n").append(kIndent);
            column = kIndent.size();
        } else if (!text.empty()) {
            text += ' ';
            ++column;
        }
        text += word;
        const auto last = word.rfind('\n');
        column = last == std::string::npos ? column + word.size() : word.size() - last - 1;
    }
    return {Value::Verbatim{std::move(text)}};
}

Value lines_of_words(const std::vector<std::string>& words, std::size_t column) {
    std::vector<Values> lines;
    std::string line;
    for (const std::string& word : words) {
        if (!line.empty() && column + line.size() + 1 + word.size() > kWidth) {
            lines.push_back({{"words", Value(Value::Verbatim{std::move(line)})}});
            line.clear();
        }
        line += (line.empty() ? "" : " ") + word;
    }
    if (!line.empty()) {
        lines.push_back({{"words", Value(Value::Verbatim{std::move(line)})}});
    }
    return {std::move(lines)};
}

void add_launch_words(const Rendering& rendering, Values& values) {
    const auto& plan = rendering.plan;
    values["log"] = wrapped(log_words(rendering, values), 9);
    values["launch-words"] = wrapped(launch_words(rendering), 11);
    values["is-literal"] = is_literal(rendering);
    // No node has less than one CPU.
    values["checks-cpus"] =
        !plan.is_oversubscribed && !rendering.input.job->launch.is_exact &&
        (number_text(values, "ranks-per-node") != "1" || number_text(values, "threads") != "1");
    const bool is_batch = plan.kind == launchers::LaunchKind::kBatch;
    const bool checks_nodes = plan.starter && plan.nodes > 1 && rendering.input.job->image;
    values["has-checks"] =
        !is_batch && (checks_nodes || !plan.probe.empty() || plan.bind || plan.spark);
    values["has-private"] =
        is_batch || !plan.probe.empty() || plan.bind || plan.spark || plan.torch;
}

} // namespace cybele::schedulers
