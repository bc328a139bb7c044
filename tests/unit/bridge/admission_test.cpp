// SPDX-License-Identifier: Apache-2.0
#include "bridge/objects/admission.hpp"
#include "bridge/objects/queue_labels.hpp"
#include "bridge/objects/refusals.hpp"
#include "bridge/objects/refused_directives.hpp"

#include <doctest/doctest.h>

using namespace cybele;

namespace {

bridge::Site plain_site() {
    bridge::Site site;
    site.accounts = {{"physics", "alice", {"long", "short"}, {"/data/results"}},
                     {"shared", "bob", {}, {}},
                     {"shared", "carol", {}, {}}};
    site.queues = {{"short", 2, std::chrono::seconds(3600), std::uint64_t{8} << 30U},
                   {"long", 64, std::nullopt, std::nullopt}};
    site.default_queue = "short";
    return site;
}

bridge::Object object_with(const std::string& directives, const std::string& space = "physics") {
    bridge::Object object;
    object.space = space;
    object.name = "hello";
    object.spec.batch = "#!/bin/sh\n" + directives + "\ntrue\n";
    return object;
}

std::string reason_of(const bridge::Object& object, const bridge::Site& site = plain_site()) {
    const auto admitted = bridge::admit(object, site);
    return admitted.refusal ? admitted.refusal->reason : "";
}

} // namespace

TEST_CASE("the account comes from the namespace") {
    CHECK(bridge::admit(object_with(""), plain_site()).account == "alice");
    CHECK(reason_of(object_with("")) == "");
    CHECK(reason_of(object_with("", "chemistry")) == bridge::kNoAccount);
    bridge::Object shared = object_with("", "shared");
    CHECK(reason_of(shared) == bridge::kAccountAmbiguous);
    shared.spec.account = "carol";
    CHECK(bridge::admit(shared, plain_site()).account == "carol");
    CHECK(reason_of(shared) == "");
    shared.spec.account = "alice";
    CHECK(reason_of(shared) == bridge::kAccountNotAdmitted);
    CHECK(bridge::admit(shared, plain_site()).account.empty());
}

TEST_CASE("a nodeSelector asks for labels of the queue, and is never ignored") {
    bridge::Site site = plain_site();
    site.queues[0].labels = {{"wlm.sylabs.io/nodes", "2"}, {"type", "virtual-kubelet"}};
    site.queues[1].labels = {{"wlm.sylabs.io/nodes", "64"}, {"type", "virtual-kubelet"}};
    bridge::Object object = object_with("");
    object.spec.node_selector = {{"wlm.sylabs.io/nodes", "2"}};
    CHECK(reason_of(object, site) == "");
    object.spec.queue = "long";
    CHECK(reason_of(object, site) == bridge::kSelectorNotMet);
    CHECK(bridge::admit(object, site).refusal->message ==
          "queue long does not have the label wlm.sylabs.io/nodes=2");
    object.spec.node_selector["wlm.sylabs.io/nodes"] = "64";
    CHECK(reason_of(object, site) == "");
    object.spec.node_selector["no-such"] = "label";
    CHECK(reason_of(object, site) == bridge::kSelectorNotMet);
    // Slurm takes either of a list.
    object = object_with("#SBATCH -p short,long");
    object.spec.node_selector = {{"type", "virtual-kubelet"}};
    CHECK(reason_of(object, site) == "");
    object.spec.node_selector = {{"wlm.sylabs.io/nodes", "64"}};
    CHECK(reason_of(object, site) == bridge::kSelectorNotMet);
}

TEST_CASE("a nodeSelector on queues that the Site does not list") {
    bridge::Site site = plain_site();
    site.labels = {{"type", "virtual-kubelet"}};
    site.queues.clear();
    site.default_queue.clear();
    bridge::Object object = object_with("", "shared");
    object.spec.account = "bob";
    object.spec.node_selector = {{"type", "virtual-kubelet"}};
    CHECK(reason_of(object, site) == "");
    object.spec.node_selector = {{"wlm.sylabs.io/partition", "other"}};
    CHECK(reason_of(object, site) == bridge::kSelectorNotMet);
    CHECK(bridge::admit(object, site).refusal->message ==
          "the default queue does not have the label wlm.sylabs.io/partition=other");
    object.spec.queue = "other";
    CHECK(reason_of(object, site) == "");
    object.spec.node_selector["wlm.sylabs.io/nodes"] = "1";
    CHECK(reason_of(object, site) == bridge::kSelectorNotMet);
}

TEST_CASE("the labels of a queue are those that manifests for wlm-operator ask for") {
    launchers::Bridge document;
    document.name = "hall";
    launchers::SiteQueue queue;
    queue.name = "batch";
    queue.nodes = 2;
    auto labels = bridge::selectable_labels(document, queue);
    CHECK(labels.at("wlm.sylabs.io/containers") == "singularity");
    CHECK(labels.at("wlm.sylabs.io/partition") == "batch");
    CHECK(labels.at("wlm.sylabs.io/nodes") == "2");
    CHECK(labels.at("type") == "virtual-kubelet");
    CHECK(labels.count("kubernetes.io/hostname") == 0);

    document.virtual_nodes = launchers::BridgeNodes{"slurm-hall", {{"wlm.sylabs.io/cuda", "10"}}};
    labels = bridge::selectable_labels(document, queue);
    CHECK(labels.at("kubernetes.io/hostname") == "slurm-hall-batch");
    CHECK(labels.at("wlm.sylabs.io/cuda") == "10");
    CHECK(bridge::queue_labels(document, queue).count("kubernetes.io/hostname") == 0);

    labels = bridge::selectable_labels(document, {});
    CHECK(labels.at("wlm.sylabs.io/containers") == "singularity");
    for (const char* key :
         {"kubernetes.io/hostname", "wlm.sylabs.io/partition", "cybelectl.io/queue"}) {
        CHECK(labels.count(key) == 0);
    }
}

TEST_CASE("directives that would take another user, a hold, an array or a wait are refused") {
    const char* slurm[] = {"#SBATCH --uid=0",
                           "#SBATCH --uid 0",
                           "#SBATCH --ui=0",
                           "#SBATCH --gid=root",
                           "#SBATCH --comment=mine",
                           "#SBATCH --comm=mine",
                           "#SBATCH --hold",
                           "#SBATCH -H",
                           "#SBATCH --wait",
                           "#SBATCH -W",
                           "#SBATCH --array=1-4",
                           "#SBATCH -a 1-4",
                           "#SBATCH --clusters=other",
                           "#SBATCH --test-only",
                           "#SBATCH hetjob",
                           "#SBATCH packjob",
                           "#SBATCH -Qa1-4"};
    for (const char* line : slurm) {
        CAPTURE(std::string(line));
        const auto admitted = bridge::admit(object_with(line), plain_site());
        REQUIRE(admitted.refusal);
        CHECK(admitted.refusal->reason == bridge::kDirectiveRefused);
        CHECK(admitted.refusal->message.starts_with("line 2: "));
    }
    const char* torque[] = {"#PBS -u root",
                            "#PBS -P root",
                            "#PBS -W user_list=root",
                            "#PBS -W group_list=wheel",
                            "#PBS -W block=true",
                            "#PBS -h",
                            "#PBS -I",
                            "#PBS -t 1-4"};
    bridge::Site site = plain_site();
    site.kind = bridge::Kind::kTorqueJob;
    for (const char* line : torque) {
        CAPTURE(std::string(line));
        bridge::Object object = object_with(line);
        object.kind = bridge::Kind::kTorqueJob;
        CHECK(reason_of(object, site) == bridge::kDirectiveRefused);
    }
    CHECK(reason_of(object_with("#SBATCH --job-name=x --time=5")) == "");
    CHECK(reason_of(object_with(""), site) == bridge::kWrongSystem);
}

TEST_CASE("queues are those of the namespace, wherever they are named") {
    bridge::Object object = object_with("#SBATCH --partition=debug");
    CHECK(reason_of(object) == bridge::kQueueNotAdmitted);
    object.spec.queue = "long";
    CHECK(reason_of(object) == "");
    CHECK(reason_of(object_with("#SBATCH -p long,debug")) == bridge::kQueueNotAdmitted);
    bridge::Object shared = object_with("#SBATCH -p debug", "shared");
    shared.spec.account = "bob";
    CHECK(reason_of(shared) == "");
    // Without a queue the batch system would choose one.
    bridge::Site without = plain_site();
    without.default_queue.clear();
    CHECK(reason_of(object_with(""), without) == bridge::kQueueNotAdmitted);
    CHECK(reason_of(object_with("#SBATCH -p long"), without) == "");
    bridge::Object any = object_with("", "shared");
    any.spec.account = "bob";
    CHECK(reason_of(any, without) == "");
}

TEST_CASE("where qsub is that of Slurm, lines that only sbatch reads are refused as well") {
    bridge::Site site = plain_site();
    site.kind = bridge::Kind::kTorqueJob;
    bridge::Object object = object_with("");
    object.kind = bridge::Kind::kTorqueJob;
    const auto message_of = [&](const std::string& lines, bool is_read_by_sbatch) {
        site.is_read_by_sbatch = is_read_by_sbatch;
        object.spec.batch = "#!/bin/sh\n#PBS -l nodes=1\n" + lines;
        const auto admitted = bridge::admit(object, site);
        return admitted.refusal ? admitted.refusal->message.substr(0, 16) : "";
    };
    CHECK(message_of("#SBATCH --array=0-2\n", true) == "line 3: --array:");
    CHECK(message_of("true\n#PBS -t 0-2\n", true) == "line 4: -t: one ");
    CHECK(message_of("true\n\n#PBS -J 0-2\n", true) == "line 5: -J: one ");
    CHECK(message_of("true\n#PBS -h\n", true).starts_with("line 4: -h:"));
    CHECK(message_of("true\n#PBS -N late\n", true).empty());
    CHECK(message_of("true\n#PBS -t 0-2\n", false).empty()); // TORQUE does not read it
}

TEST_CASE("an account that the status names is one of the namespace, or nothing is done as it") {
    bridge::Object object = object_with("");
    const auto has_account = [&object](const std::string& account) {
        object.status.account = account;
        return bridge::admit(object, plain_site()).has_account;
    };
    CHECK(has_account(""));
    CHECK(has_account("alice"));
    CHECK_FALSE(has_account("bob")); // of another namespace
    CHECK_FALSE(has_account("root"));
    object.refusal = bridge::Refusal{std::string(bridge::kScriptNotText), "NUL"};
    CHECK_FALSE(has_account("bob"));
}

TEST_CASE("what a queue does not have is refused with both numbers") {
    const struct {
        const char* line;
        const char* message;
    } rows[] = {
        {"#SBATCH --nodes=3", "the job asks for 3 nodes, and queue short has at most 2"},
        {"#SBATCH --time=02:00:00",
         "the job asks for 7200 seconds, and queue short has at most 3600"},
        {"#SBATCH --mem=9G",
         "the job asks for 9663676416 bytes of memory per node, and queue short has at most "
         "8589934592"},
    };
    for (const auto& row : rows) {
        CAPTURE(std::string(row.line));
        const auto admitted = bridge::admit(object_with(row.line), plain_site());
        REQUIRE(admitted.refusal);
        CHECK(admitted.refusal->reason == bridge::kQueueLimit);
        CHECK(admitted.refusal->message == row.message);
    }
    CHECK(reason_of(object_with("#SBATCH --nodes=2 --time=01:00:00 --mem=8G")) == "");
    CHECK(reason_of(object_with("#SBATCH -p short,long --nodes=3")) == ""); // one fits
    CHECK(reason_of(object_with("#SBATCH -p long --nodes=65")) == bridge::kQueueLimit);
}

TEST_CASE("results are copied below an admitted root only") {
    bridge::Object object = object_with("");
    const auto reason_of_path = [&](const std::string& path) {
        object.spec.results =
            bridge::ResultsRequest{"out", R"({"name":"d","hostPath":{"path":")" + path + "\"}}"};
        return reason_of(object);
    };
    CHECK(reason_of_path("/data/results/a") == "");
    CHECK(reason_of_path("/data/results") == "");
    for (const std::string path : {"/data/results2", "/data/results/../x", "/etc", "", "data"}) {
        CAPTURE(path);
        CHECK(reason_of_path(path) == bridge::kResultsRootNotAdmitted);
    }
    object.spec.results = bridge::ResultsRequest{"out", R"({"name":"d"})"};
    CHECK(reason_of(object) == "");
}

TEST_CASE("an object that is refused by itself stays refused, and every row says why") {
    bridge::Object object = object_with("");
    object.refusal = bridge::Refusal{std::string(bridge::kScriptNotText), "NUL"};
    CHECK(reason_of(object) == bridge::kScriptNotText);
    for (const auto& row : bridge::refused_directives()) {
        CHECK_FALSE(row.because.empty());
        CHECK(row.need.empty() != row.option.empty());
    }
}
