// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/import.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

using namespace cybele;
using namespace cybele::recipes;

/// Whatever the bytes, and whatever they are said to be: a Recipe that is read and rendered, the
/// same each time, with an account of every line; or faults of the input. The first byte chooses
/// the kind.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const auto words = import_words();
    ImportRequest request;
    request.kind = *find_import_kind(words[data[0] % words.size()]);
    request.text.assign(reinterpret_cast<const char*>(data) + 1, size - 1);
    request.file = "fuzz";
    request.name = "fuzz";
    request.lifts_all = (data[0] & 0x80U) != 0;
    request.look = [](const std::filesystem::path& path) {
        return path.native().size() % 3 == 0   ? PathKind::kFile
               : path.native().size() % 3 == 1 ? PathKind::kDirectory
                                               : PathKind::kUnknown;
    };
    const auto imported = import_recipe(request);
    if (!imported) {
        // what an importer lets through the Recipe's own reader takes
        for (const auto& fault : imported.error().faults()) {
            const bool is_ours = fault.message.starts_with("no Recipe can say this");
            if (fault.code != ErrorCode::kInput || is_ours) {
                std::abort();
            }
        }
        return 0;
    }
    const auto again = import_recipe(request);
    if (!again || again->text != imported->text) {
        std::abort();
    }
    for (const auto& line : imported->lines) {
        const bool is_empty = line.text.find_first_not_of(" \t") == std::string::npos;
        if (line.is_blank != is_empty ||
            (!line.is_blank && !line.is_carried && imported->lost == 0)) {
            std::abort();
        }
    }
    return 0;
}
