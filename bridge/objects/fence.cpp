// SPDX-License-Identifier: Apache-2.0
#include "bridge/objects/fence.hpp"

#include "apiserver/patch.hpp"
#include "bridge/objects/job_status.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace cybele::bridge {
namespace {

using Json = nlohmann::json;
using apiserver::test;

Json word_or_null(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

} // namespace

Json tests_of_status(const Object& object) {
    const Status& status = object.status;
    if (object.stored == Stored::kForeign) {
        return Json::array();
    }
    if (object.stored == Stored::kNothing) {
        return Json::array({test("/status", nullptr)});
    }
    if (object.form == Form::kOwn) {
        return Json::array({test("/status/jobId", word_or_null(status.job_id)),
                            test("/status/state", word_or_null(status.state)),
                            test("/status/status", word_or_null(status.phase)),
                            test("/status/site", word_or_null(status.site))});
    }
    if (status == Status()) {
        return Json::array({test("/status/conditions", nullptr)});
    }
    const JobRecord record = job_record(status);
    return Json::array({test(record.path, record.message)});
}

Json fence(const Object& object) {
    Json tests = tests_of_status(object);
    tests.push_back(test("/metadata/uid", object.uid));
    tests.push_back(test("/metadata/resourceVersion", object.resource_version));
    return tests;
}

Stored stored_in(const Json& json, const Object& object) {
    const auto found = json.find("status");
    if (found == json.end() || found->is_null()) {
        return Stored::kNothing;
    }
    Object read;
    read.form = object.form;
    read.status = object.status;
    read.stored = Stored::kStatus;
    return passes(tests_of_status(read), json) ? Stored::kStatus : Stored::kForeign;
}

bool passes(const Json& tests, const Json& object) {
    return std::ranges::all_of(tests, [&](const Json& one) {
        const Json::json_pointer path(one.at("path").get<std::string>());
        const Json& value = one.at("value");
        if (object.contains(path)) {
            return object.at(path) == value;
        }
        const Json::json_pointer around = path.parent_pointer();
        return value.is_null() && object.contains(around) && object.at(around).is_object();
    });
}

} // namespace cybele::bridge
