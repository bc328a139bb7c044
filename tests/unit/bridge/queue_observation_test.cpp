// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/queue_observation.hpp"
#include "bridge/nodes/node_view.hpp"
#include "bridge/objects/queue_labels.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;

TEST_CASE("what sinfo says of partitions is added up over kinds of nodes") {
    const auto queues = bridge::read_live_queues("slurm",
                                                 "batch|up|2|4|4000\n"
                                                 "batch|up|1|64|256000\n"
                                                 "debug|down|1|4|4000\n"
                                                 "a line of a site's wrapper\n");
    REQUIRE(queues.size() == 2);
    CHECK(queues[0].name == "batch");
    CHECK(queues[0].is_open);
    CHECK(queues[0].nodes == 3U);
    CHECK(queues[0].cores == 72U);
    CHECK(queues[0].memory == (2 * 4000ULL + 256000ULL) << 20U);
    CHECK_FALSE(queues[1].is_open);
    CHECK(bridge::read_live_queues("slurm", "").empty());
}

TEST_CASE("what qstat -Q -f says of queues: whether they start jobs, and their limits") {
    const auto queues = bridge::read_live_queues("torque",
                                                 "Queue: batch\n"
                                                 "    queue_type = Execution\n"
                                                 "    total_jobs = 0\n"
                                                 "    resources_max.nodect = 8\n"
                                                 "    enabled = True\n"
                                                 "    started = True\n\n"
                                                 "Queue: closed\n"
                                                 "    enabled = True\n"
                                                 "    started = False\n"
                                                 "    resources_max.nodes = 2:ppn=4\n");
    REQUIRE(queues.size() == 2);
    CHECK(queues[0].is_open);
    CHECK(queues[0].nodes == 8U);
    CHECK_FALSE(queues[0].cores);
    CHECK_FALSE(queues[1].is_open);
    CHECK(queues[1].nodes == 2U);
}

TEST_CASE("a node has the live capacity of its queue, and the Site's where there is none") {
    launchers::SiteQueue queue;
    queue.name = "batch";
    queue.nodes = 2;
    queue.cores_per_node = 4;
    const auto capacity = [&](const bridge::LiveQueue* live) {
        return bridge::node_status_json({queue, live}, true, 0)["status"]["capacity"];
    };
    CHECK(capacity(nullptr)["cpu"] == "8");
    bridge::LiveQueue live;
    live.nodes = 3;
    live.cores = 72;
    live.memory = 1024;
    CHECK(capacity(&live)["cpu"] == "72");
    CHECK(capacity(&live)["memory"] == "1024");
    CHECK(capacity(&live)["hpc.cybelectl.io/nodes"] == "3");
}

TEST_CASE("a queue of any name has a node, whose name the API server accepts") {
    CHECK(bridge::node_name("hall", "batch") == "hall-batch");
    CHECK(bridge::node_name("hall", "GPU_a100") == "hall-gpu-a100");
    CHECK(bridge::node_name("hall", "long.2026_") == "hall-long.2026");
    launchers::Bridge document;
    document.virtual_nodes = launchers::BridgeNodes{"hall", {}};
    launchers::SiteQueue queue;
    queue.name = "GPU_a100";
    const auto labels = bridge::selectable_labels(document, queue);
    CHECK(labels.at("kubernetes.io/hostname") == "hall-gpu-a100");
    CHECK(labels.at("cybelectl.io/queue") == "GPU_a100");
}
