// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/default_outputs.hpp"

#include <algorithm>
#include <array>

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
    return *std::find_if(kDefaultOutputs.begin(),
                         kDefaultOutputs.end(),
                         [reader](const DefaultOutputs& row) { return row.reader == reader; });
}

std::string default_output(bool has_array, const DefaultOutputs& defaults, std::string_view need) {
    const bool is_errors = need == "stderr" && !defaults.errors.empty();
    std::string pattern(is_errors ? defaults.errors : defaults.output);
    if (has_array) {
        pattern.insert(defaults.is_pbs ? pattern.size() : pattern.rfind('.'), defaults.of_element);
    }
    return pattern;
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
