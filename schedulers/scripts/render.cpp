// SPDX-License-Identifier: Apache-2.0
#include "schedulers/scripts/render.hpp"

#include "launchers/plan/plan.hpp"
#include "schedulers/dialects/needs.hpp"
#include "schedulers/scripts/plain.hpp"
#include "schedulers/scripts/values.hpp"
#include "support/document_view.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

/// Lines of the user's own text that a batch system would take for directives.
void check_directive_lines(const launchers::Job& job,
                           std::string_view field,
                           std::string_view text,
                           Faults& faults) {
    if (const std::string_view prefix = directive_in(text); !prefix.empty()) {
        faults.add(job.fault_at(
            field,
            problem("script-line-is-directive", fmt::format("a line begins with `{}`", prefix)),
            "batch systems read it as a directive",
            "write the need as a field of the Job, drop the line"));
    }
}

void check_program_text(const launchers::Job& job, bool is_plain, Faults& faults) {
    // A batch launch hands its script over in a file of its own, unless it is plain.
    if (is_plain || job.launch.kind != launchers::LaunchKind::kBatch) {
        check_directive_lines(job, "script", job.script, faults);
    }
    for (std::size_t index = 0; index < job.setup.size(); ++index) {
        check_directive_lines(
            job, fmt::format("setup[{}].run", index), job.setup[index].run, faults);
    }
    for (std::size_t index = 0; index < job.teardown.size(); ++index) {
        const std::string field = fmt::format("teardown[{}].run", index);
        check_directive_lines(job, field, job.teardown[index].run, faults);
    }
    for (std::size_t index = 0; index < job.command.size(); ++index) {
        const std::string field = fmt::format("command[{}]", index);
        check_directive_lines(job, field, job.command[index], faults);
        if (job.command[index].find('\0') != std::string::npos) {
            faults.add(job.fault_at(field,
                                    problem("word-with-nul", "a word holds a NUL"),
                                    "no program can be given it",
                                    "drop it"));
        }
    }
    if (job.script.find('\r') != std::string::npos) {
        faults.add(
            job.fault_at("script",
                         problem("script-carriage-returns", "the script has carriage returns"),
                         "batch systems refuse DOS line ends",
                         "save it with Unix line ends"));
    }
}

/// The tables speak of some versions; of older ones nobody knows what they would do.
void check_version(const RenderInput& input, const Dialect& dialect, Faults& faults) {
    if (dialect.version.empty() || !is_older(dialect.version, dialect.oldest_known)) {
        return;
    }
    faults.add(document::fault_at(
        input.site->source,
        document::mark_of(input.site->marks, "scheduler.version"),
        problem("dialect-version-unsupported",
                fmt::format("{} {} is not known", dialect.name, printable(dialect.version))),
        fmt::format("its rules are known from {} on", dialect.oldest_known),
        "if its commands are newer than that, write their version"));
}

/// A1: what a batch system and bash need of the whole text.
Result<void> check_text(const std::string& text) {
    if (!text.starts_with("#!/bin/bash\n") || !text.ends_with('\n') ||
        text.find('\0') != std::string::npos || text.find('\r') != std::string::npos) {
        return fail(ErrorCode::kInput,
                    problem("template-script-invalid", "the templates make no valid script"),
                    "it must begin with '#!/bin/bash', hold no NUL or carriage return, and end "
                    "with a newline",
                    "fix the template script/body");
    }
    if (!is_utf8(text)) {
        return fail(ErrorCode::kInput,
                    problem("script-not-utf8", "the script would not be UTF-8"),
                    "batch systems and yaml refuse other bytes",
                    "write the Job in UTF-8");
    }
    return {};
}

/// The dialect of the job, with the templates of its Site.
Result<Dialect> dialect_of(const RenderInput& input) {
    const launchers::Site* const site =
        input.site != nullptr && input.site->dialect == input.dialect ? input.site : nullptr;
    CYBELE_TRY(Dialect dialect,
               find_dialect(input.dialect, site == nullptr ? "" : site->scheduler_version));
    if (site == nullptr) {
        return dialect;
    }
    Faults faults;
    for (const launchers::SiteTemplate& own : site->templates) {
        if (!dialect.templates.replace(own.name, own.text, own.file)) {
            faults.add(document::fault_at(
                site->source,
                document::mark_of(site->marks, "templates"),
                problem("site-template-unknown",
                        fmt::format("no template is called '{}'", printable(own.name))),
                fmt::format("'{}' would never be used", printable(own.file)),
                "rename it after the template that it replaces"));
        }
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return dialect;
}

Result<std::string> render_head(const Rendering& rendering) {
    const templates::Values values = head_values(rendering);
    if (rendering.faults.has_errors()) {
        return fail(rendering.faults.take());
    }
    CYBELE_TRY(auto head,
               templates::render(rendering.dialect.templates,
                                 rendering.input.job->launch.asks_as_written() ? "dialect/batch"
                                                                               : "dialect/head",
                                 values));
    check_carried(*rendering.input.job, rendering.dialect, head.used, rendering.faults);
    while (head.text.ends_with('\n')) {
        head.text.pop_back();
    }
    return std::move(head.text);
}

} // namespace

std::string_view directive_in(std::string_view text) {
    constexpr std::array<std::string_view, 3> kPrefixes{"#SBATCH", "#PBS", "#BSUB"};
    for (std::string_view line : text::split(text, '\n')) {
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        for (const std::string_view prefix : kPrefixes) {
            if (line.starts_with(prefix)) {
                return prefix;
            }
        }
    }
    return {};
}

Result<RenderedScript> render_script(const RenderInput& input) {
    CYBELE_TRY(const Dialect dialect, dialect_of(input));
    const launchers::Job& job = *input.job;
    Faults faults;
    const launchers::LaunchPlan plan =
        launchers::make_plan({&job, input.site, input.facts, dialect.place()}, faults);
    check_version(input, dialect, faults);
    check_needs(job, dialect, faults);
    check_program_text(job, input.is_plain, faults);
    const Rendering rendering{input, dialect, plan, faults};
    note_foreign_words(rendering);
    note_unverified_start(rendering);
    templates::Values values = script_values(rendering);
    if (input.is_plain) {
        check_plain(rendering);
        add_plain_values(rendering, values);
    }
    values["has-head"] = dialect.has_head;
    values["head"] = false;
    if (dialect.has_head) {
        CYBELE_TRY(std::string head, render_head(rendering));
        values["head"] = templates::Value(templates::Value::Verbatim{std::move(head)});
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    RenderedScript script;
    CYBELE_TRY(auto rendered,
               templates::render(
                   dialect.templates, input.is_plain ? "script/plain" : "script/body", values));
    script.text = std::move(rendered.text);
    while (script.text.ends_with("\n\n")) { // of a part that is not in it
        script.text.pop_back();
    }
    CYBELE_CHECK(check_text(script.text));
    script.notes = faults.all();
    return script;
}

} // namespace cybele::schedulers
