// SPDX-License-Identifier: Apache-2.0
// What the programs of a site print, as they printed it, and the Site that comes of it.
#include "diagnostics/site_probe.hpp"
#include "support/environment.hpp"
#include "support/message.hpp"

#include <array>

#include <doctest/doctest.h>

namespace cybele::diagnostics {
namespace {

using Words = std::vector<std::string>;

launchers::Site site_of(const std::string& text) {
    auto site = launchers::read_site(text, "s.yaml");
    if (!site) {
        FAIL(format_text(site.error().faults()));
    }
    return std::move(*site);
}

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("versions and families are read as the programs print them") {
    CHECK(read_version("slurm 22.05.8\n") == "22.05.8");
    CHECK(read_version("apptainer version 1.4.5-1\n") == "1.4.5-1");
    CHECK(read_version("singularity-ce version 4.1.0\n") == "4.1.0");
    CHECK(read_version("pbs_version = 23.06.06\n") == "23.06.06");
    CHECK(read_version("Version: 6.1.3\nCommit: 9\n") == "6.1.3");
    CHECK(read_version("ldd (Debian) none").empty());
    struct Row {
        const char* text;
        const char* family;
        const char* version;
    };
    constexpr std::array<Row, 5> kRows{
        {{"mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n",
          "openmpi",
          "4.1.4"},
         {"HYDRA build details:\n    Version:                                 4.0.2\n",
          "mpich",
          "4.0.2"},
         {"Intel(R) MPI Library for Linux* OS, Version 2021.19 Build 20260401 (id: 1)\nCopyright",
          "intel",
          "2021.19"},
         {"mpirun (Open MPI) 5.0.7\n", "openmpi", "5.0.7"},
         {"command not found", "", ""}}};
    for (const Row& row : kRows) {
        const auto mpi = read_mpirun_version(row.text);
        CHECK(mpi.family == row.family);
        CHECK(mpi.version == row.version);
    }
}

TEST_CASE("srun's list of PMI, with versions of plugins and without") {
    CHECK(read_pmi_list("MPI plugin types are...\n\tnone\n\tcray_shasta\n\tpmi2\n\tpmix\n"
                        "specific pmix plugin versions available: pmix_v4\n") ==
          Words{"none", "cray_shasta", "pmi2", "pmix", "pmix_v4"});
    CHECK(read_pmi_list("srun: MPI types are...\nsrun: none\nsrun: pmi2\nsrun: openmpi\n") ==
          Words{"none", "pmi2", "openmpi"});
    CHECK(read_pmi_list("specific pmix plugin versions available: pmix_v3,pmix_v4\n") ==
          Words{"pmix_v3", "pmix_v4"});
    CHECK(read_pmi_list("").empty());
}

TEST_CASE("partitions: the default first, several kinds of nodes as one, limits of every form") {
    const auto queues = read_partitions("long|2|8|16000|infinite|(null)|(null)\n"
                                        "batch*|2|4|4000|1:00:00|(null)|(null)\n"
                                        "batch*|1|16+|64000+|1:00:00|gpu:a100:4(S:0-1)|big,fast\n"
                                        "short|1|4|4000|30|gpu:2|(null)\n"
                                        "days|1|4|4000|2-01:00:00|(null)|(null)\nbroken|1\n");
    REQUIRE(queues.size() == 4);
    CHECK(queues[0].name == "batch");
    CHECK(queues[0].nodes == 3U);
    CHECK(queues[0].cores_per_node == 16U);
    CHECK(queues[0].memory_per_node_bytes == std::uint64_t{64000} << 20U);
    CHECK(queues[0].max_time == std::chrono::hours(1));
    CHECK(queues[0].gpus_per_node == 4);
    CHECK(queues[0].gpu_type == "a100");
    CHECK(queues[0].features == Words{"big", "fast"});
    CHECK_FALSE(queues[1].max_time.has_value());
    CHECK(queues[2].max_time == std::chrono::minutes(30));
    CHECK(queues[2].gpus_per_node == 2);
    CHECK(queues[2].gpu_type.empty());
    CHECK(queues[3].max_time == std::chrono::hours(49));
}

TEST_CASE("a probed Site is a Site, and this machine is as it says") {
    const ProbedSite probed = probe_site(Environment::of_this_process());
    const std::string text = write_site(probed);
    const launchers::Site read = site_of(text);
    CHECK(read.node_arch == probed.site.node_arch);
    CHECK(holds(text, "node: {arch: "));
    CHECK_FALSE(compare_site(read, probed).has_errors());
    REQUIRE_FALSE(read.mpi.empty()); // the tests' machine has Open MPI
    CHECK(read.mpi.front().family == "openmpi");
}

TEST_CASE("every fact is written and read back, and each difference stands at its field") {
    ProbedSite probed;
    probed.site.name = "hall";
    probed.site.dialect = "slurm";
    probed.site.scheduler_version = "22.05.8";
    probed.site.runtime = {"apptainer", "1.4.5", "", "userns"};
    probed.site.node_arch = "amd64";
    probed.site.node_glibc = "2.36";
    probed.site.mpi = {{"openmpi", "4.1.4", "/opt/o", "", {}}};
    probed.site.pmi = Words{"none", "pmix"};
    probed.site.interconnect = "infiniband";
    probed.site.queues = read_partitions("batch*|2|4|4000|1:00:00|gpu:a100:4|fast\n");
    const std::string text = write_site(probed);
    const launchers::Site same = site_of(text);
    CHECK(compare_site(same, probed).empty());
    CHECK(same.queues.front().gpu_type == "a100");
    CHECK(same.queues.front().memory_per_node_bytes == std::uint64_t{4000} << 20U);
    CHECK(same.interconnect == "infiniband");
    const launchers::Site other =
        site_of("kind: Site\nname: hall\nscheduler: {dialect: slurm, version: 21.08}\n"
                "mpi: [{family: openmpi, version: 5.0.7}]\nqueues: [{name: bach}]\n");
    const Faults faults = compare_site(other, probed);
    std::string errors;
    std::size_t warnings = 0;
    for (const Fault& fault : faults.all()) {
        CHECK(fault.where.has_value());
        warnings += fault.is_warning ? 1 : 0;
        errors += fault.is_warning ? "" : fault.message + "\n";
    }
    CHECK(errors ==
          "`scheduler.version` is '21.08' in the Site\n`mpi` is 'openmpi 5.0.7' in the Site\n"
          "there is no queue 'bach' here\n");
    CHECK(warnings == 6);
    const Faults elsewhere = compare_site(
        site_of("kind: Site\nname: hall\nscheduler: {dialect: torque, through: {ssh: head}}\n"),
        probed);
    REQUIRE(elsewhere.all().size() == 1);
    CHECK(elsewhere.all().front().is_warning);
    CHECK(elsewhere.all().front().because == "its batch system is reached by ssh");
    // A scheduler that gives no answer says nothing of what the Site says of it.
    probed.site.scheduler_version.clear();
    probed.site.pmi.reset();
    probed.site.queues.clear();
    const Faults silent = compare_site(same, probed);
    REQUIRE(silent.all().size() == 1);
    const Fault& note = silent.all().front();
    CHECK(note.is_warning);
    CHECK(note.where.has_value());
    CHECK(note.message == "not compared with this machine: `scheduler.version`, `pmi`, `queues`");
}

} // namespace cybele::diagnostics
