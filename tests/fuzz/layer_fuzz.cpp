// SPDX-License-Identifier: Apache-2.0
#include "builder/layers/layer_tree.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/scratch.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

using namespace cybele;
using namespace cybele::fuzz;

namespace {

namespace fs = std::filesystem;

std::size_t entries(const fs::path& folder) {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        count += static_cast<std::size_t>(!entry.path().empty());
    }
    return count;
}

/// A folder that layers are put into, with what lies next to it.
struct LayerPlace {
    TempDirectory folder = make_scratch("layer-fuzz");
    fs::path root = folder.path() / "in" / "root";

    LayerPlace() {
        must(fs::create_directories(root));
        must(write_file(folder.path() / "witness", "x").has_value());
    }
};

} // namespace

/// A layer, whatever it says: nothing is written outside of its root.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const LayerPlace place;
    const fs::path& folder = place.folder.path();
    registry::OciLayer layer;
    layer.descriptor.size = size;
    layer.file.path = folder / "layer";
    layer.diff_id = "sha256:" + hex(sha256({reinterpret_cast<const char*>(data), size})); // plain
    must(write_file(layer.file.path, {reinterpret_cast<const char*>(data), size}).has_value());
    {
        auto tree = builder::LayerTree::open(place.root);
        must(tree.has_value());
        if (const auto applied = tree->apply(layer); !applied) {
            check_refusal(applied.error());
        }
    }
    must(entries(folder) == 3 && entries(folder / "in") == 1);
    must(read_file(folder / "witness").value() == "x");
    if (entries(place.root) > 0) {
        fs::remove_all(place.root);
        must(fs::create_directory(place.root));
    } else {
        fs::permissions(place.root, fs::perms::owner_all);
    }
    return 0;
}
