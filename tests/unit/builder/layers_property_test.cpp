// SPDX-License-Identifier: Apache-2.0
// Any sequence of changes in any number of layers: packing what the layers have gives the bytes of
// packing the tree. CYBELE_LAYERS_STORIES and CYBELE_LAYERS_SEED change how many stories run and
// which; a failure prints the seed of its story and the shortest part that fails.
#include "../explorer.hpp"
#include "bench.hpp"
#include "builder/layers/layers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

namespace {

enum class TreeDeed {
    kClose, ///< the layer, which is packed or stays a folder
    kWrite,
    kReplace, ///< by other bytes of the same size and time
    kAppend,
    kMode,
    kRemove,
    kFolder,
    kLink,
    kHardLink,
    kRename,
    kAttribute,
    kCopy,
};

struct TreeEvent {
    TreeDeed deed = TreeDeed::kWrite;
    std::string name;
    std::string other;
    std::size_t size = 0;
    unsigned seed = 0;
};

/// Lines that compress, unlike for each seed.
std::string property_lines(std::size_t size, unsigned seed) {
    std::string text;
    while (text.size() < size) {
        text += std::to_string(seed = seed * 1664525U + 1013904223U) + "\n";
    }
    text.resize(size);
    return text;
}

/// Does what can be done of it: a name may be of another kind by now, or missing.
void do_event(const fs::path& root, const TreeEvent& event) {
    std::error_code error;
    const fs::path path = root / event.name;
    const fs::path other = root / event.other;
    switch (event.deed) {
    case TreeDeed::kClose:
        break;
    case TreeDeed::kWrite:
        (void)write_file(path, property_lines(event.size, event.seed));
        break;
    case TreeDeed::kReplace: {
        struct stat status {};
        if (::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
            const fs::path fresh = root / "fresh";
            (void)write_file(fresh,
                             property_lines(static_cast<std::size_t>(status.st_size), event.seed));
            const timespec times[] = {status.st_mtim, status.st_mtim};
            (void)::utimensat(AT_FDCWD, fresh.c_str(), times, 0);
            (void)::rename(fresh.c_str(), path.c_str());
        }
        break;
    }
    case TreeDeed::kAppend: {
        const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
        if (fd.valid()) {
            (void)write_all(fd.get(), property_lines(event.size, event.seed), path);
        }
        break;
    }
    case TreeDeed::kMode:
        if (!fs::is_symlink(path)) {
            (void)::chmod(path.c_str(), fs::is_directory(path, error) ? 0711 : 0640);
        }
        break;
    case TreeDeed::kRemove:
        fs::remove_all(path, error);
        break;
    case TreeDeed::kFolder:
        fs::create_directories(path, error);
        break;
    case TreeDeed::kLink:
        fs::create_symlink(event.other, path, error);
        break;
    case TreeDeed::kHardLink:
        fs::create_hard_link(path, other, error);
        break;
    case TreeDeed::kRename:
        fs::rename(path, other, error);
        break;
    case TreeDeed::kAttribute:
        (void)::lsetxattr(path.c_str(), "user.word", "1", 1, 0);
        break;
    case TreeDeed::kCopy:
        if (event.other.starts_with(event.name)) {
            break; // not into itself
        }
        fs::copy(path, other, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
        break;
    }
}

Result<std::string> pack_tree(const Layers& layers, const fs::path& file, bool reuses) {
    const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    images::PackOptions options;
    if (reuses) {
        options.layers = layers.shown();
    }
    options.workers = reuses ? 2 : 1;
    CYBELE_CHECK(images::write_squashfs(layers.root(), fd.get(), 0, options));
    return read_file(file);
}

constexpr int kSame = 0;
constexpr int kOther = 1;
constexpr int kWithoutOverlays = 2;

Result<int> tell_layers(const fs::path& here, const std::vector<TreeEvent>& story) {
    const OverlaySupport way = find_overlay_support(here);
    if (way.attributes.empty()) {
        return kWithoutOverlays;
    }
    CYBELE_TRY(Layers layers, Layers::make(here / "stage", way));
    CYBELE_TRY(const fs::path first, layers.add_folder());
    CYBELE_CHECK(write_file(first / "first", property_lines(200'000, 7)));
    CYBELE_CHECK(layers.begin());
    int number = 0;
    for (const TreeEvent& event : story) {
        if (event.deed != TreeDeed::kClose) {
            do_event(layers.root(), event);
            continue;
        }
        CYBELE_TRY(const fs::path folder, layers.end());
        if (event.seed % 3 != 0) {
            const fs::path file = here / fmt::format("{}.squashfs", ++number);
            CYBELE_CHECK(pack_layer(folder, file));
            CYBELE_TRY(UniqueFd fd, open_for_reading(file));
            layers.note_packed(std::move(fd));
        }
        CYBELE_CHECK(layers.begin());
    }
    CYBELE_TRY(const std::string plain, pack_tree(layers, here / "plain", false));
    CYBELE_TRY(const std::string reused, pack_tree(layers, here / "reused", true));
    return plain == reused ? kSame : kOther;
}

/// In a mount namespace of its own; 0 where the bytes are the same.
int tell_layers_apart(const std::vector<TreeEvent>& story) {
    const auto here = temporary();
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
            ::_exit(99);
        }
        const auto outcome = tell_layers(here.path(), story);
        if (!outcome) {
            fmt::print(stderr, "{}\n", outcome.error().message());
        }
        ::_exit(outcome.value_or(98));
    }
    return wait_for(child);
}

TreeEvent event_of(explorer::Chance& chance) {
    constexpr const char* kNames[] = {
        "a", "b", "c", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/b", "first", "f", "f/a"};
    constexpr std::size_t kSizes[] = {0, 10, 5000, 131072, 140'000, 262'221};
    TreeEvent event;
    event.deed = static_cast<TreeDeed>(
        chance.below(6) == 0 ? 0 : 1 + chance.below(static_cast<unsigned>(TreeDeed::kCopy)));
    if (chance.below(4) == 0) {
        event.deed = TreeDeed::kWrite;
    }
    event.name = kNames[chance.below(std::size(kNames))];
    event.other = kNames[chance.below(std::size(kNames))];
    event.size = kSizes[chance.below(std::size(kSizes))];
    event.seed = static_cast<unsigned>(chance.below(1000));
    return event;
}

std::string text_of_events(const std::vector<TreeEvent>& story) {
    constexpr const char* kWords[] = {"close",
                                      "write",
                                      "replace",
                                      "append",
                                      "mode",
                                      "remove",
                                      "folder",
                                      "link",
                                      "hard link",
                                      "rename",
                                      "attribute",
                                      "copy"};
    std::string text;
    for (const TreeEvent& event : story) {
        text += fmt::format("{} {} {} size {} seed {}\n",
                            kWords[static_cast<unsigned>(event.deed)],
                            event.name,
                            event.other,
                            event.size,
                            event.seed);
    }
    return text;
}

} // namespace

TEST_CASE("any changes in any layers are packed from the layers to the bytes of the tree") {
    if (::geteuid() != 0) {
        return; // a user's mounts are compared in layers_shown_test.cpp
    }
    const std::uint64_t count = explorer::setting("CYBELE_LAYERS_STORIES", 12);
    const std::uint64_t first = explorer::setting("CYBELE_LAYERS_SEED", 1);
    std::size_t events = 0;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        explorer::Chance chance(seed);
        std::vector<TreeEvent> story{{TreeDeed::kFolder, "d/e", "", 0, 0},
                                     {TreeDeed::kFolder, "f", "", 0, 0}};
        for (std::uint64_t i = 10 + chance.below(30); i > 0; --i) {
            story.push_back(event_of(chance));
        }
        events += story.size();
        const int code = tell_layers_apart(story);
        if (code == kWithoutOverlays) {
            return;
        }
        if (code != kSame) {
            const auto least = explorer::shrunk<TreeEvent>(
                story, [&](const auto& shorter) { return tell_layers_apart(shorter) == code; });
            FAIL("seed " << seed << ": code " << code << "\n" << text_of_events(least));
        }
    }
    MESSAGE(count << " stories, " << events << " events");
}
