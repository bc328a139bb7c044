// SPDX-License-Identifier: Apache-2.0
// Registries that are busy, break off, or answer something else than they should.
#include "tests/unit/registry/registry_server.hpp"

#include <doctest/doctest.h>

namespace cybele::registry {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string kOther = "sha256:" + std::string(64, 'b');

/// A repository with one blob of some size.
struct OneBlob {
    RegistryServer at;
    std::string bytes;
    ContentDescriptor blob;
    fs::path file = at.shop.folder.path() / "download";

    OneBlob() {
        for (int i = 0; i < 5000; ++i) {
            bytes += static_cast<char>('a' + i % 23);
        }
        blob.digest = sha256_text(bytes);
        blob.size = bytes.size();
        REQUIRE(at.registry("app").put_blob(blob, bytes));
        (void)at.seen();
    }
    [[nodiscard]] Result<void> get() const {
        return at.registry("app").get_blob(blob, file, {});
    }
};

} // namespace

TEST_CASE("what is busy is asked again, later each time, and not without end") {
    RegistryServer at;
    REQUIRE(at.push_text("one", "app:1"));
    for (const int status : {429, 500, 502, 503, 504}) {
        CAPTURE(status);
        at.pauses.clear();
        at.spoil({{"match", "GET .*/manifests/1"}, {"status", status}, {"times", 3}});
        CHECK(at.registry("app").manifest("1"));
        CHECK(at.pauses == std::vector<std::int64_t>{250, 500, 1000});
    }
    CHECK(at.said.front().ends_with(": it answers 429; once more in 0.2 s"));
    for (const int status : {400, 404, 405, 501}) {
        CAPTURE(status);
        at.pauses.clear();
        at.spoil({{"match", "GET .*/manifests/1"}, {"status", status}});
        CHECK(id_of(at.registry("app").manifest("1")) ==
              (status == 404 ? "registry-name-unknown" : "registry-refused"));
        CHECK(at.pauses.empty());
    }
    at.transport.access.attempts = 3;
    (void)at.seen();
    at.spoil(
        {{"match", "GET .*/manifests/1"}, {"status", 503}, {"times", 9}, {"body", "tired\nx"}});
    const auto given_up = at.registry("app").manifest("1");
    CHECK(id_of(given_up) == "registry-refused");
    CHECK(given_up.error().code() == ErrorCode::kEnvironment);
    CHECK(because_of(given_up) == at.host() + " answers 503: tired");
    CHECK(at.count("GET /v2/app/manifests/1") == 3);
}

TEST_CASE("a registry says how long to wait, up to a minute") {
    RegistryServer at;
    REQUIRE(at.push_text("one", "app:1"));
    const std::pair<const char*, std::int64_t> cases[] = {
        {"7", 7000}, {"0", 0}, {"60", 60'000}, {"1000", 60'000}, {"-5", 0}, {"soon", 250}};
    for (const auto& [after, pause] : cases) {
        CAPTURE(after);
        at.pauses.clear();
        at.spoil({{"match", "GET .*/manifests/1"},
                  {"status", 503},
                  {"headers", {{"Retry-After", after}}}});
        CHECK(at.registry("app").manifest("1"));
        CHECK(at.pauses == std::vector<std::int64_t>{pause});
    }
}

TEST_CASE("a manifest is the one that was asked for, or none") {
    RegistryServer at;
    const auto pushed = at.push_text("one", "app:1");
    const auto other = at.push_text("two", "app:2");
    REQUIRE(other);
    at.spoil({{"match", "GET .*/manifests/.*"}, {"status", 200}, {"body", "{}"}});
    CHECK(id_of(at.registry("app").manifest("1")) == "manifest-malformed");
    const auto bytes = at.registry("app").manifest("2")->bytes;
    const auto answer_two = [&](const std::string& named) {
        at.spoil(
            {{"match", "GET .*/manifests/.*"},
             {"status", 200},
             {"body", bytes},
             {"headers",
              {{"Content-Type", std::string(kManifestType)}, {"Docker-Content-Digest", named}}}});
    };
    answer_two(other->manifest);
    const auto wrong = at.registry("app").manifest(pushed->manifest);
    CHECK(id_of(wrong) == "manifest-wrong-digest");
    CHECK(wrong.error().code() == ErrorCode::kVerification);
    answer_two(pushed->manifest);
    CHECK(id_of(at.registry("app").manifest("1")) == "manifest-wrong-digest");
    answer_two("sha512:00"); // of a kind that is not checked
    CHECK(at.registry("app").manifest("1")->digest == other->manifest);
}

TEST_CASE("a push tells a registry that keeps another manifest, and a tag that another push took") {
    RegistryServer at;
    at.spoil({{"match", "PUT .*/manifests/1"},
              {"status", 201},
              {"done", true},
              {"headers", {{"Docker-Content-Digest", kOther}}}});
    const auto kept = at.push_text("one", "app:1");
    CHECK(id_of(kept) == "registry-kept-other-manifest");
    CHECK(kept.error().code() == ErrorCode::kVerification);
    at.spoil({{"match", "HEAD .*/manifests/2"},
              {"status", 200},
              {"skip", 1},
              {"headers", {{"Docker-Content-Digest", kOther}}}});
    CHECK(id_of(at.push_text("one", "app:2")) == "tag-moved");
    // One that answers with the earlier image is late, not another push.
    at.spoil({{"match", "HEAD .*/manifests/3"},
              {"status", 200},
              {"times", 2},
              {"headers", {{"Docker-Content-Digest", kOther}}}});
    CHECK(at.push_text("one", "app:3"));
    at.spoil({{"match", "PUT .*/manifests/4"}, {"status", 413}, {"body", "too large"}});
    const auto refused = at.push_text("one", "app:4");
    CHECK(id_of(refused) == "registry-refused");
    CHECK(because_of(refused).ends_with("answers 413: too large"));
}

TEST_CASE("a push that meets another one of the same image tries again, four times in all") {
    RegistryServer at;
    const auto spoil = [&](const std::string& word, int times) {
        at.pauses.clear();
        at.spoil({{"match", "PUT .*/manifests/1"},
                  {"status", 400},
                  {"times", times},
                  {"body", R"({"errors":[{"code":")" + word + R"(","message":"m"}]})"}});
    };
    spoil("DIGEST_INVALID", 3);
    CHECK(at.push_text("one", "app:1"));
    CHECK(at.pauses.size() == 3);
    spoil("MANIFEST_BLOB_UNKNOWN", 4);
    CHECK(id_of(at.push_text("two", "app:1")) == "registry-refused");
    CHECK(at.pauses.size() == 3);
    spoil("MANIFEST_INVALID", 1);
    CHECK_FALSE(at.push_text("two", "app:1"));
    CHECK(at.pauses.empty());
}

TEST_CASE("a download that breaks off goes on where it was") {
    OneBlob one;
    one.at.spoil({{"match", "GET .*/blobs/.*"}, {"cut", 1000}, {"times", 2}});
    REQUIRE(one.get());
    CHECK(*read_file(one.file) == one.bytes);
    CHECK(one.at.count("GET /v2/app/blobs/") == 3);
    // Each attempt brought something, so that none counts as a second one.
    CHECK(one.at.pauses == std::vector<std::int64_t>{250, 250});
}

TEST_CASE("the beginning of a file is used where it is right, and only there") {
    OneBlob one;
    SUBCASE("right") {
        REQUIRE(write_file(one.file, one.bytes.substr(0, 4999)));
        REQUIRE(one.get());
        CHECK(one.at.count("GET ") == 1);
    }
    SUBCASE("wrong") {
        REQUIRE(write_file(one.file, std::string(700, 'x')));
        REQUIRE(one.get());
        CHECK(one.at.count("GET ") == 2);
    }
    SUBCASE("as long as the blob, and longer") {
        for (const std::size_t size : {one.bytes.size(), one.bytes.size() + 1}) {
            REQUIRE(write_file(one.file, std::string(size, 'x')));
            REQUIRE(one.get());
            CHECK(one.at.count("GET ") == 1);
        }
    }
    CHECK(*read_file(one.file) == one.bytes);
    CHECK(one.at.pauses.empty());
}

TEST_CASE("other bytes than those of the digest are kept nowhere") {
    OneBlob one;
    const auto send = [&](const std::string& bytes) {
        one.at.spoil(
            {{"match", "GET .*/blobs/.*"}, {"status", 200}, {"body", bytes}, {"times", 9}});
        const auto got = one.get();
        REQUIRE_FALSE(got);
        CHECK(id_of(got) == "pull-damaged");
        CHECK(got.error().code() == ErrorCode::kVerification);
        CHECK_FALSE(fs::exists(one.file));
        return because_of(got);
    };
    std::string changed = one.bytes;
    changed[4000] = '!';
    CHECK(send(changed) == "the digest of what was received is " + sha256_text(changed));
    CHECK(send(one.bytes + "x") == "more bytes come than the 5000 that it should have");
    CHECK(one.at.count("GET ") == 1);
}

TEST_CASE("a download that brings nothing ends after some attempts, and keeps what it had") {
    OneBlob one;
    one.at.transport.access.attempts = 4;
    REQUIRE(write_file(one.file, one.bytes.substr(0, 3000)));
    one.at.spoil({{"match", "GET .*/blobs/.*"}, {"status", 503}, {"times", 9}});
    CHECK(id_of(one.get()) == "registry-refused");
    CHECK(one.at.count("GET ") == 4);
    one.at.spoil({{"match", "GET .*/blobs/.*"}, {"status", 404}});
    CHECK(id_of(one.get()) == "registry-name-unknown");
    CHECK(fs::file_size(one.file) == 3000);
}

TEST_CASE("an upload whose answer is lost is not sent twice, one that failed is begun again") {
    RegistryServer at;
    const auto puts = [&] { return at.count("PUT /v2/app/blobs/uploads/"); };
    at.spoil({{"match", "PUT .*/blobs/uploads/.*"}, {"status", 502}, {"done", true}});
    CHECK(at.push_text("one", "app:1")->how == "uploaded");
    CHECK(puts() == 2);
    for (const int status : {404, 503}) {
        CAPTURE(status);
        at.spoil({{"match", "PUT .*/blobs/uploads/.*"}, {"status", status}});
        CHECK(at.push_text("two" + std::to_string(status), "app:1")->how == "uploaded");
        CHECK(puts() == 2);
    }
    at.transport.access.attempts = 2;
    for (const int status : {200, 400, 500}) {
        CAPTURE(status);
        at.spoil({{"match", "PUT .*/blobs/uploads/.*"}, {"status", status}, {"times", 99}});
        const auto refused = at.push_text("three", "app:1");
        CHECK(id_of(refused) == "registry-refused");
        CHECK(puts() == (status == 500 ? at.transport.access.attempts : 1));
    }
    for (const Json& begun : {Json{{"status", 200}, {"headers", {{"Location", "/x"}}}},
                              Json{{"status", 202}},
                              Json{{"status", 201}, {"headers", {{"Location", "/x"}}}}}) {
        Json fault = begun;
        fault["match"] = "POST .*/blobs/uploads/.*";
        at.spoil(fault);
        CHECK(id_of(at.push_text("four", "app:1")) == "registry-refused");
    }
}

} // namespace cybele::registry
