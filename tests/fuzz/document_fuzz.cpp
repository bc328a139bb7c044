// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/job.hpp"
#include "launchers/documents/site.hpp"
#include "tests/fuzz/checks.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

/// Whatever the bytes: a Job, a Site, or faults with places.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const bool is_site = text.find("kind: Site") != std::string::npos;
    if (is_site || cybele::fuzz::kIsReplay) {
        (void)cybele::launchers::read_site(text, "fuzz.yaml");
    }
    if (!is_site || cybele::fuzz::kIsReplay) {
        (void)cybele::launchers::read_job(text, "fuzz.yaml");
    }
    return 0;
}
