// SPDX-License-Identifier: Apache-2.0
// Unpacking what somebody else packed.
#include "images/squashfs/squashfs.hpp"
#include "images/squashfs/unpack.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "tree_sample.hpp"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cybele;
using cybele::images::put;
namespace fs = std::filesystem;

namespace {

TempDirectory temporary() {
    auto made = TempDirectory::make(fs::temp_directory_path(), "unpack-test");
    REQUIRE(made);
    return std::move(*made);
}

Result<void> unpack(const fs::path& file, const fs::path& to, images::Whiteouts whiteouts) {
    CYBELE_TRY(const UniqueFd fd, open_for_reading(file));
    CYBELE_TRY(const std::uint64_t size, file_size(fd.get(), file));
    return images::unpack_squashfs({fd.get(), 0, size}, to, whiteouts);
}

} // namespace

TEST_CASE("a name that leads out is refused") {
    const auto dir = temporary();
    put(dir.path() / "tree/..xevil", "content");
    Command command;
    command.argv = {"mksquashfs",
                    (dir.path() / "tree").native(),
                    (dir.path() / "bad.squashfs").native(),
                    "-noappend",
                    "-no-progress",
                    "-noI",
                    "-noD",
                    "-noF"};
    const auto outcome = run_process(command);
    REQUIRE((outcome && outcome->ok()));
    auto bytes = read_file(dir.path() / "bad.squashfs");
    REQUIRE(bytes);
    const std::size_t at = bytes->find("..xevil");
    REQUIRE(at != std::string::npos);
    bytes->replace(at, 7, "../evil");
    REQUIRE(write_file(dir.path() / "bad.squashfs", *bytes));
    const fs::path target = dir.path() / "inside/target";
    fs::create_directories(target);
    const auto unpacked = unpack(dir.path() / "bad.squashfs", target, images::Whiteouts::kDropped);
    REQUIRE_FALSE(unpacked);
    CHECK(unpacked.error().code() == ErrorCode::kInput);
    CHECK_FALSE(fs::exists(dir.path() / "inside/evil"));
}

TEST_CASE("a layer over a folder: whiteouts delete, links below are not followed") {
    const auto dir = temporary();
    const fs::path layer = dir.path() / "layer";
    put(layer / "link/inside", "new");
    put(layer / "file", "new");
    fs::create_directory(layer / "merged");
    if (::mknod((layer / "gone").c_str(), S_IFCHR, 0) != 0) {
        return; // an ordinary user on an older kernel
    }
    const UniqueFd fd(
        ::open((dir.path() / "layer.squashfs").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(images::write_squashfs(layer, fd.get(), 0, {}));
    const fs::path root = dir.path() / "root";
    put(root / "gone/deep/file", "old");
    put(root / "file/was/a/folder", "old");
    put(root / "merged/kept", "old");
    put(dir.path() / "outside/inside", "mine");
    fs::create_symlink(dir.path() / "outside", root / "link");
    REQUIRE(unpack(dir.path() / "layer.squashfs", root, images::Whiteouts::kApplied));
    CHECK_FALSE(fs::exists(root / "gone"));
    CHECK(read_file(root / "file").value_or("") == "new");
    CHECK(read_file(root / "merged/kept").value_or("") == "old");
    CHECK(read_file(root / "link/inside").value_or("") == "new");
    CHECK(read_file(dir.path() / "outside/inside").value_or("") == "mine");
}
