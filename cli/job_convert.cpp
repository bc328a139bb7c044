// SPDX-License-Identifier: Apache-2.0
#include "cli/cli11.hpp"
#include "cli/job_explain.hpp"
#include "kubernetes/convert/convert.hpp"
#include "schedulers/reading/convert.hpp"
#include "support/document_view.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <filesystem>
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

bool is_batch_script(std::string_view text) {
    return text.starts_with("#!") || text.find("#SBATCH") != std::string_view::npos ||
           text.find("#PBS") != std::string_view::npos;
}

Result<Converted> convert_batch_script(const std::string& text, const std::string& file) {
    const std::string name = std::filesystem::path(file).stem().string();
    CYBELE_TRY(const auto explanation, schedulers::explain_script(text, file));
    CYBELE_TRY(const auto conversion, schedulers::convert_script(explanation, name));
    Converted converted{conversion.yaml, {}};
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
    {is_batch_script, convert_batch_script},
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
        "Make a Job from a batch script or a Kubernetes Job; what it could not carry is told.",
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
