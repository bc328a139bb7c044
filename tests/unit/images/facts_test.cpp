// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/checked_facts.hpp"
#include "images/inspection/contents.hpp"
#include "support/file.hpp"
#include "tree_sample.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

namespace fs = std::filesystem;
using namespace cybele;
using namespace cybele::images;

namespace {

std::map<std::string, CheckedFact> facts_of(const fs::path& root,
                                            const std::map<std::string, std::string>& labels) {
    const auto contents = open_contents(root);
    REQUIRE(contents);
    const auto survey = survey_files(contents->root);
    REQUIRE(survey);
    const auto checked = check_facts(contents->root, *survey, labels);
    REQUIRE(checked);
    std::map<std::string, CheckedFact> facts;
    for (const auto& fact : *checked) {
        facts[fact.name] = fact;
    }
    return facts;
}

std::string zero_ended(const std::string& value) {
    return std::string(1, '\0') + value + std::string(1, '\0');
}

} // namespace

TEST_CASE("facts are found in the files") {
    const auto dir = TempDirectory::make("/var/tmp", "cybele-facts-");
    REQUIRE(dir);
    const auto& root = dir->path();
    put(root / "lib/libc.so.6", zero_ended("GNU C Library (x) stable release version 2.36."));
    put(root / "usr/lib/libmpi.so.40.30.4",
        zero_ended("v4.1.4") + zero_ended("Open MPI v%d.%d.%d") + zero_ended("4.1.0"));
    put(root / "opt/lib/libmpich.so.12", zero_ended("MPICH Version:\t%s") + zero_ended("4.0.2"));
    put(root / "usr/lib/libpmix.so.2", zero_ended("OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2"));
    put(root / "usr/lib/libcudart.so.12.2.140", "x");
    put(root / "usr/bin/python3.11", zero_ended("1.2.13") + zero_ended("3.11.2"));
    put(root / "usr/bin/python3.11-config", "#!/bin/sh\n");
    put(root / "opt/jdk/release", "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.9\"\n");
    put(root / "opt/other/release", "1\n");
    put(root / "opt/spark/jars/spark-core_2.12-3.5.0.jar", "x");
    auto facts = facts_of(root, {});
    CHECK(facts["libc"].found == "glibc 2.36");
    CHECK(facts["mpi"].found == "mpich 4.0.2, openmpi 4.1.4");
    CHECK(facts["pmi"].found == "pmix 4.2.2rc2");
    CHECK(facts["gpu"].found == "cuda 12.2.140");
    CHECK(facts["python"].found == "3.11");
    CHECK(facts["java"].found == "17.0.9");
    CHECK(facts["java"].path == "/opt/jdk/release");
    CHECK(facts["spark"].found == "3.5.0");
    CHECK(facts["libc"].verdict == Verdict::kUnlabelled);
    CHECK(facts["mpi-probe"].verdict == Verdict::kUnknown);
}

TEST_CASE("a label is held against the files") {
    const auto dir = TempDirectory::make("/var/tmp", "cybele-facts-");
    REQUIRE(dir);
    const auto& root = dir->path();
    put(root / "lib/libc.so.6", zero_ended("stable release version 2.36."));
    put(root / "lib/libmpi.so.40", zero_ended("Open MPI v%d.%d.%d") + zero_ended("v4.1.4"));
    put(root / "lib/libpmix.so.2", zero_ended("OpenPMIx 4.2.2rc2 (x"));
    put(root / "opt/probe", "x");
    struct Row {
        const char* label;
        const char* value;
        Verdict verdict;
    };
    for (const auto& row : {Row{"libc", "glibc 2.36", Verdict::kAgrees},
                            Row{"libc", "glibc 2.3", Verdict::kContradicted},
                            Row{"libc", "musl 1.2.4", Verdict::kContradicted},
                            Row{"mpi", "openmpi 4.1.4", Verdict::kAgrees},
                            Row{"mpi", "openmpi 4.1", Verdict::kAgrees},
                            Row{"mpi", "openmpi 5.0.7", Verdict::kContradicted},
                            Row{"mpi", "mpich 4.1.4", Verdict::kContradicted},
                            Row{"pmi", "pmix 4.2.2", Verdict::kAgrees},
                            Row{"pmi", "pmix 3.2.2", Verdict::kContradicted},
                            Row{"pmi", "pmi2", Verdict::kUnseen},
                            Row{"gpu", "cuda 12", Verdict::kUnseen},
                            Row{"mpi-probe", "/opt/probe", Verdict::kAgrees},
                            Row{"mpi-probe", "/opt/none", Verdict::kContradicted},
                            Row{"mpi-prefix", "/opt", Verdict::kAgrees}}) {
        auto facts = facts_of(root, {{std::string("cybelectl.") + row.label, row.value}});
        CHECK_MESSAGE(facts[row.label].verdict == row.verdict, row.label << " " << row.value);
    }
}

TEST_CASE("this machine's own files say what its tools say") {
    const fs::path library = "/usr/lib/x86_64-linux-gnu/libc.so.6"; // of Debian 12
    REQUIRE(fs::exists(library));
    const auto dir = TempDirectory::make("/var/tmp", "cybele-facts-");
    REQUIRE(dir);
    fs::create_directories(dir->path() / "lib");
    fs::copy_file(fs::canonical(library), dir->path() / "lib/libc.so.6");
    auto facts = facts_of(dir->path(), {{"cybelectl.libc", "glibc 2.36"}});
    CHECK(facts["libc"].verdict == Verdict::kAgrees);
}
