// SPDX-License-Identifier: Apache-2.0
// Images on their way to a registry and back.
#include "images/sif/sif.hpp"
#include "tests/unit/registry/registry_server.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

namespace cybele::registry {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// An image with a root partition for an architecture.
fs::path root_image(const RegistryServer& at, const std::string& architecture) {
    images::NewImage image;
    images::NewObject object;
    object.type = images::DataType::kPartition;
    object.extra = images::partition_extra(
        images::FsType::kSquashfs, images::PartType::kPrimary, architecture);
    object.alignment = 4096;
    object.name = "root";
    object.bytes.assign(5000, 'p');
    image.objects.push_back(object);
    fs::path file = at.shop.folder.path() / ("root-" + architecture + ".sif");
    REQUIRE(images::write_image(file, image));
    return file;
}

std::string push_file(const RegistryServer& at, const fs::path& file, const std::string& name) {
    PushRequest request;
    request.reference = at.reference(name);
    request.file = file;
    request.title = file.filename();
    const auto pushed = push(at.transport, request);
    REQUIRE(pushed);
    return pushed->manifest;
}

/// A list of images, under a tag.
Manifest put_list(const RegistryServer& at, const std::string& name, const Json& entries) {
    Manifest list;
    list.media_type = "application/vnd.oci.image.index.v1+json";
    list.bytes =
        Json{{"schemaVersion", 2}, {"mediaType", list.media_type}, {"manifests", entries}}.dump();
    list.digest = sha256_text(list.bytes);
    const Reference reference = at.reference(name);
    REQUIRE(at.registry(name).put_manifest(list, reference.tag));
    return list;
}

Json entry_for(const RegistryServer& at, const std::string& digest, const std::string& machine) {
    const auto manifest = at.registry("group/app").manifest(digest);
    REQUIRE(manifest);
    return {{"mediaType", manifest->media_type},
            {"digest", digest},
            {"size", manifest->bytes.size()},
            {"platform", {{"architecture", machine}, {"os", "linux"}}}};
}

} // namespace

TEST_CASE("a private host that does not speak https is asked by http where that is allowed") {
    RegistryServer at;
    REQUIRE(at.push_text("one", "group/app:1"));
    at.transport.access.is_plain = false;
    const auto refused = at.registry("group/app").manifest("1");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().faults().front().id == "registry-without-https");
    at.transport.access.may_be_plain = true;
    CHECK(at.registry("group/app").manifest("1"));
    CHECK(at.push_text("two", "group/app:2"));
}

TEST_CASE("an image is uploaded once, whatever the number of its tags") {
    RegistryServer at;
    const auto pushed = at.push_text("one", "group/app:1");
    REQUIRE(pushed);
    CHECK(pushed->how == "uploaded");
    CHECK(pushed->digest == *digest_of_file(at.shop.image("one")));
    CHECK(pushed->size == fs::file_size(at.shop.image("one")));
    CHECK(at.count("PUT /v2/group/app/blobs/") == 2); // the image and its configuration
    const auto again = at.push_text("one", "group/app:1");
    REQUIRE(again);
    CHECK(again->how == "there already");
    CHECK(again->manifest == pushed->manifest);
    CHECK(at.count("PUT ") == 0);
    const auto tagged = at.push_text("one", "group/app:2");
    REQUIRE(tagged);
    CHECK(tagged->how == "there already");
    CHECK(at.seen().back().starts_with("HEAD /v2/group/app/manifests/2"));
    CHECK(*at.registry("group/app").tags() == std::vector<std::string>{"1", "2"});
    CHECK(*at.registry("group/app").manifest_digest("2") == pushed->manifest);
    CHECK_FALSE(*at.registry("group/app").manifest_digest("3"));
    CHECK(id_of(at.push_text("one", "group/app@sha256:" + std::string(64, 'a'))) ==
          "push-to-digest");
}

TEST_CASE("an image that another repository of the host has is mounted, else uploaded") {
    RegistryServer at;
    REQUIRE(at.push_text("one", "group/app:1"));
    const auto push_to = [&](const std::string& name, const std::vector<std::string>& places) {
        PushRequest request;
        request.reference = at.reference(name);
        request.file = at.shop.image("one");
        request.title = "one.sif";
        request.repositories = places;
        const auto pushed = push(at.transport, request);
        REQUIRE(pushed);
        return pushed->how;
    };
    (void)at.seen();
    CHECK(push_to("a", {at.host() + "/group/app"}) == "mounted");
    CHECK(at.count("POST /v2/library/") == 0);
    CHECK(push_to("group/b", {"other.example/group/app", at.host() + "/group/b"}) == "uploaded");
    CHECK(push_to("group/c", {at.host() + "/group/none"}) == "uploaded");
    const auto lines = at.seen();
    // The upload that the registry began instead of the mount is given up.
    CHECK(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
        return line.starts_with("DELETE /v2/group/c/blobs/uploads/");
    }));
    CHECK(push_to("group/d", {at.host() + "/group/none", at.host() + "/group/app"}) == "mounted");
}

TEST_CASE("a pulled image is in the store under its name, and is downloaded once") {
    RegistryServer at;
    const auto pushed = at.push_text("one", "group/app:1");
    REQUIRE(pushed);
    auto request = at.pull_request("group/app:1");
    request.name = *read_new_name("mine:1");
    const auto pulled = pull(at.transport, request, at.shop.store);
    REQUIRE(pulled);
    CHECK(pulled->is_downloaded);
    CHECK(pulled->digest == pushed->digest);
    CHECK(pulled->manifest == pushed->manifest);
    CHECK(pulled->size == pushed->size);
    CHECK(pulled->name == "mine:1");
    REQUIRE(pulled->stored);
    CHECK(pulled->stored->record.names == std::vector<std::string>{"mine:1"});
    CHECK(pulled->stored->record.repositories ==
          std::vector<std::string>{at.host() + "/group/app"});
    CHECK(pulled->stored->record.origin == request.reference.text());
    CHECK(*digest_of_file(pulled->stored->path) == pushed->digest);
    struct stat status {};
    REQUIRE(::stat(pulled->stored->path.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0444);
    (void)at.seen();
    request.name = *read_new_name("mine:2");
    request.output = Output{at.shop.folder.path() / "out.sif"};
    const auto again = pull(at.transport, request, at.shop.store);
    REQUIRE(again);
    CHECK_FALSE(again->is_downloaded);
    CHECK(again->stored->record.names == std::vector<std::string>{"mine:1", "mine:2"});
    CHECK(*digest_of_file(request.output->path) == pushed->digest);
    CHECK(at.count("GET /v2/group/app/blobs/") == 0);
    CHECK(id_of(pull(at.transport, request, at.shop.store)) != ""); // the file is there by now
    CHECK(fs::is_empty(at.shop.root / "tmp"));
}

TEST_CASE("an image that the store had is noted as one that the registry has") {
    RegistryServer at;
    REQUIRE(at.push_text("one", "group/app:1"));
    (void)at.shop.add("one", "mine");
    const auto pulled = pull(at.transport, at.pull_request("group/app:1"), at.shop.store);
    REQUIRE(pulled);
    CHECK_FALSE(pulled->is_downloaded);
    CHECK(pulled->name.empty());
    CHECK(pulled->stored->record.repositories ==
          std::vector<std::string>{at.host() + "/group/app"});
}

TEST_CASE("a pull into a file makes an image that can be run, and takes no file away") {
    RegistryServer at;
    const auto pushed = at.push_text("one", "group/app:1");
    REQUIRE(pushed);
    auto request = at.pull_request("group/app@" + pushed->manifest);
    const fs::path file = at.shop.folder.path() / "new.sif";
    request.output = Output{file};
    const mode_t before = ::umask(027);
    const auto pulled = pull_to_file(at.transport, request);
    ::umask(before);
    REQUIRE(pulled);
    CHECK(pulled->is_downloaded);
    CHECK_FALSE(pulled->stored);
    CHECK(*digest_of_file(file) == pushed->digest);
    struct stat status {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0750);
    REQUIRE(write_file(file, "mine"));
    CHECK_FALSE(pull_to_file(at.transport, request));
    CHECK(*read_file(file) == "mine");
    request.output->is_forced = true;
    REQUIRE(pull_to_file(at.transport, request));
    CHECK(*digest_of_file(file) == pushed->digest);
    for (const auto& entry : fs::directory_iterator(at.shop.folder.path())) {
        CHECK(entry.path().extension() != ".part");
    }
}

TEST_CASE("what was pulled and is refused stays nowhere") {
    RegistryServer at;
    REQUIRE(at.push_text("one", "group/app:1"));
    auto request = at.pull_request("group/app:1");
    request.check = [](const fs::path& file) -> Result<void> {
        CHECK(fs::exists(file));
        return fail(ErrorCode::kVerification, problem("test", "unsigned"));
    };
    CHECK(pull(at.transport, request, at.shop.store).error().message() == "unsigned");
    CHECK(at.shop.digests().empty());
    CHECK(fs::is_empty(at.shop.root / "tmp"));
    request.output = Output{at.shop.folder.path() / "new.sif"};
    CHECK(pull_to_file(at.transport, request).error().message() == "unsigned");
    CHECK_FALSE(fs::exists(request.output->path));
    // Also where the store has it already.
    (void)at.shop.add("one", "");
    request.output.reset();
    request.name = *read_new_name("mine");
    CHECK(pull(at.transport, request, at.shop.store).error().message() == "unsigned");
    CHECK_FALSE(at.shop.store.find(*read_store_argument("mine")));
}

TEST_CASE("an image for another architecture is refused, of a list the right one is taken") {
    RegistryServer at;
    const auto arm = root_image(at, "arm64");
    const auto amd = root_image(at, "amd64");
    const std::string first = push_file(at, arm, "group/app:arm");
    const std::string second = push_file(at, amd, "group/app:amd");
    CHECK(id_of(pull(at.transport, at.pull_request("group/app:arm"), at.shop.store)) ==
          "image-other-architecture");
    auto request = at.pull_request("group/app:arm");
    request.architecture = "arm64";
    CHECK(pull(at.transport, request, at.shop.store));
    const Manifest list = put_list(
        at, "group/app:both", {entry_for(at, first, "arm64"), entry_for(at, second, "amd64")});
    const auto pulled = pull(at.transport, at.pull_request("group/app:both"), at.shop.store);
    REQUIRE(pulled);
    CHECK(pulled->digest == *digest_of_file(amd));
    CHECK(pulled->manifest == list.digest);
    request = at.pull_request("group/app:both");
    request.architecture = "riscv64";
    CHECK(because_of(pull(at.transport, request, at.shop.store)) == "it has arm64, amd64");
}

TEST_CASE("a copy has the same digests, with everything that a list names") {
    RegistryServer at;
    const std::string first = push_file(at, root_image(at, "arm64"), "group/app:arm");
    const std::string second = push_file(at, root_image(at, "amd64"), "group/app:amd");
    const Manifest list = put_list(
        at, "group/app:both", {entry_for(at, first, "arm64"), entry_for(at, second, "amd64")});
    const auto copied = copy(
        at.transport, at.transport, at.reference("group/app:both"), at.reference("other/copy:1"));
    REQUIRE(copied);
    CHECK(*copied == list.digest);
    CHECK(pull(at.transport, at.pull_request("other/copy:1"), at.shop.store)->manifest ==
          list.digest);
    CHECK(*at.registry("other/copy").tags() == std::vector<std::string>{"1"});
    CHECK(at.registry("other/copy").manifest(first));
    // Between registries nothing can be mounted.
    RegistryServer there;
    const auto sent = copy(
        at.transport, there.transport, at.reference("group/app:both"), there.reference("c/d:1"));
    REQUIRE(sent);
    CHECK(*sent == list.digest);
    (void)there.seen();
    REQUIRE(copy(
        at.transport, there.transport, at.reference("group/app:both"), there.reference("c/d:2")));
    CHECK(there.count("PUT /v2/c/d/blobs/") == 0); // they are there
}

TEST_CASE("lists of lists end") {
    RegistryServer at;
    const std::string image = push_file(at, root_image(at, "amd64"), "group/app:0");
    Json inner = entry_for(at, image, "amd64");
    for (int depth = 1; depth <= 5; ++depth) {
        const std::string tag = "group/app:" + std::to_string(depth);
        const Manifest list = put_list(at, tag, Json::array({inner}));
        inner["digest"] = list.digest;
        inner["size"] = list.bytes.size();
        inner["mediaType"] = list.media_type;
        const auto copied = copy(
            at.transport, at.transport, at.reference(tag), at.reference("c:" + tag.substr(10)));
        CAPTURE(depth);
        CHECK(copied.has_value() == (depth <= 4));
    }
}

TEST_CASE("tags come from all pages, sorted, and each once") {
    RegistryServer at;
    for (const char* tag : {"3", "1", "5", "2", "4"}) {
        REQUIRE(at.push_text("one", "group/app:" + std::string(tag)));
    }
    at.set({{"page", 2}});
    (void)at.seen();
    CHECK(*at.registry("group/app").tags() == std::vector<std::string>{"1", "2", "3", "4", "5"});
    CHECK(at.count("GET /v2/group/app/tags/list") == 3);
    at.spoil(
        {{"match", "GET .*/tags/list"}, {"status", 200}, {"body", R"({"tags":["b","a","b",7]})"}});
    CHECK(*at.registry("group/app").tags() == std::vector<std::string>{"a", "b"});
    const auto missing = at.registry("group/none").tags();
    CHECK(id_of(missing) == "registry-name-unknown");
    CHECK(missing.error().code() == ErrorCode::kInput);
    CHECK(because_of(missing).ends_with("answers 404: NAME_UNKNOWN no such repository"));
    for (const char* link : {"</v2/group/app/tags/list>; rel=\"next\"",
                             "<http://127.0.0.1:1/v2/group/app/tags/list>; rel=\"next\""}) {
        at.spoil({{"match", "GET .*/tags/list"},
                  {"status", 200},
                  {"body", R"({"tags":[]})"},
                  {"headers", {{"Link", link}}}});
        CHECK(id_of(at.registry("group/app").tags()) == "registry-list-endless");
    }
    CHECK(at.registry("group/app").ping());
    at.spoil({{"match", "GET /v2/"}, {"status", 404}});
    CHECK_FALSE(at.registry("group/app").ping());
}

} // namespace cybele::registry
