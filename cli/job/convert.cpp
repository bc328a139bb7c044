// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/convert/convert.hpp"

#include "cli/common/cli11.hpp"
#include "cli/common/output.hpp"
#include "cli/job/context.hpp"
#include "cli/job/explain.hpp"
#include "schedulers/reading/convert.hpp"
#include "submission/submit/own_script.hpp"
#include "support/document.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include <fmt/format.h>

namespace cybele::cli {
namespace {

struct ConvertOptions {
    std::string file;
    std::string output = "-";
    std::string scheduler;
    bool is_strict = false;
    bool replaces = false;
};

/// What a Job is made from; a kind of input is a row of kInputs.
struct Converted {
    std::string yaml;
    std::vector<Fault> left;  ///< warnings: what could not be carried
    std::vector<Fault> notes; ///< … and what is carried, and worth a look
    std::string summary;
};

/// Without carriage returns at the ends of lines, with a warning where there were any.
std::string without_returns(const std::string& text, const std::string& file, Converted& into) {
    std::string clean;
    std::size_t line = 1;
    std::size_t first = 0;
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool is_end = text[at] == '\r' && (at + 1 == text.size() || text[at + 1] == '\n');
        if (is_end) {
            first = first == 0 ? line : first;
            ++count;
            continue;
        }
        line += static_cast<std::size_t>(text[at] == '\n');
        clean += text[at];
    }
    if (count != 0) {
        Fault fault = document::fault_at(
            yaml::Source(file, clean),
            {first, 1},
            problem("carriage-returns-removed",
                    "removed the carriage return at the end of " + std::to_string(count) +
                        (count == 1 ? " line" : " lines")),
            "the script was written with the line ends of Windows, which no shell reads");
        fault.is_warning = true;
        into.left.push_back(std::move(fault));
    }
    return clean;
}

/// Without a byte order mark, with a warning where there was one.
std::string without_mark(const std::string& text, const std::string& file, Converted& into) {
    constexpr std::string_view kMark = "\xef\xbb\xbf";
    if (!text.starts_with(kMark)) {
        return text;
    }
    Fault fault = document::fault_at(
        yaml::Source(file, text),
        {1, 1},
        problem("byte-order-mark-removed", "removed the byte order mark before the first line"),
        "with it, the first line is no `#!`, and no batch system reads the directives");
    fault.is_warning = true;
    into.left.push_back(std::move(fault));
    return text.substr(kMark.size());
}

void tell_remainders(const schedulers::BatchScript& script,
                     const std::vector<schedulers::Remainder>& remainders,
                     const char* what,
                     std::vector<Fault>& into) {
    for (const auto& each : remainders) {
        Fault fault =
            document::fault_at(script.source,
                               {each.line, each.line == 0 ? 0U : 1U},
                               problem("script-line-not-lifted", what + printable(each.text)),
                               each.because,
                               each.help);
        fault.is_warning = true;
        into.push_back(std::move(fault));
    }
}

/// Why the script stays as it is, so that small changes of it may give guard, threads and checks.
void tell_batch(const schedulers::BatchScript& script,
                const std::vector<schedulers::Remainder>& reasons,
                std::vector<Fault>& into) {
    for (const auto& why : reasons) {
        const bool is_last = &why == &reasons.back();
        Fault fault = document::fault_at(
            script.source,
            {why.line, why.line == 0 ? 0U : 1U},
            problem("script-stays-batch",
                    why.text.empty()
                        ? std::string("the Job has `launch: batch`")
                        : "the Job has `launch: batch` because of: " + printable(why.text)),
            why.because,
            is_last ? fmt::format("change {} for a launch with checks, threads and guard, or leave "
                                  "{}: the Job runs the script as it is",
                                  reasons.size() == 1 ? "this line" : "all of them",
                                  reasons.size() == 1 ? "it" : "them")
                    : "");
        fault.is_warning = true;
        into.push_back(std::move(fault));
    }
}

Result<void> check_encoding(const std::string& text, const std::string& file) {
    const bool is_utf16 = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
    if (!is_utf16 && is_utf8(text)) {
        return {};
    }
    return fail(ErrorCode::kInput,
                problem("script-not-utf8", "'" + printable(file) + "' is not UTF-8"),
                is_utf16 ? "it is UTF-16, which no shell reads" : "a Job is a text in UTF-8",
                is_utf16 ? "save it as UTF-8"
                         : "save it as UTF-8, or submit it unchanged: `cybelectl submit --script " +
                               printable(file) + "`");
}

Result<Converted> convert_batch_script(const std::string& text,
                                       const std::string& file,
                                       const std::string& scheduler) {
    const std::string name = std::filesystem::path(file).stem().string();
    CYBELE_CHECK(check_encoding(text, file));
    Converted converted;
    const std::string clean = without_returns(without_mark(text, file, converted), file, converted);
    CYBELE_TRY(const auto explanation,
               schedulers::explain_script(clean, file, reader_of(scheduler)));
    CYBELE_TRY(const auto conversion, schedulers::convert_script(explanation, name));
    converted.yaml = conversion.yaml;
    tell_remainders(explanation.script, conversion.left, "changed or left out: ", converted.left);
    tell_remainders(explanation.script, conversion.notes, "left as it is: ", converted.notes);
    tell_batch(explanation.script, conversion.why_batch, converted.notes);
    converted.summary = fmt::format(
        "cybelectl: options: {} converted to fields, {} copied unchanged, {} changed or left out",
        conversion.in_fields,
        conversion.as_words,
        converted.left.size());
    return converted;
}

Result<Converted>
convert_kubernetes(const std::string& text, const std::string& file, const std::string& scheduler) {
    if (!scheduler.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("convert-scheduler", "--scheduler, and a Kubernetes object"),
                    "no batch system reads it",
                    "drop --scheduler");
    }
    CYBELE_TRY(kubernetes::ConvertedObject object, kubernetes::convert_object(text, file));
    return Converted{std::move(object.text), std::move(object.left), {}, {}};
}

struct Input {
    bool (*is_it)(std::string_view text);
    Result<Converted> (*convert)(const std::string& text,
                                 const std::string& file,
                                 const std::string& scheduler);
};
constexpr Input kInputs[] = {
    {kubernetes::is_object, convert_kubernetes}, // first: scripts may stand in it
    {submission::is_own_script, convert_batch_script},
};

Result<int> convert(const Session& session, const ConvertOptions& options) {
    CYBELE_CHECK(check_output(options.output, {options.file}));
    CYBELE_CHECK(check_new_output(options.output, options.replaces));
    CYBELE_TRY(const std::string text,
               read_file(options.file).map_error(during("reading the batch script")));
    for (const Input& input : kInputs) {
        if (!input.is_it(text)) {
            continue;
        }
        CYBELE_TRY(const Converted converted, input.convert(text, options.file, options.scheduler));
        session.note(converted.left);
        session.note(converted.notes);
        if (!converted.summary.empty()) {
            tell(session, converted.summary);
        }
        CYBELE_CHECK(write_result(options.output, converted.yaml, options.file));
        return !converted.left.empty() && options.is_strict ? static_cast<int>(ErrorCode::kInput)
                                                            : 0;
    }
    return fail(ErrorCode::kInput,
                problem("job-source-unknown",
                        "'" + printable(options.file) + "' is nothing that a Job is made from"),
                "it has no `apiVersion`, no `#!`, no #SBATCH and no #PBS line",
                "name a batch script, or the yaml of a Kubernetes Job");
}

} // namespace

void install_job_convert(CLI::App& job, Session& session) {
    auto options = std::make_shared<ConvertOptions>();
    CLI::App* verb = add_verb(
        job,
        "convert",
        "Convert a batch script or a Kubernetes Job to a Job, and report what cannot be converted.",
        {"cybelectl job convert old.sh -o job.yaml",
         "cybelectl job convert old.pbs --strict",
         "cybelectl job convert pod.yaml -o job.yaml"});
    verb->add_option(
            "file",
            options->file,
            "a script with #SBATCH or #PBS lines, or the manifest of a batch/v1 Job or a Pod")
        ->required()
        ->type_name("FILE");
    verb->add_option("-o,--output", options->output, "output file (default: -, standard output)")
        ->type_name("FILE");
    add_script_reader(*verb, options->scheduler);
    verb->add_flag("--force", options->replaces, "replace the file that -o names");
    verb->add_flag("--strict", options->is_strict, "exit with 3 if a line could not be converted");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return convert(session, *options)
                .map_error(during("converting '" + options->file + "'"));
        };
    });
}

} // namespace cybele::cli
