// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/outputs.hpp"
#include "bridge/objects/object.hpp"
#include "bridge/objects/refusals.hpp"
#include "bridge/objects/times.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;
using nlohmann::json;

namespace {

json plain_object() {
    return {{"apiVersion", "cybelectl.io/v1alpha1"},
            {"kind", "SlurmJob"},
            {"metadata",
             {{"name", "hello"},
              {"namespace", "physics"},
              {"uid", "6f0f3b1c-2e14-4c1a-9d2e-0123456789ab"},
              {"resourceVersion", "41"},
              {"generation", 1},
              {"creationTimestamp", "2026-11-25T02:35:47Z"},
              {"finalizers", {"x/y", "cybelectl.io/batch-job"}}}},
            {"spec",
             {{"batch", "#!/bin/sh\ntrue\n"},
              {"queue", "long"},
              {"account", "alice"},
              {"nodeSelector", {{"a", "b"}}},
              {"results", {{"from", "/home/alice/out"}, {"mount", {{"name", "data"}}}}},
              {"ttlSecondsAfterFinished", 60},
              {"onDelete", "Orphan"}}}};
}

bridge::Object read(const json& object) {
    auto read = bridge::read_object(object.dump());
    REQUIRE(read);
    return *read;
}

std::string refusal_of(const json& object) {
    const bridge::Object found = read(object);
    return found.refusal ? found.refusal->reason : "";
}

bridge::Status full_status() {
    bridge::Status status;
    status.phase = "Running";
    status.job_id = "77";
    status.token = "6f0f3b1c-2e14-4c1a-9d2e-0123456789ab";
    status.state = "RUNNING";
    status.reason = "None";
    status.account = "alice";
    status.site = "hall-a";
    status.exit_code = 3;
    status.signal = 0;
    status.started = 1795574147;
    status.ended = 1795574190;
    status.generation = 2;
    status.attempt = 1;
    status.restarts = 1;
    status.output = {"/home/alice/a.out", "/home/alice/a.err"};
    status.tail = {"last line", "trouble"};
    status.results = {{"out", 12, std::string(64, 'a')}};
    status.results_count = 1;
    status.set({"Accepted", "True", "Admitted", "as alice", 1795574140});
    return status;
}

} // namespace

TEST_CASE("an object is read into a plain value") {
    const bridge::Object object = read(plain_object());
    CHECK(object.kind == bridge::Kind::kSlurmJob);
    CHECK(object.space == "physics");
    CHECK(object.name == "hello");
    CHECK(object.resource_version == "41");
    CHECK(object.created == 1795574147);
    CHECK(object.deleted == 0);
    CHECK(object.has_finalizer());
    CHECK(object.spec.queue == "long");
    CHECK(object.spec.account == "alice");
    CHECK(object.spec.node_selector.at("a") == "b");
    CHECK(object.spec.results->from == "/home/alice/out");
    CHECK(object.spec.results->mount == R"({"name":"data"})");
    CHECK(object.spec.seconds_to_live == 60);
    CHECK(object.spec.on_delete == bridge::OnDelete::kOrphan);
    CHECK_FALSE(object.refusal);
}

TEST_CASE("a broken object has a reason of its own, and is read all the same") {
    const struct {
        const char* pointer;
        json value;
        std::string_view reason;
    } rows[] = {
        {"/metadata/name", std::string(253, 'a'), bridge::kNameTooLong},
        {"/spec/batch", std::string(262145, '#'), bridge::kScriptTooLong},
        {"/spec/batch", "#!" + std::string(262142, 'x'), ""},
        {"/spec/batch", std::string("#!/bin/sh\n\0rm", 13), bridge::kScriptNotText},
        {"/spec/batch", "#!/bin/sh\r\n", bridge::kScriptNotText},
        {"/spec/batch", "true", bridge::kScriptNotText},
        {"/spec/batch", 7, bridge::kSpecInvalid},
        {"/spec/batch", "", bridge::kSpecInvalid},
        {"/spec/queue", "long; rm -rf", bridge::kSpecInvalid},
        {"/spec/queue", "-x", bridge::kSpecInvalid},
        {"/spec/account", "root\n", bridge::kSpecInvalid},
        {"/spec/nodeSelector/a", 10, bridge::kSpecInvalid},
        {"/spec/results/from", "/home/../../etc/passwd", bridge::kResultsInvalid},
        {"/spec/results/from", "a\nb", bridge::kResultsInvalid},
        {"/spec/results/mount", "text", bridge::kResultsInvalid},
        {"/spec", nullptr, bridge::kSpecInvalid},
        {"/spec", json::array({1}), bridge::kSpecInvalid},
    };
    for (const auto& row : rows) {
        CAPTURE(row.pointer);
        json object = plain_object();
        object[json::json_pointer(row.pointer)] = row.value;
        CHECK(refusal_of(object) == row.reason);
    }
}

TEST_CASE("without an identity it is not an object") {
    const std::pair<const char*, json> rows[] = {
        {"/kind", "Pod"},
        {"/metadata/uid", "../../etc"},
        {"/metadata/uid", nullptr},
        {"/metadata/namespace", "A B"},
        {"/metadata/name", std::string(254, 'a')},
        {"/metadata/name", "a/../b"},
        {"/metadata/resourceVersion", 41},
        {"/metadata", "x"},
    };
    for (const auto& [pointer, value] : rows) {
        CAPTURE(pointer);
        json object = plain_object();
        object[json::json_pointer(pointer)] = value;
        const auto found = bridge::read_object(object.dump());
        REQUIRE_FALSE(found);
        CHECK(found.error().code() == ErrorCode::kInput);
    }
    for (const std::string text : {"", "{", "[]", "null", "{\"kind\":"}) {
        CHECK_FALSE(bridge::read_object(text));
    }
    CHECK_FALSE(bridge::read_object(std::string(100000, '[')));
}

TEST_CASE("a deletion whose time cannot be read is a deletion") {
    json object = plain_object();
    object["metadata"]["deletionTimestamp"] = "soon";
    CHECK(read(object).deleted != 0);
}

TEST_CASE("a status comes back as it was written") {
    const bridge::Status status = full_status();
    json object = plain_object();
    object["status"] = json::parse(bridge::status_json(status));
    CHECK(read(object).status == status);
    CHECK(json::parse(bridge::status_json(bridge::Status())).size() == 1); // conditions
}

TEST_CASE("a status that the bridge cannot have written is as if it were not there") {
    const std::pair<const char*, json> rows[] = {
        {"/jobId", "77; scancel -u all"},
        {"/jobId", 77},
        {"/jobId", "../77"},
        {"/submitToken", "00000000-0000-4000-8000-000000000000"},
        {"/submitToken", nullptr},
        {"/account", "-uroot"},
        {"/status", "Done"},
        {"/exitCode", "3"},
        {"/exitCode", 1e300},
        {"/conditions", "none"},
        {"/conditions/0/status", "Maybe"},
        {"/conditions/0/type", json::array()},
        {"/results", json::array({1, 2})},
        {"/reason", std::string(2000, 'x')},
        {"/startTime", "yesterday"},
        {"/tail", 1},
    };
    for (const auto& [pointer, value] : rows) {
        CAPTURE(pointer);
        json object = plain_object();
        object["status"] = json::parse(bridge::status_json(full_status()));
        object["status"][json::json_pointer(pointer)] = value;
        CHECK(read(object).status == bridge::Status());
    }
    json object = plain_object();
    object["status"] = "forged";
    CHECK(read(object).status == bridge::Status());
}

TEST_CASE("bytes of a batch system that are not UTF-8 do not break a status") {
    bridge::Status status;
    status.reason = "\xff\xfe";
    CHECK(bridge::status_json(status).find("reason") != std::string::npos);
}

TEST_CASE("the longest message of a condition is read again, whatever its letters and bytes are") {
    for (const char* const letter : {"x", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xff"}) {
        for (std::size_t before = 0; before < 4; ++before) {
            std::string message(before, 'x');
            while (message.size() < 3000) {
                message += letter;
            }
            bridge::Status status = full_status();
            status.set({"Accepted", "False", "SpecInvalid", message, 30});
            json object = plain_object();
            object["status"] = json::parse(bridge::status_json(status));
            const bridge::Status found = read(object).status;
            CHECK(found.job_id == status.job_id);
            CHECK(found.find("Accepted") != nullptr);
            CHECK((letter[0] == '\xff' || found == status));
        }
    }
}

TEST_CASE("a path of output that no system opens is left out of the status") {
    bridge::Object object = read(plain_object());
    object.status = full_status();
    const auto path_of = [&](std::size_t length) {
        object.spec.batch = "#!/bin/sh\n#SBATCH --output=" + std::string(length, 'o') + "\n";
        return bridge::output_paths(object, "/home/alice").standard_output;
    };
    CHECK(path_of(4000).size() == 4012);
    CHECK(path_of(4083).size() == 4095);
    CHECK(path_of(4084).empty());
}

TEST_CASE("a condition keeps its time until its status changes") {
    bridge::Status status;
    status.set({"Running", "True", "A", "", 10});
    status.set({"Running", "True", "B", "", 20});
    CHECK(status.find("Running")->changed == 10);
    CHECK(status.find("Running")->reason == "B");
    status.set({"Running", "False", "C", std::string(2000, 'x'), 30});
    CHECK(status.find("Running")->changed == 30);
    CHECK(status.find("Running")->message.size() == bridge::kLongestMessage);
    CHECK_FALSE(status.holds("Running"));
}

TEST_CASE("times are read as the API server writes them") {
    CHECK(bridge::time_text(1795574147) == "2026-11-25T02:35:47Z");
    CHECK(bridge::read_time("2026-11-25T02:35:47Z") == 1795574147);
    CHECK(bridge::read_time("2026-11-25T02:35:47.123456Z") == 1795574147);
    for (const std::string_view text : {"",
                                        "Z",
                                        "2026-11-25T02:35:47",
                                        "2026-13-25T02:35:47Z",
                                        "2026-11-25T25:35:47Z",
                                        "2026-11-25T02:35:47.Z",
                                        "2026-11-25T02:35:47+01:00",
                                        "2026-02-30T00:00:00Z"}) {
        CAPTURE(text);
        CHECK_FALSE(bridge::read_time(text));
    }
    CHECK(bridge::time_text(-5) == "1970-01-01T00:00:00Z");
}

TEST_CASE("each reason is one word, has a remedy and is found again") {
    for (const bridge::RefusalRow& row : bridge::refusal_rows()) {
        CAPTURE(row.reason);
        CHECK(row.reason.find_first_not_of(
                  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == std::string::npos);
        CHECK_FALSE(row.help.empty());
        CHECK(bridge::find_refusal(row.reason) == &row);
    }
    CHECK(bridge::find_refusal("Nonsense") == nullptr);
}

TEST_CASE("of a script whose job was handed over the directives stay") {
    bridge::Object object = read(plain_object());
    const std::string script =
        "#!/bin/sh\n#SBATCH -o a\n\n# words\n#\n#SBATCH -p long\necho a\n#SBATCH -o b\n";
    object.spec.batch = script;
    object.status = bridge::Status();
    bridge::forget_script(object);
    CHECK(object.spec.batch == script); // it is still to be handed over
    object.status.job_id = "7";
    bridge::forget_script(object);
    CHECK(object.spec.batch == "#!/bin/sh\n#SBATCH -o a\n#SBATCH -p long\n");
    bridge::forget_script(object);
    CHECK(object.spec.batch == "#!/bin/sh\n#SBATCH -o a\n#SBATCH -p long\n");
    object.spec.batch = "#!/bin/sh";
    bridge::forget_script(object);
    CHECK(object.spec.batch == "#!/bin/sh");
}
