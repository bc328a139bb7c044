// SPDX-License-Identifier: Apache-2.0
// The process that answers for an image mounted by FUSE.
#include "tests/unit/runtime/trial.hpp"

#include <algorithm>
#include <chrono>
#include <random>

#include <fmt/format.h>

using namespace cybele;
using namespace cybele::runtime;
using trial::As;

namespace {

constexpr const char* kFuseServer = "cybelectl-fuse";

trial::Ended run(const trial::Image& image, const std::string& script, As as) {
    return trial::run(image, trial::exec(image, script), trial::environment_of(image), as);
}

/// Names, sizes (not of folders, which have none by FUSE), times, modes, links and contents below
/// the folders that no bind covers.
constexpr const char* kTellTree =
    "cd /; in='many deep bin .singularity.d';"
    "busybox find $in -type d -exec busybox stat -c '%n %Y %a %h' {} + | busybox sort;"
    "busybox find $in ! -type d -exec busybox stat -c '%n %s %Y %a %h %F' {} + | busybox sort;"
    "busybox find $in -type f | busybox sort | while read -r f; do busybox md5sum $f; done;"
    "readlink deep/link; ls many | busybox wc -l";

trial::Image large_image() {
    trial::Image image;
    constexpr int kFiles = 700; // a listing of many answers
    for (int i = 0; i < kFiles; ++i) {
        tiny::write(image.root / "many" / fmt::format("a-rather-long-name-{}", i),
                    std::string(static_cast<std::size_t>(i % 50), 'x'));
    }
    std::string large; // several blocks and an end of one
    for (int i = 0; i < 60000; ++i) {
        large += std::to_string(i) + ' ';
    }
    tiny::write(image.root / "deep/er/still/large", large);
    std::filesystem::create_symlink("er/still", image.root / "deep/link");
    std::filesystem::create_hard_link(image.root / "deep/er/still/large", image.root / "deep/hard");
    image.pack();
    return image;
}

/// Other bytes in a copy of the image, at places that `random` chooses.
void damage(const trial::Image& image, const std::string& whole, std::mt19937& random) {
    constexpr int kBytes = 8;
    constexpr std::size_t kHeaders = 36864; // of the SIF; the squashfs follows
    std::string bytes = whole;
    for (int i = 0; i < kBytes; ++i) {
        // The tables lie at the end: half of the damage goes there.
        const std::size_t last = bytes.size() - 1;
        const std::size_t first = i % 2 == 0 ? kHeaders : last - std::min<std::size_t>(last, 4096);
        bytes[first + random() % (last - first)] = static_cast<char>(random());
    }
    tiny::write(image.sif, bytes);
}

} // namespace

TEST_CASE("FUSE shows what the kernel shows") {
    const trial::Image image = large_image();
    const auto by_kernel = run(image, kTellTree, As::kRoot);
    const auto by_fuse = run(image, kTellTree, As::kUserWithFuse);
    CHECK(by_kernel.code == 0);
    CHECK(by_kernel.text.find("a-rather-long-name-699") != std::string::npos);
    const auto [one, other] = std::mismatch(
        by_fuse.text.begin(), by_fuse.text.end(), by_kernel.text.begin(), by_kernel.text.end());
    CHECK(std::string(one, by_fuse.text.end()).substr(0, 100) == "");
    CHECK(std::string(other, by_kernel.text.end()).substr(0, 100) == "");
}

TEST_CASE("modes of files hold for an ordinary user, however the image is mounted") {
    trial::Image image;
    tiny::write(image.root / "opt/one/tool", "#!/bin/sh\necho not this\n", 0644);
    tiny::write(image.root / "opt/two/tool", "#!/bin/sh\necho this one\n", 0755);
    tiny::write(image.root / "closed", "secret\n", 0000);
    tiny::write(image.root / "folder/file", "secret\n");
    std::filesystem::permissions(image.root / "folder", std::filesystem::perms(0000));
    image.pack();
    for (const As as : {As::kUser, As::kUserWithFuse}) {
        CAPTURE(static_cast<int>(as));
        const auto ended = run(image,
                               "test -x /etc/not-a-program && echo wrong; test -r /closed && echo "
                               "wrong; cat /closed /folder/file && echo wrong; "
                               "PATH=/opt/one:/opt/two:/bin tool; test -x "
                               "/opt/two/tool && test -r /etc/passwd && echo right",
                               as);
        CHECK(ended.code == 0);
        CHECK(ended.text.find("wrong") == std::string::npos);
        CHECK(ended.text.find("secret") == std::string::npos);
        CHECK(ended.text.find("this one\nright\n") != std::string::npos);
    }
}

TEST_CASE("what other owners have in an image is the user's, as long as its owner may read it") {
    trial::Image image;
    tiny::write(image.root / "opt/theirs/file", "theirs\n", 0600);
    std::filesystem::permissions(image.root / "opt/theirs", std::filesystem::perms(0700));
    for (const char* name : {"opt/theirs/file", "opt/theirs"}) {
        REQUIRE(chown((image.root / name).c_str(), 1234, 4321) == 0);
    }
    image.pack(trial::Image::Owners::kKept);
    const auto ended =
        run(image, "cat /opt/theirs/file; stat -c %u:%g /opt/theirs/file", As::kUserWithFuse);
    CHECK(ended.code == 0);
    CHECK(ended.text == "theirs\n65534:65534\n");
}

TEST_CASE("the FUSE server has no privileges and few system calls, and outlives signals of a job") {
    trial::Image image;
    image.pack();
    const auto ended = run(
        image,
        "for p in /proc/[0-9]*; do [ \"$(busybox tr -d '\\0' < $p/cmdline)\" = cybelectl-fuse ] ||"
        "continue; grep -E '^(Name|CapPrm|CapEff|NoNewPrivs|Seccomp):' $p/status;"
        "for s in HUP INT TERM; do kill -$s ${p#/proc/}; done; done 2>/dev/null;"
        "cat /etc/not-a-program /.singularity.d/test",
        As::kUserWithFuse);
    CHECK(ended.code == 0);
    CHECK(ended.text == "Name:\tcybelectl-fuse\nCapPrm:\t0000000000000000\n"
                        "CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"
                        "#!/bin/sh\necho test; exit 6\n");
    CHECK(tiny::becomes_running(kFuseServer, false));
}

TEST_CASE("a damaged squashfs ends a start or a program, and leaves nothing") {
    trial::Image image;
    image.pack();
    const std::string whole = tiny::read(image.sif);
    std::mt19937 random(20261122); // NOLINT: the same damage each time
    const auto begin = std::chrono::steady_clock::now();
    constexpr int kRounds = 60;
    for (int i = 0; i < kRounds; ++i) {
        CAPTURE(i);
        damage(image, whole, random);
        const auto ended = run(image,
                               "busybox find / -xdev -exec busybox cat {} + > /dev/null 2>&1",
                               As::kUserWithFuse);
        CHECK(ended.code >= 0);
        CHECK(ended.code <= 255);
    }
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
    CHECK(tiny::becomes_running(kFuseServer, false));
}
