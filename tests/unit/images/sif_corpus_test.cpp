// SPDX-License-Identifier: Apache-2.0
// The function of the fuzz target, on every file of its corpus; it aborts where something is wrong.
// NOLINTNEXTLINE(bugprone-suspicious-include): the target itself, not a copy
#include "../../fuzz/sif_fuzz.cpp"
#include "sif_sample.hpp"

TEST_CASE("the fuzz corpus of images is read, changed and read again") {
    std::size_t count = 0;
    for (const auto& file :
         fs::directory_iterator(fs::path(CYBELE_TESTS_DIR) / "fuzz/corpus/sif")) {
        CAPTURE(file.path());
        const std::string bytes = sample::content(file.path());
        CHECK(LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                     bytes.size()) == 0);
        ++count;
    }
    CHECK(count >= 30);
}
