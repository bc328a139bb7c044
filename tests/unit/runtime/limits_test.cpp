// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/limit_group.hpp"
#include "runtime/containers/limits.hpp"
#include "support/file.hpp"
#include "tests/unit/runtime/trial.hpp"

#include <utility>

using namespace cybele;
using namespace cybele::runtime;

namespace {

/// "file=text" of each setting.
std::vector<std::string> written(const LimitRequest& request) {
    const auto settings = limit_settings(request);
    std::vector<std::string> texts;
    if (!settings) {
        return {"refused"};
    }
    for (const LimitSetting& one : *settings) {
        texts.push_back(one.file + "=" + one.text);
    }
    return texts;
}

/// A folder with the files of a cgroup: `container` is the one that is made.
struct FakeGroups {
    TempDirectory folder = tiny::make_folder();
    std::filesystem::path own = folder.path() / "own";
    std::filesystem::path container = own / "cybelectl-42";
    LimitPlace place{folder.path(), "/own", false};

    FakeGroups() {
        for (const auto& group : {folder.path(), own}) {
            std::filesystem::create_directories(group);
            tiny::write(group / "cgroup.controllers", "cpuset cpu io memory pids\n");
            tiny::write(group / "cgroup.subtree_control", "");
            tiny::write(group / "cgroup.procs", "");
        }
        std::filesystem::create_directory(container);
        for (const char* file : {"memory.max", "cpu.max", "pids.max", "cgroup.procs"}) {
            tiny::write(container / file, "");
        }
    }
};

} // namespace

TEST_CASE("limits: options become the texts of cgroup files") {
    const std::vector<std::pair<LimitRequest, std::vector<std::string>>> rows = {
        {{}, {}},
        {{.memory = "512"}, {"memory.max=512"}},
        {{.memory = "1.5 GiB"}, {"memory.max=1610612736"}},
        {{.memory = "64m"}, {"memory.max=67108864"}},
        {{.memory = "64MB"}, {"memory.max=67108864"}},
        {{.memory = ".5k"}, {"memory.max=512"}},
        {{.memory = "9007199254740993"}, {"memory.max=9007199254740993"}}, // 2^53 + 1
        {{.memory = "9007199254740993b"}, {"memory.max=9007199254740993"}},
        {{.memory = "8796093022207k"}, {"memory.max=9007199254739968"}},
        {{.memory = "8191.999999999999p"}, {"memory.max=9223372036854774682"}},
        {{.memory = "100000000000"}, {"memory.max=100000000000"}},
        {{.memory = "8192P"}, {"refused"}}, // 2^63
        {{.memory = "."}, {"refused"}},
        {{.memory = "6x"}, {"refused"}},
        {{.memory = "k"}, {"refused"}},
        {{.memory = "1.5.5k"}, {"refused"}},
        {{.memory = "99999999999999999999"}, {"refused"}},
        {{.memory = "9223372036854775807P"}, {"refused"}},
        {{.memory = "1G", .memory_swap = "3G"},
         {"memory.swap.max=2147483648", "memory.max=1073741824"}},
        {{.memory = "1G", .memory_swap = "-1"}, {"memory.swap.max=max", "memory.max=1073741824"}},
        {{.memory_swap = "-1"}, {"memory.swap.max=max"}},
        {{.memory_swap = "1G"}, {"refused"}},
        {{.memory = "2G", .memory_swap = "1G"}, {"refused"}},
        {{.memory_reservation = "1k"}, {"memory.low=1024"}},
        {{.cpus = "0.5"}, {"cpu.max=50000 100000"}},
        {{.cpus = "0.01"}, {"cpu.max=1000 100000"}},
        {{.cpus = "0.001"}, {"refused"}},
        {{.cpus = "100000"}, {"refused"}},
        {{.cpus = "-1"}, {"refused"}},
        {{.cpuset_cpus = "0-1,3", .cpuset_mems = "0"}, {"cpuset.cpus=0-1,3", "cpuset.mems=0"}},
        {{.cpuset_cpus = "all"}, {"refused"}},
        {{.cpu_shares = 2}, {"cpu.weight=1"}},
        {{.cpu_shares = 1024}, {"cpu.weight=39"}},
        {{.cpu_shares = 262144}, {"cpu.weight=10000"}},
        {{.pids = 7}, {"pids.max=7"}},
        {{.pids = -1}, {"pids.max=max"}},
        {{.pids = -2}, {"refused"}},
        {{.weight = 10}, {"io.weight=1"}},
        {{.weight = 1000}, {"io.weight=10000"}},
        {{.weight = 9}, {"refused"}},
        {{.weight = 1001}, {"refused"}},
        {{.device_weights = {"/dev/null:100"}}, {"refused"}},
        {{.device_weights = {"/dev/null"}}, {"refused"}},
        {{.memory = "1G", .file = "/etc/passwd"}, {"refused"}},
        {{.file = "/nonexistent"}, {"refused"}},
    };
    for (const auto& [request, expected] : rows) {
        CAPTURE(expected);
        CHECK(written(request) == expected);
    }
}

TEST_CASE("limits: the files of --apply-cgroups") {
    const auto limits =
        parse_limits("# all\n[memory]\nlimit = 1_024 # bytes\nswap=2048\n"
                     "[ cpu ]\nshares = 512\nquota = 50000\nperiod = 200000\n"
                     "cpus = \"0-1\"\nmems = '0'\n[pids]\nlimit = -1\n"
                     "[blockIO]\nweight = 500\n[[blockIO.weightDevice]]\nmajor = 7\n"
                     "minor = 1\nweight = 10\n[[blockIO.throttleReadBpsDevice]]\n"
                     "major = 8\nminor = 0\nrate = 100\n"
                     "[unified]\n\"memory.high\" = \"4#096\"\n",
                     "limits.toml");
    REQUIRE(limits.has_value());
    const auto settings = limit_settings(*limits);
    REQUIRE(settings.has_value());
    std::vector<std::string> texts;
    for (const LimitSetting& one : *settings) {
        texts.push_back(one.file + "=" + one.text);
    }
    CHECK(texts == std::vector<std::string>{"memory.swap.max=1024",
                                            "memory.max=1024",
                                            "cpu.weight=20",
                                            "cpu.max=50000 200000",
                                            "cpuset.cpus=0-1",
                                            "cpuset.mems=0",
                                            "pids.max=max",
                                            "io.weight=4950",
                                            "io.weight=7:1 1",
                                            "io.max=8:0 rbps=100",
                                            "memory.high=4#096"});
    for (const char* wrong : {"x",
                              "[memory]\nlimit = \"1\"",
                              "[memory]\nkernel = 1",
                              "[memory]\nlimit = 99999999999999999999",
                              "[devices]\nallow = true",
                              "[[devices]]\nallow = true",
                              "[unified]\n\"../x.y\" = \"1\"",
                              "[unified]\n\"cgroup.procs\" = \"1\"",
                              "[unified]\nmemory = \"1\"",
                              "[blockIO.weightDevice]\nmajor = 1",
                              "[[blockIO.weightDevice]]\nmajor = -1",
                              "[",
                              "[]",
                              "[[]]",
                              "limit = 1"}) {
        CAPTURE(wrong);
        const auto refused = parse_limits(wrong, "limits.toml");
        REQUIRE_FALSE(refused.has_value());
        CHECK(refused.error().faults().front().code == ErrorCode::kInput);
        CHECK(refused.error().faults().front().where.has_value());
    }
}

TEST_CASE("limits: a user's cgroup lies below the delegated one, and has what was asked for") {
    const FakeGroups fake;
    const auto settings =
        limit_settings(LimitRequest{.memory = "1k", .cpus = "0.5", .pids = 3}).value();
    {
        const auto group = LimitGroup::make(fake.place, settings, 42);
        REQUIRE(group.has_value());
        CHECK(group->path() == fake.container);
        CHECK(read_file(fake.container / "memory.max") == "1024");
        CHECK(read_file(fake.container / "cpu.max") == "50000 100000");
        CHECK(read_file(fake.container / "pids.max") == "3");
        REQUIRE(group->join().has_value());
        CHECK(read_file(fake.container / "cgroup.procs") == "0");
    }
    // The controllers were asked for one by one; the kernel adds them, this file shows the last.
    CHECK(read_file(fake.own / "cgroup.subtree_control")->find("+pids") != std::string::npos);
}

TEST_CASE("limits: what is not delegated or not there is refused by the option's name") {
    FakeGroups fake;
    const auto refusal = [&](const LimitRequest& request) {
        const auto group = LimitGroup::make(fake.place, limit_settings(request).value(), 42);
        REQUIRE_FALSE(group.has_value());
        const Fault& fault = group.error().faults().front();
        CHECK(fault.code == ErrorCode::kEnvironment);
        CHECK_FALSE(fault.help.empty());
        return fault.message + ": " + fault.because;
    };
    CHECK(refusal({.cpu_shares = 5}).find("'cpu.weight'") != std::string::npos);
    tiny::write(fake.own / "cgroup.controllers", "cpu io\n");
    CHECK(refusal({.memory = "1k"}) == "--memory is not supported here: the cgroup '" +
                                           fake.own.native() + "' has no controller 'memory'");
    fake.place.own = "/missing";
    CHECK(refusal({.pids = 3}).find("--pids-limit is not supported here") == 0);
    fake.place.own = "";
    CHECK(refusal({.pids = 3}).find("cgroup version 2 is not mounted") != std::string::npos);
}

TEST_CASE("limits: what a killed start has left is removed, and nothing else") {
    const FakeGroups fake;
    for (const char* name :
         {"cybelectl-999999999", "cybelectl-1", "cybelectl-x", "other-999999999"}) {
        std::filesystem::create_directory(fake.own / name);
    }
    const auto settings = limit_settings(LimitRequest{.pids = 3}).value();
    REQUIRE(LimitGroup::make(fake.place, settings, 42).has_value());
    CHECK_FALSE(std::filesystem::exists(fake.own / "cybelectl-999999999"));
    CHECK(std::filesystem::exists(fake.own / "cybelectl-1"));
    CHECK(std::filesystem::exists(fake.own / "cybelectl-x"));
    CHECK(std::filesystem::exists(fake.own / "other-999999999"));
}
