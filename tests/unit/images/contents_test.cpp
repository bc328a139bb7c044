// SPDX-License-Identifier: Apache-2.0
// What is in an image, read in place. Images are made by squashfs-tools, or by our own writer.
#include "images/inspection/binary_text.hpp"
#include "images/inspection/contents.hpp"
#include "images/inspection/layered_node.hpp"
#include "images/inspection/listing.hpp"
#include "images/squashfs/file_node.hpp"
#include "images/squashfs/nodes.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "tree_sample.hpp"

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/xattr.h>

namespace fs = std::filesystem;
using namespace cybele;
using namespace cybele::images;

namespace {

void make_linked_tree(const fs::path& root) {
    shell(fmt::format(
        "mkdir -p {0}/a/deep {0}/bin && cd {0} && echo text >a/file && "
        "head -c 700000 /dev/zero | tr '\\0' x >a/big && ln -s ../a/file bin/link && "
        "ln -s /a/./deep/../file bin/absolute && ln -s ../../../.. bin/out && "
        "ln -s loop bin/loop && ln a/file a/twin && mkfifo pipe && chmod 4755 a/file && "
        "find . -exec touch -h -d '2001-02-03 04:05:06 UTC' {{}} +",
        root.string()));
    REQUIRE(::setxattr((root / "a/file").c_str(), "user.colour", "blue", 4, 0) == 0);
}

std::string listing_of(const FilePointer& root) {
    std::string text;
    const auto walked = walk_files(root, [&](const std::string& path, const FilePointer& node) {
        auto status = node->status();
        text += listing_line(path, status) + "\n";
        return Result<bool>(true);
    });
    CHECK_MESSAGE(walked, (walked ? "" : walked.error().message()));
    return text;
}

FilePointer opened_contents(const fs::path& path) {
    auto contents = open_contents(path);
    REQUIRE_MESSAGE(contents, contents.error().message());
    REQUIRE(contents->root);
    return contents->root;
}

} // namespace

TEST_CASE("a squashfs and its directory show the same files") {
    const auto dir = scratch();
    make_linked_tree(dir.path() / "root");
    for (const auto* compression : {"gzip", "zstd", "xz", "lz4"}) {
        const auto image = dir.path() / compression;
        shell(fmt::format("mksquashfs {}/root {} -noappend -quiet -comp {} -all-root",
                          dir.path().string(),
                          image.string(),
                          compression));
        const auto root = opened_contents(image);
        CHECK(listing_of(root) == listing_of(opened_contents(dir.path() / "root")));
        const auto big = read_file_at(root, "/a/big");
        REQUIRE(big);
        CHECK(**big == std::string(700000, 'x'));
        const auto file = find_file(root, "a/file");
        REQUIRE(*file);
        CHECK((*file)->attributes()->at("user.colour") == "blue");
        CHECK((*file)->status().links == 2);
    }
}

TEST_CASE("a compression that the library lacks is named") {
    const auto dir = scratch();
    make_linked_tree(dir.path() / "root");
    shell(fmt::format("cd {} && mksquashfs root image -noappend -quiet -comp lzo",
                      dir.path().string()));
    const auto contents = open_contents(dir.path() / "image");
    REQUIRE_FALSE(contents.has_value());
    CHECK(contents.error().faults().front().because.find("lzo") != std::string::npos);
}

TEST_CASE("links are followed inside the tree only") {
    const auto dir = scratch();
    make_linked_tree(dir.path() / "root");
    const auto root = opened_contents(dir.path() / "root");
    for (const auto* path : {"bin/link", "/bin/absolute", "bin/out/a/file", "../../a/file"}) {
        const auto text = read_file_at(root, path);
        REQUIRE(text);
        CHECK_MESSAGE(text->value_or("nothing") == "text\n", path);
    }
    for (const auto* path : {"bin/loop", "bin/none", "a/file/x", "pipe", "a"}) {
        CHECK_MESSAGE(read_file_at(root, path)->has_value() == false, path);
    }
    CHECK_FALSE(read_file_at(root, "a/big", 1000));
}

TEST_CASE("an image behind a first line, as Singularity 2 wrote it") {
    const auto dir = scratch();
    make_linked_tree(dir.path() / "root");
    shell(fmt::format("cd {} && mksquashfs root plain -noappend -quiet && "
                      "(printf '#!/usr/bin/env run-singularity\\n'; cat plain) >old.img",
                      dir.path().string()));
    CHECK(read_file_at(opened_contents(dir.path() / "old.img"), "a/file")->value_or("") ==
          "text\n");
}

TEST_CASE("what is no image is refused") {
    const auto dir = scratch();
    std::ofstream(dir.path() / "text") << "no image\n";
    for (const auto* name : {"text", "missing"}) {
        const auto contents = open_contents(dir.path() / name);
        REQUIRE_FALSE(contents.has_value());
        CHECK(contents.error().code() == ErrorCode::kInput);
    }
}

TEST_CASE("a damaged squashfs is refused or read, and never more") {
    const auto dir = scratch();
    make_linked_tree(dir.path() / "root");
    shell(fmt::format("cd {} && mksquashfs root good -noappend -quiet -comp gzip",
                      dir.path().string()));
    const auto good = read_file(dir.path() / "good");
    REQUIRE(good);
    std::minstd_rand random(9); // NOLINT: the same in each run
    int refused = 0;
    for (int round = 0; round < 400; ++round) {
        auto bytes = *good;
        // The super block and the tables behind the data are what a reader believes.
        const auto area = round % 2 == 0 ? std::size_t{96} : bytes.size();
        const auto begin = round % 2 == 0 ? std::size_t{4} : bytes.size() - bytes.size() / 2;
        for (int flip = 0; flip < 1 + round % 3; ++flip) {
            bytes[begin + random() % (area - begin)] = static_cast<char>(random());
        }
        std::ofstream(dir.path() / "bad", std::ios::binary) << bytes;
        const auto contents = open_contents(dir.path() / "bad");
        if (!contents || !contents->root) {
            refused += 1;
            continue;
        }
        const auto walked = walk_files(
            contents->root, [&](const std::string&, const FilePointer& node) -> Result<bool> {
                CYBELE_CHECK(node->attributes());
                CYBELE_CHECK(node->read([](std::string_view) { return Result<void>(); }));
                return true;
            });
        refused += walked ? 0 : 1;
    }
    CHECK(refused > 50);
}

TEST_CASE("a directory that contains itself is refused") {
    // Two directories with one inode number: a forged one, whose entries lead back.
    struct Loop : FileNode, std::enable_shared_from_this<Loop> {
        Loop() : FileNode("loop", status_of()) {}
        static FileStatus status_of() {
            FileStatus status;
            status.mode = 0040755;
            status.inode = 7;
            return status;
        }
        Result<std::vector<FilePointer>> children() const override {
            return std::vector<FilePointer>{shared_from_this()};
        }
        Result<FilePointer> child(std::string_view) const override {
            return FilePointer(shared_from_this());
        }
        Result<void> read(const Sink&) const override {
            return {};
        }
        Result<std::map<std::string, std::string>> attributes() const override {
            return std::map<std::string, std::string>{};
        }
    };
    const auto walked = walk_files(std::make_shared<Loop>(),
                                   [](const auto&, const auto&) { return Result<bool>(true); });
    REQUIRE_FALSE(walked.has_value());
    CHECK(walked.error().code() == ErrorCode::kInput);
}

TEST_CASE("modes and names as ls writes them") {
    CHECK(mode_text(0100644) == "-rw-r--r--");
    CHECK(mode_text(0104755) == "-rwsr-xr-x");
    CHECK(mode_text(0102644) == "-rw-r-Sr--");
    CHECK(mode_text(0041777) == "drwxrwxrwt");
    CHECK(mode_text(0020600) == "crw-------");
    FileStatus status;
    status.mode = 0120777;
    status.target = "x\x1b[2J";
    CHECK(listing_line("/a\nb", status).ends_with("1970-01-01 00:00 /a\\nb -> x\\x1b[2J"));
}

TEST_CASE("patterns as a shell's") {
    struct Row {
        const char* pattern;
        const char* path;
        bool is_match;
    };
    for (const auto& row : {Row{"*.so", "/usr/lib/a.so", true},
                            Row{"*.so", "/usr/lib/a.so.1", false},
                            Row{"/usr/*/a.so", "/usr/lib/a.so", true},
                            Row{"/usr/*/a.so", "/usr/lib/x/a.so", false},
                            Row{"/usr/**/a.so", "/usr/lib/x/a.so", true},
                            Row{"usr/l?b/*", "/usr/lib/a", true},
                            Row{"[a-c]*", "/x/b1", true},
                            Row{"[!a-c]*", "/x/b1", false},
                            Row{"[", "/x/[", true},
                            Row{"\\*", "/x/*", true},
                            Row{"\\*", "/x/a", false},
                            Row{"a]", "/x/a]", true},
                            Row{"", "/x", false}}) {
        CHECK_MESSAGE(matches_glob(row.pattern, row.path) == row.is_match,
                      row.pattern << " " << row.path);
    }
    CHECK_FALSE(matches_glob(std::string(200, '*') + "b", "/" + std::string(5000, 'a')));
}

TEST_CASE("the version at the begin of a text") {
    CHECK(leading_version("4.1.4, package") == "4.1.4");
    CHECK(leading_version("2.36.") == "2.36");
    CHECK(leading_version("4.2.2rc2 (PMIx") == "4.2.2rc2");
    CHECK(leading_version("17") == "");
    CHECK(leading_version("v1.2") == "");
    CHECK(leading_version("...") == "");
}

TEST_CASE("overlays hide, merge and take away names as overlayfs does") {
    const auto dir = scratch();
    shell(fmt::format(
        "cd {} && mkdir -p low/d low/gone low/o up/d up/o top/d && echo low >low/d/a && echo low "
        ">low/d/b && "
        "echo low >low/f && echo x >low/gone/x && echo low >low/o/hidden && echo up >up/d/b && "
        "echo up >up/d/c && mknod up/gone c 0 0 && "
        "echo up >up/o/own && echo top >top/d/a && mknod top/d/c c 0 0 && echo dir >top/f2",
        dir.path().string()));
    REQUIRE(::setxattr((dir.path() / "up/o").c_str(), "user.overlay.opaque", "y", 1, 0) == 0);
    const auto open = [&](const char* name) {
        auto root = open_directory((dir.path() / name).native());
        REQUIRE(root);
        return *root;
    };
    const auto root = lay_over(lay_over(open("low"), open("up"), 1), open("top"), 2);
    std::string names;
    REQUIRE(walk_files(root, [&](const std::string& path, const FilePointer&) -> Result<bool> {
        names += path + " ";
        return true;
    }));
    CHECK(names == "/d /d/a /d/b /f /f2 /o /o/own ");
    for (const auto& [path, bytes] : {std::pair{"d/a", "top\n"}, {"d/b", "up\n"}, {"f", "low\n"}}) {
        const auto text = read_file_at(root, path);
        REQUIRE(text);
        CHECK(text->value_or("") == bytes);
    }
    for (const char* path : {"gone", "gone/x", "d/c", "o/hidden"}) {
        const auto found = find_file(root, path);
        REQUIRE(found);
        CHECK_FALSE(*found);
    }
}
