// SPDX-License-Identifier: Apache-2.0
// How a script finds the host's MPI, run by bash under the script's own strict mode.
#include "bench.hpp"
#include "launchers/mpi/rules.hpp"

#include <map>
#include <string>

#include <doctest/doctest.h>

namespace cybele::schedulers {
namespace {

/// The functions of a rendered script that find the library, in strict mode; then `after`.
std::string finder(Bench& bench, const std::string& after) {
    bench.facts.mpi = "openmpi 4.1.4";
    bench.has_facts = true;
    const std::string script =
        bench.script("image: a.sif\ncommand: [x]\nlaunch: {kind: mpi-bind}\n", "slurm");
    const auto begin = script.find("find_host_mpi() {");
    const auto end = script.find("check_host_mpi() {");
    REQUIRE(begin != std::string::npos);
    REQUIRE(end != std::string::npos);
    return "set -euo pipefail\nrefuse() { echo \"refused: $1\"; exit 1; }\n" +
           script.substr(begin, end - begin) +
           "list_needed() { :; }\nfind_it() {\noptions=()\nfind_host_mpi ''\n"
           "printf '%s\\n' \"$host_library\"\n}\n" +
           after;
}

/// An Open MPI whose own program names the folder `lib`, which has the library twice.
std::string own_library(const Bench& bench) {
    bench.program("ompi_info", "[[ $3 != libdir ]] || echo \"path:libdir:$HOME/lib\"\n");
    REQUIRE(make_directories(bench.work / "lib").has_value());
    bench.file("lib/libmpi.so.40", "");
    bench.file("lib/libmpi.so.40.1", "");
    return (bench.work / "lib/libmpi.so.40").native() + "\n";
}

} // namespace

TEST_CASE("the script turns off what user namespaces forbid: the variables of the tables") {
    for (const char* const mpi : {"", "openmpi 4.1.4", "openmpi 5.0.3"}) {
        CAPTURE(mpi);
        Bench bench;
        bench.facts.mpi = mpi;
        bench.has_facts = true;
        const std::string script =
            bench.script("image: a.sif\ncommand: [x]\nlaunch: {kind: mpi, guard: false}\n"
                         "resources: {tasks-per-node: 2}\n",
                         "slurm");
        const auto image = compatibility::parse_mpi(mpi);
        const auto version = compatibility::parse_version(image.version);
        std::map<std::string, bool> is_expected;
        for (const auto& row : compatibility::circumstance_rows()) {
            if (row.circumstance != compatibility::Circumstance::kOwnUserNamespace) {
                continue;
            }
            for (const auto& option : row.rule.options) {
                const std::string name(option.variable);
                if (!name.empty()) {
                    // Any MPI may use UCX.
                    const bool is_own = row.family == image.family && row.image.holds(version);
                    is_expected[name + ":=" + std::string(option.value)] |=
                        image.family.empty() || is_own || name.starts_with("UCX_");
                }
            }
        }
        CHECK(is_expected.size() == 5);
        for (const auto& [setting, is_there] : is_expected) {
            CAPTURE(setting);
            CHECK((script.find("\"${" + setting + "}\"") != std::string::npos) == is_there);
        }
    }
}

TEST_CASE("the first library counts, also where later places are named long after it was found") {
    Bench bench;
    const std::string library = own_library(bench);
    bench.program("mpicc", "sleep 0.3\necho -L/usr/lib\n");
    const auto outcome = run_process(bench.text_command(finder(bench, "find_it\n"))).value();
    CHECK(outcome.shell_code() == 0);
    CHECK(outcome.output == library);
}

TEST_CASE("it is found every time") {
    constexpr int kTimes = 40;
    Bench bench;
    const std::string library = own_library(bench);
    std::string expected;
    for (int time = 0; time < kTimes; ++time) {
        expected += library;
    }
    const auto outcome =
        run_process(bench.text_command(finder(bench,
                                              "for ((time = 0; time < " + std::to_string(kTimes) +
                                                  "; time++)); do find_it; done\n")))
            .value();
    CHECK(outcome.shell_code() == 0);
    CHECK(outcome.output == expected);
}

TEST_CASE("the linker's own list is read where PATH lacks sbin, as an ordinary user's may") {
    Bench bench;
    bench.variables["PATH"] = (bench.work / "bin").native() + ":/usr/bin:/bin";
    bench.program("ompi_info", "exit 1\n");
    bench.program("mpicc", "exit 1\n");
    const auto outcome = run_process(bench.text_command(finder(bench, "find_it\n"))).value();
    CHECK(outcome.shell_code() == 0);
    CHECK(outcome.output.ends_with("/libmpi.so.40\n"));
}

} // namespace cybele::schedulers
