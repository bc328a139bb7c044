// SPDX-License-Identifier: Apache-2.0
#include "support/file.hpp"
#include "support/machine.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace cybele;
namespace fs = std::filesystem;

namespace {

/// Another machine's files.
struct Root {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-machine").value();

    explicit Root(const std::vector<std::pair<std::string, std::string>>& files) {
        for (const auto& [name, text] : files) {
            const fs::path path = directory.path() / name;
            REQUIRE(make_directories(path.parent_path()).has_value());
            REQUIRE(write_file(path, text).has_value());
        }
    }
    [[nodiscard]] Machine machine(const std::vector<int>& allowed) const {
        return read_machine({directory.path(), allowed});
    }
};

/// Four cores of two threads: 0 and 4, 1 and 5, …
std::vector<std::pair<std::string, std::string>> two_threads_a_core() {
    std::vector<std::pair<std::string, std::string>> files;
    files.reserve(16);
    for (int cpu = 0; cpu < 8; ++cpu) {
        files.emplace_back("sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                               "/topology/thread_siblings_list",
                           std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4) + "\n");
    }
    files.emplace_back("proc/meminfo", "MemTotal:       16000000 kB\nMemFree: 1 kB\n");
    return files;
}

std::string cores_of(const Machine& machine) {
    std::string text;
    for (const Core& core : machine.cores) {
        text += (text.empty() ? "" : " ") + cpu_list(core.cpus);
    }
    return text;
}

} // namespace

TEST_CASE("sets of processors are read and written as the kernel does") {
    CHECK(parse_cpu_list("0-3,8").value_or(std::vector<int>{}) == std::vector<int>{0, 1, 2, 3, 8});
    CHECK(parse_cpu_list("5").value_or(std::vector<int>{}) == std::vector<int>{5});
    for (const char* const wrong : {"", "a", "3-1", "1,", "1;2", "-1", "0-99999999"}) {
        CAPTURE(wrong);
        CHECK_FALSE(parse_cpu_list(wrong).has_value());
    }
    CHECK(cpu_list({0, 1, 2, 5, 7, 8}) == "0-2,5,7-8");
    CHECK(cpu_list({}).empty());
}

TEST_CASE("hardware threads of one core are one core; the mask counts") {
    const Root root(two_threads_a_core());
    CHECK(cores_of(root.machine({0, 1, 2, 3, 4, 5, 6, 7})) == "0,4 1,5 2,6 3,7");
    CHECK(cores_of(root.machine({1, 4, 5})) == "1,5 4");
    CHECK(root.machine({1, 4, 5}).threads() == 3);
    CHECK(root.machine({1, 4, 5}).cpus() == std::vector<int>{1, 4, 5});
    CHECK(root.machine({1}).memory == std::uint64_t{16000000} << 10U);
    CHECK(cores_of(root.machine({12, 13})) == "12 13"); // no topology is told
}

TEST_CASE("a control group's quota and limit are the machine's, those above it too") {
    auto files = two_threads_a_core();
    files.emplace_back("proc/self/cgroup", "0::/pod/inner\n");
    files.emplace_back("sys/fs/cgroup/pod/cpu.max", "250000 100000\n");
    files.emplace_back("sys/fs/cgroup/pod/inner/cpu.max", "max 100000\n");
    files.emplace_back("sys/fs/cgroup/pod/memory.max", "1073741824\n");
    files.emplace_back("sys/fs/cgroup/pod/inner/memory.max", "max\n");
    const Root root(files);
    const Machine machine = root.machine({0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(cores_of(machine) == "0,4 1,5");
    CHECK(machine.memory == 1073741824);
}

TEST_CASE("version 1 of control groups counts as well; a quota below one core leaves one") {
    auto files = two_threads_a_core();
    files.emplace_back("proc/self/cgroup", "4:memory:/job\n1:cpu:/\n0::/\n");
    files.emplace_back("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
    files.emplace_back("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    files.emplace_back("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    files.emplace_back("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n");
    const Root root(files);
    const Machine machine = root.machine({0, 1, 2, 3});
    CHECK(cores_of(machine) == "0");
    CHECK(machine.memory == std::uint64_t{2} << 30U);
    files[files.size() - 4].second = "-1\n"; // no quota
    const Root free(files);
    CHECK(free.machine({0, 1, 2, 3}).cores.size() == 4);
}

TEST_CASE("GPUs are device files, counted as drivers do") {
    auto files = two_threads_a_core();
    files.emplace_back("dev/dri/renderD128", "");
    files.emplace_back("dev/dri/renderD129", "");
    files.emplace_back("dev/dri/card0", "");
    CHECK(Root(files).machine({0}).gpus == std::vector<int>{0, 1});
    files.emplace_back("dev/nvidia10", "");
    files.emplace_back("dev/nvidia2", "");
    files.emplace_back("dev/nvidiactl", "");
    CHECK(Root(files).machine({0}).gpus == std::vector<int>{2, 10});
    CHECK(Root(two_threads_a_core()).machine({0}).gpus.empty());
}

TEST_CASE("this machine has a core and memory") {
    const Machine machine = read_machine({"/", allowed_cpus()});
    CHECK_FALSE(machine.host.empty());
    CHECK(machine.cores.size() >= 1);
    CHECK(machine.threads() <= allowed_cpus().size());
    CHECK(machine.memory > std::uint64_t{1} << 20U);
}
