// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/default_outputs.hpp"

#include "schedulers/reading/script_shell.hpp"
#include "support/yaml_print.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

constexpr std::array<DefaultOutputs, 4> kDefaultOutputs{{
    {Reader::kSlurm, "slurm-%j.out", "", "_%a", false, false},
    {Reader::kTorque, "%x.o%j", "%x.e%j", "-%a", true, true},
    {Reader::kPbspro, "%x.o%j", "%x.e%j", ".%a", true, false},
    {Reader::kNone, "%x-%j.out", "%x-%j.err", "_%a", false, false},
}};

/// Who chooses the names for jobs of a dialect; the local scheduler has those of every Job.
Reader reader_of_dialect(std::string_view dialect) {
    return dialect == "torque"   ? Reader::kTorque
           : dialect == "pbspro" ? Reader::kPbspro
           : dialect == "local"  ? Reader::kNone
                                 : Reader::kSlurm;
}

} // namespace

const DefaultOutputs& default_outputs(Reader reader) {
    return *std::ranges::find(kDefaultOutputs, reader, &DefaultOutputs::reader);
}

std::string default_output(bool has_array, const DefaultOutputs& defaults, std::string_view need) {
    const bool is_errors = need == "stderr" && !defaults.errors.empty();
    std::string pattern(is_errors ? defaults.errors : defaults.output);
    if (has_array) {
        pattern.insert(defaults.is_pbs ? pattern.size() : pattern.rfind('.'), defaults.of_element);
    }
    return pattern;
}

std::string setup_of_submit_folder(const BatchScript& script, BatchOptions& options) {
    const bool starts_there = script.find("workdir") != nullptr;
    const std::string folder = starts_there ? "" : script.find("submit-folder")->value;
    const auto joined = std::ranges::find(options.words, "-j oe");
    const bool is_joined = joined != options.words.end();
    if (script.find("stdout") == nullptr && script.find("stderr") == nullptr &&
        script.find("keep") == nullptr && (is_joined || script.find("join") == nullptr)) {
        const bool has_array = script.find("array") != nullptr;
        const auto put = [&](const char* field, const char* need) {
            options.fields[field] = yaml::double_quoted(
                (folder.empty() ? "" : folder + "/") +
                default_output(has_array, default_outputs(Reader::kTorque), need));
        };
        put("output.stdout", "stdout");
        put("output.stderr", is_joined ? "stdout" : "stderr");
        if (is_joined) {
            options.words.erase(joined);
            ++options.in_fields;
        }
    }
    return starts_there
               ? "setup: export PBS_O_WORKDIR=\"$PWD\" PBS_O_INITDIR=\"$PWD\" # as -d of qsub "
                 "does\n"
               : fmt::format("setup: cd && export PBS_O_WORKDIR={} # as -w of qsub does\n", folder);
}

void set_default_outputs(std::string_view dialect, launchers::Job& job) {
    if (!job.launch.asks_as_written()) {
        return;
    }
    const DefaultOutputs& defaults = default_outputs(reader_of_dialect(dialect));
    const bool has_array = !job.array.empty();
    const bool is_named = job.says("output.stdout");
    if (!is_named) {
        job.output.standard_output = default_output(has_array, defaults, "stdout");
    }
    if (!job.says("output.stderr")) {
        const bool is_one = is_named && !defaults.is_pbs;
        job.output.standard_error = is_one || defaults.errors.empty()
                                        ? job.output.standard_output
                                        : default_output(has_array, defaults, "stderr");
    }
}

} // namespace cybele::schedulers
