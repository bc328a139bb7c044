// SPDX-License-Identifier: Apache-2.0
// The function of the fuzz target, on every file of its corpus; it aborts where something is wrong.
// NOLINTNEXTLINE(bugprone-suspicious-include): the target itself, not a copy
#include "../../fuzz/import_fuzz.cpp"
#include "support/file.hpp"

#include <filesystem>

#include <doctest/doctest.h>

TEST_CASE("the fuzz corpus of imports becomes Recipes or is refused") {
    const auto folder = std::filesystem::path(CYBELE_TESTS_DIR) / "fuzz/corpus/import";
    std::size_t count = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        CAPTURE(file.path());
        const auto bytes = cybele::read_file(file.path());
        REQUIRE(bytes.has_value());
        CHECK(LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes->data()),
                                     bytes->size()) == 0);
        ++count;
    }
    CHECK(count >= 20);
}
