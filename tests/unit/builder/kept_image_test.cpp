// SPDX-License-Identifier: Apache-2.0
// The whole image as the cache keeps it: what its steps lack.
#include "bench.hpp"
#include "builder/layers/kept_image.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/random.hpp"

#include <algorithm>

#include <fcntl.h>

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

namespace {

/// The only file of a kind of the cache that ends so.
fs::path entry_of(const fs::path& folder, const std::string& suffix) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == suffix) {
            found.push_back(entry.path());
        }
    }
    REQUIRE(found.size() == 1);
    return found.front();
}

/// What a kept image makes; "" where it is none.
std::string made_of(const fs::path& kept, const fs::path& to) {
    const auto image = KeptImage::open(kept);
    if (!image) {
        return "";
    }
    const UniqueFd fd(::open(to.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    REQUIRE(image->write(fd.get()));
    return content(to);
}

/// A cache with the image of one step with a file of half a megabyte.
struct Kept {
    Bench bench;
    fs::path image;
    fs::path base; ///< the layer that has the file
    fs::path parts;
    std::string bytes;

    Kept() {
        put(bench.here / "data", random_bytes(500'000));
        auto request = bench.request("Bootstrap: scratch\n%files\ndata /data\n");
        const auto built = build(request, bench.environment);
        REQUIRE(built);
        image = built->image;
        bytes = content(image);
        parts = entry_of(bench.here / "cache/images", ".parts");
        for (const auto& entry : fs::directory_iterator(bench.here / "cache/steps")) {
            if (entry.path().extension() == ".squashfs" && entry.file_size() > 300'000) {
                base = entry.path();
            }
        }
        REQUIRE_FALSE(base.empty());
    }
};

} // namespace

TEST_CASE("a kept image is what its layers lack, and is made again of both") {
    Kept kept;
    CHECK(fs::file_size(kept.parts) < kept.bytes.size() / 2);
    CHECK(made_of(kept.parts, kept.bench.here / "again") == kept.bytes);
}

TEST_CASE("a kept image is none without its layers as they were") {
    Kept kept;
    const fs::path digest = kept.base.native() + ".sha256";
    SUBCASE("gone") {
        fs::remove(kept.base);
    }
    SUBCASE("damaged") {
        std::string bytes = content(kept.base);
        bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] + 1);
        put(kept.base, bytes);
        CHECK(made_of(kept.parts, kept.bench.here / "again").empty());
        CHECK_FALSE(fs::exists(kept.base)); // as any damaged entry
    }
    SUBCASE("another one of that name, as whole") {
        put(kept.base, "other");
        put(digest, hex(sha256("other")) + " 5\n");
        CHECK(made_of(kept.parts, kept.bench.here / "again").empty());
        CHECK(fs::exists(kept.base));
    }
    CHECK(made_of(kept.parts, kept.bench.here / "again").empty());
}

TEST_CASE("ranges of a layer that the cache has no more are kept as bytes") {
    Kept kept;
    const fs::path copy = kept.bench.here / "copy";
    fs::copy_file(kept.base, copy);
    const UniqueFd fd(::open(copy.c_str(), O_RDONLY | O_CLOEXEC));
    // Under another name, under one of another file, and without a name.
    for (const auto& layers : {std::vector<LayerFile>{{fd.get(), copy}},
                               std::vector<LayerFile>{{fd.get(), kept.base}},
                               std::vector<LayerFile>{}}) {
        const fs::path to = kept.bench.here / "cache/images/x.parts";
        fs::remove(to);
        REQUIRE(keep_image(kept.image, {{fd.get(), 100, 50'000, 200'000}}, layers, to));
        CHECK(fs::file_size(to) > kept.bytes.size());
        CHECK(made_of(to, kept.bench.here / "again") == kept.bytes);
    }
}

TEST_CASE("what is no kept image is none") {
    Kept kept;
    const std::string whole = content(kept.parts);
    const auto is_one = [&](const std::string& bytes) {
        put(kept.parts, bytes);
        return KeptImage::open(kept.parts).has_value();
    };
    CHECK(is_one(whole));
    CHECK_FALSE(is_one(""));
    CHECK_FALSE(is_one(kept.bytes));
    CHECK_FALSE(is_one("cybelectl image 1 99999999999\n"));
    CHECK_FALSE(is_one("cybelectl image 1 0099999999\n"));
    CHECK_FALSE(is_one("cybelectl image 1 00000000x0\n"));
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string bytes = whole;
        const auto at = bytes.find(from);
        REQUIRE(at != std::string::npos);
        return bytes.replace(at, from.size(), to);
    };
    CHECK_FALSE(is_one(with("image 1", "image 2")));
    CHECK_FALSE(is_one(with("\nimage ", "\nimage 1")));
    CHECK_FALSE(is_one(with("\nfrom 1 ", "\nfrom 2 ")));
    CHECK_FALSE(is_one(with("\nown ", "\nown 1")));
    CHECK_FALSE(is_one(with("\nown ", "\nown-")));
    CHECK_FALSE(is_one(with("\nlayer ", "\nlayer ../")));
}
