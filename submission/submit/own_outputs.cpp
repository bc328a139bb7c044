// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/own_outputs.hpp"

#include "schedulers/reading/default_outputs.hpp"

#include <algorithm>
#include <utility>

namespace cybele::submission {
namespace {

using schedulers::DefaultOutputs;
using schedulers::Directive;
using schedulers::Reader;

constexpr std::string_view kNoIndex = "4294967294"; ///< Slurm's %a of a job that is no array

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
        const auto* const found =
            std::ranges::find_if(known, [key](const auto& row) { return row.first == key; });
        if (found == std::end(known) || found->second.empty()) {
            return {};
        }
        pattern += found->second;
    }
    return pattern;
}

/// The output of that need; `named` is its directive's value as a Job's pattern.
std::string output_of(const OwnOutputs& own,
                      const DefaultOutputs& defaults,
                      std::string_view need,
                      const std::string& named) {
    const Directive* const directive = own.script.find(need);
    if (directive == nullptr) {
        return schedulers::default_output(!own.asked.array.empty(), defaults, need);
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

} // namespace

void set_outputs(const OwnOutputs& own, launchers::Output& into) {
    const DefaultOutputs* const defaults = &schedulers::default_outputs(own.script.reader);
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
