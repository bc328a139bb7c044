// SPDX-License-Identifier: Apache-2.0
// The function of one fuzz target, on every file of its corpus; it aborts where something is wrong.
#include "support/file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include <doctest/doctest.h>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

TEST_CASE("the fuzz corpus " CYBELE_FUZZ_NAME " is read or refused") {
    std::size_t count = 0;
    for (const auto& file : std::filesystem::directory_iterator(CYBELE_FUZZ_CORPUS)) {
        CAPTURE(file.path().native());
        const auto bytes = cybele::read_file(file.path());
        REQUIRE(bytes.has_value());
        CHECK(LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes->data()),
                                     bytes->size()) == 0);
        ++count;
    }
    CHECK(count >= CYBELE_FUZZ_LEAST);
}
