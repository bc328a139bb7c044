// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/diff.hpp"
#include "images/inspection/inspect_json.hpp"
#include "images/inspection/listing.hpp"
#include "images/inspection/packages.hpp"
#include "images/inspection/survey.hpp"
#include "images/inspection/usage.hpp"
#include "images/squashfs/nodes.hpp"
#include "images/squashfs/unpack.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/scratch.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

using namespace cybele;
using namespace cybele::fuzz;
using namespace cybele::images;

namespace {

/// The bytes as a file in memory.
int image_file(std::string_view bytes) {
    static const UniqueFd file(memfd_create("squashfs", MFD_CLOEXEC));
    must(file.valid() && ftruncate(file.get(), 0) == 0);
    must(pwrite(file.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    return file.get();
}

/// What a walk found: a tree that says more than this is not read by everything.
struct Sizes {
    std::size_t names = 0;
    std::uint64_t bytes = 0;

    [[nodiscard]] bool is_small() const {
        return names < 200 && bytes < 1U << 20U;
    }
};

Result<Sizes> walk(const FilePointer& root) {
    Sizes sizes;
    const auto walked =
        walk_files(root, [&](const std::string& path, const FilePointer& node) -> Result<bool> {
            must(path.starts_with('/') && node->name().find('/') == std::string::npos);
            const std::string line = listing_line(path, node->status());
            must(line.find('\n') == std::string::npos && line.find('\x1b') == std::string::npos);
            if (node->status().is_regular()) {
                sizes.bytes += node->status().size;
            }
            if (const auto attributes = node->attributes(); !attributes) {
                check_refusal(attributes.error());
            }
            (void)blocks_of(*node);
            return ++sizes.names < 2000;
        });
    if (!walked) {
        return fail(walked.error());
    }
    return sizes;
}

/// Bytes of a file are those of its size, from any place.
void read_files(const FilePointer& root) {
    (void)walk_files(root, [](const std::string&, const FilePointer& node) -> Result<bool> {
        if (!node->status().is_regular()) {
            return true;
        }
        std::string bytes;
        const auto all = node->read([&](std::string_view piece) -> Result<void> {
            bytes += piece;
            return {};
        });
        if (!all) {
            check_refusal(all.error());
            return true;
        }
        must(bytes.size() == node->status().size);
        std::array<char, 100> into{};
        const std::size_t from = bytes.size() / 2;
        if (const auto count = read_squashfs(*node, from, into)) {
            must(bytes.compare(from, *count, into.data(), *count) == 0);
        }
        return true;
    });
}

/// All that is found out about an image, and that it does not differ from itself.
void inspect(const FilePointer& root) {
    if (const auto survey = survey_files(root)) {
        (void)read_packages(root, *survey);
    }
    (void)inspect_files(root);
    (void)measure_usage(root);
    for (const char* path : {"/etc/os-release", "/.singularity.d/runscript", "/bin/../../sh"}) {
        (void)find_file(root, path);
    }
    const auto same = diff_files(root, root, {}, [](const Difference&) { must(false); });
    if (!same) {
        check_refusal(same.error());
    }
}

/// Nothing is written outside of the folder.
void unpack(int file, std::size_t size, Whiteouts whiteouts) {
    const auto folder = make_scratch("unpack-fuzz");
    const auto root = folder.path() / "root";
    must(std::filesystem::create_directory(root));
    if (const auto done = unpack_squashfs({file, 0, size}, root, whiteouts); !done) {
        check_refusal(done.error());
    }
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        count += static_cast<std::size_t>(!entry.path().empty());
    }
    must(count == 1);
}

} // namespace

/// The first byte chooses whether a small tree is read or unpacked, and how. Those that
/// `mksquashfs -noI -noD -noF -noX` writes have no compressed parts that hide what is changed.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const int file = image_file(bytes);
    const auto root = open_squashfs(file, 0, bytes.size());
    if (!root) {
        check_refusal(root.error());
        return 0;
    }
    const auto sizes = walk(*root);
    if (!sizes) {
        check_refusal(sizes.error());
        return 0;
    }
    if (!sizes->is_small()) {
        return 0;
    }
    constexpr Whiteouts kWays[] = {Whiteouts::kDropped, Whiteouts::kKept, Whiteouts::kApplied};
    if (data[0] % 16 < 3) {
        unpack(file, bytes.size(), kWays[data[0] % 16]);
    } else {
        read_files(*root);
        inspect(*root);
    }
    return 0;
}
