// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/openpgp_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz_openpgp::one(data, size);
    return 0;
}
