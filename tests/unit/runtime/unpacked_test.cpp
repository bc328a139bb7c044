// SPDX-License-Identifier: Apache-2.0
// Images that neither the kernel nor FUSE mounts: unpacked into the cache, listed and removed
// there.
#include "runtime/containers/unpacked_trees.hpp"
#include "tests/unit/runtime/trial.hpp"

#include <csignal>
#include <ctime>

using namespace cybele;
using namespace cybele::runtime;
using trial::As;
using trial::exec;

TEST_CASE("several processes unpack an image once") {
    trial::Image image;
    image.pack();
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) {
        const pid_t pid = fork();
        if (pid == 0) {
            trial::become(image, exec(image, "exit 12"), trial::environment_of(image), As::kUser);
        }
        children.push_back(pid);
    }
    for (const pid_t pid : children) {
        CHECK(wait_for(pid) == 12);
    }
    std::size_t trees = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(image.folder.path() / "cache/user/unpacked")) {
        const std::string name = entry.path().filename();
        trees += name.size() == 64 ? 1U : 0U;
        CHECK(name.find(".part-") == std::string::npos);
    }
    CHECK(trees == 1);
}

TEST_CASE("an unpacked image is listed with its last use, and removed when nothing runs in it") {
    trial::Image image;
    image.pack();
    const std::filesystem::path cache = image.folder.path() / "cache/user";
    const auto environment = trial::environment_of(image);
    const auto is_kept_while_running = [&](Request request) {
        const std::string mark = "43210";
        request.program.arguments = {"/bin/sleep", mark};
        const pid_t program = fork();
        if (program == 0) {
            trial::become(image, request, environment, As::kUser);
        }
        const bool is_running = tiny::becomes_running(mark, true);
        const auto trees = unpacked_trees(cache);
        const bool is_kept = trees.size() == 1 && !remove_unpacked(trees.front()) &&
                             std::filesystem::exists(trees.front().path / "bin/busybox");
        kill(program, SIGKILL);
        return wait_for(program) == 128 + SIGKILL && is_running && is_kept;
    };
    Request request = exec(image, "");
    CHECK(is_kept_while_running(request)); // shown by a bind
    request.files.binds = {"/etc:/new/place"};
    CHECK(is_kept_while_running(request)); // by an underlay
    request.files.binds.clear();
    request.image.writable_tmpfs = true;
    CHECK(is_kept_while_running(request)); // by an overlay
    request.image.writable_tmpfs = false;
    request.image.overlays = {image.root.string() + ":ro"};
    CHECK(is_kept_while_running(request)); // by one that is only read
    request.image.writable_tmpfs = true;
    CHECK(is_kept_while_running(request)); // by both

    const UnpackedTree tree = unpacked_trees(cache).at(0);
    CHECK(tree.image == image.sif);
    CHECK(tree.bytes >= std::filesystem::file_size(image.root / "bin/busybox"));
    CHECK(tree.used >= std::time(nullptr) - 60);
    std::filesystem::create_directories(tree.path.native() + ".part-x/deep"); // of a killed start
    const auto trees = unpacked_trees(cache);
    REQUIRE(trees.size() == 2);
    CHECK(remove_unpacked(trees.back()));
    CHECK(std::filesystem::exists(tree.path));
    CHECK(remove_unpacked(tree));
    CHECK(unpacked_trees(cache).empty());
    CHECK(!std::filesystem::exists(tree.path.native() + ".used"));
    CHECK(trial::run(image, exec(image, "exit 12"), environment, As::kUser).code == 12);
    CHECK(unpacked_trees(cache).size() == 1);
}
