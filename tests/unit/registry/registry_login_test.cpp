// SPDX-License-Identifier: Apache-2.0
// How a registry finds out who asks, and what it is shown.
#include "tests/unit/registry/registry_server.hpp"

#include <doctest/doctest.h>

namespace cybele::registry {
namespace {

namespace fs = std::filesystem;

} // namespace

TEST_CASE("a registry that wants a password gets the stored one, and nobody else's") {
    RegistryServer at;
    at.set({{"auth", "basic"}});
    const auto unknown = at.push_text("one", "group/app:1");
    CHECK(id_of(unknown) == "registry-login-missing");
    CHECK(unknown.error().code() == ErrorCode::kEnvironment);
    CHECK(unknown.error().message().ends_with(" requires a login for " + at.host() + "/group/app"));
    at.log_in("alice", "wrong");
    const auto refused = at.registry("group/app").tags();
    CHECK(id_of(refused) == "registry-login-refused");
    CHECK(because_of(refused) == "it was found in a test; UNAUTHORIZED who are you?");
    at.log_in("alice", "open sesame");
    CHECK(at.push_text("one", "group/app:1"));
    Reference host;
    host.host = at.host();
    CHECK(Registry(at.client, at.transport.access, at.transport.environment, host, "").ping());
    // Of a file.
    at.transport.access.login.reset();
    at.transport.access.authfile = at.shop.folder.path() / "logins.json";
    REQUIRE(write_login(at.transport.access.authfile, at.host(), {"bob", "bob", {}, {}}));
    CHECK(pull(at.transport, at.pull_request("group/app:1"), at.shop.store));
    CHECK_FALSE(at.push_text("two", "group/app:2"));
    REQUIRE(write_login(
        at.transport.access.authfile, "other.example", {"alice", "open sesame", {}, {}}));
    REQUIRE(erase_login(at.transport.access.authfile, at.host()));
    CHECK(id_of(at.registry("group/app").tags()) == "registry-login-missing");
}

TEST_CASE("a token is fetched once, for what is to be done, and again before it ends") {
    RegistryServer at;
    at.set({{"auth", "bearer"}, {"expires", 100}});
    at.log_in("alice", "open sesame");
    CHECK(at.push_text("one", "group/app:1"));
    const auto lines = at.seen();
    const auto is_token = [](const std::string& line) { return line.starts_with("GET /token"); };
    CHECK(std::count_if(lines.begin(), lines.end(), is_token) == 1);
    CHECK(*std::find_if(lines.begin(), lines.end(), is_token) ==
          "GET /token?service=here&scope=repository%3Agroup%2Fapp%3Apull%2Cpush alice");
    auto registry = at.registry("group/app", "pull");
    REQUIRE(registry.manifest("1"));
    CHECK(at.count("GET /token") == 1);
    at.now += 89;
    REQUIRE(registry.manifest("1"));
    CHECK(at.count("GET /token") == 0);
    at.now += 1; // ten seconds before its end
    REQUIRE(registry.manifest("1"));
    CHECK(at.count("GET /token") == 1);
    // A day is the longest that a token is believed, and a second the shortest.
    for (const auto& [expires, lasts] :
         {std::pair<std::int64_t, std::int64_t>{1'000'000, 86'390}, {0, 1}, {-4, 1}, {11, 1}}) {
        CAPTURE(expires);
        at.set({{"expires", expires}});
        auto next = at.registry("group/app", "pull");
        REQUIRE(next.manifest("1"));
        (void)at.seen();
        at.now += lasts - 1;
        REQUIRE(next.manifest("1"));
        CHECK(at.count("GET /token") == 0);
        at.now += 1;
        REQUIRE(next.manifest("1"));
        CHECK(at.count("GET /token") == 1);
    }
}

TEST_CASE("a token that the registry no longer takes is fetched again, once") {
    RegistryServer at;
    at.set({{"auth", "bearer"}});
    at.log_in("alice", "open sesame");
    REQUIRE(at.push_text("one", "app:1"));
    const nlohmann::json ended = {
        {"match", "GET .*/manifests/1"},
        {"status", 401},
        {"headers",
         {{"WWW-Authenticate",
           "Bearer realm=\"" + at.process->url("/token") + "\",service=\"s\""}}},
        {"times", 2}};
    at.spoil(ended);
    (void)at.seen();
    CHECK(at.registry("app", "pull").manifest("1"));
    CHECK(at.count("GET /token") == 2);
    nlohmann::json again = ended;
    again["times"] = 3;
    at.spoil(again);
    CHECK(id_of(at.registry("app", "pull").manifest("1")) == "registry-not-allowed");
}

TEST_CASE("who may not do it is told so, with the right that is missing") {
    RegistryServer at;
    at.set({{"auth", "bearer"}});
    at.log_in("alice", "open sesame");
    REQUIRE(at.push_text("one", "group/app:1"));
    at.log_in("bob", "bob");
    CHECK(pull(at.transport, at.pull_request("group/app:1"), at.shop.store));
    const auto refused = at.push_text("two", "group/app:2");
    CHECK(id_of(refused) == "registry-not-allowed");
    CHECK(refused.error().message().ends_with(": repository:group/app:pull,push"));
    at.log_in("bob", "wrong");
    CHECK(id_of(at.registry("group/app").manifest("1")) == "registry-login-refused");
    at.transport.access.login.reset();
    CHECK(id_of(at.registry("group/app").manifest("1")) == "registry-login-missing");
    at.log_in("alice", "open sesame");
    at.spoil({{"match", "GET .*/manifests/1"},
              {"status", 401},
              {"headers", {{"WWW-Authenticate", "Negotiate"}}}});
    const auto unsupported = at.registry("group/app").manifest("1");
    CHECK(id_of(unsupported) == "registry-login-unsupported");
    CHECK(because_of(unsupported).starts_with("it offers `negotiate`"));
    at.spoil({{"match", "GET .*/manifests/1"}, {"status", 401}});
    CHECK(because_of(at.registry("group/app").manifest("1")) ==
          "its answer names none (WWW-Authenticate)");
}

TEST_CASE("rights in another repository are asked for a mount, and for that alone") {
    RegistryServer at;
    at.set({{"auth", "bearer"}});
    at.log_in("alice", "open sesame");
    REQUIRE(at.push_text("one", "group/app:1"));
    (void)at.seen();
    PushRequest request;
    request.reference = at.reference("group/new:1");
    request.file = at.shop.image("one");
    request.repositories = {at.host() + "/group/app"};
    CHECK(push(at.transport, request)->how == "mounted");
    std::vector<std::string> tokens;
    for (const std::string& line : at.seen()) {
        if (line.starts_with("GET /token")) {
            tokens.push_back(line);
        }
    }
    REQUIRE(tokens.size() == 3);
    const std::string own = "scope=repository%3Agroup%2Fnew%3Apull%2Cpush";
    const std::string more = "&scope=repository%3Agroup%2Fapp%3Apull";
    CHECK(tokens[0] == "GET /token?service=here&" + own + " alice");
    CHECK(tokens[1].find(more) != std::string::npos);
    CHECK(tokens[2] == tokens[0]);
}

TEST_CASE("an identity token is exchanged in a request's body, never in its address") {
    RegistryServer at;
    at.set({{"auth", "bearer"}});
    at.transport.access.login = Login{{}, {}, "alice's", "a test"};
    CHECK(at.push_text("one", "app:1"));
    const auto lines = at.seen();
    const auto token = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
        return line.starts_with("POST /token");
    });
    REQUIRE(token != lines.end());
    CHECK(*token == "POST /token - grant_type=refresh_token&service=here&scope=repository%3Aapp%3A"
                    "pull%2Cpush&client_id=cybelectl&refresh_token=alice%27s");
}

TEST_CASE("a token server elsewhere is shown only what is stored for it, or was allowed it") {
    RegistryServer at;
    const std::string other = "localhost:" + at.process->port();
    at.set({{"auth", "bearer"}, {"realm", "http://" + other + "/token"}});
    at.log_in("alice", "open sesame");
    const auto withheld = at.push_text("one", "app:1");
    CHECK(id_of(withheld) == "registry-token-server");
    CHECK(because_of(withheld).find(other) != std::string::npos);
    CHECK(at.count("GET /token") == 0);
    at.transport.access.token_server = other;
    CHECK(at.push_text("one", "app:1"));
    at.transport.access.token_server.clear();
    at.transport.access.login.reset();
    at.transport.access.authfile = at.shop.folder.path() / "logins.json";
    REQUIRE(write_login(at.transport.access.authfile, at.host(), {"alice", "open sesame", {}, {}}));
    (void)at.seen();
    CHECK(id_of(at.registry("app").manifest("1")) == "registry-token-server");
    CHECK(at.count("GET /token?service=here&scope=repository%3Aapp%3Apull%2Cpush -") == 1);
    REQUIRE(write_login(at.transport.access.authfile, other, {"bob", "bob", {}, {}}));
    CHECK(at.registry("app", "pull").manifest("1"));
}

TEST_CASE("a token server that is busy is asked again, one without a token is told") {
    RegistryServer at;
    at.set({{"auth", "bearer"}});
    at.log_in("alice", "open sesame");
    REQUIRE(at.push_text("one", "app:1"));
    at.spoil({{"match", "GET /token.*"}, {"status", 503}, {"times", 2}});
    CHECK(at.registry("app").manifest("1"));
    CHECK(at.pauses == std::vector<std::int64_t>{250, 500});
    for (const char* body :
         {"{}", "[]", "", R"({"token":5})", R"({"token":"a b"})", R"({"token":""})"}) {
        CAPTURE(body);
        at.spoil({{"match", "GET /token.*"}, {"status", 200}, {"body", body}});
        const auto none = at.registry("app").manifest("1");
        CHECK(id_of(none) == "registry-refused");
        CHECK(none.error().message().ends_with(" gives no token"));
    }
    at.spoil({{"match", "GET /token.*"}, {"status", 404}});
    CHECK_FALSE(at.registry("app").manifest("1"));
    at.spoil({{"match", "GET /token.*"}, {"status", 403}});
    CHECK(id_of(at.registry("app").manifest("1")) == "registry-not-allowed");
}

TEST_CASE("an image library is asked for digest and size, then for the file") {
    RegistryServer at;
    const std::string bytes = *read_file(at.shop.image("one"));
    const std::string digits = sha256_text(bytes).substr(7);
    const auto offer = [&](const nlohmann::json& data, const std::string& token = {}) {
        at.set({{"library",
                 {{"group/tools/app:1?amd64",
                   {{"answer", {{"data", data}}},
                    {"file",
                     hex(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                   bytes.size()))},
                    {"token", token}}}}}});
    };
    PullRequest request = at.pull_request("x");
    request.reference = *read_pull_reference("library://" + at.host() + "/group/tools/app:1", "");
    const auto got = [&] { return pull(at.transport, request, at.shop.store); };
    offer({{"hash", "sha256." + digits}, {"size", bytes.size()}});
    const auto pulled = got();
    REQUIRE(pulled);
    CHECK(pulled->digest == "sha256:" + digits);
    CHECK(pulled->manifest == pulled->digest);
    CHECK(pulled->stored->record.repositories.empty());
    REQUIRE(at.shop.store.remove(*pulled->stored, true, kNow));
    for (const nlohmann::json& data :
         {nlohmann::json{{"hash", "sha256." + digits}, {"size", 0}},
          nlohmann::json{{"hash", "sha256." + digits}, {"size", -5}},
          nlohmann::json{{"hash", "sha256." + digits}},
          nlohmann::json{{"hash", "sha256:" + digits}, {"size", 5}},
          nlohmann::json{{"hash", "sha256." + digits.substr(1)}, {"size", 5}},
          nlohmann::json{{"hash", 7}, {"size", 5}},
          nlohmann::json{{"size", 5}}}) {
        offer(data);
        CHECK(id_of(got()) == "library-not-verifiable");
    }
    offer({{"hash", "sha256." + std::string(64, 'b')}, {"size", bytes.size()}});
    CHECK(id_of(got()) == "pull-damaged");
    offer({{"hash", "sha256." + digits}, {"size", bytes.size()}}, "secret");
    CHECK(id_of(got()) == "library-not-allowed");
    at.transport.environment.set("CYBELE_LIBRARY_TOKEN", "secret");
    CHECK(got());
    request.architecture = "arm64";
    CHECK(id_of(got()) == "library-image-missing");
    at.spoil({{"match", "GET /v1/images/.*"}, {"status", 200}, {"body", "[]"}});
    CHECK(id_of(got()) == "registry-refused");
    request.architecture = "amd64";
    offer({{"hash", "sha256." + digits}, {"size", bytes.size()}});
    at.set(
        {{"library",
          {{"group/tools/app:sha256." + std::string(64, 'b') + "?amd64",
            {{"answer", {{"data", {{"hash", "sha256." + digits}, {"size", bytes.size()}}}}}}}}}});
    request.reference = *read_pull_reference(
        "library://" + at.host() + "/group/tools/app@sha256:" + std::string(64, 'b'), "");
    CHECK(id_of(got()) == "library-image-differs");
}

} // namespace cybele::registry
