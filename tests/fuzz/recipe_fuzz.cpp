// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/definition.hpp"
#include "recipes/model/lock.hpp"
#include "recipes/model/recipe.hpp"
#include "tests/fuzz/checks.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

using namespace cybele;
using namespace cybele::fuzz;
using namespace cybele::recipes;

namespace {

/// What is read is rendered, the same each time.
void try_rendering(const Recipe& recipe, const RenderOptions& options) {
    const auto rendered = render_definition(recipe, options);
    if (!rendered) {
        check_refusal(rendered.error());
    } else {
        const auto again = render_definition(recipe, options);
        must(again.has_value() && again->labels == rendered->labels);
    }
    if (const auto file = render_dockerfile(recipe, options); !file) {
        check_refusal(file.error());
    }
    (void)warnings_of(recipe);
}

/// A Recipe with all of its variants. What is left of one when all is resolved is a Recipe.
void try_recipe(const std::string& text) {
    const auto variants = read_variants(text, "fuzz.yaml", {});
    if (!variants) {
        check_refusal(variants.error());
        return;
    }
    must(!variants->empty());
    const Recipe& first = variants->front();
    const auto resolved = read_recipe(first.text, "fuzz.yaml");
    must(resolved.has_value());
    RenderOptions options;
    options.may_be_unverified = true;
    options.mirror = "mirror";
    try_rendering(first, options);
}

/// A Lock that is read and written again pins the same.
void try_lock(const std::string& text) {
    const auto lock = read_lock(text, "fuzz.lock.yaml");
    if (!lock) {
        check_refusal(lock.error());
        return;
    }
    static const Recipe recipe =
        read_recipe("kind: Recipe\nname: fuzz\nbase: debian:12\npackages: {system: [zlib1g]}\n",
                    "fuzz.yaml")
            .value();
    const auto again = read_lock(print_lock(recipe, lock->variants), "again.lock.yaml");
    must(again.has_value() && again->variants.size() == lock->variants.size());
    Lock mine = *again;
    for (LockVariant& variant : mine.variants) {
        RenderOptions options;
        options.lock = &variant;
        try_rendering(recipe, options);
    }
    if (const auto found = locked_variant(*again, recipe); !found) {
        check_refusal(found.error());
    }
}

} // namespace

/// The documents Recipe and Lock. The first byte chooses the kind.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 0) {
        const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
        (data[0] % 2 == 0 ? try_recipe : try_lock)(text);
    }
    return 0;
}
