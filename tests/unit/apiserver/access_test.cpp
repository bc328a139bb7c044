// SPDX-License-Identifier: Apache-2.0
#include "apiserver/access.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"

#include <string>

#include <doctest/doctest.h>
#include <sys/prctl.h>

using namespace cybele;
using namespace cybele::apiserver;

namespace {

/// A folder with one kubeconfig whose cluster and user have these further fields.
struct Configured {
    Configured(const std::string& cluster, const std::string& user) {
        write("config",
              "current-context: here\n"
              "clusters: [{name: c, cluster: {server: \"https://host:6443/\"" +
                  (cluster.empty() ? "" : ", " + cluster) +
                  "}}]\n"
                  "users: [{name: u, user: {" +
                  user +
                  "}}]\n"
                  "contexts:\n"
                  "- {name: here, context: {cluster: c, user: u, namespace: team}}\n"
                  "- {name: broken, context: {cluster: none, user: u}}\n");
    }
    void write(const std::string& name, const std::string& text) const {
        REQUIRE(write_file(folder.path() / name, text));
    }
    [[nodiscard]] Result<Access> read(AccessOptions options = {}) const {
        if (options.kubeconfig.empty()) {
            options.kubeconfig = (folder.path() / "config").native();
        }
        return Access::read(Environment(EnvironmentMap{{"PATH", "/usr/bin:/bin"}}), options);
    }
    TempDirectory folder = TempDirectory::make("/tmp", "kubeconfig").value();
};

Fault fault_of(const Result<Access>& access) {
    REQUIRE_FALSE(access);
    CHECK_FALSE(access.error().faults().front().help.empty());
    return access.error().faults().front();
}

} // namespace

TEST_CASE("a kubeconfig: server, namespace, certificates as text, token") {
    const Configured at("certificate-authority-data: " + base64("CA"),
                        "token: abc, client-certificate-data: " + base64("CERT") +
                            ", client-key-data: " + base64("KEY"));
    const auto access = at.read();
    REQUIRE(access);
    CHECK(access->server() == "https://host:6443");
    CHECK(access->name_space() == "team");
    CHECK(access->credentials() == Credentials{"CA", "CERT", "KEY", "abc"});
    CHECK(::prctl(PR_GET_DUMPABLE) == 0);    // NOLINT: prctl(2) is variadic
    CHECK(::prctl(PR_SET_DUMPABLE, 1) == 0); // NOLINT: for the debugger of the tests
}

TEST_CASE("files are relative to the kubeconfig, and are read again") {
    const Configured at("certificate-authority: ca.crt", "tokenFile: token");
    CHECK(fault_of(at.read()).code == ErrorCode::kInput); // they are missing
    at.write("ca.crt", "CA");
    at.write("token", "first\n");
    auto access = at.read();
    REQUIRE(access);
    CHECK(access->credentials().token == "first");
    CHECK_FALSE(access->refresh().value());
    at.write("token", "second");
    CHECK(access->refresh().value());
    CHECK(access->credentials().token == "second");
    // Just being written, or nonsense: the old one stays.
    for (const char* const text : {"", "\n", "two words", "line\nline"}) {
        at.write("token", text);
        CHECK_FALSE(access->refresh());
        CHECK(access->credentials().token == "second");
    }
}

TEST_CASE("a program gives the credentials, again when they were refused") {
    const Configured at("",
                        "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./give, "
                        "args: [\"a b\"], env: [{name: WHO, value: me}]}");
    CHECK(fault_of(at.read()).message.find("give") != std::string::npos);
    const std::string script =
        "#!/bin/sh\n"
        "echo \"$1 $WHO $KUBERNETES_EXEC_INFO\" >>\"$(dirname \"$0\")/called\"\n"
        "printf '{\"status\": {\"token\": \"t%s\"}}' \"$(wc -l <\"$(dirname \"$0\")/called\")\"\n";
    REQUIRE(write_file(at.folder.path() / "give", script, 0755));
    auto access = at.read();
    REQUIRE(access);
    CHECK(access->credentials().token == "t1");
    CHECK_FALSE(access->refresh().value()); // it is not asked each minute
    CHECK(access->renew().value());
    CHECK(access->credentials().token == "t2");
    const std::string called = read_file(at.folder.path() / "called").value();
    CHECK(called.starts_with("a b me {\"apiVersion\":\"client.authentication.k8s.io/v1\""));
    for (const char* const output :
         {"", "{}", "[]", "{\"status\": {}}", "{\"status\": {\"token\": \"a b\"}}"}) {
        const std::string other = "#!/bin/sh\nprintf '%s' '" + std::string(output) + "'\n";
        REQUIRE(write_file(at.folder.path() / "give", other, 0755));
        CHECK_FALSE(access->renew());
    }
    REQUIRE(
        write_file(at.folder.path() / "give", "#!/bin/sh\necho log in first >&2\nexit 3\n", 0755));
    CHECK(fault_of(at.read()).because.find("3: log in first") != std::string::npos);
}

TEST_CASE("what is refused, with its line") {
    struct Row {
        const char* cluster;
        const char* user;
        const char* message;
    };
    for (const Row& row :
         {Row{"insecure-skip-tls-verify: true", "token: a", "would not be verified"},
          Row{"certificate-authority-data: '*'", "token: a", "not base64"},
          Row{"", "auth-provider: {name: gcp}", "auth-provider"},
          Row{"", "username: a, password: b", "username"},
          Row{"",
              "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}",
              "apiVersion"},
          Row{"", "exec: {apiVersion: client.authentication.k8s.io/v1}", "no command"},
          Row{"",
              "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: "
              "Always}",
              "terminal"}}) {
        const Configured at(row.cluster, row.user);
        const Fault fault = fault_of(at.read());
        CHECK(fault.message.find(row.message) != std::string::npos);
        REQUIRE(fault.where);
        CHECK(fault.where->line > 1);
    }
    const Configured at("insecure-skip-tls-verify: true", "token: a");
    AccessOptions options;
    options.allows_insecure = true;
    CHECK(at.read(options)->is_insecure());
    options.context = "broken";
    CHECK(fault_of(at.read(options)).message.find("cluster 'none'") != std::string::npos);
    options.context = "nowhere";
    CHECK(fault_of(at.read(options)).message.find("context 'nowhere'") != std::string::npos);
    options.kubeconfig = "/nonexistent/config";
    CHECK(fault_of(at.read(options)).message.find("/nonexistent/config") != std::string::npos);
}

TEST_CASE("of several kubeconfigs, the first that has a name decides") {
    const Configured first("", "token: first");
    const Configured second("", "token: second");
    second.write("config", "users: [{name: u, user: {token: second}}]\ncurrent-context: none\n");
    AccessOptions options;
    options.kubeconfig = (second.folder.path() / "missing").native() + ":" +
                         (second.folder.path() / "config").native() + ":" +
                         (first.folder.path() / "config").native();
    options.context = "here";
    const auto access = first.read(options);
    REQUIRE(access);
    CHECK(access->credentials().token == "second");
    CHECK(access->server() == "https://host:6443");
}

TEST_CASE("a pod's service account, and nothing at all") {
    const TempDirectory folder = TempDirectory::make("/tmp", "account").value();
    AccessOptions options;
    options.service_account = folder.path();
    EnvironmentMap variables{{"HOME", "/nonexistent"}};
    CHECK(fault_of(Access::read(Environment(variables), options)).code == ErrorCode::kEnvironment);
    variables["KUBERNETES_SERVICE_HOST"] = "fd00::1";
    variables["KUBERNETES_SERVICE_PORT"] = "8443";
    CHECK_FALSE(Access::read(Environment(variables), options));
    REQUIRE(write_file(folder.path() / "token", "abc"));
    REQUIRE(write_file(folder.path() / "ca.crt", "CA"));
    REQUIRE(write_file(folder.path() / "namespace", "batch\n"));
    const auto access = Access::read(Environment(variables), options);
    REQUIRE(access);
    CHECK(access->server() == "https://[fd00::1]:8443");
    CHECK(access->name_space() == "batch");
    CHECK(access->credentials() == Credentials{"CA", "", "", "abc"});
}
