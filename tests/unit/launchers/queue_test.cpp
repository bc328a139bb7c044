// SPDX-License-Identifier: Apache-2.0
// The queue of a Site that a job goes to, and its limits.
#include "support/message.hpp"
#include "tests/unit/launchers/print_plan.hpp"

#include <algorithm>

#include <doctest/doctest.h>

namespace cybele::launchers {
namespace {

const PlaceTraits kQueueSlurm{"slurm", true, false, true, true};
const PlaceTraits kQueueLocal{"local", false, false, false, false};

Job queued_job(const std::string& fields) {
    auto job = read_job("kind: Job\nname: test\nimage: a.sif\ncommand: [app]\n" + fields, "j.yaml");
    if (!job) {
        FAIL(format_text(job.error().faults()));
    }
    return std::move(*job);
}

Site site_with_queues(const std::string& fields) {
    auto site = read_site("kind: Site\nname: hall\nscheduler: slurm\n" + fields, "s.yaml");
    if (!site) {
        FAIL(format_text(site.error().faults()));
    }
    return std::move(*site);
}

} // namespace

TEST_CASE("limits of the Site's queue are told all at once") {
    const Job job = queued_job("launch: mpi\nqueue: bach\n");
    const Site site = site_with_queues("queues:\n  - {name: batch, nodes: 2, cores-per-node: 4, "
                                       "memory-per-node: 8 GiB, time: 1 h, max-time: 2 h}\n");
    Faults near;
    (void)make_plan({&job, &site, nullptr, kQueueSlurm}, near);
    REQUIRE(near.has_errors());
    CHECK(near.all()[0].help == "write `queue: batch`");
    const Job big =
        queued_job("launch: mpi\nresources: {nodes: 3, tasks-per-node: 5, memory-per-node: "
                   "9 GiB, time: 3 h, gpus-per-node: 1}\n");
    Faults faults;
    (void)make_plan({&big, &site, nullptr, kQueueSlurm}, faults);
    const auto errors = std::count_if(
        faults.all().begin(), faults.all().end(), [](const Fault& f) { return !f.is_warning; });
    CHECK(errors == 5);
    const Job small = queued_job("launch: mpi\n");
    Faults none;
    const LaunchPlan plan = make_plan({&small, &site, nullptr, kQueueSlurm}, none);
    CHECK(plan.queue == "batch");
    CHECK(plan.time == std::chrono::hours(1));
    CHECK(make_plan({&small, &site, nullptr, kQueueLocal}, none).queue.empty());
}

TEST_CASE("account and qos of the Job, else of its queue, else of the Site") {
    const Site site = site_with_queues("account: centre\nqos: normal\nqueues:\n  - {name: batch}\n"
                                       "  - {name: night, account: owls, qos: low}\n");
    struct Row {
        const char* fields;
        const char* account;
        const char* qos;
    };
    for (const Row& row : {Row{"", "centre", "normal"},
                           Row{"queue: night\n", "owls", "low"},
                           Row{"queue: night\naccount: mine\nqos: high\n", "mine", "high"},
                           Row{"account: mine\n", "mine", "normal"}}) {
        CAPTURE(row.fields);
        const Job job = queued_job(row.fields);
        Faults faults;
        const LaunchPlan plan = make_plan({&job, &site, nullptr, kQueueSlurm}, faults);
        CHECK(plan.account == row.account);
        CHECK(plan.qos == row.qos);
        // Another batch system has accounts, too, and no qos; this machine has neither.
        const LaunchPlan torque =
            make_plan({&job, &site, nullptr, {"torque", false, true, true, false}}, faults);
        CHECK(torque.account == row.account);
        CHECK(torque.qos == job.qos);
        CHECK(make_plan({&job, &site, nullptr, kQueueLocal}, faults).account == job.account);
    }
}

TEST_CASE("where the queue has none of it, the remedy is the first queue that the job fits in") {
    const std::string queues = "queues:\n  - {name: batch, gpus-per-node: 0, nodes: 9}\n"
                               "  - {name: small, gpus-per-node: 4, nodes: 2}\n"
                               "  - {name: cards, gpus-per-node: 4, nodes: 3}\n";
    const Site site = site_with_queues(queues);
    const auto help = [&site](const std::string& nodes) {
        const Job job = queued_job("resources: {gpus-per-node: 4, nodes: " + nodes +
                                   "}\nlaunch: mpi\nqueue: batch\n");
        Faults faults;
        (void)make_plan({&job, &site, nullptr, kQueueSlurm}, faults);
        REQUIRE(faults.has_errors());
        return faults.all().front().help;
    };
    CHECK(help("2") == "write `queue: small`");
    CHECK(help("3") == "write `queue: cards`");
    CHECK(help("4") == "remove `gpus-per-node`: no queue of the site has them");
}

TEST_CASE(
    "a Job that names no queue gets the first that it fits in, else the nearest with its faults") {
    const Site site = site_with_queues(
        "queues:\n"
        "  - {name: short, nodes: 2, cores-per-node: 8, memory-per-node: 64 GiB, max-time: 1 h,"
        " features: [ib]}\n"
        "  - {name: long, nodes: 4, cores-per-node: 8, memory-per-node: 512 GiB, max-time: 2 d}\n"
        "  - {name: a100, nodes: 1, gpus-per-node: 4, gpu-type: a100}\n"
        "  - {name: h100, nodes: 1, gpus-per-node: 4, gpu-type: h100}\n");
    const std::pair<const char*, const char*> rows[] = {
        {"nodes: 2", "short"},
        {"nodes: 3", "long"},
        {"tasks-per-node: 9", "short"},
        {"time: 1 h", "short"},
        {"time: 61 min", "long"},
        {"memory-per-node: 65 GiB", "long"},
        {"constraint: [ib]", "short"},
        {"constraint: [avx]", "long"},
        {"gpus-per-node: 1", "a100"},
        {"gpus-per-node: {count: 4, type: h100}", "h100"},
        {"gpus-per-node: 5", "a100"}};
    const Job several = queued_job("launch: mpi\nqueue: \"short,long\"\nresources: {nodes: 3}\n");
    Faults none;
    CHECK(make_plan({&several, &site, nullptr, kQueueSlurm}, none).queue == "short,long");
    CHECK_FALSE(none.has_errors());
    CHECK(queue_of(several, &site) == &site.queues[1]);
    const Job unknown = queued_job("launch: mpi\nqueue: \"short,lang,h10\"\n");
    (void)make_plan({&unknown, &site, nullptr, kQueueSlurm}, none);
    std::vector<std::string> help;
    for (const Fault& fault : none.all()) {
        if (!fault.is_warning) {
            help.push_back(fault.help);
        }
    }
    CHECK(help == std::vector<std::string>{"write `queue: long`", "write `queue: h100`"});
    for (const auto& [resources, queue] : rows) {
        CAPTURE(resources);
        const Job job = queued_job("launch: mpi\nresources: {" + std::string(resources) + "}\n");
        Faults faults;
        CHECK(make_plan({&job, &site, nullptr, kQueueSlurm}, faults).queue == queue);
        CHECK(faults.has_errors() == (std::string_view(resources) == "gpus-per-node: 5" ||
                                      std::string_view(resources) == "tasks-per-node: 9"));
    }
}

TEST_CASE("set-up and limits are those of the queue that the Job names, else of the first") {
    const Site site = site_with_queues("queues:\n  - {name: first, setup: of first}\n"
                                       "  - {name: other, setup: of other}\n"
                                       "  - {name: third, setup: of third}\n");
    const auto setup = [&site](const std::string& fields, const PlaceTraits& place) {
        const Job job = queued_job("launch: serial\n" + fields);
        Faults faults;
        return make_plan({&job, &site, nullptr, place}, faults).setup;
    };
    CHECK(setup("", kQueueSlurm) == std::vector<Setup>{{"of first"}});
    CHECK(setup("queue: other\n", kQueueSlurm) == std::vector<Setup>{{"of other"}});
    CHECK(setup("queue: third\n", kQueueSlurm) == std::vector<Setup>{{"of third"}});
    CHECK(setup("queue: none\n", kQueueSlurm).empty());
    CHECK(setup("queue: other\n", kQueueLocal).empty());
}

TEST_CASE("a time without a limit, and a limit without a time, are no fault") {
    const std::pair<const char*, const char*> rows[] = {
        {"{time: 3 h}", ""}, {"{nodes: 1}", ", max-time: 2 h"}, {"{time: 2 h}", ", max-time: 2 h"}};
    for (const auto& [resources, limit] : rows) {
        const Job job = queued_job("launch: mpi\nresources: " + std::string(resources) + "\n");
        const Site site = site_with_queues("queues: [{name: batch" + std::string(limit) + "}]\n");
        Faults faults;
        (void)make_plan({&job, &site, nullptr, kQueueSlurm}, faults);
        CHECK_FALSE(faults.has_errors());
    }
}

TEST_CASE("a fault of account or qos stands at the Job, else at its queue, else at the Site") {
    const Site site = site_with_queues("account: a\nqos: b\nqueues:\n  - {name: plain}\n"
                                       "  - {name: accounts, account: c}\n"
                                       "  - {name: levels, qos: d}\n");
    const auto line_of = [&](const std::string& fields, const char* field) {
        const auto where =
            fault_at_default(queued_job(fields), &site, field, problem("test", "x"), "y", "z")
                .where;
        return where->file + ":" + std::to_string(where->line);
    };
    for (const char* field : {"account", "qos"}) {
        const bool is_account = std::string_view(field) == "account";
        const std::string of_site = is_account ? "s.yaml:4" : "s.yaml:5";
        CHECK(line_of("queue: plain\n", field) == of_site);
        CHECK(line_of("queue: accounts\n", field) == (is_account ? "s.yaml:8" : of_site));
        CHECK(line_of("queue: levels\n", field) == (is_account ? of_site : "s.yaml:9"));
        CHECK(line_of("queue: levels\n" + std::string(field) + ": own\n", field) == "j.yaml:6");
    }
}

TEST_CASE("a fault of the queue stands where the queue is named") {
    const Job named = queued_job("launch: mpi\nqueue: batch\n");
    const Job unnamed = queued_job("launch: mpi\n");
    const Site site = site_with_queues("queues: [{name: batch}]\n");
    const Site none = site_with_queues("");
    const auto file_of = [](const Job& job, const Site* where) {
        return fault_at_queue(job, where, problem("test", "x"), "y", "z").where.value().file;
    };
    CHECK(file_of(named, &site) == "j.yaml");
    CHECK(file_of(named, nullptr) == "j.yaml");
    CHECK(file_of(unnamed, &site) == "s.yaml");
    const Job large = queued_job("launch: mpi\nresources: {nodes: 2}\n");
    const Site two = site_with_queues("queues:\n  - {name: one, nodes: 1}\n  - {name: two}\n");
    const auto line_of = [&two](const Job& job) {
        return fault_at_queue(job, &two, problem("test", "x"), "y", "z").where.value().line;
    };
    CHECK(line_of(large) == line_of(unnamed) + 1);
    CHECK(file_of(unnamed, &none) == "j.yaml");
    CHECK(file_of(unnamed, nullptr) == "j.yaml");
}

} // namespace cybele::launchers
