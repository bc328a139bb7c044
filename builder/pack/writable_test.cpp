// SPDX-License-Identifier: Apache-2.0
#include "builder/pack/writable_test.hpp"

#include "builder/layers/layers.hpp"
#include "builder/steps/inside.hpp"
#include "support/file.hpp"

#include <cerrno>
#include <utility>

#include <sys/mount.h>

namespace cybele::builder {

namespace fs = std::filesystem;

Result<ScriptEnd> run_writable_test(const fs::path& root, const HostEnvironment& host_environment) {
    const fs::path place = host_environment.work / "writable-test";
    CYBELE_CHECK(make_directories(place));
    OverlaySupport way = find_overlay_support(place);
    if (way.attributes.empty()) {
        return fail(ErrorCode::kEnvironment,
                    problem("writable-test-impossible", "%test cannot change files here"),
                    way.because,
                    "leave --writable-tmpfs out, or write to /tmp");
    }
    CYBELE_TRY(Layers layers, Layers::make(place / "layers", std::move(way)));
    CYBELE_TRY(const fs::path shown, layers.add_folder());
    if (::mount(root.c_str(), shown.c_str(), nullptr, MS_BIND, nullptr) != 0) {
        return fail(system_error("cannot bind the tree of the image", errno));
    }
    CYBELE_CHECK(layers.begin());
    auto ended = run_test(layers.root(), host_environment, TestTree::kWritable);
    CYBELE_CHECK(layers.end());
    if (::umount2(shown.c_str(), MNT_DETACH) != 0) {
        return fail(system_error("cannot unmount the tree of the image", errno));
    }
    CYBELE_CHECK(remove_tree(place));
    return ended;
}

} // namespace cybele::builder
