// SPDX-License-Identifier: Apache-2.0
// What is verified is what is mounted: over generated pairs of an image and everything that can be
// next to it or be laid over it. CYBELE_PAIRS and CYBELE_MOUNTS set how many pairs there are.
#include "images/signatures/verify.hpp"
#include "runtime/containers/image_file.hpp"
#include "runtime/containers/overlay.hpp"
#include "runtime/containers/root_image.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "tests/unit/runtime/verified_attacker.hpp"

#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

using namespace verified;

namespace {

/// What `cybelectl verify` decides: of an image with old signatures by --legacy-insecure.
bool is_verified(const Image& image, bool is_legacy) {
    Selection selection;
    if (is_legacy) {
        const auto root = image.primary_partition();
        if (!root) {
            return false;
        }
        selection.objects = {root->id};
        for (const Descriptor& overlay : image.overlays_of(*root)) {
            selection.objects.push_back(overlay.id);
        }
        if (!selection.check(image)) {
            return false;
        }
    }
    const auto found = verify_signatures(image, is_legacy ? world().old : world().trust, selection);
    return found && found->is_verified;
}

/// The partitions that a start would mount.
std::optional<Layers> mounted_layers(const fs::path& path) {
    const auto file = runtime::open_image(path, host_architecture());
    if (!file) {
        return std::nullopt;
    }
    const auto read = [&](std::uint64_t offset, std::uint64_t size) {
        std::string bytes(size, '\0');
        REQUIRE(
            read_at(file->fd.get(), offset, std::as_writable_bytes(std::span<char>(bytes)), path)
                .has_value());
        return bytes;
    };
    Layers layers{read(file->offset, file->size), {}};
    for (const runtime::SquashfsPlace& place : file->overlays) {
        layers.over.push_back(read(place.offset, place.size));
    }
    return layers;
}

std::size_t count_of(const char* variable, std::size_t otherwise) {
    const char* const text = std::getenv(variable); // NOLINT(concurrency-mt-unsafe): one thread
    return text == nullptr ? otherwise : std::stoul(text);
}

/// Every file below a folder: its path, kind, permissions and content.
std::string tree_text(const fs::path& folder) {
    std::vector<std::string> lines;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const fs::file_status status = entry.symlink_status();
        std::string line = fmt::format("{} {} {:o} ",
                                       entry.path().lexically_relative(folder).native(),
                                       static_cast<int>(status.type()),
                                       static_cast<unsigned>(status.permissions()));
        if (fs::is_regular_file(status)) {
            line += tiny::read(entry.path());
        }
        lines.push_back(line);
    }
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const std::string& line : lines) {
        text += line + '\n';
    }
    return text;
}

/// The tree that the signer meant, by another reader: unsquashfs.
std::string signed_tree(const Layers& layers) {
    const TempDirectory folder = tiny::make_folder();
    std::vector<std::string> parts = layers.over;
    parts.insert(parts.begin(), layers.root);
    for (const std::string& part : parts) {
        REQUIRE(write_file(folder.path() / "part", part).has_value());
        Command command;
        command.argv = {"unsquashfs",
                        "-n",
                        "-q",
                        "-f",
                        "-d",
                        (folder.path() / "tree").native(),
                        (folder.path() / "part").native()};
        const auto outcome = run_process(command);
        REQUIRE(outcome);
        INFO(outcome->errors);
        REQUIRE(outcome->ok());
    }
    return tree_text(folder.path() / "tree");
}

enum class MountEnd { kSame = 0, kRefused = 1, kDiffers = 2, kNotMounted = 3 };

/// Verifies and mounts as `exec --verify-key` does, and compares what the mount shows.
MountEnd mount_verified(const fs::path& path, const std::string& expected) {
    return static_cast<MountEnd>(tiny::in_child([&] {
        const runtime::ImageDemand demand{[](const Image& image) {
                                              return is_verified(image, false)
                                                         ? Result<void>()
                                                         : fail(ErrorCode::kVerification,
                                                                problem("test", "not verified"));
                                          },
                                          "test",
                                          path.parent_path()};
        const auto file = runtime::open_image(path, host_architecture(), &demand);
        if (!file) {
            return static_cast<int>(MountEnd::kRefused);
        }
        const bool is_root = ::geteuid() == 0;
        using namespaces::IdMap;
        if (!namespaces::enter_namespaces(is_root ? IdMap::kNone : IdMap::kOwnRoot)) {
            return static_cast<int>(MountEnd::kNotMounted);
        }
        runtime::MountRequest request;
        request.is_root = is_root;
        auto image = runtime::mount_image(
            *file,
            request,
            Environment({{"CYBELE_CACHE_DIR", (path.parent_path() / "cache").native()}}));
        if (!image) {
            return static_cast<int>(MountEnd::kNotMounted);
        }
        const auto root =
            runtime::lay_over(image->stage, std::move(image->root), *file, {}, image->way);
        if (!root || ::fchdir(root->get()) != 0) {
            return static_cast<int>(MountEnd::kNotMounted);
        }
        return static_cast<int>(tree_text(".") == expected ? MountEnd::kSame : MountEnd::kDiffers);
    }));
}

class Clock {
public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

} // namespace

TEST_CASE(
    "whatever is next to an image or laid over it: verified means that what was signed runs") {
    const World& made = world();
    const std::size_t pairs = count_of("CYBELE_PAIRS", 10'000);
    std::mt19937_64 chance(34); // NOLINT(cert-msc51-cpp): the same pairs each time
    const Clock clock;
    std::size_t verified = 0;
    std::size_t opened = 0;
    std::size_t runs = 0;
    for (std::size_t i = 0; i < pairs; ++i) {
        CAPTURE(i);
        const Base& base = made.bases[chance() % made.bases.size()];
        Attacker(chance, base).strike(made.path);
        const auto image = Image::open(made.path);
        opened += image ? 1U : 0U;
        if (!image || !is_verified(*image, base.is_legacy)) {
            continue;
        }
        ++verified;
        const auto mounted = mounted_layers(made.path);
        if (!mounted) {
            continue; // nothing runs: an old signature covers no types
        }
        ++runs;
        REQUIRE(*mounted == base.layers);
        REQUIRE(Raw::layers(tiny::read(made.path)) == base.layers); // as any other reader has it
    }
    MESSAGE(fmt::format("{} pairs, {} opened, {} verified, {} would run, {:.1f} s",
                        pairs,
                        opened,
                        verified,
                        runs,
                        clock.seconds()));
    CHECK(runs > pairs / 10);
    CHECK(verified < opened);
}

TEST_CASE("what is mounted of a verified image is what another reader finds in what was signed") {
    const World& made = world();
    const std::size_t pairs = count_of("CYBELE_MOUNTS", 1'000);
    std::vector<std::string> trees;
    for (const Base& base : made.bases) {
        trees.push_back(base.is_legacy ? "" : signed_tree(base.layers));
    }
    std::mt19937_64 chance(340); // NOLINT(cert-msc51-cpp): the same pairs each time
    const Clock clock;
    std::size_t ends[4] = {};
    for (std::size_t i = 0; i < pairs; ++i) {
        CAPTURE(i);
        const std::size_t which =
            chance() % 5; // the others have old signatures, which no start takes
        Attacker(chance, made.bases[which]).strike(made.path);
        const MountEnd end = mount_verified(made.path, trees[which]);
        REQUIRE(end != MountEnd::kDiffers);
        REQUIRE(static_cast<std::size_t>(end) < std::size(ends));
        ++ends[static_cast<std::size_t>(end)];
    }
    MESSAGE(fmt::format("{} pairs, {} mounted, {} refused, {:.1f} s",
                        pairs,
                        ends[static_cast<std::size_t>(MountEnd::kSame)],
                        ends[static_cast<std::size_t>(MountEnd::kRefused)],
                        clock.seconds()));
    CHECK(ends[static_cast<std::size_t>(MountEnd::kSame)] > pairs / 10);
    CHECK(ends[static_cast<std::size_t>(MountEnd::kNotMounted)] == 0);
}
