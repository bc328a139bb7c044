// SPDX-License-Identifier: Apache-2.0
#include "registry/oci/challenge.hpp"
#include "registry/oci/credentials.hpp"
#include "registry/oci/manifest.hpp"
#include "registry/oci/private_host.hpp"
#include "registry/oci/reference.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"

#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>

using namespace cybele;
using namespace cybele::registry;
namespace fs = std::filesystem;

namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');

std::string manifest_of(const std::string& type, const std::string& digest = kDigest) {
    return R"({"schemaVersion":2,"config":{"mediaType":"x","size":2,"digest":")" + kDigest +
           R"("},"layers":[{"mediaType":")" + type + R"(","size":5,"digest":")" + digest +
           R"("}]})";
}

} // namespace

TEST_CASE("references") {
    struct Case {
        const char* text;
        const char* host;
        const char* repository;
        const char* tag;
    };
    constexpr Case kCases[] = {
        {"oras://a.example/app", "a.example", "app", "latest"},
        {"oras://a.example:5000/g/h/app:1.0", "a.example:5000", "g/h/app", "1.0"},
        {"oras://localhost/app:x", "localhost", "app", "x"},
        {"oras://[::1]:5000/app:x", "[::1]:5000", "app", "x"},
        {"oras://user/app:x", "index.docker.io", "user/app", "x"},
        {"oras://app", "index.docker.io", "library/app", "latest"},
        {"oras://a.example/a.b_c__d---e/f0:_T-1.x", "a.example", "a.b_c__d---e/f0", "_T-1.x"},
    };
    for (const Case& one : kCases) {
        CAPTURE(one.text);
        const auto read = read_reference(one.text);
        REQUIRE(read);
        CHECK(read->host == one.host);
        CHECK(read->repository == one.repository);
        CHECK(read->tag == one.tag);
        CHECK(read->version() == one.tag);
    }
    CHECK(read_reference("oras://a.example/app@" + kDigest)->version() == kDigest);
    for (const char* bad : {"oras://",
                            "oras:///a",
                            "oras://a.example",
                            "oras://a.example/",
                            "oras://a.example/A",
                            "oras://a.example/a_",
                            "oras://a.example/a___b",
                            "oras://a.example/a..b",
                            "oras://a.example/a/",
                            "oras://a.example/a:",
                            "oras://a.example/a:-x",
                            "oras://a.example/a@",
                            "oras://a b.example/a",
                            "oras://a.example/a@sha512:00",
                            "docker://a/b",
                            "shub://a/b",
                            "app.sif"}) {
        CAPTURE(bad);
        CHECK_FALSE(read_reference(bad));
    }
    CHECK(*read_host("https://a.example:5000/") == "a.example:5000");
    CHECK_FALSE(read_host("a b"));
    CHECK(read_reference("oras://a.example/app:1@" + kDigest)->has_tag);
    CHECK_FALSE(read_reference("oras://a.example/app@" + kDigest)->has_tag);
    CHECK_FALSE(read_docker_reference("alpine@sha256:00"));
    const std::string longest(128, 't');
    CHECK(read_reference("oras://a.example/app:" + longest)->tag == longest);
    CHECK_FALSE(read_reference("oras://a.example/app:" + longest + "t"));
}

TEST_CASE("a password before the host is refused and not repeated") {
    const auto silent = [](const auto& read) {
        return !read && read.error().message().find("sesame") == std::string::npos &&
               read.error().message().find("a.example") != std::string::npos;
    };
    CHECK(silent(read_reference("oras://user:sesame@a.example/app:1")));
    CHECK(silent(read_reference("oras://sesame@a.example:5000/group/app")));
    CHECK(silent(read_docker_reference("docker://user:sesame@a.example/app")));
    CHECK(silent(read_pull_reference("library://user:sesame@a.example/g/c/app", "")));
    CHECK(silent(read_host("https://user:sesame@a.example")));
}

TEST_CASE("references to a library") {
    const std::string digits(64, 'a');
    const auto read = [](const std::string& text, const std::string& library = "l.example") {
        const auto reference = read_pull_reference(text, library);
        return reference ? reference->text() : std::string();
    };
    CHECK(read("library://group/tools/app:1") == "library://l.example/group/tools/app:1");
    CHECK(read("library://app") == "library://l.example/app:latest");
    CHECK(read("library://other.example/g/c/App_2") == "library://other.example/g/c/App_2:latest");
    CHECK(read("library://localhost:80/app:1", "") == "library://localhost:80/app:1");
    CHECK(read("library://app", "https://l.example:8/") == "library://l.example:8/app:latest");
    CHECK(read("library://app:sha256." + digits) ==
          "library://l.example/app:latest@sha256:" + digits);
    CHECK(read("library://app@sha256:" + digits) ==
          "library://l.example/app:latest@sha256:" + digits);
    CHECK(read("oras://a.example/b") == "oras://a.example/b:latest");
    for (const std::string bad : {"library://",
                                  "library://a/b/c/d",
                                  "library://a//b",
                                  "library://a:",
                                  "library://a:b:c",
                                  "library://-a",
                                  "library://a@sha256:1",
                                  "library://a@",
                                  "library://a b",
                                  "shub://a/b"}) {
        CHECK_MESSAGE(read(bad).empty(), bad);
    }
    CHECK(read("library://app", "").empty());
    CHECK(read("library://app", "l.example/path").empty());
    CHECK_FALSE(read_reference("library://l.example/g/c/app"));
}

TEST_CASE("the manifest that Apptainer writes, byte for byte") {
    const std::string expected =
        R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",)"
        R"("config":{"mediaType":"application/vnd.sylabs.sif.config.v1+json","size":2,)"
        R"("digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},)"
        R"("layers":[{"mediaType":"application/vnd.sylabs.sif.layer.v1.sif","size":1234567,)"
        R"("digest":")" +
        kDigest + R"(","annotations":{"org.opencontainers.image.title":"small.sif"}}]})";
    CHECK(sif_manifest(kDigest, 1234567, "small.sif") == expected);
    CHECK(expected.size() == 461);
    CHECK("sha256:" + hex(sha256(kSifConfigBytes)) == sif_config().digest);
    CHECK(sif_manifest(kDigest, 1, "a&b<c>\"d\\.sif").find(R"("a\u0026b\u003cc\u003e\"d\\.sif")") !=
          std::string::npos);
    const auto read = read_manifest(expected, kManifestType);
    REQUIRE(read);
    CHECK(sif_layer(*read, "it")->size == 1234567);
    CHECK(read->layers.front().title == "small.sif");
}

TEST_CASE("what is a SIF, and what is not") {
    for (const char* type : {"application/vnd.sylabs.sif.layer.v1.sif",
                             "application/vnd.sylabs.sif.layer.tar",
                             "appliciation/vnd.sylabs.sif.layer.tar"}) {
        CHECK(sif_layer(*read_manifest(manifest_of(type), kManifestType), "it"));
    }
    CHECK_FALSE(sif_layer(*read_manifest(manifest_of("text/plain"), kManifestType), "it"));
    CHECK_FALSE(read_manifest(manifest_of("x"), "text/html"));
    CHECK_FALSE(read_manifest(manifest_of("x"), "application/vnd.oci.image.index.v1+json"));
    CHECK_FALSE(read_manifest(manifest_of("x", "sha256:../../etc"), kManifestType));
    // What the answer's head says and what the manifest says are one type.
    const std::string docker = "application/vnd.docker.distribution.manifest.v2+json";
    std::string typed = manifest_of("x");
    typed.insert(1, R"("mediaType":")" + docker + R"(",)");
    CHECK(read_manifest(typed, docker));
    CHECK(read_manifest(typed, docker + "; charset=utf-8"));
    const auto other = read_manifest(typed, kManifestType);
    REQUIRE_FALSE(other);
    CHECK(other.error().faults().front().because.find("says that it is " + docker) !=
          std::string::npos);
    for (const char* size : {"-5", "1.5", "\"5\"", "null", "18446744073709551616"}) {
        CAPTURE(size);
        std::string text = manifest_of("x");
        text.replace(text.find("\"size\":5") + 7, 1, size);
        const auto refused = read_manifest(text, kManifestType);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().faults().front().because.starts_with("a size in it is "));
    }
    for (const char* bad : {"",
                            "{",
                            "[]",
                            "{}",
                            R"({"config":1,"layers":[]})",
                            R"({"config":{},"layers":[]})",
                            R"({"mediaType":7})"}) {
        CAPTURE(bad);
        CHECK_FALSE(read_manifest(bad, kManifestType));
    }
}

TEST_CASE("the entry of a list for an architecture") {
    Manifest index;
    index.manifests = {{"m", "a", 1, "unknown", ""}, {"m", "b", 1, "arm64", ""}};
    CHECK(choose_entry(index, "arm64", "it")->digest == "b");
    const auto missing = choose_entry(index, "amd64", "it");
    REQUIRE_FALSE(missing);
    CHECK(missing.error().faults().front().because == "it has arm64");
    index.manifests.push_back({"m", "c", 1, "", ""});
    CHECK(choose_entry(index, "amd64", "it")->digest == "c");
}

TEST_CASE("the platform of a list: the best variant, the first of equal ones, no attestation") {
    Manifest index;
    index.manifests = {{"m", "attestation", 1, "unknown", "", "unknown"},
                       {"m", "arm", 1, "arm64", "", "linux", "v8"}};
    const auto missing = choose_platform(index, "amd64", "it");
    REQUIRE_FALSE(missing);
    CHECK(missing.error().faults().front().because == "it has linux/arm64");
    index.manifests.push_back({"m", "windows", 1, "amd64", "", "windows"});
    index.manifests.push_back({"m", "second-best", 1, "amd64", "", "linux", "v1"});
    index.manifests.push_back({"m", "first", 1, "amd64", "", "linux"});
    index.manifests.push_back({"m", "equal", 1, "amd64", "", "linux"});
    CHECK(choose_platform(index, "amd64", "it")->digest == "first");
}

TEST_CASE("challenges") {
    const auto read_challenge = [](std::string_view header) {
        return choose_challenge(read_challenges(header));
    };
    const auto bearer = read_challenge(
        R"(Bearer realm="https://t.example/a?b=c",service="r",scope="repository:a/b:pull,push x",error="insufficient_scope")");
    CHECK(bearer.scheme == "bearer");
    CHECK(bearer.get("realm") == "https://t.example/a?b=c");
    CHECK(bearer.get("scope") == "repository:a/b:pull,push x");
    CHECK(bearer.get("error") == "insufficient_scope");
    CHECK(read_challenge("BASIC Realm=\"a \\\"b\\\"\"").get("realm") == "a \"b\"");
    CHECK(read_challenge("Bearer realm=plain, service=s").get("service") == "s");
    CHECK(read_challenge("").scheme.empty());
    CHECK(read_challenge("Negotiate").scheme == "negotiate");
    CHECK(read_challenge("Bearer realm = \"a\" , service = s").get("service") == "s");
    for (const char* several : {"Negotiate, Basic realm=x",
                                "Negotiate YWJj==, Basic realm=\"x\"",
                                "Negotiate YWJj=,Basic realm=\"x\"",
                                "Negotiate YWJj Basic realm=x",
                                "Basic realm=x, Negotiate",
                                ", ,Digest realm=\"a, Basic realm=y\", nonce=\"\",, Basic realm=x,",
                                "Bearer, Basic realm=x"}) {
        CAPTURE(several);
        CHECK(read_challenge(several).scheme == "basic");
        CHECK(read_challenge(several).get("realm") == "x");
    }
    const auto both = read_challenge("Basic realm=b, Negotiate, Bearer realm=\"t\",service=s");
    CHECK(both.scheme == "bearer");
    CHECK(both.get("service") == "s");
    CHECK(read_challenges("Negotiate, NTLM, Basic realm=x, charset=\"UTF-8\"").size() == 3);
    for (const char* odd : {"",
                            " ",
                            "Bearer",
                            "Bearer realm=\"",
                            "Bearer =",
                            "\"",
                            "Bearer a=\"\\",
                            "=",
                            "a =",
                            ", = ,"}) {
        CAPTURE(odd);
        (void)read_challenge(odd); // nothing but not to crash
    }
}

TEST_CASE("one origin in several spellings, and origins that only look like one") {
    const std::string url = "https://registry.example/v2/";
    for (const char* same : {"https://registry.example", "HTTPS://Registry.Example:443/x?y"}) {
        CHECK_MESSAGE(is_same_origin(url, same), same);
    }
    for (const char* other : {"http://registry.example/",
                              "https://registry.example:444/",
                              "https://registry.example.evil.example/",
                              "https://evil.example/?https://registry.example",
                              "https://evil.example#@registry.example",
                              "registry.example",
                              ""}) {
        CHECK_MESSAGE(!is_same_origin(url, other), other);
    }
    CHECK(is_same_origin("http://[::1]:80/", "http://[::1]"));
    CHECK_FALSE(is_same_origin("http://[::1]:81/", "http://[::1]"));
}

TEST_CASE("a token server gets a registry's login where it has the registry's origin, or is in its "
          "domain by https:") {
    struct Case {
        const char* registry;
        const char* realm;
        bool is_allowed;
    };
    constexpr Case kCases[] = {
        {"https://registry-1.docker.io", "https://auth.docker.io/token", true},
        {"https://index.docker.io", "https://auth.docker.io:443/token", true},
        {"https://registry.gitlab.com", "https://gitlab.com/jwt/auth", true},
        {"https://gitlab.example.com:5050", "https://gitlab.example.com/jwt/auth", true},
        {"https://ghcr.io", "https://ghcr.io/token", true},
        {"https://a.example:5000", "HTTPS://A.Example:5000/token", true},
        {"https://example.com", "https://auth.example.com/token", true},
        {"http://127.0.0.1:5000", "http://127.0.0.1:5000/token", true},
        {"https://registry.lab.example.ac.uk", "https://tokens.lab.example.ac.uk/", true},
        {"https://a.example:5000", "https://a.example:6000/token", false},
        {"https://a.example", "https://a.example:6000/token", false},
        {"https://a.example", "http://a.example/token", false},
        {"https://a.example", "http://a.example:443/token", false},
        {"http://a.example:5000", "http://a.example/token", false},
        {"http://127.0.0.1:5000", "http://127.0.0.1:6000/token", false},
        {"https://127.0.0.1:5000", "https://127.0.0.1/token", false},
        {"https://localhost:5000", "https://localhost/token", false},
        {"https://registry.example.com", "https://auth.example.com:8443/token", false},
        {"https://registry.example.com", "https://auth.example.com:0443/token", false},
        {"http://registry.example.com", "http://auth.example.com/token", false},
        {"https://registry.example.com", "https://evil.com/token", false},
        {"https://registry.example.com", "https://notexample.com/token", false},
        {"https://registry.example.com", "https://example.com.evil.net/token", false},
        {"https://registry.example.com", "https://example.com@evil.net/token", false},
        {"https://registry.example.com", "https://evil.net/?example.com", false},
        {"https://registry.example.com", "https://evil.net\\.example.com/", false},
        {"https://ghcr.io", "https://evil.io/token", false},
        {"https://example.co.uk", "https://evil.co.uk/token", false},
        {"https://localhost", "https://evil.localhost.example/", false},
        {"https://10.0.0.1:5000", "https://9.0.0.1/", false},
        {"https://[::1]:5000", "https://[::2]/", false},
        {"https://registry.example.com", "", false},
        {"https://registry.example.com", "registry.example.com", false},
    };
    for (const Case& one : kCases) {
        CAPTURE(one.registry);
        CAPTURE(one.realm);
        CHECK(is_of_registry(one.realm, one.registry) == one.is_allowed);
    }
    CHECK(kept_host("https://Auth.Example:443/token") == "auth.example");
    CHECK(kept_host("http://auth.example:443/token") == "auth.example:443");
    CHECK(kept_host("https://auth.example:6000/token") == "auth.example:6000");
}

TEST_CASE("where an answer leads") {
    const std::string url = "https://a.example:5000/v2/x/blobs/uploads/?mount=1";
    CHECK(resolve_location("https://b.example/u?s=1", url) == "https://b.example/u?s=1");
    CHECK(resolve_location("/v2/u?s=1", url) == "https://a.example:5000/v2/u?s=1");
    CHECK(resolve_location("//b.example/u", url) == "https://b.example/u");
    CHECK(next_page("</v2/t?last=b>; rel=\"next\"", url) == "https://a.example:5000/v2/t?last=b");
    for (const char* last : {"", "</v2/t>; rel=\"prev\"", "/v2/t; rel=next", "<v2 rel=next"}) {
        CHECK(next_page(last, url).empty());
    }
    CHECK(resolve_location("u?s=1", url) == "https://a.example:5000/v2/x/blobs/uploads/u?s=1");
    CHECK(origin_of(url) == "https://a.example:5000");
    CHECK(origin_of("http://a.example") == "http://a.example");
    CHECK(origin_of("https://a.example?x=/y") == "https://a.example");
    CHECK(origin_of("https://a.example#x/y") == "https://a.example");
    CHECK(origin_of("a.example/x").empty());
    CHECK(with_parameter("http://a/b", "digest", "sha256:0") == "http://a/b?digest=sha256%3A0");
    CHECK(with_parameter("http://a/b?c=d", "e", "f g") == "http://a/b?c=d&e=f%20g");
}

TEST_CASE("private hosts are addresses and names of this machine, not names that begin like one") {
    for (const char* const host : {"localhost",
                                   "localhost:5000",
                                   "a.localhost",
                                   "registry.local:443",
                                   "127.0.0.1",
                                   "127.255.255.255:1",
                                   "10.0.0.1:5000",
                                   "172.16.0.1",
                                   "172.31.255.255",
                                   "192.168.1.1",
                                   "[::1]",
                                   "[::1]:5000"}) {
        CAPTURE(std::string(host));
        CHECK(is_private_host(host));
    }
    for (const char* const host : {"",
                                   "registry.example.org",
                                   "10.example.org",
                                   "127.0.0.1.example.org",
                                   "192.168.1.1.nip.io:5000",
                                   "localhost.example.org",
                                   "mylocalhost",
                                   "9.255.255.255",
                                   "11.0.0.0",
                                   "128.0.0.1",
                                   "172.15.255.255",
                                   "172.32.0.0",
                                   "192.169.0.0",
                                   "10.1",
                                   "[::1",
                                   "[::2]",
                                   "[fe80::1]"}) {
        CAPTURE(std::string(host));
        CHECK_FALSE(is_private_host(host));
    }
}

TEST_CASE("each byte of a query is itself where it is plain, else two hexadecimal digits") {
    const std::string plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (int byte = 0; byte < 256; ++byte) {
        const std::string letter(1, static_cast<char>(byte));
        const std::string written = percent_encoded(letter);
        CAPTURE(byte);
        if (plain.find(letter) != std::string::npos) {
            CHECK(written == letter);
        } else {
            REQUIRE(written.size() == 3);
            CHECK(written.front() == '%');
            CHECK(std::stoi(written.substr(1), nullptr, 16) == byte);
        }
    }
}

TEST_CASE("logins: the order of places, and the longest key that fits") {
    const TempDirectory folder = *TempDirectory::make("/var/tmp", "cybele-logins");
    const auto entry = [](const std::string& user) {
        return "{\"auth\":\"" + base64(user + ":pass:word") + "\"}";
    };
    const auto write = [&](const fs::path& file, const std::string& text) {
        REQUIRE(make_directories(file.parent_path()));
        REQUIRE(write_file(file, text));
    };
    Environment environment(EnvironmentMap{{"HOME", folder.path() / "home"},
                                           {"XDG_RUNTIME_DIR", folder.path() / "run"}});
    const auto user = [&](const std::string& host, const fs::path& authfile = {}) {
        const auto login = find_login(host, "group/app", authfile, environment);
        return login && *login ? (*login)->user : std::string("nobody");
    };
    CHECK(user("a.example") == "nobody");
    write(folder.path() / "home/.docker/config.json",
          "{\"auths\":{\"a.example\":" + entry("docker") +
              ",\"https://index.docker.io/v1/\":" + entry("hub") + "}}");
    CHECK(user("a.example") == "docker");
    CHECK(user("index.docker.io") == "hub");
    write(folder.path() / "home/.apptainer/docker-config.json",
          "{\"auths\":{\"a.example\":" + entry("apptainer") + "}}");
    CHECK(user("a.example") == "apptainer");
    CHECK(user("index.docker.io") == "hub");
    write(folder.path() / "run/containers/auth.json",
          "{\"auths\":{\"a.example/group\":" + entry("group") + ",\"a.example\":" + entry("host") +
              ",\"a.example/group/application\":" + entry("other") + "}}");
    CHECK(user("a.example") == "group");
    CHECK(user("a.example:5000") == "nobody");
    environment.set("REGISTRY_AUTH_FILE", folder.path() / "named.json");
    write(folder.path() / "named.json",
          "{\"auths\":{\"https://a.example/v2/\":" + entry("named") + "}}");
    CHECK(user("a.example") == "named");
    environment.set("SINGULARITY_DOCKER_USERNAME", "variable");
    environment.set("SINGULARITY_DOCKER_PASSWORD", "x");
    CHECK(user("a.example") == "variable");
    write(folder.path() / "first.json", R"({"auths":{"a.example":{"identitytoken":"t"}}})");
    CHECK(find_login("a.example", "x", folder.path() / "first.json", environment)
              .value()
              ->identity_token == "t");
    write(folder.path() / "bad.json", "no json");
    CHECK_FALSE(find_login("a.example", "x", folder.path() / "bad.json", environment));
    const auto password = find_login(
        "a.example", "x", {}, Environment(EnvironmentMap{{"HOME", folder.path() / "home"}}));
    CHECK(password.value()->password == "pass:word");
}

TEST_CASE("a login is written beside what is there, and read by its owner alone") {
    const TempDirectory folder = *TempDirectory::make("/var/tmp", "cybele-logins");
    const fs::path file = folder.path() / "new" / "config.json";
    Login login;
    login.user = "alice";
    login.password = "open sesame";
    REQUIRE(write_login(file, "a.example", login));
    struct stat status {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    REQUIRE(write_file(file, R"({"psFormat":"x","auths":{"b.example":{"auth":"YTpi"}}})"));
    REQUIRE(write_login(file, "a.example", login));
    const auto text = read_file(file);
    CHECK(text->find("psFormat") != std::string::npos);
    CHECK(find_login("a.example", "x", file, {}).value()->password == "open sesame");
    CHECK(find_login("b.example", "x", file, {}).value()->user == "a");
    CHECK(*erase_login(file, "a.example"));
    CHECK_FALSE(*erase_login(file, "a.example"));
    CHECK_FALSE(find_login("a.example", "x", file, {}).value());
    CHECK(find_login("b.example", "x", file, {}).value()->user == "a");
}
