// SPDX-License-Identifier: Apache-2.0
// Packing a tree of layers: what an overlay shows of them has the content that the writer takes.
#include "bench.hpp"
#include "builder/layers/layers.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"

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

constexpr std::size_t kBlock = 131072;

/// Lines that compress, unlike for each seed.
std::string lines(std::size_t size, unsigned seed) {
    std::string text;
    while (text.size() < size) {
        text += std::to_string(seed = seed * 1664525U + 1013904223U) + "\n";
    }
    text.resize(size);
    return text;
}

Result<std::string> packed(const fs::path& root,
                           const fs::path& file,
                           const std::vector<images::TreeLayer>& layers,
                           std::uint32_t workers) {
    const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    images::PackOptions options;
    options.layers = layers;
    options.workers = workers;
    CYBELE_CHECK(images::write_squashfs(root, fd.get(), 0, options));
    return read_file(file);
}

/// Packs the topmost closed layer, a folder, and tells the layers so.
Result<void> pack_top(Layers& layers, const fs::path& file) {
    CYBELE_CHECK(pack_layer(layers.folders().back(), file));
    CYBELE_TRY(UniqueFd fd, open_for_reading(file));
    layers.note_packed(std::move(fd));
    return {};
}

Result<void> do_in(Layers& layers, const std::string& script) {
    Command command;
    command.argv = {"/bin/bash", "-ec", script};
    command.directory = layers.root();
    CYBELE_TRY(const Outcome outcome, run_process(command));
    return outcome.ok() ? Result<void>()
                        : fail(ErrorCode::kExecution, problem("test", script + outcome.errors));
}

/// All that a step can do to what lies below it. Times and sizes stay, to mislead.
constexpr const char* kSecondStep =
    "chmod 700 d/chmod; rm d/gone\n"
    "tr 0 1 <d/replaced >d/new; touch -r d/replaced d/new; mv d/new d/replaced\n"
    "rm -r opaque; mkdir opaque; tr 0 2 <d/kept >opaque/x; touch -d @1000000000 opaque/x\n"
    "mv moved elsewhere; chmod 711 linked-1; rm file; mkdir file; tr 0 3 <d/kept >file/inside\n"
    "rm -r tree; tr 0 4 <d/kept >tree; cp -p d/kept again; ln d/kept d/kept-too\n"
    "rm turned; ln -s d turned; find . -newermt 2002-01-01 -exec touch -h -d @1000000000 {} +";

Result<void> make_first(const fs::path& root) {
    unsigned seed = 1;
    for (const char* name : {"d/kept",
                             "d/chmod",
                             "d/gone",
                             "d/replaced",
                             "d/attribute",
                             "opaque/x",
                             "opaque/y/z",
                             "moved/m",
                             "linked-1",
                             "file",
                             "tree/in/it",
                             "turned",
                             "untouched"}) {
        CYBELE_CHECK(make_directories((root / name).parent_path()));
        CYBELE_CHECK(write_file(root / name, lines(2 * kBlock + std::size_t{1000} * seed, seed)));
        ++seed;
    }
    fs::create_hard_link(root / "linked-1", root / "linked-2");
    (void)output_of(
        {"find", root.native(), "-exec", "touch", "-h", "-d", "@1000000000", "{}", "+"});
    return {};
}

/// 0, or which expectation failed; the rest of the message on standard error.
Result<int> compare(const fs::path& here) {
    const OverlaySupport way = find_overlay_support(here);
    CYBELE_TRY(Layers layers, Layers::make(here / "stage", way));
    CYBELE_TRY(const fs::path first, layers.add_folder());
    CYBELE_CHECK(make_first(first));
    CYBELE_CHECK(pack_top(layers, here / "first.squashfs"));
    CYBELE_CHECK(layers.begin());
    CYBELE_CHECK(do_in(layers, kSecondStep));
    if (::setxattr((layers.root() / "d/attribute").c_str(), "user.word", "1", 1, 0) != 0) {
        return 3;
    }
    CYBELE_TRY(const fs::path second, layers.end());
    CYBELE_CHECK(pack_top(layers, here / "second.squashfs"));
    // The same difference once more, as a kept layer.
    CYBELE_CHECK(layers.add_squashfs(here / "second.squashfs"));
    CYBELE_CHECK(layers.begin());
    CYBELE_CHECK(do_in(layers, "tr 0 5 <d/kept >over; rm d/chmod; chmod 600 linked-2"));
    CYBELE_TRY(const std::string plain, packed(layers.root(), here / "plain", {}, 2));
    for (const std::uint32_t workers : {1U, 4U}) {
        CYBELE_TRY(const std::string reused,
                   packed(layers.root(), here / "reused", layers.shown(), workers));
        if (reused != plain) {
            return 1;
        }
    }
    // That the layers are what is read: other bytes in the lowest one, of the same size and time.
    CYBELE_CHECK(make_first(here / "other"));
    CYBELE_CHECK(write_file(here / "other/untouched", lines(2 * kBlock + 13000, 77)));
    (void)output_of({"touch", "-d", "@1000000000", (here / "other/untouched").native()});
    CYBELE_CHECK(pack_layer(here / "other", here / "other.squashfs"));
    auto shown = layers.shown();
    CYBELE_TRY(const UniqueFd other, open_for_reading(here / "other.squashfs"));
    shown[0].fd = other.get();
    shown[0].size = fs::file_size(here / "other.squashfs");
    CYBELE_TRY(const std::string untrue, packed(layers.root(), here / "untrue", shown, 1));
    return untrue == plain ? 2 : 0;
}

} // namespace

TEST_CASE("what an overlay shows is packed from its layers, to the bytes of reading it") {
    if (::geteuid() != 0) {
        return; // a user's builds are compared in the test below
    }
    const auto here = temporary();
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
            ::_exit(99);
        }
        const auto outcome = compare(here.path());
        if (!outcome) {
            fmt::print(stderr, "{}\n", outcome.error().message());
        }
        ::_exit(outcome.value_or(98));
    }
    CHECK(wait_for(child) == 0);
}

TEST_CASE("a flat image of kept steps has the bytes of one that is packed anew") {
    const auto make = [](Bench& bench, const std::string& last, bool use_cache) {
        auto request = bench.request(kBase + "data /data\n" + kInstall +
                                     "%post\ncp /data/blocks /copy; chmod 700 /data/tail\n"
                                     "%post\nrm /data/gone; cat /data/blocks >>/data/tail\n"
                                     "%post\necho " +
                                     last + " >/last\n");
        for (auto& section : request.source.definition.stages[0].sections) {
            section.is_self_contained = true;
        }
        request.force = true;
        request.use_cache = use_cache;
        const auto built = build(request, bench.environment);
        return built ? hex(*sha256_file(built->image)) : built.error().message();
    };
    const auto fill = [](const fs::path& here) {
        fs::create_directories(here / "data");
        unsigned seed = 50;
        for (const char* name : {"blocks", "tail", "gone", "small"}) {
            put(here / "data" / name, lines(std::size_t{7000} * seed, seed));
            seed += 11;
        }
        put(here / "data/blocks", lines(3 * kBlock, 9));
        (void)output_of(
            {"find", (here / "data").native(), "-exec", "touch", "-d", "@1000000000", "{}", "+"});
    };
    Bench bench;
    fill(bench.here);
    const std::string first = make(bench, "1", true);
    CHECK(make(bench, "1", false) == first);
    const std::string layered = make(bench, "2", true);
    CHECK(make(bench, "2", false) == layered);
    CHECK(layered != first);
    Bench own; // by a user who has neither loop devices nor FUSE
    fill(own.here);
    (void)output_of({"chown", "-R", kUser, own.here.native()});
    CHECK(as_user(own.here, [&] {
              (void)make(own, "1", true);
              return make(own, "2", true) == layered ? 0 : 1;
          }) == 0);
}
