// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/placement.hpp"
#include "support/environment.hpp"
#include "support/file.hpp"

#include <filesystem>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;
using submission::PlacementInput;
using submission::Target;

namespace {

constexpr std::uint64_t kGiBOfPlacement = std::uint64_t{1} << 30U;

/// Both sides' times are known: the cluster is slower by `behind` seconds and lacks `missing` bytes
/// more.
PlacementInput estimated(double behind, std::uint64_t missing) {
    PlacementInput input;
    input.asked = "auto";
    input.cluster.wait_seconds = 100 + behind;
    input.cluster.missing_bytes = kGiBOfPlacement + missing;
    input.kubernetes.wait_seconds = 100;
    input.kubernetes.missing_bytes = kGiBOfPlacement;
    for (auto* side : {&input.cluster, &input.kubernetes}) {
        side->pull_seconds = 10;
        side->run_seconds = 600;
        side->bytes_per_second = 1e9;
    }
    return input;
}

std::vector<std::pair<std::string, PlacementInput>> cases() {
    PlacementInput plain;
    plain.asked = "auto";
    std::vector<std::pair<std::string, PlacementInput>> all;
    const auto add = [&all](const std::string& name, PlacementInput input) {
        all.emplace_back(name, std::move(input));
    };
    add("nothing is known, one node", plain);
    PlacementInput input = plain;
    input.nodes = 3;
    add("nothing is known, three nodes without MPI", input);
    input.is_mpi = true;
    add("MPI on three nodes", input);
    input.asked = "kubernetes";
    add("the word of the user wins over it", input);
    input = plain;
    input.asked = "cluster";
    add("the cluster is asked for", input);
    input = plain;
    input.kubernetes.refusals = {"`array` cannot be expressed in a SlurmJob", "and more"};
    add("Kubernetes cannot run it", input);
    input.cluster.refusals = {"4 nodes are more than queue `batch` has"};
    add("neither can", input);
    input.kubernetes.refusals.clear();
    input.nodes = 4;
    input.is_mpi = true;
    add("the cluster cannot, although MPI on four nodes speaks for it", input);
    input = plain;
    input.pod_cores = 8;
    input.cores_per_node = 16;
    add("more cores than a node of Kubernetes has", input);
    input.cores_per_node = 8;
    input.pod_memory_bytes = 32 * kGiBOfPlacement;
    input.memory_per_node_bytes = 64 * kGiBOfPlacement;
    add("more memory than a node of Kubernetes has", input);
    input.memory_per_node_bytes = 32 * kGiBOfPlacement;
    input.eviction = std::chrono::hours(24);
    input.time = std::chrono::hours(48);
    add("longer than pods are left alone", input);
    input.time = std::chrono::hours(24);
    add("it fits, and just not longer", input);
    add("the cluster is later", estimated(300, 0));
    add("the cluster is earlier", estimated(-50, 0));
    add("as late as the other, the data as far", estimated(0, 0));
    add("the cluster is a little earlier, the data is on Kubernetes",
        estimated(-50, kGiBOfPlacement));
    add("the cluster is much earlier, the data is on Kubernetes", estimated(-99, 0));
    input = estimated(-50, 0);
    input.cluster.bytes_per_second.reset();
    add("an unknown bandwidth makes the estimate unknown", input);
    input.cluster.missing_bytes = 0;
    add("but not where nothing is to be copied", input);
    return all;
}

} // namespace

TEST_CASE("the table of placement, case by case, as its golden file has it") {
    std::string text;
    for (const auto& [name, input] : cases()) {
        text += "== " + name + "\n" + submission::placement_text(submission::place(input)) + "\n";
    }
    const auto path = std::filesystem::path(CYBELE_TESTS_DIR) / "golden/placement/table.txt";
    const Environment environment = Environment::of_this_process();
    if (environment.get("CYBELE_ACCEPT") && !environment.get("CI")) {
        REQUIRE(write_file(path, text).has_value());
        MESSAGE("written: " << path.string());
        return;
    }
    CHECK(read_file(path).value_or("") == text);
}

TEST_CASE("each case goes where the rule says, and the table names the part that decided") {
    const std::vector<std::pair<std::string, std::string>> wanted{
        {"kubernetes", "tie"},      {"cluster", "tie"},        {"cluster", "nodes"},
        {"kubernetes", "asked"},    {"cluster", "asked"},      {"cluster", "ability"},
        {"none", "ability"},        {"kubernetes", "ability"}, {"cluster", "size"},
        {"cluster", "size"},        {"cluster", "time"},       {"kubernetes", "tie"},
        {"kubernetes", "estimate"}, {"cluster", "estimate"},   {"kubernetes", "tie"},
        {"kubernetes", "estimate"}, {"cluster", "estimate"},   {"kubernetes", "tie"},
        {"cluster", "estimate"},
    };
    const auto all = cases();
    REQUIRE(all.size() == wanted.size());
    for (std::size_t index = 0; index < all.size(); ++index) {
        CAPTURE(all[index].first);
        const submission::Placement placement = submission::place(all[index].second);
        const auto document = nlohmann::json::parse(submission::placement_json(placement));
        CHECK((document["target"].is_null() ? "none" : document["target"].get<std::string>()) ==
              wanted[index].first);
        CHECK(document["decided-by"] == wanted[index].second);
        CHECK(document["rules"].size() == 7);
        CHECK(document["rules"][placement.decided]["rule"] == wanted[index].second);
    }
}
