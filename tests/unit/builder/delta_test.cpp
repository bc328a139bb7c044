// SPDX-License-Identifier: Apache-2.0
// A delta over a tree gives the other tree, whatever the two are.
#include "builder/delta.hpp"
#include "images/squashfs/squashfs.hpp"
#include "images/squashfs/unpack.hpp"
#include "support/process.hpp"
#include "temporary.hpp"

#include <array>

#include <fcntl.h>
#include <rapidcheck.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

namespace {

/// Every name with its type, mode, owner and content.
std::string listing(const fs::path& root) {
    std::vector<std::string> lines;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
        struct stat status {};
        REQUIRE(::lstat(entry.path().c_str(), &status) == 0);
        std::string line = fs::relative(entry.path(), root).native() + " " +
                           std::to_string(status.st_mode) + " " + std::to_string(status.st_uid);
        if (S_ISREG(status.st_mode)) {
            line += " " + content(entry.path());
        } else if (S_ISLNK(status.st_mode)) {
            line += " -> " + fs::read_symlink(entry.path()).native();
        }
        lines.push_back(std::move(line));
    }
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const std::string& line : lines) {
        text += line + "\n";
    }
    return text;
}

/// Lays the delta over a copy of `before`, packed and unpacked as an image has it.
void apply(const fs::path& before, const fs::path& delta, const fs::path& result) {
    fs::copy(before, result, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    const fs::path packed = result.native() + ".squashfs";
    const UniqueFd fd(::open(packed.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    images::PackOptions options;
    options.skip_devices = true;
    const auto size = images::write_squashfs(delta, fd.get(), 0, options);
    REQUIRE(size);
    REQUIRE(images::unpack_squashfs({fd.get(), 0, *size}, result, images::Whiteouts::kApplied));
}

constexpr std::array kNames = {"a", "b", "c"};

/// A path of one to three names of three, so that files and folders meet each other.
fs::path random_path() {
    fs::path path;
    const int depth = *rc::gen::inRange(1, 4);
    for (int i = 0; i < depth; ++i) {
        path /= kNames.at(static_cast<std::size_t>(*rc::gen::inRange(0, 3)));
    }
    return path;
}

void random_change(const fs::path& root) {
    const fs::path path = root / random_path();
    std::error_code error;
    for (fs::path above = path.parent_path(); above != root; above = above.parent_path()) {
        if (fs::exists(fs::symlink_status(above, error)) &&
            !fs::is_directory(fs::symlink_status(above, error))) {
            fs::remove(above, error);
        }
    }
    const int kind = *rc::gen::inRange(0, 4);
    fs::remove_all(path, error);
    if (kind == 0) {
        return;
    }
    fs::create_directories(path.parent_path(), error);
    if (kind == 1) {
        fs::create_directory(path, error);
    } else if (kind == 2) {
        fs::create_symlink("/nowhere", path, error);
    } else {
        put(path, std::to_string(*rc::gen::inRange(0, 3)));
    }
}

} // namespace

TEST_CASE("any tree from any other") {
    if (::geteuid() != 0) {
        return; // a whiteout may need root on older kernels
    }
    CHECK(rc::check([] {
        const auto dir = temporary();
        const fs::path before = dir.path() / "before";
        const fs::path after = dir.path() / "after";
        fs::create_directory(before);
        for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
            random_change(before);
        }
        fs::copy(before, after, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
        for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
            random_change(after);
        }
        fs::create_directory(dir.path() / "delta");
        const auto names = make_delta({before, after, {}, {""}}, dir.path() / "delta");
        REQUIRE(names);
        apply(before, dir.path() / "delta", dir.path() / "result");
        RC_ASSERT(listing(dir.path() / "result") == listing(after));
    }));
}

TEST_CASE("only what a layer names is compared; what it names but did not change is left out") {
    if (::geteuid() != 0) {
        return;
    }
    const auto dir = temporary();
    const fs::path here = dir.path();
    for (const char* tree : {"before", "after"}) {
        put(here / tree / "same", "1");
        put(here / tree / "unseen", tree);
        put(here / tree / "d/x", tree);
        REQUIRE(::chmod((here / tree / "d/x").c_str(), 0600) == 0);
    }
    put(here / "before/gone/deep/file", "1");
    const timespec times[2] = {{1000, 0}, {1000, 0}};
    for (const char* tree : {"before/same", "after/same"}) {
        REQUIRE(::utimensat(AT_FDCWD, (here / tree).c_str(), times, 0) == 0);
    }
    put(here / "layer/same", "1");
    put(here / "layer/d/x", "after");
    REQUIRE(::mknod((here / "layer/gone").c_str(), S_IFCHR, 0) == 0);
    fs::create_directory(here / "delta");
    const auto names =
        make_delta({here / "before", here / "after", {here / "layer"}, {}}, here / "delta");
    REQUIRE(names);
    CHECK(*names == 2);
    struct stat status {};
    CHECK(::lstat((here / "delta/gone").c_str(), &status) == 0);
    CHECK(S_ISCHR(status.st_mode));
    CHECK(status.st_rdev == 0);
    CHECK(content(here / "delta/d/x") == "after");
    CHECK_FALSE(fs::exists(here / "delta/same"));
    CHECK_FALSE(fs::exists(here / "delta/unseen"));
}
