// SPDX-License-Identifier: Apache-2.0
#include "bridge/configuration/managed_job.hpp"
#include "bridge/objects/fence.hpp"
#include "bridge/objects/job_status.hpp"
#include "bridge/server/api_server.hpp"

#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;

using nlohmann::json;

namespace {

constexpr const char* kFencedUid = "6f0f3b1c-2e14-4c1a-9d2e-0123456789ab";

json fenced_slurm_job() {
    return {{"apiVersion", "cybelectl.io/v1alpha1"},
            {"kind", "SlurmJob"},
            {"metadata",
             {{"name", "hello"},
              {"namespace", "physics"},
              {"uid", kFencedUid},
              {"resourceVersion", "41"}}},
            {"spec", {{"batch", "#!/bin/sh\n"}}}};
}

json fenced_batch_job() {
    json job = fenced_slurm_job();
    job["apiVersion"] = "batch/v1";
    job["kind"] = "Job";
    job["status"] = json::object();
    return job;
}

bridge::Object as_read(const json& object) {
    auto found = bridge::object_of_json(object, [](const json&, bridge::Object&) {});
    REQUIRE(found);
    return std::move(*found);
}

bridge::Status prepared_with(const std::string& id) {
    bridge::Status status;
    status.phase = "Pending";
    status.job_id = id;
    status.token = kFencedUid;
    status.account = "alice";
    status.site = "here";
    status.state = "Prepared";
    status.reason = "\xff"; // of a batch system
    status.set({"Accepted", "True", "Admitted", "", 1795574195});
    return status;
}

bridge::Status ended_with(const std::string& id) {
    bridge::Status status = prepared_with(id);
    status.phase = "Succeeded";
    status.set({"Complete", "True", "Succeeded", "", 1795574195});
    return status;
}

/// The object on the server after that status was written to it.
json after_write(json object, const bridge::Status& status) {
    const json patch = json::parse(bridge::status_body(as_read(object), status));
    object["status"] = patch.back()["value"];
    return object;
}

} // namespace

TEST_CASE("a status is not written over one that the decision did not see, at the same revision") {
    for (const json& empty : {fenced_slurm_job(), fenced_batch_job()}) {
        CAPTURE(empty["kind"].get<std::string>());
        // What one process knows, and what the server has: the same revision came again.
        const json states[] = {empty,
                               after_write(empty, prepared_with("4")),
                               after_write(empty, prepared_with("5")),
                               after_write(empty, ended_with("4"))};
        for (std::size_t known = 0; known < std::size(states); ++known) {
            const json patch =
                json::parse(bridge::status_body(as_read(states[known]), ended_with("5")));
            json tests = patch;
            tests.erase(tests.size() - 1);
            for (std::size_t there = 0; there < std::size(states); ++there) {
                CAPTURE(known);
                CAPTURE(there);
                CHECK(bridge::passes(tests, states[there]) == (known == there));
            }
        }
    }
}

TEST_CASE("an object at another revision, or with another uid, is not written to") {
    const json object = after_write(fenced_slurm_job(), prepared_with("4"));
    const json tests = bridge::fence(as_read(object));
    CHECK(bridge::passes(tests, object));
    for (const char* name : {"uid", "resourceVersion"}) {
        json other = object;
        other["metadata"][name] = "42";
        CHECK_FALSE(bridge::passes(tests, other));
    }
}

TEST_CASE("whose status it is") {
    CHECK(as_read(fenced_slurm_job()).stored == bridge::Stored::kNothing);
    CHECK(as_read(fenced_batch_job()).stored == bridge::Stored::kStatus);
    CHECK(as_read(after_write(fenced_slurm_job(), prepared_with("4"))).stored ==
          bridge::Stored::kStatus);
    CHECK(as_read(after_write(fenced_batch_job(), prepared_with("4"))).stored ==
          bridge::Stored::kStatus);
    // What others wrote can be replaced, or the object would wait for ever.
    const std::pair<const char*, json> rows[] = {{"/status", "forged"},
                                                 {"/status/jobId", 7},
                                                 {"/status/jobId", ""},
                                                 {"/status/account", "-uroot"}};
    for (const auto& [path, value] : rows) {
        CAPTURE(path);
        json object = after_write(fenced_slurm_job(), prepared_with("4"));
        object[json::json_pointer(path)] = value;
        CHECK(as_read(object).stored == bridge::Stored::kForeign);
        CHECK(bridge::passes(bridge::fence(as_read(object)), object));
    }
    json object = after_write(fenced_batch_job(), prepared_with("4"));
    object["status"]["conditions"].push_back({{"type", "Other"}, {"status", "True"}});
    CHECK(bridge::passes(bridge::fence(as_read(object)), object));
}
