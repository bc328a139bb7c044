// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/job.hpp"
#include "schedulers/reading/convert.hpp"
#include "schedulers/reading/convert_batch.hpp"
#include "schedulers/reading/explain.hpp"
#include "schedulers/reading/symptoms.hpp"
#include "support/quote.hpp"
#include "tests/fuzz/checks.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace cybele;
using namespace cybele::fuzz;
using namespace cybele::schedulers;

namespace {

void check_input(const Error& error) {
    for (const Fault& fault : error.faults()) {
        must(fault.code == ErrorCode::kInput && !fault.message.empty());
    }
}

/// A Job that is made from a script is one that its own reader takes, and it is the same each time.
void try_conversion(const std::string& text, Reader reader) {
    const auto explanation = explain_script(text, "fuzz.sh", reader);
    if (!explanation) {
        check_input(explanation.error());
        return;
    }
    (void)explanation_text(*explanation);
    (void)explanation_json(*explanation);
    if (!is_utf8(text)) { // refused before, as a Job is UTF-8
        return;
    }
    const auto converted = convert_script(*explanation, "fuzz");
    if (!converted) {
        check_input(converted.error());
        return;
    }
    const auto again = convert_script(*explanation, "fuzz");
    must(again.has_value() && again->yaml == converted->yaml);
    const auto job = launchers::read_job(converted->yaml, "fuzz.yaml");
    must(job.has_value());
    // a body that is carried is carried byte for byte, behind the folder in which qsub starts one
    if (converted->has_body) {
        constexpr std::string_view kStart = "cd # as qsub starts a script\n";
        std::string_view script = job->script;
        script.remove_prefix(script.starts_with(kStart) ? kStart.size() : 0);
        must(script.empty() || script == body_of(explanation->script));
    }
}

} // namespace

/// Batch scripts of others, and the outputs of their jobs. The first byte chooses the reader.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    constexpr Reader kReaders[] = {Reader::kNone, Reader::kSlurm, Reader::kTorque, Reader::kPbspro};
    if (data[0] % 5 == 4) {
        for (const Finding& finding : find_symptoms(text)) {
            must(finding.symptom != nullptr && finding.line > 0 && finding.times > 0);
        }
        return 0;
    }
    try_conversion(text, kReaders[data[0] % 5]);
    return 0;
}
