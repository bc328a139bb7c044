// SPDX-License-Identifier: Apache-2.0
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/http.hpp"
#include "support/http_failure.hpp"
#include "tests/unit/server_process.hpp"

#include <filesystem>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;

namespace {

/// One server for all cases.
const ServerProcess& server() {
    static const ServerProcess running({"http"});
    return running;
}

HttpRequest request_of(const std::string& path, const std::string& method = "GET") {
    HttpRequest request;
    request.url = server().url(path);
    request.method = method;
    request.access.allows_plain = true;
    return request;
}

nlohmann::json echo_of(const HttpRequest& request) {
    const auto response = build_tree_client().send(request);
    REQUIRE(response);
    REQUIRE(response->status == 200);
    return nlohmann::json::parse(response->body);
}

Fault fault_of(const Result<HttpResponse>& response) {
    REQUIRE(!response);
    return response.error().faults().front();
}

} // namespace

TEST_CASE("a failure is told as an answer where that is asked for") {
    HttpRequest request;
    request.access.allows_plain = true;
    request.tells_failure = true;
    request.url = "http://127.0.0.1:1/";
    const auto closed = build_tree_client().send(request);
    REQUIRE(closed);
    REQUIRE(closed->failure);
    CHECK(closed->failure->code() == ErrorCode::kEnvironment);
    CHECK(closed->is_passing);
    CHECK(closed->failure->faults().front().detail == kNotConnected);
    request.url = "ftp://127.0.0.1/";
    const auto wrong = build_tree_client().send(request);
    REQUIRE(wrong);
    CHECK(wrong->failure);
    CHECK_FALSE(wrong->is_passing);
}

TEST_CASE("methods, headers and bodies arrive as they were given, bytes of any value too") {
    std::string body;
    for (int byte = 0; byte < 256; ++byte) {
        body += static_cast<char>(byte);
    }
    for (const char* const method : {"PUT", "POST", "PATCH"}) {
        HttpRequest request = request_of("/echo", method);
        request.headers = {{"Content-Type", "application/x-test"}, {"X-Empty", ""}};
        request.credentials = {{"Authorization", "Bearer secret"}};
        request.body = body;
        const auto seen = echo_of(request);
        CHECK(seen["method"] == method);
        CHECK(seen["headers"]["content-type"] == "application/x-test");
        CHECK(seen["headers"]["x-empty"] == "");
        CHECK(seen["headers"]["authorization"] == "Bearer secret");
        CHECK(seen["headers"].count("expect") == 0);
        CHECK(seen["body"].get<std::string>().size() == 512);
        CHECK(seen["body"].get<std::string>().substr(0, 8) == "00010203");
    }
    CHECK(echo_of(request_of("/echo", "DELETE"))["method"] == "DELETE");
    CHECK(echo_of(request_of("/echo", "POST"))["headers"]["content-length"] == "0");
}

TEST_CASE("headers of the answer come in lower case, the first of several first") {
    const auto response = build_tree_client().send(request_of("/echo"));
    REQUIRE(response);
    CHECK(response->header("x-two") == "a");
    CHECK(response->header("none").empty());
    CHECK(response->url == server().url("/echo"));
}

TEST_CASE("HEAD tells the size and brings nothing") {
    const auto response = build_tree_client().send(request_of("/blob", "HEAD"));
    REQUIRE(response);
    CHECK(response->header("content-length") == "100000");
    CHECK(response->body.empty());
}

TEST_CASE("any status is an answer, with what the server says") {
    for (const int status : {401, 404, 500, 503}) {
        const auto response =
            build_tree_client().send(request_of("/status/" + std::to_string(status)));
        REQUIRE(response);
        CHECK(response->status == status);
        CHECK(response->body == "because of the test");
    }
}

TEST_CASE("a body goes into a file, and a transfer that was cut goes on") {
    const auto folder = TempDirectory::make("/var/tmp", "http-test");
    REQUIRE(folder);
    HttpRequest request = request_of("/blob");
    request.output = HttpOutput{folder->path() / "blob", false, true};
    const auto whole = build_tree_client().send(request);
    REQUIRE(whole);
    CHECK(whole->body.empty());
    CHECK(whole->size == 100000);
    const auto bytes = read_file(request.output->path);
    REQUIRE(bytes);
    REQUIRE(bytes->size() == 100000);
    CHECK(whole->sha256 == hex(sha256(*bytes)));

    REQUIRE(::truncate(request.output->path.c_str(), 30000) == 0);
    request.output->is_resumed = true;
    const auto rest = build_tree_client().send(request);
    REQUIRE(rest);
    CHECK(rest->status == 206);
    CHECK(rest->size == 70000);
    CHECK(rest->sha256 == whole->sha256); // of the part that was there before, too
    CHECK(read_file(request.output->path).value_or("") == *bytes);
    // Nothing is left to get: the server says so, the file stays.
    CHECK(build_tree_client().send(request)->status == 416);
    CHECK(read_file(request.output->path).value_or("") == *bytes);

    SUBCASE("a server that sends another part is not believed") {
        request.url = server().url("/wrong-part");
        CHECK(fault_of(build_tree_client().send(request)).because.find("another part") !=
              std::string::npos);
        CHECK(read_file(request.output->path).value_or("") == *bytes);
    }
    SUBCASE("an answer that is no success does not touch the file") {
        request.output = HttpOutput{folder->path() / "none", false};
        request.url = server().url("/status/404");
        CHECK(build_tree_client().send(request)->body == "because of the test");
        CHECK(!std::filesystem::exists(folder->path() / "none"));
    }
    SUBCASE("a part of a file is sent") {
        HttpRequest upload = request_of("/echo", "PATCH");
        upload.body_file = FileRange{request.output->path, 1, 3};
        CHECK(echo_of(upload)["body"] == "010203");
        upload.body_file = FileRange{request.output->path, 99998, std::nullopt};
        CHECK(echo_of(upload)["body"].get<std::string>().size() == 4);
        upload.body_file = FileRange{request.output->path, 99998, 3};
        CHECK(fault_of(build_tree_client().send(upload)).code == ErrorCode::kEnvironment);
    }
}

TEST_CASE("a body is written through no link, and into no file that another user keeps open") {
    const auto folder = TempDirectory::make("/var/tmp", "http-test");
    REQUIRE(folder);
    const auto victim = folder->path() / "victim";
    REQUIRE(write_file(victim, "precious"));
    HttpRequest request = request_of("/blob");
    request.output = HttpOutput{folder->path() / "blob", false, true};
    std::filesystem::create_symlink(victim, request.output->path);
    const auto replaced = build_tree_client().send(request);
    REQUIRE(replaced);
    CHECK(replaced->size == 100000);
    CHECK(!std::filesystem::is_symlink(request.output->path));
    CHECK(read_file(victim).value_or("") == "precious");

    std::filesystem::remove(request.output->path);
    std::filesystem::create_hard_link(victim, request.output->path);
    REQUIRE(build_tree_client().send(request));
    CHECK(read_file(victim).value_or("") == "precious");

    std::filesystem::remove(request.output->path);
    std::filesystem::create_symlink(victim, request.output->path);
    request.output->is_resumed = true;
    CHECK(fault_of(build_tree_client().send(request)).because.find("cannot write") !=
          std::string::npos);
    CHECK(read_file(victim).value_or("") == "precious");
}

TEST_CASE("a range is asked for") {
    HttpRequest request = request_of("/blob");
    request.range = {5, 7};
    const auto response = build_tree_client().send(request);
    REQUIRE(response);
    CHECK(response->status == 206);
    CHECK(response->body == std::string("\x05\x06\x07"));
}

TEST_CASE("redirects: credentials stay with their origin, methods change as RFC 9110 says") {
    const ServerProcess other({"http"});
    HttpRequest request = request_of("/to?302=/echo");
    request.credentials = {{"X-SLURM-USER-TOKEN", "secret"}};
    CHECK(echo_of(request)["headers"]["x-slurm-user-token"] == "secret");
    request.url = server().url("/to?302=" + other.url("/echo"));
    CHECK(echo_of(request)["headers"].count("x-slurm-user-token") == 0);

    request.method = "POST";
    request.body = "data";
    request.headers = {{"Content-Type", "text/plain"}};
    request.url = server().url("/to?303=/echo");
    CHECK(echo_of(request)["method"] == "GET");
    CHECK(echo_of(request)["headers"].count("content-type") == 0);
    request.url = server().url("/to?307=/echo");
    CHECK(echo_of(request)["method"] == "POST");
    CHECK(echo_of(request)["body"] == "64617461");

    request.limits.redirects = 0;
    CHECK(build_tree_client().send(request)->status == 307);
    request.limits.redirects = 3;
    request.url = server().url("/to?302=/to?302=/to?302=/to?302=/echo");
    CHECK(fault_of(build_tree_client().send(request)).because.find("more than 3") !=
          std::string::npos);
    request.url = server().url("/to?302=file:///etc/passwd");
    CHECK(fault_of(build_tree_client().send(request)).code == ErrorCode::kInput);
}

TEST_CASE("refusals tell the reason and a remedy") {
    struct Row {
        std::string url;
        bool allows_plain;
        ErrorCode code;
        std::string because;
    };
    const Row rows[] = {
        {"http://127.0.0.1:1/", true, ErrorCode::kEnvironment, "Failed to connect"},
        {"http://no-such-host.invalid/", true, ErrorCode::kEnvironment, "Could not resolve"},
        {server().url("/echo"), false, ErrorCode::kInput, "nothing proves who answers"},
        {"https://127.0.0.1:" + server().port() + "/", true, ErrorCode::kEnvironment, "SSL"},
        {"http://user:word@127.0.0.1/", true, ErrorCode::kInput, "password"},
        {"gopher://127.0.0.1/", true, ErrorCode::kInput, "only http: and https:"},
        {"", true, ErrorCode::kInput, "it is not a URL"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.url);
        HttpRequest request;
        request.url = row.url;
        request.access.allows_plain = row.allows_plain;
        const Fault fault = fault_of(build_tree_client().send(request));
        CHECK(fault.code == row.code);
        CHECK(fault.because.find(row.because) != std::string::npos);
        CHECK(!fault.help.empty());
    }
}

TEST_CASE("limits: of time, of a stall, of size") {
    HttpRequest request = request_of("/slow");
    request.limits.exchange = std::chrono::milliseconds(300);
    CHECK(fault_of(build_tree_client().send(request)).code == ErrorCode::kEnvironment);
    request.limits.exchange = std::chrono::milliseconds(0);
    request.limits.stall = std::chrono::seconds(1);
    CHECK(fault_of(build_tree_client().send(request)).help == "try again later");
    request = request_of("/big");
    request.limits.answer_size = 1U << 20U;
    const Fault fault = fault_of(build_tree_client().send(request));
    CHECK(fault.code == ErrorCode::kInput);
    CHECK(fault.because == "the answer is larger than 1048576 bytes");
}

TEST_CASE("a header cannot bring another one") {
    HttpRequest request = request_of("/echo");
    request.headers = {{"X-A", "b\r\nX-C: d"}};
    CHECK(fault_of(build_tree_client().send(request)).code == ErrorCode::kInternal);
    request.headers = {{"X A", "b"}};
    CHECK(fault_of(build_tree_client().send(request)).code == ErrorCode::kInternal);
}

TEST_CASE("proxies come from the usual variables, and no netrc is read") {
    const auto folder = TempDirectory::make("/var/tmp", "http-test");
    REQUIRE(folder);
    REQUIRE(write_file(folder->path() / ".netrc", "machine 127.0.0.1 login a password b\n", 0600));
    HttpRequest request = request_of("/echo");
    const auto response = build_tree_client({{"HOME", folder->path().native()}}).send(request);
    REQUIRE(response);
    CHECK(nlohmann::json::parse(response->body)["headers"].count("authorization") == 0);

    request.url = "http://no-such-host.invalid/";
    const auto proxied =
        build_tree_client({{"no_proxy", "elsewhere"}, {"http_proxy", server().url("")}})
            .send(request);
    REQUIRE(proxied);
    CHECK(proxied->status == 404); // the server of the test does not know the whole URL as a path
}

TEST_CASE("a missing helper is told with where it was looked for") {
    const HttpClient client = HttpClient::find(
        Environment(EnvironmentMap{{"CYBELE_LIBEXEC", "/nowhere"}}), "/usr/bin/cybelectl");
    const Fault fault = fault_of(client.send(request_of("/echo")));
    CHECK(fault.code == ErrorCode::kEnvironment);
    CHECK(fault.because == "it was looked for in /nowhere");
    CHECK(fault.help.find("CYBELE_LIBEXEC") != std::string::npos);
}

TEST_CASE("no helper is looked for in the current folder") {
    const auto place = TempDirectory::make("/var/tmp", "http-test").value();
    const auto helper = place.path() / "libexec" / "cybelectl" / "cybelectl-http";
    REQUIRE(make_directories(helper.parent_path()));
    REQUIRE(write_file(helper, "#!/bin/sh\ntouch ran\n", 0755));
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(place.path());
    for (const char* program : {"", "cybelectl", "bin/cybelectl", "./bin/cybelectl"}) {
        CAPTURE(program);
        const Fault fault =
            fault_of(HttpClient::find(Environment(), program).send(request_of("/echo")));
        CHECK(fault.code == ErrorCode::kEnvironment);
        CHECK(fault.because == "the folder where it should be is not an absolute path");
    }
    const Environment relative(EnvironmentMap{{"CYBELE_LIBEXEC", "libexec/cybelectl"}});
    CHECK_FALSE(HttpClient::find(relative, "/usr/bin/cybelectl").check());
    CHECK_FALSE(std::filesystem::exists("ran"));
    std::filesystem::current_path(before);
}

TEST_CASE("the system's pool: the variable first") {
    CHECK(system_certificates(Environment(EnvironmentMap{{"SSL_CERT_FILE", "/x/pool.pem"}})) ==
          "/x/pool.pem");
    CHECK(system_certificates(Environment()).extension() != ".none");
}
