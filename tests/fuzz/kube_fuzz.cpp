// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/check/check.hpp"
#include "kubernetes/convert/convert.hpp"
#include "kubernetes/objects/operator_reader.hpp"
#include "launchers/documents/job.hpp"
#include "tests/fuzz/checks.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

using namespace cybele;
using namespace cybele::fuzz;

/// Kubernetes objects: what is converted is a Job, each finding has a place and words. The first
/// byte chooses.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0] % 4) {
    case 0: {
        const auto converted = kubernetes::convert_object(text, "fuzz.yaml");
        if (!converted) {
            check_refusal(converted.error());
        } else {
            must(launchers::read_job(converted->text, "fuzz-job.yaml").has_value());
        }
        break;
    }
    case 1:
        for (const auto& one : kubernetes::read_as_operator(text).findings) {
            must(!one.what.empty());
        }
        break;
    default:
        for (const auto& one : kubernetes::check_objects(text, "fuzz.yaml").findings) {
            must(!one.fault.message.empty());
        }
        break;
    }
    return 0;
}
