// SPDX-License-Identifier: Apache-2.0
// Texts at the ends of what the bridge accepts: names, ids, times, lengths, numbers of a status.
#include "bridge/batch/collected.hpp"
#include "bridge/batch/queue_observation.hpp"
#include "bridge/decide/ends.hpp"
#include "bridge/nodes/collect_pod.hpp"
#include "bridge/objects/patterns.hpp"
#include "bridge/objects/plain_words.hpp"
#include "bridge/objects/queue_labels.hpp"
#include "bridge/objects/read_status.hpp"
#include "bridge/objects/times.hpp"
#include "bridge/service/owners.hpp"
#include "bridge/verbs/log_options.hpp"
#include "bridge/verbs/log_times.hpp"
#include "scene.hpp"

#include <cstdint>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace cybele::bridge {
namespace {

using Json = nlohmann::json;

const std::string kOwnUid = scene::kUid;
const std::string kOwnSum(64, 'a');

bool is_read(const Json& status) {
    return read_status(status, kOwnUid) != Status();
}

} // namespace

TEST_CASE("names of batch systems have 1 to 63 letters, and begin with no dash or dot") {
    for (const std::string& good :
         {std::string("a"), std::string("A.b_c-9"), std::string("_x"), std::string(63, 'n')}) {
        CHECK_MESSAGE(is_batch_name(good), good);
    }
    for (const std::string& bad : {std::string(),
                                   std::string("-a"),
                                   std::string(".a"),
                                   std::string("a b"),
                                   std::string("a/b"),
                                   std::string("a;b"),
                                   std::string(64, 'n')}) {
        CHECK_MESSAGE(!is_batch_name(bad), bad);
    }
}

TEST_CASE("ids of jobs are numbers, with an index and a server or without") {
    for (const std::string& good : {std::string("0"),
                                    std::string("12"),
                                    std::string("12.server-1.example"),
                                    std::string("12[3].server"),
                                    std::string("12[]"),
                                    std::string(253, '9')}) {
        CHECK_MESSAGE(is_job_id(good), good);
    }
    for (const std::string& bad : {std::string(),
                                   std::string("a"),
                                   std::string("x12"),
                                   std::string("12[3"),
                                   std::string("12[x]"),
                                   std::string("12;rm"),
                                   std::string("12 "),
                                   std::string("12.a b"),
                                   std::string("12[3]x"),
                                   std::string(254, '9')}) {
        CHECK_MESSAGE(!is_job_id(bad), bad);
    }
}

TEST_CASE("a uid is a UUID in lower case") {
    CHECK(is_uid(kOwnUid));
    for (std::size_t at = 0; at < kOwnUid.size(); ++at) {
        for (const char letter : {'/', ':', 'g', 'A', '-', '0'}) {
            std::string changed = kOwnUid;
            changed[at] = letter;
            CHECK(is_uid(changed) ==
                  ((letter == '-') == (kOwnUid[at] == '-') && (letter == '-' || letter == '0')));
        }
    }
    CHECK_FALSE(is_uid(kOwnUid + "0"));
    CHECK_FALSE(is_uid(kOwnUid.substr(1)));
    CHECK(is_object_place("physics", "a.b-c"));
    CHECK(is_object_place("physics", std::string(253, 'n')));
    CHECK_FALSE(is_object_place("physics", std::string(254, 'n')));
    CHECK_FALSE(is_object_place("physics", ""));
    CHECK_FALSE(is_object_place("Physics", "a"));
    CHECK_FALSE(is_object_place("physics", "a/b"));
}

TEST_CASE("every second that a clock can show is read as it was written") {
    std::uint64_t state = 1;
    for (int i = 0; i < 2000; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const auto seconds = static_cast<std::int64_t>((state >> 16U) % 253'402'300'800U);
        CAPTURE(seconds);
        REQUIRE(read_time(time_text(seconds)) == seconds);
    }
    for (const std::int64_t seconds : {std::int64_t{0},
                                       std::int64_t{951'782'400}, // 29 February 2000
                                       std::int64_t{253'402'300'799}}) {
        CHECK(read_time(time_text(seconds)) == seconds);
    }
    CHECK(time_text(253'402'300'800) == "9999-12-31T23:59:59Z");
    CHECK(read_time("2026-11-25T23:59:59.9Z") == read_time("2026-11-25T23:59:59Z"));
    CHECK(read_time("2026-11-25T23:59:60Z")); // a leap second
    for (const char* bad : {"2026-11-25T24:00:00Z",
                            "2026-11-25T23:60:00Z",
                            "2026-11-25T23:59:61Z",
                            "2026-00-25T00:00:00Z",
                            "2026-11-00T00:00:00Z",
                            "2026-11-25 00:00:00Z",
                            "2026-11-25T00:00:00.x1Z",
                            "2026-11-25T00:00:00.1xZ",
                            "2026-11-25T00:00:00+0Z",
                            "/026-11-25T00:00:00Z",
                            ":026-11-25T00:00:00Z",
                            "2026-11-25T00:00:00z"}) {
        CHECK_MESSAGE(!read_time(bad), bad);
    }
}

TEST_CASE("texts and numbers of a status up to their bounds, and no further") {
    for (const char* name : {"state", "reason", "site"}) {
        CHECK(is_read({{name, std::string(1024, 'x')}}));
        CHECK_FALSE(is_read({{name, std::string(1025, 'x')}}));
        CHECK_FALSE(is_read({{name, 5}}));
    }
    for (const char* name :
         {"exitCode", "signal", "observedGeneration", "attempt", "restarts", "resultsCount"}) {
        CAPTURE(name);
        CHECK(is_read({{name, 2'147'483'647}}));
        CHECK(is_read({{name, -2'147'483'647}}));
        CHECK_FALSE(is_read({{name, std::int64_t{2'147'483'648}}}));
        CHECK_FALSE(is_read({{name, std::int64_t{-2'147'483'648}}}));
        CHECK_FALSE(is_read({{name, 1.5}}));
    }
    for (const char* name : {"output", "tail"}) {
        for (const char* stream : {"stdout", "stderr"}) {
            CHECK(is_read({{name, {{stream, std::string(4096, 'x')}}}}));
            CHECK_FALSE(is_read({{name, {{stream, std::string(4097, 'x')}}}}));
        }
        CHECK_FALSE(is_read({{name, Json::array()}}));
    }
    const Json file{{"name", "f"}, {"size", 7}, {"sha256", kOwnSum}};
    const auto with_file = [&](const char* key, const Json& value) {
        Json changed = file;
        changed[key] = value;
        return is_read({{"results", Json::array({changed})}});
    };
    CHECK(with_file("name", std::string(4096, 'x')));
    CHECK_FALSE(with_file("name", std::string(4097, 'x')));
    CHECK_FALSE(with_file("name", ""));
    CHECK_FALSE(with_file("sha256", kOwnSum + "a"));
    Json many = Json::array();
    for (std::size_t count = 1; count <= kMostResults + 1; ++count) {
        many.push_back(file);
        CHECK(is_read({{"results", many}}) == (count <= kMostResults));
    }
    CHECK(read_status({{"results", Json::array({file})}}, kOwnUid).results.front().size == 7);
    const Json condition{{"type", "Running"}, {"status", "Unknown"}};
    CHECK(is_read({{"conditions", Json::array({condition})}}));
    for (const char* state : {"True", "False"}) {
        Json other = condition;
        other["status"] = state;
        CHECK(is_read({{"conditions", Json::array({other})}}));
    }
    many = Json::array();
    for (int count = 1; count <= 17; ++count) {
        many.push_back(condition);
        CHECK(is_read({{"conditions", many}}) == (count <= 16));
    }
    CHECK_FALSE(is_read({{"conditions", {{{"type", ""}, {"status", "True"}}}}}));
    CHECK_FALSE(is_read({{"conditions",
                          {{{"type", "Complete"}, {"status", "True"}},
                           {{"type", "Failed"}, {"status", "True"}}}}}));
    CHECK(is_read({{"conditions",
                    {{{"type", "Complete"}, {"status", "True"}},
                     {{"type", "Failed"}, {"status", "False"}}}}}));
}

TEST_CASE("a status with a job names its token and its account") {
    const Json whole{{"jobId", "12"}, {"submitToken", kOwnUid}, {"account", "alice"}};
    CHECK(is_read(whole));
    for (const char* key : {"submitToken", "account"}) {
        Json changed = whole;
        changed.erase(key);
        CHECK_FALSE(is_read(changed));
        changed[key] = "-x";
        CHECK_FALSE(is_read(changed));
    }
    CHECK(is_read({{"submitToken", kOwnUid}}));
    CHECK(is_read({{"status", "Unknown"}}));
    for (const char* phase : {"Pending", "Running", "Succeeded", "Failed"}) {
        CHECK(is_read({{"status", phase}}));
    }
    CHECK_FALSE(is_read({{"status", "pending"}}));
    CHECK_FALSE(is_read(Json(nullptr)));
    CHECK(read_status({{"startTime", "1970-01-01T00:00:05Z"}}, kOwnUid).started == 5);
    CHECK(read_status({{"endTime", "1970-01-01T00:00:06Z"}}, kOwnUid).ended == 6);
}

TEST_CASE("the reason of an end: the batch system's word, a signal, or that we asked for it") {
    SeenJob job;
    job.state = submission::State::kFailed;
    CHECK(end_reason(job, false) == "NonZeroExit");
    CHECK_FALSE(is_explained(job));
    job.code = 3;
    CHECK(is_explained(job));
    CHECK(end_reason(job, true) == "NonZeroExit");
    job.code.reset();
    job.signal = 9;
    CHECK(is_explained(job));
    CHECK(end_reason(job, false) == "Signal");
    job.native = "OUT_OF_MEMORY";
    CHECK(end_reason(job, false) == "OutOfMemory");
    for (const char* word : {"NODE_FAIL by 0", "NODE_FAIL+", "NODE_FAIL"}) {
        job.native = word;
        CHECK(end_reason(job, false) == "NodeFail");
        CHECK(may_be_requeued(job));
    }
    job.native = "NODE_FAILED";
    CHECK(end_reason(job, false) == "Signal");
    CHECK_FALSE(may_be_requeued(job));
    job.state = submission::State::kCancelled;
    CHECK(end_reason(job, false) == "CancelledOnCluster");
    CHECK(end_reason(job, true) == "Cancelled");
    job.state = submission::State::kRunning;
    CHECK(end_reason(job, false) == kLeftNoTrace);
    CHECK_FALSE(may_be_requeued(job));
}

TEST_CASE("reports of results: numbers, names and tails at their bounds") {
    const auto first = [](const std::string& line) {
        const auto report = read_collected("collected\n" + line + "\ncount 1\ncomplete\n", 5);
        REQUIRE(report);
        return report->files.empty() ? std::string("none") : report->files.front().name;
    };
    CHECK(first("result 0 " + kOwnSum + " a b") == "a b");
    CHECK(first("result -1 " + kOwnSum + " a") == "none");
    CHECK(first("result x " + kOwnSum + " a") == "none");
    CHECK(first("result 1 " + kOwnSum + "a a") == "none");
    CHECK(first("result 1 " + kOwnSum.substr(1) + " a") == "none");
    CHECK(first("result 1 " + kOwnSum + " ") == "none");
    CHECK(first("result 1 " + kOwnSum + " " + std::string(3072, 'n')).size() == 3072);
    CHECK(first("result 1 " + kOwnSum + " " + std::string(3073, 'n')) == "none");
    std::string report = "collected\n";
    for (int i = 0; i < 40; ++i) {
        report += "result 1 " + kOwnSum + " f\n";
    }
    CHECK(read_collected(report + "complete\n", 5)->files.size() == kMostResults);
    const auto tail = [](const std::string& bytes) {
        const std::string text = "tail stderr " + std::to_string(bytes.size()) + "\n" + bytes;
        CHECK(read_tails(text + "complete\n").empty()); // no end of line after the bytes
        const Streams streams = read_tails(text + "\ncomplete\n").at(0);
        CHECK(streams.standard_output.empty());
        return streams.standard_error;
    };
    CHECK(tail("a\tb\nc") == "a\tb\nc");
    CHECK(tail(std::string("\x1b[0m\x7f\0", 6)) == "?[0m??");
    CHECK(tail("\xc3\xa4") == "\xc3\xa4");
    CHECK(tail("\xc3x") == "?x");
    CHECK(tail(std::string(4096, 'x')).size() == 4096);
    CHECK(tail(std::string(4097, 'x')).size() == 4096);
    const auto failed = read_collected("failed CopyFailed no space\ncomplete\n", 9);
    REQUIRE(failed);
    CHECK(failed->condition.message == "no space");
    CHECK(failed->condition.changed == 9);
    CHECK_FALSE(read_collected("failed\ncomplete\n", 9));
    CHECK_FALSE(read_collected("collected\ncomplete\nmore\n", 9));
    const auto failure = read_collected(collector_failure("X", std::string(2000, 'w')), 1);
    REQUIRE(failure);
    CHECK(failure->condition.message.size() == 1000);
    for (const char letter : {'/', ':', '`', 'g', 'A'}) {
        std::string sum = kOwnSum;
        sum.back() = letter;
        CHECK_FALSE(read_offer("3 " + sum + " a\ncomplete\n"));
    }
    CHECK(read_offer("3 " + kOwnSum + " " + std::string(4096, 'n') + "\ncomplete\n"));
    CHECK_FALSE(read_offer("3 " + kOwnSum + " " + std::string(4097, 'n') + "\ncomplete\n"));
}

TEST_CASE("a text is cut between letters, and a secret is removed as far as it goes") {
    CHECK(cut_text("abc", 3) == "abc");
    CHECK(cut_text("abc", 2) == "ab");
    CHECK(cut_text("a\xc3\xa4", 2) == "a");
    CHECK(cut_text("a\xc3\xa4", 3) == "a\xc3\xa4");
    CHECK(cut_text("\xf0\x9f\x98\x80", 3).empty());
    CHECK(plain_words(std::string(1024, 'x')).size() == 1024);
    CHECK(plain_words(std::string(1025, 'x')).ends_with("x..."));
    CHECK(plain_words("eyJa-_.+/=b, eyJ") == "***, ***");
    CHECK(plain_words("eye") == "eye");
}

TEST_CASE("words of a record's claim: whose it is, of which object and which Lease") {
    const RecordOwner whole = read_owner("claim hall physics/hello 7 " + kOwnUid);
    CHECK(whole.has_claim);
    CHECK(whole.owner.bridge == "hall");
    CHECK(whole.object == "physics/hello");
    CHECK(whole.owner.lease == kOwnUid);
    CHECK(read_owner("claim hall physics/hello 7").owner.lease.empty());
    CHECK(read_owner("claim hall physics/hello 7 odd").owner.lease.empty());
    CHECK(read_owner("claim hall").object.empty());
    CHECK(read_owner("claim  x").object.empty());
    CHECK_FALSE(read_owner("none").has_claim);
    const Owner self{"hall", kOwnUid};
    CHECK(is_same({"hall", ""}, self));
    CHECK(is_same({"hall", kOwnUid}, self));
    CHECK_FALSE(is_same({"hall", "other"}, self));
    CHECK_FALSE(is_same({"hall-b", ""}, self));
    CHECK(may_be_orphan(whole, self));
    CHECK(may_be_orphan(read_owner("claim"), self)); // of an earlier version
    CHECK_FALSE(may_be_orphan(read_owner("none"), self));
    CHECK_FALSE(may_be_orphan(whole, {"hall", "other"}));
    CHECK_FALSE(may_be_orphan(read_owner("claim hall no-place 7"), self));
    Poll poll;
    for (const auto state : {submission::State::kRunning, submission::State::kDone}) {
        SeenJob job;
        job.id = "7";
        job.owner = "alice";
        job.token = kOwnUid;
        job.state = state;
        poll.jobs.push_back(job);
    }
    CHECK(jobs_of_account(poll, "alice").size() == 1);
    CHECK(jobs_of_account(poll, "bob").empty());
    poll.jobs.front().token = "x";
    CHECK(jobs_of_account(poll, "alice").empty());
}

TEST_CASE("flags of kubectl logs in all words that Go reads") {
    for (const char* yes : {"true", "1", "t", "T", "TRUE", "True"}) {
        LogsRequest request;
        CHECK_FALSE(read_log_options({{"follow", yes}, {"timestamps", yes}}, request));
        CHECK(request.follows);
        CHECK(request.is_stamped);
        CHECK(read_log_options({{"previous", yes}}, request));
    }
    for (const char* no : {"", "false", "0", "f", "F", "FALSE", "False"}) {
        LogsRequest request;
        CHECK_FALSE(
            read_log_options({{"follow", no}, {"timestamps", no}, {"previous", no}}, request));
        CHECK_FALSE(request.follows);
        CHECK_FALSE(request.is_stamped);
    }
    LogsRequest request;
    CHECK_FALSE(read_log_options({{"limitBytes", "1"}, {"sinceSeconds", "1"}}, request));
    CHECK(log_times("x 1", "").now == 0);
    CHECK(log_times("12", "").now == 0);
    CHECK(log_times("12x", "").now == 0);
}

TEST_CASE("labels of a queue that Kubernetes does not accept are left out") {
    launchers::Bridge document;
    document.name = "hall";
    launchers::SiteQueue queue;
    queue.name = std::string(63, 'q');
    queue.nodes = 3;
    queue.cores_per_node = 5;
    queue.memory_per_node_bytes = std::uint64_t{7} << 30U;
    queue.max_time = std::chrono::seconds(11);
    auto labels = queue_labels(document, queue);
    CHECK(labels.at("cybelectl.io/queue") == queue.name);
    CHECK(labels.at("cybelectl.io/bridge") == "hall");
    CHECK(labels.at("wlm.sylabs.io/partition") == queue.name);
    CHECK(labels.at("wlm.sylabs.io/nodes") == "3");
    CHECK(labels.at("wlm.sylabs.io/cpu-per-node") == "5");
    CHECK(labels.at("wlm.sylabs.io/mem-per-node") == "7168");
    CHECK(labels.at("wlm.sylabs.io/wall-time") == "11");
    CHECK_FALSE(selectable_labels(document, queue).contains("kubernetes.io/hostname"));
    queue.name += "q";
    labels = queue_labels(document, queue);
    CHECK_FALSE(labels.contains("cybelectl.io/queue"));
    CHECK(labels.contains("cybelectl.io/bridge"));
    document.virtual_nodes = launchers::BridgeNodes{"hall", {{"type", "own"}, {"x", "a/b"}}};
    labels = queue_labels(document, queue);
    CHECK(labels.at("type") == "own");
    CHECK_FALSE(labels.contains("x"));
    queue.name.clear();
    CHECK_FALSE(selectable_labels(document, queue).contains("kubernetes.io/hostname"));
}

TEST_CASE("queues of servers: closed by either word, and cores by both of their names") {
    const auto read = [](const std::string& lines) {
        return read_live_queues("pbspro", "stray = 1\nQueue: q\n" + lines).front();
    };
    CHECK(read("  enabled = True\n  started = True\n").is_open);
    CHECK_FALSE(read("  enabled = False\n  started = True\n").is_open);
    CHECK_FALSE(read("  enabled = True\n  started = False\n").is_open);
    CHECK(read("  resources_max.procct = 12\n").cores == 12U);
    CHECK(read("  resources_max.ncpus = 13\n").cores == 13U);
    CHECK_FALSE(read("  resources_max.mem = 14\n").cores);
    CHECK(queues_call("slurm").argv.front() == "sinfo");
    CHECK(queues_call("slurm-torque").argv.front() == "sinfo");
    CHECK(queues_call("torque").argv == std::vector<std::string>{"qstat", "-Q", "-f"});
}

} // namespace cybele::bridge
