// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/definition.hpp"
#include "definitions/grammar/format.hpp"
#include "definitions/grammar/tree.hpp"
#include "definitions/lint/lint.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

using namespace cybele::definitions;

/// Whatever the bytes: a definition or a refusal; print is the identity; the formatter's second run
/// changes nothing; the linter ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    LintOptions options;
    options.parse.arguments = {{"mirror", "m"}};
    (void)lint_definition(text, "fuzz.def", options);
    if (print_tree(read_tree(text)) != text) {
        std::abort();
    }
    const auto once = format_definition(text, "fuzz.def", options.parse);
    if (once) {
        const auto twice = format_definition(*once, "fuzz.def", options.parse);
        if (!twice || *twice != *once) {
            std::abort();
        }
    }
    return 0;
}
