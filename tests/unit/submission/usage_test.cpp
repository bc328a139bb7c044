// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/slurm_accounting.hpp"
#include "submission/submit/usage.hpp"

#include <doctest/doctest.h>

using namespace cybele;

namespace {

submission::Entry ended() {
    submission::Entry entry;
    entry.id = "7";
    entry.cpus = 4;
    entry.started = 1000;
    entry.ended = 1100;
    return entry;
}

} // namespace

TEST_CASE("Slurm's processor times are read in each of their forms") {
    const std::pair<const char*, std::int64_t> rows[] = {
        {"00:00", 0},
        {"00:01.234", 1234},
        {"01:30", 90'000},
        {"02:00:01", 7'201'000},
        {"1-00:00:00", 86'400'000},
        {"2-01:00:00.500", 176'400'500},
    };
    for (const auto& [text, milliseconds] : rows) {
        CAPTURE(text);
        CHECK(submission::milliseconds_of_slurm(text) == milliseconds);
    }
    for (const char* text : {"", "x", "1:2:3:4", "-1:00", "UNLIMITED", "1-", "inf"}) {
        CAPTURE(text);
        CHECK_FALSE(submission::milliseconds_of_slurm(text).has_value());
    }
}

TEST_CASE("Slurm's sizes are read with and without a unit") {
    CHECK(submission::bytes_of_slurm("1264K") == 1264U * 1024);
    CHECK(submission::bytes_of_slurm("2000M") == std::uint64_t{2000} << 20U);
    CHECK(submission::bytes_of_slurm("1.5G") == std::uint64_t{3} << 29U);
    CHECK(submission::bytes_of_slurm("4096") == 4096);
    CHECK(submission::bytes_of_slurm("0") == 0);
    for (const char* text : {"", "M", "12Q", "many", "-3K"}) {
        CAPTURE(text);
        CHECK_FALSE(submission::bytes_of_slurm(text).has_value());
    }
}

TEST_CASE(
    "sacct's steps become their job: processor time of the job, memory of the greediest step") {
    const auto spent = submission::read_sacct("7|100|03:20||  |4|2000M|1\n"
                                              "7.batch|100|00:01|5000K|1|4||1\n"
                                              "7.extern|100|00:00|0|1|4||1\n"
                                              "7.0|90|03:19|100M|4|4||1\n"
                                              "8_3|10|00:00||1|2|500Mc|1\n"
                                              "9|10|00:04||1|2|1Gn|3\n"
                                              "nonsense\n");
    REQUIRE(spent.size() == 3);
    CHECK(spent[0].id == "7");
    CHECK(spent[0].seconds == 100);
    CHECK(spent[0].cores == 4);
    CHECK(spent[0].cpu_milliseconds == 200'000);
    CHECK(spent[0].memory_bytes == std::uint64_t{400} << 20U);
    CHECK(spent[0].memory_asked_bytes == std::uint64_t{2000} << 20U);
    CHECK(spent[1].id == "8_3");
    CHECK_FALSE(spent[1].cpu_milliseconds.has_value()); // nobody measured
    CHECK_FALSE(spent[1].memory_bytes.has_value());
    CHECK(spent[1].memory_asked_bytes == std::uint64_t{1000} << 20U);
    CHECK(spent[2].memory_asked_bytes == std::uint64_t{3} << 30U);
}

TEST_CASE(
    "efficiency is seff's: processor time over cores times wall time, memory over what was asked") {
    submission::AccountedUse spent;
    spent.id = "7";
    spent.seconds = 100;
    spent.cores = 4;
    spent.cpu_milliseconds = 200'000;
    spent.memory_bytes = std::uint64_t{500} << 20U;
    spent.memory_asked_bytes = std::uint64_t{2000} << 20U;
    const auto usage = submission::usage_of(ended(), {}, spent, std::nullopt);
    CHECK(usage.source == "accounting");
    CHECK(usage.core_efficiency().value_or(0) == doctest::Approx(0.5));
    CHECK(usage.memory_efficiency().value_or(0) == doctest::Approx(0.25));
    submission::Usage instant = usage;
    instant.seconds = 0; // nothing to divide by
    CHECK_FALSE(instant.core_efficiency().has_value());
    submission::Entry wide = ended();
    wide.cpus = 7; // the accounting's number of cores counts, where it has one
    CHECK(submission::usage_of(wide, {}, spent, std::nullopt).cores == 4);
    spent.cores = 0;
    CHECK(submission::usage_of(wide, {}, spent, std::nullopt).cores == 7);
}

TEST_CASE("without accounting the record's word is taken, and what nobody measured is not known") {
    submission::ExitRecord record;
    record.start = 1000;
    record.end = 1050;
    record.cpu_milliseconds = 100'000;
    auto usage = submission::usage_of(ended(), {std::uint64_t{1} << 30U, 0}, std::nullopt, record);
    CHECK(usage.source == "record");
    CHECK(usage.seconds == 50);
    CHECK(usage.core_efficiency().value_or(0) == doctest::Approx(0.5));
    CHECK_FALSE(usage.memory_efficiency().has_value());
    usage = submission::usage_of(ended(), {}, std::nullopt, std::nullopt);
    CHECK(usage.source.empty());
    CHECK(usage.seconds == 100);
    CHECK_FALSE(usage.core_efficiency().has_value());
    // The accounting knows the job, but measured nothing: the script did.
    submission::AccountedUse spent;
    spent.seconds = 50;
    usage = submission::usage_of(ended(), {}, spent, record);
    CHECK(usage.cpu_milliseconds == 100'000);
}

TEST_CASE("what a Job asked for is read from its record, of all nodes") {
    const auto asked =
        submission::read_asked(R"({"resources": {"nodes": 2, "tasks": 4, "cpus-per-task": 3,
        "memory-per-node": 1024, "gpus-per-node": 2}})");
    CHECK(asked.memory_bytes == 2048);
    CHECK(asked.gpus == 4);
    CHECK(
        submission::read_asked(
            R"({"resources": {"nodes": 2, "tasks": 4, "cpus-per-task": 3, "memory-per-cpu": 10}})")
            .memory_bytes == 120);
    for (const char* text :
         {"", "[]", "{", R"({"resources": 3})", R"({"resources": {"nodes": "x"}})"}) {
        CAPTURE(text);
        CHECK_FALSE(submission::read_asked(text).memory_bytes.has_value());
    }
}
