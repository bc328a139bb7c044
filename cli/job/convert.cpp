// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/convert/convert.hpp"

#include "cli/common/cli11.hpp"
#include "cli/job/explain.hpp"
#include "schedulers/reading/convert.hpp"
#include "schedulers/reading/script_shell.hpp"
#include "submission/submit/own_script.hpp"
#include "support/document.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

namespace cybele::cli {
namespace {

struct ConvertOptions {
    std::string file;
    std::string output = "-";
    bool is_strict = false;
};

/// What a Job is made from; a kind of input is a row of kInputs.
struct Converted {
    std::string yaml;
    std::vector<Fault> left; ///< warnings: what could not be carried
};

/// A Job's `script` is a text for sh.
Result<void> check_shell(const schedulers::BatchScript& script) {
    constexpr std::string_view kShells[] = {"", "sh", "bash", "dash"};
    const std::string shell = schedulers::shell_name_of(script);
    if (std::find(std::begin(kShells), std::end(kShells), shell) != std::end(kShells)) {
        return {};
    }
    const std::string file = printable(script.source.file());
    return fail(Error(document::fault_at(
        script.source,
        {1, 1},
        "a script for " + printable(shell) + " cannot become a Job",
        "the `script` of a Job is run by sh, which reads it differently",
        "submit it unchanged: `cybelectl submit --script " + file + "`; or rewrite it for sh")));
}

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
            "removed the carriage return at the end of " + std::to_string(count) +
                (count == 1 ? " line" : " lines"),
            "the script was written with the line ends of Windows, which no shell reads");
        fault.is_warning = true;
        into.left.push_back(std::move(fault));
    }
    return clean;
}

Result<Converted> convert_batch_script(const std::string& text, const std::string& file) {
    const std::string name = std::filesystem::path(file).stem().string();
    Converted converted;
    const std::string clean = without_returns(text, file, converted);
    CYBELE_TRY(const auto explanation, schedulers::explain_script(clean, file));
    CYBELE_CHECK(check_shell(explanation.script));
    CYBELE_TRY(const auto conversion, schedulers::convert_script(explanation, name));
    converted.yaml = conversion.yaml;
    for (const auto& left : conversion.left) {
        Fault fault = document::fault_at(explanation.script.source,
                                         {left.line, left.line == 0 ? 0U : 1U},
                                         "not carried: " + printable(left.text),
                                         left.because,
                                         left.help);
        fault.is_warning = true;
        converted.left.push_back(std::move(fault));
    }
    return converted;
}

Result<Converted> convert_kubernetes(const std::string& text, const std::string& file) {
    CYBELE_TRY(kubernetes::ConvertedObject object, kubernetes::convert_object(text, file));
    return Converted{std::move(object.text), std::move(object.left)};
}

struct Input {
    bool (*is_it)(std::string_view text);
    Result<Converted> (*convert)(const std::string& text, const std::string& file);
};
constexpr Input kInputs[] = {
    {kubernetes::is_object, convert_kubernetes}, // first: scripts may stand in it
    {submission::is_own_script, convert_batch_script},
};

Result<int> convert(const Session& session, const ConvertOptions& options) {
    CYBELE_TRY(const std::string text, read_file(options.file));
    for (const Input& input : kInputs) {
        if (!input.is_it(text)) {
            continue;
        }
        CYBELE_TRY(const Converted converted, input.convert(text, options.file));
        session.note(converted.left);
        CYBELE_CHECK(write_file(options.output, converted.yaml));
        return !converted.left.empty() && options.is_strict ? static_cast<int>(ErrorCode::kInput)
                                                            : 0;
    }
    return fail(ErrorCode::kInput,
                "'" + printable(options.file) + "' is nothing that a Job is made from",
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
    verb->add_option("file",
                     options->file,
                     "a script with #SBATCH or #PBS lines, or the yaml of a batch/v1 Job or a Pod")
        ->required()
        ->type_name("FILE");
    verb->add_option("-o,--output", options->output, "file; - is standard output")
        ->type_name("FILE");
    verb->add_flag("--strict", options->is_strict, "a line that could not be carried is a fault");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] { return convert(session, *options); };
    });
}

} // namespace cybele::cli
