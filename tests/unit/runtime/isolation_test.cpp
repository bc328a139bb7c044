// SPDX-License-Identifier: Apache-2.0
// Options of namespaces and capabilities, before a container is made.
#include "runtime/containers/csv.hpp"
#include "runtime/containers/isolation.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <linux/capability.h>

namespace cybele::runtime {
namespace {

std::string problem_of(const Request& request, bool is_root = true) {
    const auto checked = check_isolation(request, is_root);
    return checked ? std::string() : checked.error().faults().front().id;
}

bool has(const std::vector<int>& numbers, int number) {
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

Request quiet() {
    Request request;
    request.global.is_quiet = true;
    return request;
}

} // namespace

TEST_CASE("isolation: words of lists, without blanks and empty ones") {
    using Words = std::vector<std::string>;
    CHECK(list_words({"a, b ,,c d", "", " ", "e"}) == Words{"a", "b", "c d", "e"});
    CHECK(list_words({}).empty());
    CHECK(csv_fields("a,b") == Words{"a", "b"});
    CHECK(csv_fields("") == Words{""});
    CHECK(csv_fields("a,,b,") == Words{"a", "", "b", ""});
    CHECK(csv_fields("\"a,b\",c") == Words{"a,b", "c"});
    CHECK(csv_fields("\"say \"\"no\"\"\",x\"y\"") == Words{"say \"no\"", "xy"});
}

TEST_CASE("isolation: names of hosts, by our own name and by that of Apptainer") {
    Request request;
    const auto id = [&](const std::string& name, bool follows_apptainer) {
        request.isolation.hostname = name;
        request.global.follows_apptainer = follows_apptainer;
        return problem_of(request);
    };
    for (const char* good : {"", "a", "node-7", "a.b-c.d9", "9"}) {
        CHECK_MESSAGE(id(good, true) == "", good);
        CHECK_MESSAGE(id(good, false) == "", good);
    }
    for (const char* odd : {"-a", "a-", "a..b", ".a", "a.", "a_b", "a b", "a.-b"}) {
        CHECK_MESSAGE(id(odd, true) == "hostname-malformed", odd);
        CHECK_MESSAGE(id(odd, false) == "", odd);
    }
    for (const bool follows_apptainer : {false, true}) {
        CHECK(id(std::string(64, 'n'), follows_apptainer) == "");
        CHECK(id(std::string(65, 'n'), follows_apptainer) == "hostname-malformed");
        CHECK(id("a\nb", follows_apptainer) == "hostname-malformed");
    }
}

TEST_CASE("isolation: a network of its own has loopback only; one of the host is root's") {
    Request request;
    request.isolation.network = "bridge"; // without --net it means nothing
    CHECK(problem_of(request) == "");
    request.isolation.net = true;
    CHECK(problem_of(request) == "network-not-supported");
    request.isolation.network.clear();
    CHECK(problem_of(request) == "network-not-supported");
    request.isolation.network = "none";
    CHECK(problem_of(request) == "");
    request.isolation.network.clear();
    request.isolation.netns_path = "/run/netns/x";
    CHECK(problem_of(request, true) == "");
    CHECK(problem_of(request, false) == "network-namespace-root-only");
}

TEST_CASE("isolation: what the program writes goes to one place") {
    Request request;
    request.image.writable = true;
    CHECK(problem_of(request) == "");
    request.image.writable_tmpfs = true;
    CHECK(problem_of(request) == "writable-twice");
    request.global.follows_apptainer = true;
    CHECK(problem_of(request) == "");
    request.image.overlays = {"o.img"};
    CHECK(problem_of(request) == "writable-with-overlay");
    request.image.writable = false;
    CHECK(problem_of(request) == "");
}

TEST_CASE("isolation: addresses of name servers") {
    CHECK(resolv_conf_of("192.0.2.1, 2001:db8::1").value() ==
          "nameserver 192.0.2.1\nnameserver 2001:db8::1\n");
    CHECK(resolv_conf_of("").value().empty());
    for (const char* bad : {"localhost", "192.0.2", "192.0.2.256", "192.0.2.1;192.0.2.2"}) {
        CHECK_FALSE(resolv_conf_of(bad));
    }
    Request request;
    request.isolation.dns = "192.0.2.1";
    CHECK(problem_of(request) == "");
    request.isolation.dns = "here";
    CHECK(problem_of(request) == "name-server-malformed");
}

TEST_CASE("isolation: root keeps all capabilities, those that are not dropped, or those added") {
    Request request = quiet();
    const auto kept = [&] {
        const auto numbers = kept_capabilities(request);
        REQUIRE(numbers);
        return *numbers;
    };
    CHECK_FALSE(kept());
    request.user.add_caps = "CAP_CHOWN";
    CHECK_FALSE(kept()); // it has all of them
    request.user.add_caps.clear();
    request.user.drop_caps = "net_raw,CAP_KILL";
    REQUIRE(kept());
    CHECK(kept()->size() == static_cast<std::size_t>(CAP_LAST_CAP) + 1 - 2);
    CHECK_FALSE(has(*kept(), CAP_NET_RAW));
    CHECK_FALSE(has(*kept(), CAP_KILL));
    CHECK(has(*kept(), CAP_CHOWN));
    CHECK(has(*kept(), CAP_CHECKPOINT_RESTORE));
    request.user.no_privs = true;
    CHECK(kept()->empty());
    request.user.add_caps = "Cap_Sys_Admin, net_raw,setuid";
    CHECK(*kept() == std::vector<int>{CAP_SYS_ADMIN, CAP_SETUID});
    request.user.drop_caps = "all";
    CHECK(kept()->empty());
}

TEST_CASE("isolation: a capability that nobody knows is refused, by Apptainer's name left out") {
    Request request = quiet();
    request.user.no_privs = true;
    request.user.add_caps = "chown,nothing";
    CHECK(problem_of(request) == "capability-unknown");
    CHECK_FALSE(kept_capabilities(request));
    CHECK(given_capabilities(request).value().empty());
    request.user.add_caps = "chown";
    request.user.drop_caps = "cap_";
    CHECK(problem_of(request) == "capability-unknown");
    request.global.follows_apptainer = true;
    request.user.add_caps = "chown,nothing,kill,fowner";
    request.user.drop_caps = "kill,nothing";
    CHECK(problem_of(request) == "");
    CHECK(kept_capabilities(request).value() == std::vector<int>{CAP_CHOWN, CAP_FOWNER});
    CHECK(given_capabilities(request).value() == std::vector<int>{CAP_CHOWN, CAP_FOWNER});
}

TEST_CASE("isolation: the number of each capability is the kernel's") {
    const std::pair<const char*, int> rows[] = {{"chown", CAP_CHOWN},
                                                {"dac_override", CAP_DAC_OVERRIDE},
                                                {"dac_read_search", CAP_DAC_READ_SEARCH},
                                                {"fowner", CAP_FOWNER},
                                                {"fsetid", CAP_FSETID},
                                                {"kill", CAP_KILL},
                                                {"setgid", CAP_SETGID},
                                                {"setuid", CAP_SETUID},
                                                {"setpcap", CAP_SETPCAP},
                                                {"linux_immutable", CAP_LINUX_IMMUTABLE},
                                                {"net_bind_service", CAP_NET_BIND_SERVICE},
                                                {"net_broadcast", CAP_NET_BROADCAST},
                                                {"net_admin", CAP_NET_ADMIN},
                                                {"net_raw", CAP_NET_RAW},
                                                {"ipc_lock", CAP_IPC_LOCK},
                                                {"ipc_owner", CAP_IPC_OWNER},
                                                {"sys_module", CAP_SYS_MODULE},
                                                {"sys_rawio", CAP_SYS_RAWIO},
                                                {"sys_chroot", CAP_SYS_CHROOT},
                                                {"sys_ptrace", CAP_SYS_PTRACE},
                                                {"sys_pacct", CAP_SYS_PACCT},
                                                {"sys_admin", CAP_SYS_ADMIN},
                                                {"sys_boot", CAP_SYS_BOOT},
                                                {"sys_nice", CAP_SYS_NICE},
                                                {"sys_resource", CAP_SYS_RESOURCE},
                                                {"sys_time", CAP_SYS_TIME},
                                                {"sys_tty_config", CAP_SYS_TTY_CONFIG},
                                                {"mknod", CAP_MKNOD},
                                                {"lease", CAP_LEASE},
                                                {"audit_write", CAP_AUDIT_WRITE},
                                                {"audit_control", CAP_AUDIT_CONTROL},
                                                {"setfcap", CAP_SETFCAP},
                                                {"mac_override", CAP_MAC_OVERRIDE},
                                                {"mac_admin", CAP_MAC_ADMIN},
                                                {"syslog", CAP_SYSLOG},
                                                {"wake_alarm", CAP_WAKE_ALARM},
                                                {"block_suspend", CAP_BLOCK_SUSPEND},
                                                {"audit_read", CAP_AUDIT_READ},
                                                {"perfmon", CAP_PERFMON},
                                                {"bpf", CAP_BPF},
                                                {"checkpoint_restore", CAP_CHECKPOINT_RESTORE}};
    for (const auto& [name, number] : rows) {
        Request request = quiet();
        request.user.no_privs = true;
        request.user.add_caps = "CAP_" + std::string(name);
        CHECK_MESSAGE(kept_capabilities(request).value() == std::vector<int>{number}, name);
    }
}

} // namespace cybele::runtime
