// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/object.hpp"
#include "kubernetes/objects/operator_reader.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

using launchers::Job;

constexpr std::array kWlmUnserved{
    Unserved{"array",
             [](const Job& job) { return !job.array.empty(); },
             "its operator reports the first element only",
             "submit one job an index"},
};

constexpr std::string_view kDirective = "#SBATCH ";

/// A line of a text, from 1.
std::string_view script_line(std::string_view text, std::size_t line) {
    for (; line > 1 && !text.empty(); --line) {
        text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    }
    return text.substr(0, text.find('\n'));
}

/// What the operator would crash on, ignore or misread is never written.
void refuse_what_operator_misreads(const Object& object) {
    struct Flag {
        const char* field;
        bool is_asked;
    };
    for (const Flag& flag : {Flag{"resources.exclusive", object.job.resources.exclusive},
                             Flag{"requeue", object.job.requeue.has_value()}}) {
        const std::string_view field = flag.field;
        const std::string_view name = field.substr(field.rfind('.') + 1);
        if (flag.is_asked) {
            object.refuse(
                flag.field,
                problem("wlm-flag",
                        fmt::format("`{}` cannot be expressed in a {}", name, object.kind)),
                "a directive without a value crashes WLM-Operator",
                fmt::format("remove `{}`", name));
            return;
        }
    }
    for (const auto& finding : read_as_operator(object.script).findings) {
        if (finding.kind == OperatorFinding::Kind::kUnread) {
            continue; // only where the user brings a script of their own: sbatch reads it all the
                      // same
        }
        const std::string_view line = script_line(object.script, finding.line);
        if (object.is_rendered && line.starts_with(kDirective)) {
            const auto directive = line.substr(kDirective.size());
            refuse_directive(
                object,
                directive,
                problem("wlm-directive",
                        fmt::format("WLM-Operator cannot read '{}'", printable(directive))),
                finding.what,
                "write it without blanks and quotes");
            continue;
        }
        object.refuse(
            finding.line == 0 ? "launch" : "script", // no line at all: nothing is asked for
            problem("wlm-script-line",
                    fmt::format("WLM-Operator cannot read line {} of the script", finding.line)),
            finding.what,
            "write `#SBATCH --option=value` lines after the first, one option per line, without "
            "blanks in values");
    }
}

} // namespace

Documents build_wlm_object(const Object& object) {
    refuse_asked(object, kWlmUnserved);
    if (object.input.is_for_operator && !object.script.empty()) {
        refuse_what_operator_misreads(object);
    }
    Tree::Map spec{{"batch", Tree::Block{object.script}}};
    if (auto selector = node_selector(object); !selector.empty()) {
        spec.emplace_back("nodeSelector", std::move(selector));
    }
    if (auto results = wlm_results(object)) {
        spec.emplace_back("results", std::move(*results));
    }
    return {Tree::Map{{"apiVersion", object.api_version},
                      {"kind", object.kind},
                      {"metadata", object.metadata(object.job.name)},
                      {"spec", std::move(spec)}}};
}

} // namespace cybele::kubernetes
