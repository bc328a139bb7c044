// SPDX-License-Identifier: Apache-2.0
// OCI images in folders and archives, which others are built from.
#include "registry/oci/layout.hpp"
#include "registry/oci/oci_image.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/process.hpp"
#include "tests/unit/registry/shop.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace cybele::registry {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string kListType = "application/vnd.oci.image.index.v1+json";
const std::string kTarLayer = "application/vnd.oci.image.layer.v1.tar+gzip";

std::string sha256_of(const std::string& bytes) {
    return "sha256:" + hex(sha256(bytes));
}

/// A folder that is filled with the parts of an image layout.
struct Layout {
    Shop shop;
    fs::path path = shop.folder.path() / "layout";

    Layout() {
        REQUIRE(make_directories(path / "blobs/sha256"));
        REQUIRE(write_file(path / "oci-layout", R"({"imageLayoutVersion":"1.0.0"})"));
    }
    /// Its descriptor.
    [[nodiscard]] Json blob(const std::string& bytes, const std::string& type) const {
        const std::string digest = sha256_of(bytes);
        REQUIRE(write_file(path / "blobs/sha256" / digest.substr(7), bytes));
        return {{"mediaType", type}, {"digest", digest}, {"size", bytes.size()}};
    }
    [[nodiscard]] static std::string config(const std::vector<std::string>& layers,
                                            const std::string& machine = "amd64",
                                            const std::string& os = "linux") {
        Json ids = Json::array();
        for (const std::string& layer : layers) {
            ids.push_back(sha256_of("tar of " + layer));
        }
        return Json{{"architecture", machine},
                    {"os", os},
                    {"rootfs", {{"type", "layers"}, {"diff_ids", ids}}}}
            .dump();
    }
    /// The descriptor of an image's manifest.
    [[nodiscard]] Json image(const std::vector<std::string>& layers,
                             const std::string& machine = "amd64",
                             const std::string& type = kTarLayer) const {
        Json list = Json::array();
        for (const std::string& layer : layers) {
            list.push_back(blob(layer, type));
        }
        const Json manifest{
            {"schemaVersion", 2},
            {"mediaType", std::string(kManifestType)},
            {"config", blob(config(layers, machine), "application/vnd.oci.image.config.v1+json")},
            {"layers", list}};
        return blob(manifest.dump(), std::string(kManifestType));
    }
    [[nodiscard]] Json list(const Json& entries) const {
        return blob(
            Json{{"schemaVersion", 2}, {"mediaType", kListType}, {"manifests", entries}}.dump(),
            kListType);
    }
    void index(const Json& entries) const {
        REQUIRE(write_file(path / "index.json",
                           Json{{"schemaVersion", 2}, {"manifests", entries}}.dump()));
    }
    [[nodiscard]] OciRequest request(const std::string& from = "layout") const {
        OciRequest request;
        request.transport = "oci";
        request.from = from;
        request.directory = shop.folder.path();
        request.architecture = "amd64";
        request.now = kNow;
        return request;
    }
    [[nodiscard]] Result<OciImage> fetch(const OciRequest& request) const {
        return fetch_oci({}, request, shop.store);
    }
    [[nodiscard]] Result<OciImage> fetch(const std::string& from = "layout") const {
        return fetch(request(from));
    }
    [[nodiscard]] std::string id(const std::string& from = "layout") const {
        const auto got = fetch(from);
        return got ? "" : got.error().faults().front().id;
    }
    /// The layout as a tar file.
    [[nodiscard]] OciRequest archived(const std::string& option = "-cf") const {
        Command command;
        command.argv = {"tar", "-C", path.native(), option, path.native() + ".tar", "."};
        REQUIRE(run_process(command)->ok());
        OciRequest made = request("layout.tar");
        made.transport = "oci-archive";
        return made;
    }
};

Json named(Json entry, const std::string& name) {
    entry["annotations"] = {{"org.opencontainers.image.ref.name", name}};
    return entry;
}

Json for_machine(Json entry, const std::string& machine) {
    entry["platform"] = {{"architecture", machine}, {"os", "linux"}};
    return entry;
}

} // namespace

TEST_CASE("an image layout gives the layers of its image in order, where they are") {
    const Layout layout;
    const Json image = layout.image({"first", "second layer"});
    layout.index(Json::array({image}));
    const auto got = layout.fetch();
    REQUIRE(got);
    CHECK(got->name == "oci:layout");
    CHECK(got->digest == image["digest"].get<std::string>());
    CHECK(got->config == Layout::config({"first", "second layer"}));
    CHECK(got->image == sha256_of(got->config));
    REQUIRE(got->layers.size() == 2);
    CHECK(got->layers[0].descriptor.digest == sha256_of("first"));
    CHECK(got->layers[1].descriptor.digest == sha256_of("second layer"));
    CHECK(got->layers[1].diff_id == sha256_of("tar of second layer"));
    CHECK(got->packed_bytes() == 17);
    CHECK(*read_file(got->layers[1].file.path) == "second layer");
    CHECK(got->layers[1].file.path.native().starts_with(layout.path.native()));
    CHECK(got->layers[1].file.was_there);
    CHECK(layout.fetch(layout.path.native())); // an absolute path, and Apptainer's `oci://PATH`
    CHECK(layout.fetch("//" + layout.path.native()));
    OciRequest locked = layout.request();
    locked.digest = got->digest;
    CHECK(layout.fetch(locked));
    locked.digest = sha256_of("another");
    CHECK(layout.fetch(locked).error().code() == ErrorCode::kVerification);
    CHECK(*resolve_oci(
              {nullptr, {}, Environment(EnvironmentMap{{"HOME", layout.shop.folder.path()}}), {}},
              layout.request()) == got->digest);
}

TEST_CASE("of several images in a layout a tag, a digest or the machine chooses") {
    const Layout layout;
    const Json one = layout.image({"one"});
    const Json two = layout.image({"two"});
    const Json arm = layout.image({"arm"}, "arm64");
    layout.index(Json::array({named(one, "1.0"), named(two, "2.0"), named(two, "latest")}));
    const auto digest = [&](const std::string& from) {
        const auto got = layout.fetch(from);
        return got ? Json(got->digest) : Json(got.error().faults().front().id);
    };
    CHECK(digest("layout:1.0") == one["digest"]);
    CHECK(digest("layout:latest") == two["digest"]);
    CHECK(digest("layout@" + one["digest"].get<std::string>()) == one["digest"]);
    CHECK(digest("layout:2.0@" + two["digest"].get<std::string>()) == two["digest"]);
    CHECK(digest("layout:1.0@" + two["digest"].get<std::string>()) == "layout-image-missing");
    CHECK(digest("layout:3.0") == "layout-image-missing");
    CHECK(digest("layout") == "layout-several-images");
    CHECK(layout.fetch().error().faults().front().because == "it has 1.0, 2.0, latest");
    layout.index(
        Json::array({named(two, "2.0"), named(two, "latest")})); // one image under two names
    CHECK(digest("layout") == two["digest"]);
    layout.index(Json::array({for_machine(arm, "arm64"), for_machine(one, "amd64")}));
    CHECK(digest("layout") == one["digest"]);
    layout.index(Json::array({for_machine(arm, "arm64"), one}));
    CHECK(digest("layout") == "layout-several-images");
    layout.index(Json::array());
    CHECK(layout.fetch().error().faults().front().because == "it has none");
    const Json both =
        layout.list(Json::array({for_machine(arm, "arm64"), for_machine(one, "amd64")}));
    layout.index(Json::array({named(both, "both")}));
    const auto listed = layout.fetch("layout:both");
    REQUIRE(listed);
    CHECK(listed->image == sha256_of(Layout::config({"one"})));
}

TEST_CASE("lists of lists are followed four times") {
    const Layout layout;
    Json entry = for_machine(layout.image({"one"}), "amd64");
    for (int depth = 1; depth <= 4; ++depth) {
        layout.index(Json::array({entry}));
        CAPTURE(depth);
        CHECK(layout.id() == "");
        entry = for_machine(layout.list(Json::array({entry})), "amd64");
    }
    layout.index(Json::array({entry}));
    CHECK(layout.id() == "layout-incomplete");
}

TEST_CASE("a layout whose parts are missing, cut or changed is refused") {
    const Layout layout;
    CHECK(layout.id() == "layout-without-index");
    CHECK(layout.id("none") == "reference-kind");
    const Json image = layout.image({"one"});
    layout.index(Json::array({image}));
    REQUIRE(layout.id() == "");
    const auto path = [&](const std::string& digest) {
        return layout.path / "blobs/sha256" / digest.substr(7);
    };
    const std::string parts[] = {image["digest"].get<std::string>(),
                                 sha256_of(Layout::config({"one"}))};
    for (const std::string& digest : parts) {
        CAPTURE(digest);
        const std::string bytes = *read_file(path(digest));
        std::string changed = bytes;
        changed.back() = ' ';
        for (const std::string& wrong : {changed, bytes + " ", bytes.substr(1)}) {
            REQUIRE(write_file(path(digest), wrong));
            const auto refused = layout.fetch();
            REQUIRE_FALSE(refused);
            CHECK(refused.error().code() == ErrorCode::kVerification);
        }
        REQUIRE(fs::remove(path(digest)));
        CHECK_FALSE(layout.fetch());
        REQUIRE(write_file(path(digest), bytes));
    }
    REQUIRE(write_file(path(sha256_of("one")), "longer"));
    CHECK(layout.id() == "layer-wrong-size");
    REQUIRE(fs::remove(path(sha256_of("one"))));
    CHECK_FALSE(layout.fetch());
}

TEST_CASE("an image is refused for what it is not: another machine, foreign or unknown layers") {
    const Layout layout;
    const auto id_of_image = [&](const Json& entry) {
        layout.index(Json::array({entry}));
        return layout.id();
    };
    CHECK(id_of_image(layout.image({"one"}, "arm64")) == "image-other-platform");
    CHECK(id_of_image(layout.image({"one"}, "")) == "");
    for (const char* type : {"application/vnd.oci.image.layer.v1.tar",
                             "application/vnd.oci.image.layer.v1.tar+zstd",
                             "application/vnd.docker.image.rootfs.diff.tar.gzip",
                             "application/vnd.oci.image.layer.nondistributable.v1.tar"}) {
        CAPTURE(type);
        CHECK(id_of_image(layout.image({"one"}, "amd64", type)) == "");
    }
    CHECK(id_of_image(layout.image(
              {"one"}, "amd64", "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip")) ==
          "foreign-layer");
    for (const char* type : {"application/vnd.oci.image.layer.v1.tar+encrypted",
                             "application/vnd.sylabs.sif.layer.v1.sif",
                             "text/plain"}) {
        CAPTURE(type);
        CHECK(id_of_image(layout.image({"one"}, "amd64", type)) == "layer-type-unknown");
    }
    CHECK(layout.fetch().error().faults().front().help ==
          "begin with an image whose layers are tar "
          "files");
    const auto with_config = [&](const std::string& config) {
        const Json manifest{{"schemaVersion", 2},
                            {"config", layout.blob(config, "application/json")},
                            {"layers", Json::array({layout.blob("one", kTarLayer)})}};
        return layout.blob(manifest.dump(), std::string(kManifestType));
    };
    CHECK(id_of_image(with_config(Layout::config({"one"}))) == "");
    CHECK(id_of_image(with_config(Layout::config({"one"}, "amd64", "windows"))) ==
          "image-other-platform");
    CHECK(id_of_image(with_config(Layout::config({"one", "two"}))) == "layout-incomplete");
    CHECK(id_of_image(with_config(Layout::config({}))) == "layout-incomplete");
    const std::string id = sha256_of("x");
    CHECK(id_of_image(with_config(R"({"rootfs":{"diff_ids":[")" + id + R"("]}})")) == "");
    for (const std::string& bad : {std::string("{}"),
                                   std::string("[]"),
                                   std::string(R"({"rootfs":[]})"),
                                   std::string(R"({"rootfs":{"diff_ids":{}}})"),
                                   std::string(R"({"rootfs":{"diff_ids":[5]}})"),
                                   std::string(R"({"rootfs":{"diff_ids":["sha256:1"]}})")}) {
        CAPTURE(bad);
        CHECK(id_of_image(with_config(bad)) == "image-without-root");
    }
}

TEST_CASE("at most 512 layers are counted") {
    OciRequest request;
    request.architecture = "amd64";
    for (const std::size_t count : {std::size_t{512}, std::size_t{513}}) {
        OciImage image;
        image.config = Layout::config(std::vector<std::string>(count, "one"));
        CHECK(judge_config(image, request).has_value() == (count == 512));
        CHECK(image.layers.size() == (count == 512 ? 512 : 0));
    }
}

TEST_CASE("an archive of a layout, packed or not, gives the same image; its layers are checked") {
    const Layout layout;
    const Json image = layout.image({"one", "two"});
    layout.index(Json::array({named(image, "1.0")}));
    for (const char* option : {"-cf", "-czf"}) {
        OciRequest request = layout.archived(option);
        const auto got = layout.fetch(request);
        REQUIRE(got);
        CHECK(got->digest == image["digest"].get<std::string>());
        REQUIRE(got->layers.size() == 2);
        CHECK(*read_file(got->layers[1].file.path) == "two");
        request.from += ":1.0";
        CHECK(layout.fetch(request));
        request.from += "x";
        CHECK_FALSE(layout.fetch(request));
    }
    const auto refused = [&] {
        const auto got = layout.fetch(layout.archived());
        REQUIRE_FALSE(got);
        return got.error().faults().front().id;
    };
    const fs::path layer = layout.path / "blobs/sha256" / sha256_of("three").substr(7);
    layout.index(Json::array({layout.image({"three"})}));
    REQUIRE(write_file(layer, "thr33"));
    CHECK(refused() == "archive-entry-wrong");
    REQUIRE(write_file(layer, "threes"));
    CHECK(refused() == "archive-entry-wrong");
    REQUIRE(fs::remove(layer));
    CHECK(refused() == "archive-incomplete");
    REQUIRE(write_file(layout.path.native() + ".tar", "no archive, which is longer than a block"));
    OciRequest damaged = layout.request("layout.tar");
    damaged.transport = "oci-archive";
    CHECK(layout.fetch(damaged).error().faults().front().id == "archive-damaged");
}

TEST_CASE(
    "an archive of docker: links, tags with and without their host, one image without a tag") {
    const Layout layout;
    const auto archived = [&] {
        OciRequest request = layout.archived();
        request.transport = "docker-archive";
        return request;
    };
    const auto id = [&](const OciRequest& request) {
        const auto got = layout.fetch(request);
        return got ? std::string() : got.error().faults().front().id;
    };
    CHECK(id(archived()) == "docker-archive-without-manifest");
    const std::string tar = "the tar";
    const std::string config = Json{{"architecture", "amd64"},
                                    {"rootfs", {{"diff_ids", {sha256_of(tar), sha256_of(tar)}}}}}
                                   .dump();
    REQUIRE(make_directories(layout.path / "a"));
    REQUIRE(make_directories(layout.path / "b"));
    REQUIRE(write_file(layout.path / "config.json", config));
    REQUIRE(write_file(layout.path / "a/layer.tar", tar));
    fs::create_symlink("../a/layer.tar", layout.path / "b/layer.tar");
    const Json entry{{"Config", "config.json"},
                     {"RepoTags", {"docker.io/library/base:1", "mine:latest"}},
                     {"Layers", {"a/layer.tar", "b/layer.tar"}}};
    const auto describe = [&](const Json& manifest) {
        REQUIRE(write_file(layout.path / "manifest.json", manifest.dump()));
        return archived();
    };
    OciRequest request = describe(Json::array({entry}));
    const auto got = layout.fetch(request);
    REQUIRE(got);
    CHECK(got->image == sha256_of(config));
    CHECK(got->digest == got->image);
    REQUIRE(got->layers.size() == 2);
    CHECK(*read_file(got->layers[1].file.path) == tar);
    CHECK(got->packed_bytes() == 2 * tar.size());
    for (const char* tag :
         {"base:1", "library/base:1", "docker.io/library/base:1", "mine", "mine:latest"}) {
        request.from = "layout.tar:" + std::string(tag);
        CHECK_MESSAGE(id(request) == "", tag);
    }
    for (const char* tag : {"base", "base:2", "ase:1", "mine:1"}) {
        request.from = "layout.tar:" + std::string(tag);
        CHECK_MESSAGE(id(request) == "layout-tag", tag);
    }
    Json other = entry;
    other["RepoTags"] = nullptr;
    request = describe(Json::array({entry, other}));
    CHECK(id(request) == "layout-tag");
    request.from = "layout.tar:mine";
    CHECK(id(request) == "");
    Json fewer = entry;
    fewer["Layers"] = {"a/layer.tar"};
    CHECK(id(describe(Json::array({fewer}))) == "layout-incomplete");
    CHECK(id(describe(Json::object())) == "layout-incomplete");
    CHECK(id(describe(Json::array({Json{{"Config", "config.json"}}}))) == "layout-incomplete");
    fs::remove(layout.path / "b/layer.tar");
    fs::create_symlink("../b/layer.tar", layout.path / "b/layer.tar"); // to itself
    CHECK(id(describe(Json::array({entry}))) == "archive-incomplete");
}

TEST_CASE("the name of a local image: the longest path that exists, then tag and digest") {
    const TempDirectory folder = *TempDirectory::make("/var/tmp", "cybele-layout");
    OciRequest request;
    request.directory = folder.path();
    const auto read = [&](const std::string& from) {
        request.from = from;
        const LocalReference reference = read_local_reference(request);
        return reference.path.lexically_relative(folder.path()).native() + "|" + reference.tag +
               "|" + reference.digest;
    };
    const std::string digest = "sha256:" + std::string(64, 'a');
    CHECK(read("none:1.0") == "none|1.0|");
    CHECK(read("none") == "none||");
    CHECK(read("a/none:1.0") == "a/none|1.0|");
    REQUIRE(write_file(folder.path() / "app", ""));
    REQUIRE(write_file(folder.path() / "b:c", ""));
    CHECK(read("app") == "app||");
    CHECK(read("app:1.0") == "app|1.0|");
    CHECK(read("app:host:5000/name:1") == "app|host:5000/name:1|");
    CHECK(read("app@" + digest) == "app||" + digest);
    CHECK(read("app:1.0@" + digest) == "app|1.0|" + digest);
    CHECK(read("b:c") == "b:c||");
    CHECK(read("b:c:1") == "b:c|1|");
    CHECK(is_oci_transport("docker-archive"));
    CHECK_FALSE(is_oci_transport("library"));
}

} // namespace cybele::registry
