// SPDX-License-Identifier: Apache-2.0
// Images are judged by squashfs-tools: what comes out must be what went in.
#include "images/squashfs/squashfs.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "tree_sample.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace cybele;
using namespace cybele::images;

namespace {

constexpr std::uint64_t kImageStart = 3 * 4096;
constexpr std::size_t kSquashfsBlock = 131072;

// Not compressible, and the same in each run.
std::string file_noise(std::size_t size) {
    std::string bytes(size, '\0');
    std::uint64_t state = size + 1;
    for (auto& byte : bytes) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        byte = static_cast<char>(state >> 56U);
    }
    return bytes;
}

// At an offset, behind bytes that must stay.
std::uint64_t pack(const fs::path& root, const fs::path& image, const PackOptions& options) {
    const UniqueFd fd(::open(image.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    REQUIRE(fd.valid());
    REQUIRE(write_all(fd.get(), std::string(kImageStart, 'x'), image));
    const auto size = write_squashfs(root, fd.get(), kImageStart, options);
    REQUIRE_MESSAGE(size, size.error().message() << " " << size.error().faults().front().because);
    CHECK(*size % 4096 == 0);
    CHECK(fs::file_size(image) == kImageStart + *size);
    return *size;
}

// type, mode, owners, links, link target, size (not of directories) and time of each name
std::string listing(const fs::path& root) {
    return shell(fmt::format("cd {} && find . -type d -printf '%P %y %m %U %G %n %T@\\n' -o "
                             "-printf '%P %y %m %U %G %n %l %s %T@\\n' | LC_ALL=C sort",
                             root.string()));
}

void make_squashfs_tree(const fs::path& root) {
    put(root / "empty", "");
    put(root / "one byte", "1");
    put(root / "block", file_noise(kSquashfsBlock));
    put(root / "block+1", file_noise(kSquashfsBlock + 1));
    put(root / "blocks", file_noise(5 * kSquashfsBlock + 77));
    put(root / "text", std::string(3 * kSquashfsBlock / 2, 'a') + "end");
    put(root / "twin", file_noise(5 * kSquashfsBlock + 77));
    put(root / "sparse", "");
    fs::resize_file(root / "sparse", 10 * kSquashfsBlock + 5);
    put(root / std::string(255, 'n'), "long name");
    put(root / "a/deep/er/file", "x");
    put(root / "zz/first", "linked across directories");
    fs::create_hard_link(root / "zz/first", root / "a/deep/second");
    fs::create_hard_link(root / "zz/first", root / "third");
    fs::create_symlink("../../outside", root / "link");
    fs::create_symlink(std::string(3000, 't'), root / "long link");
    fs::create_directory(root / "no entries");
    put(root / "a\nnew line", "1");
    put(root / "\xff\xfe not utf-8", "1");
    put(root / "mode", "1");
    ::chmod((root / "mode").c_str(), 06711);
    ::chmod((root / "no entries").c_str(), 01777);
    REQUIRE(::mkfifo((root / "fifo").c_str(), 0640) == 0);
    if (::geteuid() == 0) {
        REQUIRE(::mknod((root / "null").c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0);
        REQUIRE(::mknod((root / "disk").c_str(), S_IFBLK | 0660, makedev(259, 70000)) == 0);
        REQUIRE(::chown((root / "text").c_str(), 1000, 4000000000U) == 0);
    }
    shell(fmt::format("find {} -depth -exec touch -h -d '2001-02-03 04:05:06 UTC' {{}} +",
                      root.string()));
}

} // namespace

TEST_CASE("what is packed comes out again by squashfs-tools") {
    const auto dir = scratch();
    const auto root = dir.path() / "root";
    make_squashfs_tree(root);
    for (const auto* compression : {"zstd", "gzip"}) {
        PackOptions options;
        options.compression = compression;
        std::uint64_t progress = 0;
        options.on_progress = [&](std::uint64_t bytes) { progress = bytes; };
        pack(root, dir.path() / "image", options);
        CHECK(progress > 20 * kSquashfsBlock);
        const auto out = dir.path() / compression;
        shell(fmt::format("cd {0} && unsquashfs -n -o {1} -d {2} image && "
                          "diff -r --no-dereference -x fifo -x null -x disk root {2}",
                          dir.path().string(),
                          kImageStart,
                          out.string()));
        CHECK(listing(root) == listing(out));
        CHECK(shell(fmt::format("cd {} && [ a/deep/second -ef zz/first ] && [ third -ef zz/first ] "
                                "&& stat -c %b sparse",
                                out.string())) == "0\n");
        CHECK(shell(fmt::format("unsquashfs -o {} -s {}/image", kImageStart, dir.path().string()))
                  .find(compression) != std::string::npos);
        const auto bytes = read_file(dir.path() / "image");
        REQUIRE(bytes);
        CHECK(bytes->substr(0, kImageStart) == std::string(kImageStart, 'x'));
    }
}

TEST_CASE("the kernel mounts it") {
    const auto dir = scratch();
    make_squashfs_tree(dir.path() / "root");
    pack(dir.path() / "root", dir.path() / "image", {});
    fs::create_directory(dir.path() / "mounted");
    const auto* how = ::geteuid() == 0
                          ? "mount -t squashfs -o ro,nosuid,nodev,loop,offset={0} image "
                            "mounted && trap 'umount mounted' EXIT"
                          : "squashfuse -o offset={0} image mounted && "
                            "trap 'fusermount -u mounted' EXIT";
    shell(
        fmt::format("cd {} && {} && diff -r --no-dereference -x fifo -x null -x disk root mounted",
                    dir.path().string(),
                    fmt::format(fmt::runtime(how), kImageStart)));
}

TEST_CASE("duplicate content is stored once") {
    const auto dir = scratch();
    put(dir.path() / "one/a", file_noise(20 * kSquashfsBlock));
    put(dir.path() / "two/a", file_noise(20 * kSquashfsBlock));
    put(dir.path() / "two/b", file_noise(20 * kSquashfsBlock));
    CHECK(pack(dir.path() / "two", dir.path() / "2", {}) ==
          pack(dir.path() / "one", dir.path() / "1", {}));
}

TEST_CASE("the bytes depend on the tree only, not on workers or on the order of making") {
    const auto dir = scratch();
    make_squashfs_tree(dir.path() / "root");
    for (int at = 0; at < 400; ++at) { // many fragments and duplicates, out of order
        const auto name = fmt::format("root/many/{:03}", at * 7 % 400);
        put(dir.path() / name, file_noise(static_cast<std::size_t>(at * 7 % 400 % 50) * 997));
    }
    shell(fmt::format("cd {0} && cp -a root copy && find root copy -exec touch -h -d @9 {{}} +",
                      dir.path().string()));
    std::string first;
    for (const std::uint32_t workers : {1U, 2U, 7U}) {
        for (const auto* root : {"root", "copy"}) {
            PackOptions options;
            options.workers = workers;
            pack(dir.path() / root, dir.path() / "image", options);
            const auto bytes = read_file(dir.path() / "image");
            REQUIRE(bytes);
            if (first.empty()) {
                first = *bytes;
            }
            CHECK(first == *bytes);
        }
    }
}

TEST_CASE("times are clamped and owners set to root on demand") {
    const auto dir = scratch();
    const auto root = dir.path() / "root";
    put(root / "old", "1");
    put(root / "new", "1");
    shell(fmt::format("cd {} && touch -d @1000 old && touch -d @4000000000 new", root.string()));
    if (::geteuid() == 0) {
        REQUIRE(::chown((root / "old").c_str(), 12, 34) == 0);
    }
    PackOptions options;
    options.clamp_times = 2000;
    options.all_root = true;
    pack(root, dir.path() / "image", options);
    const auto text = shell(fmt::format(
        "TZ=UTC unsquashfs -o {0} -lln {1}/image; TZ=UTC unsquashfs -o {0} -s {1}/image",
        kImageStart,
        dir.path().string()));
    CHECK(text.find("0/0") != std::string::npos);
    CHECK(text.find("12/34") == std::string::npos);
    CHECK(text.find("1970-01-01 00:16 squashfs-root/old") != std::string::npos);
    CHECK(text.find("1970-01-01 00:33 squashfs-root/new") != std::string::npos);
    CHECK(text.find("time Thu Jan  1 00:33:20 1970") != std::string::npos);
}

TEST_CASE("capabilities and user attributes are kept, others are not") {
    const auto dir = scratch();
    const auto root = dir.path() / "root";
    put(root / "d/file", "1");
    const auto set = [](const fs::path& path, const char* name, std::string_view value) {
        REQUIRE_MESSAGE(::setxattr(path.c_str(), name, value.data(), value.size(), 0) == 0, name);
    };
    set(root / "d", "user.of-directory", "1");
    set(root / "d/file", "user.b", "two");
    set(root / "d/file", "user.a", std::string(3000, 'v'));
    // cap_net_raw=ep, as setcap writes it
    const std::string capability("\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
                                 "\x00\x00\x00\x00",
                                 20);
    if (::geteuid() == 0) {
        set(root / "d/file", "security.capability", capability);
        set(root / "d/file", "trusted.not-ours", "1");
    }
    pack(root, dir.path() / "image", {});
    const auto out = dir.path() / "out";
    shell(fmt::format(
        "unsquashfs -n -o {} -d {} {}/image", kImageStart, out.string(), dir.path().string()));
    const auto get = [](const fs::path& path, const char* name) {
        std::string value(4096, '\0');
        const auto size = ::getxattr(path.c_str(), name, value.data(), value.size());
        value.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
        return value;
    };
    CHECK(get(out / "d", "user.of-directory") == "1");
    CHECK(get(out / "d/file", "user.b") == "two");
    CHECK(get(out / "d/file", "user.a") == std::string(3000, 'v'));
    CHECK(get(out / "d/file", "security.capability") ==
          (::geteuid() == 0 ? capability : std::string{}));
    CHECK(get(out / "d/file", "trusted.not-ours").empty());
}

TEST_CASE("a directory of 65536 files and a tree of 300 levels") {
    const auto dir = scratch();
    const auto root = dir.path() / "root";
    fs::create_directories(root);
    for (int at = 0; at < 65536; ++at) {
        const auto path = root / fmt::format("f{:05}", at);
        const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    }
    auto deep = root / "deep";
    for (int at = 0; at < 300; ++at) {
        deep /= "d";
    }
    fs::create_directories(deep);
    pack(root, dir.path() / "image", {});
    CHECK(shell(fmt::format("unsquashfs -o {} -l {}/image | wc -l",
                            kImageStart,
                            dir.path().string())) == fmt::format("{}\n", 65536 + 302));
}

TEST_CASE("a full disk is told as such") {
    const auto dir = scratch();
    put(dir.path() / "root/a", file_noise(30 * kSquashfsBlock));
    const auto judge = [](const Result<std::uint64_t>& size) {
        REQUIRE_FALSE(size);
        CHECK(size.error().code() == ErrorCode::kEnvironment);
        CHECK_FALSE(size.error().faults().front().because.empty());
        CHECK_FALSE(size.error().faults().front().help.empty());
    };
    const UniqueFd full(::open("/dev/full", O_RDWR | O_CLOEXEC));
    judge(write_squashfs(dir.path() / "root", full.get(), 0, {}));
    // EFBIG: an offset that no file system reaches
    const auto image = dir.path() / "image";
    const UniqueFd fd(::open(image.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    judge(write_squashfs(dir.path() / "root", fd.get(), std::uint64_t{1} << 62U, {}));
}

TEST_CASE("device nodes are left out on demand, whiteouts are not") {
    if (::geteuid() != 0) {
        return; // only root makes them
    }
    const auto dir = scratch();
    const auto root = dir.path() / "root";
    put(root / "file", "1");
    REQUIRE(::mknod((root / "null").c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0);
    REQUIRE(::mknod((root / "gone").c_str(), S_IFCHR, makedev(0, 0)) == 0);
    PackOptions options;
    options.skip_devices = true;
    pack(root, dir.path() / "image", options);
    CHECK(shell(fmt::format("unsquashfs -o {} -l {}/image", kImageStart, dir.path().string())) ==
          "squashfs-root\nsquashfs-root/file\nsquashfs-root/gone\n");
}

TEST_CASE("bad requests are refused") {
    const auto dir = scratch();
    const UniqueFd fd(::open((dir.path() / "i").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    PackOptions options;
    options.compression = "brotli";
    auto refused = write_squashfs(dir.path(), fd.get(), 0, options);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kInput);
    refused = write_squashfs(dir.path() / "absent", fd.get(), 0, {});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kInput);
}

TEST_CASE("packing stays on the root's file system") {
    const auto dir = scratch();
    const auto root = dir.path() / "root";
    put(root / "mounted/below", "hidden by the mount");
    put(root / "here", "1");
    const auto child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const int flags = CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER);
        bool ok = ::unshare(flags) == 0 &&
                  ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                  ::mount("t", (root / "mounted").c_str(), "tmpfs", 0, nullptr) == 0;
        if (ok) {
            put(root / "mounted/secret", "of another file system");
            pack(root, dir.path() / "image", {});
        }
        ::_exit(ok ? 0 : 1);
    }
    CHECK(wait_for(child) == 0);
    const auto text =
        shell(fmt::format("unsquashfs -o {} -l {}/image", kImageStart, dir.path().string()));
    CHECK(text.find("squashfs-root/here") != std::string::npos);
    CHECK(text.find("squashfs-root/mounted\n") != std::string::npos);
    CHECK(text.find("squashfs-root/mounted/") == std::string::npos);
}
