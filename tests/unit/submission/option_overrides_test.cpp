// SPDX-License-Identifier: Apache-2.0
// The options of sbatch that `submit` accepts: which field each replaces, and what it refuses.
#include "launchers/documents/job.hpp"
#include "submission/submit/option_overrides.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace cybele::submission {
namespace {

launchers::Job overridden(const GivenOptions& given) {
    launchers::Job job;
    job.resources.gpus_per_node = 4;
    job.resources.gpu_type = "a100";
    job.resources.gpu_form = launchers::GpuForm::kGres;
    job.resources.memory_per_node_bytes = 1;
    job.resources.memory_per_cpu_bytes = 1;
    job.resources.has_all_memory = true;
    Faults faults;
    apply_options(given, job, faults);
    REQUIRE(faults.empty());
    return job;
}

/// Why a value is refused; empty: it is accepted.
std::string refusal(const std::string& option, const std::string& value) {
    launchers::Job job;
    Faults faults;
    apply_options({{option, value}}, job, faults);
    if (faults.empty()) {
        CHECK(job.replaced.size() == 1);
        return {};
    }
    CHECK(job.replaced.empty());
    const Error error = faults.take();
    const Fault& fault = error.faults().front();
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(fault.message == option + ": invalid value '" + value + "'");
    CHECK_FALSE(fault.help.empty());
    return fault.because;
}

} // namespace

TEST_CASE("options: each of the three counts of GPUs takes the place of the others") {
    const auto total = overridden({{"--gpus", "6"}}).resources;
    CHECK(total.gpus == 6);
    CHECK(total.gpus_per_node == 0);
    CHECK(total.gpu_type.empty());
    CHECK_FALSE(total.gpu_form.has_value()); // as the Site says of the queue
    const auto per_node = overridden({{"--gpus-per-node", "h100:2"}}).resources;
    CHECK(per_node.gpus_per_node == 2);
    CHECK(per_node.gpus == 0);
    CHECK(per_node.gpu_type == "h100");
    const auto per_task = overridden({{"--gpus-per-task", "1"}}).resources;
    CHECK(per_task.gpus_per_task == 1);
    CHECK(per_task.gpus_per_node == 0);
}

TEST_CASE("options: the memory of GPUs takes the place of the other kinds of memory") {
    const auto resources = overridden({{"--mem-per-gpu", "16G"}}).resources;
    CHECK(resources.memory_per_gpu_bytes == std::uint64_t{16} << 30U);
    CHECK_FALSE(resources.memory_per_node_bytes.has_value());
    CHECK_FALSE(resources.memory_per_cpu_bytes.has_value());
    CHECK_FALSE(resources.has_all_memory);
}

TEST_CASE("options: every other one sets its field, and says that it did") {
    const auto job = overridden({{"--cpus-per-gpu", "8"},
                                 {"--threads-per-core", "1"},
                                 {"--reservation", "course"},
                                 {"--nodelist", "a[1,3-4],b"},
                                 {"--exclude", "c"},
                                 {"--licenses", "matlab:2,ansys@flex"},
                                 {"--gres", "lscratch:100,fpga:u280:1"},
                                 {"--open-mode", "append"},
                                 {"--begin", "2026-11-26T22:00"},
                                 {"--comment", "for the report"}});
    CHECK(job.resources.cpus_per_gpu == 8U);
    CHECK(job.resources.threads_per_core == 1U);
    CHECK(job.reservation == "course");
    CHECK(job.resources.hosts == std::vector<std::string>{"a[1,3-4]", "b"});
    CHECK(job.resources.exclude == std::vector<std::string>{"c"});
    CHECK(job.resources.licenses ==
          std::map<std::string, std::uint32_t>{{"matlab", 2}, {"ansys@flex", 1}});
    CHECK(job.resources.gres ==
          std::map<std::string, std::uint32_t>{{"lscratch", 100}, {"fpga:u280", 1}});
    CHECK(job.append_output == true);
    CHECK(job.begin == "2026-11-26T22:00");
    CHECK(job.comment == "for the report");
    CHECK(job.replaced.size() == 10);
    CHECK(job.replaced.at("resources.hosts") == "--nodelist");
    CHECK_FALSE(overridden({}).append_output.has_value());
    CHECK(overridden({{"--open-mode", "truncate"}}).append_output == false);
    CHECK(overridden({{"--requeue", "true"}}).requeue == true);
    CHECK(overridden({{"--no-requeue", "true"}}).requeue == false);
}

TEST_CASE("options: what cannot be read is refused and replaces nothing") {
    struct Row {
        const char* option;
        const char* value;
        const char* because;
    };
    const Row rows[] = {
        {"--gpus", "0", "it is [TYPE:]COUNT, and the count 1 or more"},
        {"--gpus", "a100:", "it is [TYPE:]COUNT, and the count 1 or more"},
        {"--gpus-per-node", "two", "it is [TYPE:]COUNT, and the count 1 or more"},
        {"--gpus-per-task", "-1", "it is [TYPE:]COUNT, and the count 1 or more"},
        {"--cpus-per-gpu", "0", "it is a count of 1 or more"},
        {"--threads-per-core", "1.5", "it is a count of 1 or more"},
        {"--mem-per-gpu", "0", "it is a size, as for sbatch"},
        {"--mem-per-gpu", "much", "it is a size, as for sbatch"},
        {"--reservation", "", "it is empty"},
        {"--comment", "", "it is empty"},
        {"--licenses", "matlab:0", "each item is NAME[:COUNT]"},
        {"--licenses", "matlab:2,ansys:x", "each item is NAME[:COUNT]"},
        {"--gres", "gpu:2", "GPUs have a field of their own, which the container needs, too"},
        {"--open-mode", "overwrite", "it is `append` or `truncate`"},
        {"--begin", "2026-02-30T22:00", "a time is a date and a time of day, which exist"},
        {"--begin", "tomorrow", "a time is a date and a time of day, which exist"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.option);
        CAPTURE(row.value);
        CHECK(refusal(row.option, row.value) == row.because);
    }
    for (const char* hosts : {"", "a,", "a b", "a;b"}) {
        CAPTURE(hosts);
        CHECK_FALSE(refusal("--nodelist", hosts).empty());
    }
    CHECK(refusal("--gpus", std::to_string(launchers::kMostTasks)).empty());
    CHECK_FALSE(refusal("--gpus", std::to_string(launchers::kMostTasks + 1)).empty());
}

TEST_CASE("options: each is listed once, with a help that names no other") {
    std::set<std::string_view> options;
    for (const OptionOverride& row : option_overrides()) {
        CAPTURE(row.option);
        CHECK(options.insert(row.option).second);
        CHECK(std::string_view(row.names).ends_with(row.option));
        CHECK_FALSE(std::string_view(row.field).empty());
    }
    CHECK(options.size() == 17);
}

} // namespace cybele::submission
