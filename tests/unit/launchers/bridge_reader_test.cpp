// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/bridge.hpp"
#include "tests/unit/support/document_fields.hpp"
#include "tests/unit/support/document_golden.hpp"

using namespace cybele;
using namespace cybele::launchers;

TEST_CASE("bridge: every field, the schema, the page and its example") {
    const std::string example = test::example_of("bridge");
    test::check_every_field(
        bridge_kind(),
        {example,
         "kind: Bridge\nname: a\nsite: s.yaml\naccounts: []\n"
         "reader: {ssh: eve@login, sudo: true}\n",
         "kind: Bridge\nname: a\nsite: s.yaml\naccounts: []\n"
         "listen: {address: '::', certificate: c.pem, key: k.pem}\n",
         "kind: Bridge\nname: a\nsite: s.yaml\n"
         "reader: {slurmrestd: 'https://h', token-command: t}\n"
         "accounts:\n  - {namespace: n, account: e, workdir: /w, way: {"
         "slurmrestd: 'https://h', token-file: t, records: /r}}\n",
         "kind: Bridge\nname: a\nsite: s.yaml\naccounts:\n  - {namespace: n, account: e, "
         "workdir: /w, way: {slurmrestd: 'https://h', token-command: t, records: /r}}\n",
         "kind: Bridge\nname: a\nsite: s.yaml\naccounts: []\n"
         "reader: {slurmrestd: 'https://h', token-file: t, records: /r}\n"});
    test::compare_generated(bridge_kind(), "bridge");
    const auto bridge = read_bridge(example, "docs/bridge.yaml");
    REQUIRE_MESSAGE(bridge.has_value(), test::told(bridge));
    CHECK(bridge->site == "docs/site.yaml");
    REQUIRE(bridge->accounts.size() == 1);
    CHECK(bridge->accounts[0].way.ssh == "alice@login.hall-a.example");
    CHECK(bridge->accounts[0].way.key == "/etc/cybelectl-keys/alice");
    CHECK(bridge->reader.value_or(BridgeConnection{}).ssh == "reader@login.hall-a.example");
    CHECK(bridge->poll == std::chrono::seconds(15));
    CHECK(bridge->keep_records == std::chrono::hours(720));
}

TEST_CASE("bridge: a relative key begins at the Bridge's folder") {
    const auto bridge = read_bridge("kind: Bridge\nname: a\nsite: s.yaml\naccounts:\n"
                                    "  - {namespace: n, account: eve, workdir: /w, "
                                    "way: {ssh: eve@login, key: keys/eve}}\n",
                                    "docs/bridge.yaml");
    REQUIRE_MESSAGE(bridge.has_value(), test::told(bridge));
    CHECK(bridge->accounts[0].way.key == "docs/keys/eve");
}

TEST_CASE("bridge: defaults") {
    const auto bridge = read_bridge("kind: Bridge\nname: a\nsite: s.yaml\naccounts:\n"
                                    "  - {namespace: n, account: eve, workdir: /w}\n",
                                    "b.yaml");
    REQUIRE_MESSAGE(bridge.has_value(), test::told(bridge));
    CHECK(bridge->accounts[0].way == BridgeConnection{});
    CHECK_FALSE(bridge->reader.has_value());
    CHECK(bridge->poll == std::chrono::seconds(15));
    CHECK(bridge->hand_over_patience == std::chrono::seconds(60));
    CHECK(bridge->writes_per_second == 50);
    CHECK(bridge->reads_tails);
    CHECK_FALSE(bridge->manages_jobs);
}

TEST_CASE("bridge: refusals with place and remedy") {
    struct Row {
        const char* accounts;
        const char* more;
        const char* message;
        std::size_t line;
    };
    const char* good = "  - {namespace: n, account: eve, workdir: /w}\n";
    const Row rows[] = {
        {"  - {namespace: n, account: eve, workdir: w}\n", "", "is not an absolute path", 5},
        {"  - {namespace: N, account: eve, workdir: /w}\n", "", "N", 5},
        {good, "namespaces: []\n", "`namespaces` lists no namespace", 6},
        {good, "virtual-nodes: {prefix: NH_1}\n", "the beginning of a node's name", 6},
        {"  - {namespace: n, account: -u, workdir: /w}\n", "", "-u", 5},
        {"  - {namespace: n, account: e, workdir: /w, way: {ssh: -oProxy}}\n",
         "",
         "is not a login host",
         5},
        {"  - {namespace: n, account: e, workdir: /w, way: {key: k}}\n", "", "without 'ssh'", 5},
        {"  - {namespace: n, account: e, workdir: /w}\n"
         "  - {namespace: n, account: e, workdir: /w}\n",
         "",
         "two times",
         6},
        {"  - {namespace: n, account: e, workdir: /w}\n"
         "  - {namespace: m, account: e, workdir: /v}\n",
         "",
         "two different `way` or `workdir` values",
         6},
        {good, "writes-per-second: 0\n", "'writes-per-second' is 0", 6},
        {good, "poll: 0 s\n", "'poll' is 0", 6},
        {good, "reader: {ssh: -oProxy}\n", "is not a login host", 6},
        {good, "reader: {key: k}\n", "without 'ssh'", 6},
        {good, "reader: {token-file: t}\n", "without `slurmrestd`", 6},
        {good, "reader: {slurmrestd: 'https://h'}\n", "needs `token-file`", 6},
        {good, "listen: {address: localhost}\n", "is not an IP address", 6},
        {good, "listen: {address: 10.1.2.3, advertise: there}\n", "is not an IP address", 6},
        {good, "listen: {address: 10.1.2.3, port: 65536}\n", "is not a port", 6},
        {good, "listen: {address: 10.1.2.3, key: k.pem}\n", "are not both set", 6},
        {good, "collector-image: cybelectl:1\n", "without `listen`", 6},
    };
    for (const Row& row : rows) {
        CAPTURE(row.accounts);
        CAPTURE(row.more);
        const auto bridge = read_bridge(std::string("kind: Bridge\nname: a\nsite: s.yaml\n") +
                                            "accounts:\n" + row.accounts + row.more,
                                        "b.yaml");
        REQUIRE_FALSE(bridge.has_value());
        const Fault& fault = bridge.error().faults().front();
        CHECK_MESSAGE(fault.message.find(row.message) != std::string::npos, fault.message);
        CHECK(fault.where.value_or(Place{}).line == row.line);
        CHECK_FALSE(fault.help.empty());
    }
}

TEST_CASE("bridge: namespaces and accounts of every allowed length and letter") {
    const auto is_read = [](const std::string& space, const std::string& account) {
        return read_bridge("kind: Bridge\nname: a\nsite: s.yaml\naccounts:\n  - {namespace: '" +
                               space + "', account: '" + account + "', workdir: /w}\n",
                           "b.yaml")
            .has_value();
    };
    const std::string most(63, 'n');
    const std::string too_many(64, 'n');
    CHECK(is_read("0a-z9", "Az0._-9"));
    CHECK(is_read(most, most));
    CHECK_FALSE(is_read(too_many, "e"));
    CHECK_FALSE(is_read("n", too_many));
    for (const char* space : {"", "-n", "n-", "n.m", "n/m", "n:", "n`"}) {
        CAPTURE(space);
        CHECK_FALSE(is_read(space, "e"));
    }
    for (const char* account : {"", "-e", ".e", "e f", "e/f", "e{", "e@"}) {
        CAPTURE(account);
        CHECK_FALSE(is_read("n", account));
    }
}
