// SPDX-License-Identifier: Apache-2.0
#include "bridge/objects/object.hpp"

#include "bridge/objects/fence.hpp"
#include "bridge/objects/job_status.hpp"
#include "bridge/objects/patterns.hpp"
#include "bridge/objects/read_status.hpp"
#include "bridge/objects/refusals.hpp"
#include "bridge/objects/times.hpp"
#include "support/characters.hpp"
#include "support/find.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestObject = std::size_t{4} << 20U; ///< the API server's own is smaller
constexpr std::size_t kLongestScript = 262144;
constexpr std::size_t kMostFinalizers = 64;
constexpr std::size_t kLongestPath = 4096;

std::int64_t number_of_member(const Json& json, const char* name) {
    const Json& value = member_of(json, name);
    return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

std::int64_t time_of_member(const Json& json, const char* name) {
    return read_time(member_text(json, name)).value_or(0);
}

/// The first reason to refuse is the one that is reported.
void refuse(Object& object, std::string_view reason, std::string message) {
    if (!object.refusal) {
        object.refusal = Refusal{std::string(reason), std::move(message)};
    }
}

/// A text of the spec, "" where it is not there.
std::string spec_text(const Json& spec, const char* name, Object& object) {
    const Json& value = member_of(spec, name);
    if (value.is_string()) {
        return value.get<std::string>();
    }
    if (!value.is_null()) {
        refuse(object, kSpecInvalid, fmt::format("spec.{} is not a text", name));
    }
    return {};
}

void read_script(const Json& spec, Object& object) {
    std::string& script = object.spec.batch;
    script = spec_text(spec, "batch", object);
    if (script.empty()) {
        refuse(object, kSpecInvalid, "spec.batch is empty");
    } else if (script.size() > kLongestScript) {
        refuse(object,
               kScriptTooLong,
               fmt::format("spec.batch has {} bytes, and at most {} are accepted",
                           script.size(),
                           kLongestScript));
    } else if (script.find('\0') != std::string::npos) {
        refuse(object, kScriptNotText, "spec.batch contains a NUL byte");
    } else if (script.find('\r') != std::string::npos) {
        refuse(object, kScriptNotText, "spec.batch contains carriage returns");
    } else if (!script.starts_with("#!")) {
        refuse(object, kScriptNotText, "spec.batch does not begin with #!");
    }
}

void read_selector(const Json& spec, Object& object) {
    const Json& selector = member_of(spec, "nodeSelector");
    for (const auto& [key, value] : selector.items()) {
        if (!value.is_string()) {
            refuse(object, kSpecInvalid, "a value of spec.nodeSelector is not a text");
            return;
        }
        object.spec.node_selector[key] = value.get<std::string>();
    }
}

/// Whether no part of the path is `..` and no byte ends a line or the text.
bool is_plain_path(std::string_view path) {
    const std::string padded = "/" + std::string(path) + "/";
    return !path.empty() && path.size() <= kLongestPath &&
           padded.find("/../") == std::string::npos &&
           path.find_first_of(std::string_view("\n\r\0", 3)) == std::string_view::npos;
}

void read_results(const Json& spec, Object& object) {
    const Json& results = member_of(spec, "results");
    if (results.is_null()) {
        return;
    }
    const Json& mount = member_of(results, "mount");
    ResultsRequest wish{
        member_text(results, "from"),
        mount.is_object() ? mount.dump(-1, ' ', true, Json::error_handler_t::replace) : ""};
    if (!is_plain_path(wish.from)) {
        refuse(
            object, kResultsInvalid, "spec.results.from is not a path without `..` and line ends");
    } else if (wish.mount.empty()) {
        refuse(object, kResultsInvalid, "spec.results.mount is not a volume");
    }
    object.spec.results = std::move(wish);
}

void read_spec(const Json& spec, Object& object) {
    if (!spec.is_object()) {
        refuse(object, kSpecInvalid, "the object has no spec");
    }
    read_script(spec, object);
    object.spec.queue = spec_text(spec, "queue", object);
    object.spec.account = spec_text(spec, "account", object);
    if (!object.spec.queue.empty() && !is_batch_name(object.spec.queue)) {
        refuse(object, kSpecInvalid, "spec.queue is not the name of a queue");
    }
    if (!object.spec.account.empty() && !is_batch_name(object.spec.account)) {
        refuse(object, kSpecInvalid, "spec.account is not the name of an account");
    }
    if (const Json& seconds = member_of(spec, "ttlSecondsAfterFinished"); !seconds.is_null()) {
        object.spec.seconds_to_live =
            std::max<std::int64_t>(number_of_member(spec, "ttlSecondsAfterFinished"), 0);
    }
    if (member_text(spec, "onDelete") == "Orphan") {
        object.spec.on_delete = OnDelete::kOrphan;
    }
    read_selector(spec, object);
    read_results(spec, object);
}

void read_metadata(const Json& metadata, Object& object) {
    object.space = member_text(metadata, "namespace");
    object.name = member_text(metadata, "name");
    object.uid = member_text(metadata, "uid");
    object.resource_version = member_text(metadata, "resourceVersion");
    object.generation = number_of_member(metadata, "generation");
    object.created = time_of_member(metadata, "creationTimestamp");
    object.deleted = time_of_member(metadata, "deletionTimestamp");
    // A time that cannot be read is a deletion all the same.
    if (object.deleted == 0 && !member_of(metadata, "deletionTimestamp").is_null()) {
        object.deleted = 1;
    }
    const Json& finalizers = member_of(metadata, "finalizers");
    for (std::size_t at = 0; at < std::min(finalizers.size(), kMostFinalizers); ++at) {
        if (finalizers.is_array() && finalizers[at].is_string()) {
            object.finalizers.push_back(finalizers[at].get<std::string>());
        }
    }
}

tl::unexpected<Error> not_an_object(std::string_view because) {
    return fail(ErrorCode::kInput,
                problem("bridge-object-unreadable",
                        "the API server's answer is not a SlurmJob or TorqueJob"),
                std::string(because),
                "compare the resource definition on the server with `cybelectl kube crd`");
}

} // namespace

std::string_view kind_text(Kind kind) {
    return kind == Kind::kSlurmJob ? "SlurmJob" : "TorqueJob";
}

bool Object::has_finalizer() const {
    return contains(finalizers, kFinalizer);
}

void forget_script(Object& object) {
    if (object.status.job_id.empty()) {
        return;
    }
    std::string kept;
    for (std::string_view rest = object.spec.batch; !rest.empty();) {
        const std::string_view line =
            rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
        rest.remove_prefix(line.size());
        std::string_view body = line; // the reader accepts blanks before a directive
        body.remove_prefix(std::min(body.find_first_not_of(" \t\n"), body.size()));
        const bool is_comment = body.starts_with('#');
        const bool is_word = body.size() > 1 && is_comment && (body[1] == '!' || is_upper(body[1]));
        if (is_word || body.starts_with(':')) { // a comment for PBS, a command for others
            kept += line;
        } else if (!body.empty() && !is_comment) {
            break; // directives come before the first command
        }
    }
    kept.shrink_to_fit();
    object.spec.batch = std::move(kept);
}

std::string_view kind_of(const Object& object) {
    return object.form == Form::kJob ? "Job" : kind_text(object.kind);
}

Result<Object> read_object(std::string_view text, const JobReader& jobs) {
    if (text.size() > kLongestObject) {
        return not_an_object(fmt::format("it has {} bytes", text.size()));
    }
    return object_of_json(parse_json(text), jobs);
}

Result<Object> object_of_json(const Json& json, const JobReader& jobs) {
    const std::string kind = member_text(json, "kind");
    Object object;
    if (kind == "TorqueJob") {
        object.kind = Kind::kTorqueJob;
    } else if (kind == "Job" && jobs && member_text(json, "apiVersion") == "batch/v1") {
        object.form = Form::kJob;
    } else if (kind != "SlurmJob") {
        return not_an_object(json.is_object()
                                 ? "its kind is '" + printable(kind.substr(0, 64)) + "'"
                                 : "it is not JSON");
    }
    read_metadata(member_of(json, "metadata"), object);
    if (!is_uid(object.uid) || !is_object_place(object.space, object.name) ||
        object.resource_version.empty() || object.resource_version.size() > 64) {
        return not_an_object("its metadata lack a valid uid, namespace, name or resourceVersion");
    }
    if (!is_batch_name(object.name)) {
        refuse(object,
               kNameTooLong,
               fmt::format("the object's name has {} characters, and a batch job's at most 63",
                           object.name.size()));
    }
    if (object.form == Form::kJob) {
        jobs(json, object);
        object.job.started = time_of_member(member_of(json, "status"), "startTime");
        object.status = read_job_status(member_of(json, "status"), object.uid);
        object.stored = stored_in(json, object);
        return object;
    }
    read_spec(member_of(json, "spec"), object);
    object.status = read_status(member_of(json, "status"), object.uid);
    object.stored = stored_in(json, object);
    return object;
}

} // namespace cybele::bridge
