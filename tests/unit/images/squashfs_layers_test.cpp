// SPDX-License-Identifier: Apache-2.0
// Packing a tree whose files lie compressed in a layer: the same bytes, without reading them again.
#include "images/squashfs/squashfs.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "tree_sample.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace cybele;
using namespace cybele::images;

namespace {

constexpr std::size_t kLayerBlock = 131072;

std::string layer_noise(std::size_t size, std::uint64_t state = 1) {
    std::string bytes(size, '\0');
    for (auto& byte : bytes) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        byte = static_cast<char>(state >> 56U);
    }
    return bytes;
}

/// Becomes about a third as large.
std::string letters(std::size_t size, std::uint64_t state = 1) {
    std::string bytes = layer_noise(size, state);
    std::transform(bytes.begin(), bytes.end(), bytes.begin(), [](char byte) {
        return static_cast<char>('a' + (static_cast<unsigned char>(byte) & 3U));
    });
    return bytes;
}

/// Every way in which a file can lie in a squashfs.
void make_layer_tree(const fs::path& root) {
    put(root / "empty", "");
    put(root / "small", "1");
    put(root / "block", letters(kLayerBlock));
    put(root / "blocks", letters(3 * kLayerBlock, 2));
    put(root / "tail", letters(3 * kLayerBlock + 77, 3));
    put(root / "incompressible", layer_noise(2 * kLayerBlock + 5));
    put(root / "twin/of-blocks", letters(3 * kLayerBlock, 2));
    put(root / "twin/of-incompressible", layer_noise(2 * kLayerBlock + 5));
    put(root / "twin/of-tail", letters(3 * kLayerBlock + 77, 3));
    put(root / "sparse", "");
    fs::resize_file(root / "sparse", 4 * kLayerBlock + 5);
    put(root / "holes",
        letters(kLayerBlock, 4) + std::string(2 * kLayerBlock, '\0') + letters(kLayerBlock, 5));
    put(root / "zeros at the end", letters(kLayerBlock, 6) + std::string(700, '\0'));
    put(root / "a/deep/er/file", letters(kLayerBlock + 1, 7));
    put(root / "a/z", "behind a directory");
    put(root / "linked/first", letters(kLayerBlock + 9, 8));
    fs::create_hard_link(root / "linked/first", root / "a/second name");
    fs::create_symlink("block", root / "link");
    fs::create_directory(root / "no entries");
    for (int at = 0; at < 60; ++at) { // several blocks of tails
        put(root / fmt::format("many/{:02}", at), letters(9000, static_cast<unsigned>(at) + 100));
    }
    shell(
        fmt::format("find '{}' -exec touch -h -d '2001-02-03 04:05:06 UTC' {{}} +", root.string()));
}

Result<std::string> packed(const fs::path& root, const fs::path& file, const PackOptions& options) {
    const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    REQUIRE(fd.valid());
    CYBELE_CHECK(write_squashfs(root, fd.get(), 0, options));
    return read_file(file);
}

std::string plain(const fs::path& root, const fs::path& file) {
    const auto bytes = packed(root, file, {});
    REQUIRE(bytes);
    return *bytes;
}

/// A layer as a file, beside the tree that it shows.
struct Layer {
    TempDirectory directory = scratch();
    fs::path root = directory.path() / "root";
    fs::path file = directory.path() / "layer.squashfs";
    UniqueFd fd;

    Layer() {
        make_layer_tree(root);
    }
    /// Packs the tree into the layer.
    std::string pack() {
        std::string bytes = plain(root, file);
        reopen();
        return bytes;
    }
    void reopen() {
        fd.reset(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
        REQUIRE(fd.valid());
    }
    [[nodiscard]] PackOptions options(std::uint32_t workers = 2) const {
        PackOptions options;
        options.workers = workers;
        options.layers = {{root, fd.get(), fs::file_size(file)}};
        return options;
    }
    /// The tree packed with the layer's help.
    [[nodiscard]] std::string again(std::uint32_t workers = 2) const {
        const auto bytes = packed(root, directory.path() / "again", options(workers));
        REQUIRE_MESSAGE(bytes,
                        (bytes ? "" : bytes.error().message()),
                        (bytes ? "" : bytes.error().faults().front().because));
        return *bytes;
    }
};

/// Other bytes in a file of the same size and time.
void spoil(const fs::path& path) {
    const auto time = fs::last_write_time(path);
    put(path, std::string(fs::file_size(path), '?'));
    fs::last_write_time(path, time);
}

} // namespace

TEST_CASE("what lies in a layer gives the bytes of packing anew, and is not read") {
    Layer layer;
    const std::string bytes = layer.pack();
    // What is in the files now can come from the layer only.
    for (const auto& entry : fs::recursive_directory_iterator(layer.root)) {
        if (entry.is_regular_file() && !entry.is_symlink()) {
            spoil(entry.path());
        }
    }
    for (const std::uint32_t workers : {1U, 4U}) {
        CHECK(layer.again(workers) == bytes);
    }
    CHECK(plain(layer.root, layer.directory.path() / "spoiled") != bytes);
}

TEST_CASE("what was copied of a layer is told, range by range") {
    Layer layer;
    const std::string before = layer.pack();
    put(layer.root / "a/new", letters(2 * kLayerBlock + 3, 20));
    auto options = layer.options();
    std::vector<CopiedRange> ranges;
    options.on_copied = [&](const auto& all) { ranges = all; };
    const std::string bytes = *packed(layer.root, layer.directory.path() / "again", options);
    CHECK(bytes == plain(layer.root, layer.directory.path() / "plain"));
    std::uint64_t copied = 0;
    std::uint64_t end = 0;
    for (const CopiedRange& range : ranges) {
        CHECK(range.fd == layer.fd.get());
        CHECK(range.place >= end);
        CHECK(bytes.substr(range.place, range.bytes) == before.substr(range.offset, range.bytes));
        end = range.place + range.bytes;
        copied += range.bytes;
    }
    CHECK(copied > before.size() / 2);
    // Around the new file, whose blocks lie among the others: few, though blocks are many.
    CHECK(ranges.size() < 10);
}

TEST_CASE("files that a layer lacks or has otherwise are read, among those that it has") {
    Layer layer;
    (void)layer.pack();
    put(layer.root / "new", letters(2 * kLayerBlock + 3, 20));
    put(layer.root / "a/new twin", letters(3 * kLayerBlock, 2)); // of one that the layer has
    put(layer.root / "many/00a", letters(5000, 21));             // moves the tails behind it
    put(layer.root / "blocks", letters(3 * kLayerBlock, 22));    // the same size, another time
    put(layer.root / "small", "12");
    fs::remove(layer.root / "block");
    fs::create_symlink("tail", layer.root / "block");
    fs::remove_all(layer.root / "a/deep");
    put(layer.root / "a/deep", "a file now");
    ::chmod((layer.root / "holes").c_str(), 0750);
    const std::string bytes = plain(layer.root, layer.directory.path() / "plain");
    for (const std::uint32_t workers : {1U, 4U}) {
        CHECK(layer.again(workers) == bytes);
    }
}

TEST_CASE("a file with attributes in the layer is read for them") {
    Layer layer;
    REQUIRE(::setxattr((layer.root / "tail").c_str(), "user.word", "1", 1, 0) == 0);
    const std::string bytes = layer.pack();
    CHECK(layer.again() == bytes);
}

TEST_CASE("the topmost layer that has a name decides, a folder too") {
    Layer layer;
    const std::string bytes = layer.pack();
    const fs::path upper = layer.directory.path() / "upper";
    put(upper / "a/deep/er/file", "");
    put(upper / "blocks", "");
    // In the upper layer: the file is not the one of the squashfs, whatever it looks like.
    spoil(layer.root / "a/deep/er/file");
    spoil(layer.root / "blocks");
    auto options = layer.options();
    options.layers.push_back({upper, -1, 0});
    const fs::path file = layer.directory.path() / "out";
    CHECK(*packed(layer.root, file, options) == plain(layer.root, file));
    CHECK(plain(layer.root, file) != bytes);
    // Two layers, the lower one of other bytes.
    Layer other;
    spoil(other.root / "blocks");
    (void)other.pack();
    options.layers = {other.options().layers[0], layer.options().layers[0]};
    CHECK(*packed(layer.root, file, options) == bytes);
}

TEST_CASE("a layer that is packed otherwise gives nothing") {
    Layer layer;
    const std::string bytes = plain(layer.root, layer.file);
    const auto make = [&](const std::string& words) {
        shell(fmt::format("cd '{}' && rm -f layer.squashfs && "
                          "mksquashfs root layer.squashfs -noappend -quiet -no-progress {}",
                          layer.directory.path().string(),
                          words));
        layer.reopen();
        spoil(layer.root / "blocks"); // would be taken from the layer, if anything were
        const std::string spoiled = plain(layer.root, layer.directory.path() / "plain");
        CHECK(layer.again() == spoiled);
        put(layer.root / "blocks", letters(3 * kLayerBlock, 2));
        shell(fmt::format("touch -d '2001-02-03 04:05:06 UTC' '{}/blocks'", layer.root.string()));
    };
    make("-comp gzip");
    make("-comp zstd -Xcompression-level 3");
    make("-comp zstd -Xcompression-level 4 -b 64K");
    make("-comp lz4");
    // By the name of its level only: what it holds was made by another compressor.
    make("-comp zstd -Xcompression-level 19; "
         "printf '\\004' | dd of=layer.squashfs bs=1 seek=98 conv=notrunc status=none");
    CHECK(plain(layer.root, layer.file) == bytes);
}

TEST_CASE("a damaged layer never gives a wrong byte") {
    Layer layer;
    const std::string bytes = layer.pack();
    const auto damage = [&](std::size_t at, std::size_t count) {
        std::string damaged = bytes;
        for (std::size_t i = at; i < std::min(at + count, damaged.size()); ++i) {
            damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
        }
        put(layer.file, damaged);
        layer.reopen();
    };
    SUBCASE("cut off") {
        for (const std::size_t left : {std::size_t{0}, std::size_t{90}, bytes.size() / 2}) {
            fs::resize_file(layer.file, left);
            CHECK(layer.again() == bytes);
            put(layer.file, bytes);
        }
    }
    SUBCASE("shorter than was said") {
        auto options = layer.options();
        fs::resize_file(layer.file, bytes.size() / 2);
        const auto made = packed(layer.root, layer.directory.path() / "again", options);
        REQUIRE(made);
        CHECK(*made == bytes);
    }
    SUBCASE("the super block") {
        for (const std::size_t at : {0U, 12U, 20U, 32U, 40U, 64U, 72U, 80U, 96U, 98U}) {
            damage(at, 4);
            CHECK(layer.again() == bytes);
        }
    }
    SUBCASE("the begin of a block") {
        for (std::size_t at = bytes.find("\x28\xB5\x2F\xFD"); at != std::string::npos;
             at = bytes.find("\x28\xB5\x2F\xFD", at + 1)) {
            damage(at, 4);
            CHECK(layer.again() == bytes);
        }
    }
    SUBCASE("the tables at the end") {
        for (std::size_t at = bytes.size() - 4096; at < bytes.size(); at += 512) {
            damage(at, 16);
            CHECK(layer.again() == bytes);
        }
    }
}

TEST_CASE("a layer that goes away while it is used is told, or did no harm") {
    Layer layer;
    const std::string bytes = layer.pack();
    auto options = layer.options(1);
    options.on_progress = [&](std::uint64_t done) {
        if (done > 0 && fs::file_size(layer.file) > 0) {
            fs::resize_file(layer.file, 0);
        }
    };
    const auto made = packed(layer.root, layer.directory.path() / "again", options);
    if (made) {
        CHECK(*made == bytes);
    } else {
        CHECK(made.error().code() == ErrorCode::kEnvironment);
        CHECK(made.error().faults().front().help == "build again with --no-cache");
    }
}
