// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/own_outputs.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cybele::submission {
namespace {

using schedulers::Directive;
using schedulers::Reader;

/// Outputs that a batch system chooses by itself, and what it adds to one of an array's element.
struct Defaults {
    Reader reader;
    std::string_view output;
    std::string_view errors; ///< empty: the same file
    std::string_view of_element;
    bool is_pbs;        ///< expands no `%`
    bool adds_to_named; ///< to outputs that the script names, too; OpenPBS writes all into one file
};
constexpr std::array<Defaults, 4> kDefaults{{
    {Reader::kSlurm, "slurm-%j.out", "", "_%a", false, false},
    {Reader::kTorque, "%x.o%j", "%x.e%j", "-%a", true, true},
    {Reader::kPbspro, "%x.o%j", "%x.e%j", ".%a", true, false},
    {Reader::kNone, "%x-%j.out", "%x-%j.err", "_%a", false, false},
}};

constexpr std::string_view kNoIndex = "4294967294"; ///< Slurm's %a of a job that is no array

std::string default_of(bool has_array, const Defaults& defaults, std::string_view need) {
    const bool is_errors = need == "stderr" && !defaults.errors.empty();
    std::string pattern(is_errors ? defaults.errors : defaults.output);
    if (has_array) {
        pattern.insert(defaults.is_pbs ? pattern.size() : pattern.rfind('.'), defaults.of_element);
    }
    return pattern;
}

/// sbatch's pattern as a Job's; empty where a part of it is not known.
std::string of_slurm(const OwnOutputs& own, const std::string& written) {
    const bool has_array = !own.asked.array.empty();
    const bool is_local = own.place.is_local;
    // The elements of an array have ids of their own, which only Slurm knows.
    const std::string own_id = is_local || !has_array ? "%j" : "";
    const std::pair<char, std::string> known[] = {{'x', "%x"},
                                                  {'A', "%j"},
                                                  {'%', "%%"},
                                                  {'j', own_id},
                                                  {'J', own_id},
                                                  {'a', has_array ? "%a" : std::string(kNoIndex)},
                                                  {'N', is_local ? own.place.host : ""},
                                                  {'u', is_local ? own.place.user : ""},
                                                  {'n', is_local ? "0" : ""},
                                                  {'t', is_local ? "0" : ""},
                                                  {'s', is_local ? "batch" : ""}};
    std::string pattern;
    for (std::size_t at = 0; at < written.size(); ++at) {
        if (written[at] != '%') {
            pattern += written[at];
            continue;
        }
        const char key = ++at < written.size() ? written[at] : '\0';
        const auto* const found = std::find_if(std::begin(known),
                                               std::end(known),
                                               [key](const auto& row) { return row.first == key; });
        if (found == std::end(known) || found->second.empty()) {
            return {};
        }
        pattern += found->second;
    }
    return pattern;
}

/// The output of that need; `named` is its directive's value as a Job's pattern.
std::string output_of(const OwnOutputs& own,
                      const Defaults& defaults,
                      std::string_view need,
                      const std::string& named) {
    const Directive* const directive = own.script.find(need);
    if (directive == nullptr) {
        return default_of(!own.asked.array.empty(), defaults, need);
    }
    if (!defaults.is_pbs) {
        return of_slurm(own, directive->value);
    }
    if (named.empty() || directive->value.find('%') != std::string::npos) {
        return {};
    }
    const bool is_split = !own.asked.array.empty() && named.find("%a") == std::string::npos;
    return is_split && defaults.adds_to_named ? named + std::string(defaults.of_element) : named;
}

const Defaults& defaults_of(Reader reader) {
    return *std::find_if(kDefaults.begin(), kDefaults.end(), [reader](const Defaults& row) {
        return row.reader == reader;
    });
}

/// Who chooses the names for jobs of a dialect; the local scheduler has those of every Job.
Reader reader_of_dialect(std::string_view dialect) {
    return dialect == "torque"   ? Reader::kTorque
           : dialect == "pbspro" ? Reader::kPbspro
           : dialect == "local"  ? Reader::kNone
                                 : Reader::kSlurm;
}

} // namespace

void set_default_outputs(std::string_view dialect, launchers::Job& job) {
    if (job.launch.kind != launchers::LaunchKind::kBatch) {
        return;
    }
    const Defaults& defaults = defaults_of(reader_of_dialect(dialect));
    const bool has_array = !job.array.empty();
    const bool is_named = job.says("output.stdout");
    if (!is_named) {
        job.output.standard_output = default_of(has_array, defaults, "stdout");
    }
    if (!job.says("output.stderr")) {
        const bool is_one = is_named && !defaults.is_pbs;
        job.output.standard_error = is_one || defaults.errors.empty()
                                        ? job.output.standard_output
                                        : default_of(has_array, defaults, "stderr");
    }
}

void set_outputs(const OwnOutputs& own, launchers::Output& into) {
    const Defaults* const defaults = &defaults_of(own.script.reader);
    into.standard_output = output_of(own, *defaults, "stdout", own.asked.standard_output);
    const Directive* const join = own.script.find("join");
    const std::string joined = join == nullptr ? "" : join->value;
    const bool is_one = joined == "oe" || (defaults->reader == Reader::kSlurm &&
                                           own.script.find("stderr") == nullptr);
    into.standard_error = is_one ? into.standard_output
                                 : output_of(own, *defaults, "stderr", own.asked.standard_error);
    if (joined == "eo") {
        into.standard_output = into.standard_error;
    }
}

} // namespace cybele::submission
