// SPDX-License-Identifier: Apache-2.0
#include "bridge/server/api_server.hpp"

#include "apiserver/patch.hpp"
#include "bridge/objects/fence.hpp"
#include "bridge/objects/job_status.hpp"
#include "bridge/objects/times.hpp"
#include "support/boot_time.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <utility>

namespace cybele::bridge {
namespace {

using Json = nlohmann::json;
using apiserver::WriteResult;

constexpr std::chrono::milliseconds kPatience{30'000};
constexpr std::chrono::milliseconds kWait{45'000}; ///< more than the writer's own patience
/// Writes that are given to the writer at the same time: more than it sends, so that none waits for
/// the next, and few, since whether this process may act is asked before each.
constexpr std::size_t kMostOpen = 8;

/// The object with the metadata that the server answered, which shows nothing of its status.
Object with_metadata(Object object, const Json& metadata) {
    object.resource_version = member_text(metadata, "resourceVersion");
    object.deleted = read_time(member_text(metadata, "deletionTimestamp")).value_or(0);
    if (const auto found = metadata.find("generation");
        found != metadata.end() && found->is_number_integer()) {
        object.generation = found->get<std::int64_t>();
    }
    object.finalizers.clear();
    if (const auto found = metadata.find("finalizers");
        found != metadata.end() && found->is_array()) {
        for (const Json& name : *found) {
            if (name.is_string()) {
                object.finalizers.push_back(name.get<std::string>());
            }
        }
    }
    return object;
}

Json metadata_json(const Object& object) {
    return {{"metadata",
             {{"uid", object.uid},
              {"resourceVersion", object.resource_version},
              {"finalizers", object.finalizers}}}};
}

apiserver::Write patch(const Object& object, std::string_view type, std::string body) {
    apiserver::Write write;
    write.path = object_path(object);
    write.content_type = type;
    write.body = std::move(body);
    write.accept = apiserver::kMetadataOnly;
    write.revision = object.resource_version;
    write.patience = kPatience;
    return write;
}

/// Unset: there is nothing to write, the finalizer is gone.
std::optional<apiserver::Write> write_of(const ObjectWrite& one) {
    const Object& object = *one.object;
    switch (one.action->kind) {
    case Action::Kind::kClaim:
        return patch(object,
                     apiserver::kMergePatch,
                     apiserver::add_finalizer(metadata_json(object), kFinalizer));
    case Action::Kind::kLetGo: {
        auto body =
            apiserver::remove_finalizer(metadata_json(object), kFinalizer, tests_of_status(object));
        return body ? std::optional(patch(object, apiserver::kJsonPatch, std::move(*body)))
                    : std::nullopt;
    }
    case Action::Kind::kRemove: {
        apiserver::Write write =
            patch(object,
                  apiserver::kJsonBody,
                  apiserver::delete_options({object.uid, object.resource_version, std::nullopt}));
        write.method = "DELETE";
        return write;
    }
    default:
        apiserver::Write write =
            patch(object, apiserver::kJsonPatch, status_body(object, one.action->status));
        write.path += "/status";
        if (one.action->status.holds("Complete") || one.action->status.holds("Failed")) {
            write.is_urgent = true; // of what a person waits for
        }
        write.read_path = object_path(object);
        return write;
    }
}

/// What the log says of a status: the end, else the state, else why it waits.
std::string word_of(const Status& status) {
    if (status.holds("Complete")) {
        return "Complete";
    }
    if (status.holds("Failed")) {
        return "Failed";
    }
    if (const Condition* cancelling = status.find("Cancelling"); cancelling != nullptr) {
        return "Cancelling";
    }
    return !status.state.empty() ? status.state : "Waiting";
}

std::string detail_of(const Status& status) {
    std::string detail = status.job_id.empty() ? "" : "job " + status.job_id;
    const auto add = [&](const std::string& words) {
        detail += (detail.empty() ? "" : ", ") + words;
    };
    if (!status.account.empty()) {
        add("account " + status.account);
    }
    if (status.exit_code) {
        add("exit code " + std::to_string(*status.exit_code));
    }
    if (status.signal.value_or(0) != 0) {
        add("signal " + std::to_string(*status.signal));
    }
    if (!status.reason.empty()) {
        add(status.reason);
    }
    return detail;
}

} // namespace

std::string collection_path(Kind kind, const std::string& space) {
    const std::string plural = text::lowered(kind_text(kind)) + "s";
    const std::string root = "/apis/" + std::string(kGroupVersion) + "/";
    return root + (space.empty() ? "" : "namespaces/" + space + "/") + plural;
}

std::string job_collection_path(const std::string& space) {
    return "/apis/batch/v1/" + (space.empty() ? "" : "namespaces/" + space + "/") + "jobs";
}

std::string object_path(const Object& object) {
    return (object.form == Form::kJob ? job_collection_path(object.space)
                                      : collection_path(object.kind, object.space)) +
           "/" + object.name;
}

std::string status_body(const Object& object, const Status& status) {
    return apiserver::set_status(fence(object),
                                 object.form == Form::kJob ? job_status_json(object, status)
                                                           : parse_json(status_json(status)));
}

std::vector<Written> ApiServer::write_all(const std::vector<ObjectWrite>& all) {
    std::vector<Written> written(all.size());
    std::set<std::uint64_t> open;
    const auto wait_for = [&](std::size_t most) {
        pump_.work_until([&] { return open.size() <= most; }, boot_time() + kWait);
        return open.size() <= most;
    };
    for (std::size_t at = 0; at < all.size(); ++at) {
        if (!wait_for(kMostOpen - 1) || (may_act_ && !may_act_())) {
            break;
        }
        auto write = write_of(all[at]);
        if (!write) {
            written[at] = {Written::Kind::kDone, *all[at].object};
            continue;
        }
        const auto number = std::make_shared<std::uint64_t>(0);
        write->on_end = [&, at, number](const WriteResult& outcome) {
            written[at] = finish(all[at], outcome);
            open.erase(*number);
        };
        if (const auto given = writer_.submit(std::move(*write), boot_time())) {
            *number = *given;
            open.insert(*given);
        }
    }
    (void)wait_for(0);
    // What has not ended, or was not begun, is unclear.
    for (const std::uint64_t number : open) {
        writer_.cancel(number);
    }
    return written;
}

Written ApiServer::write_one(const Object& object, const Action& action) {
    return write_all({{&object, &action}}).front();
}

void ApiServer::log(const Object& object, std::string what, std::string detail) const {
    if (log_) {
        log_({object.space + "/" + object.name, object.uid, std::move(what), std::move(detail)});
    }
}

Written ApiServer::finish(const Object& object, const WriteResult& outcome) {
    switch (outcome.kind) {
    case WriteResult::Kind::kDone: {
        const Json answer = parse_json(outcome.body);
        const auto metadata = answer.is_object() ? answer.find("metadata") : answer.end();
        if (metadata == answer.end() || !metadata->is_object()) {
            return {Written::Kind::kUnclear, {}};
        }
        Object now = with_metadata(object, *metadata);
        const bool is_gone = now.deleted != 0 && now.finalizers.empty();
        return {Written::Kind::kDone, is_gone ? std::nullopt : std::optional(std::move(now))};
    }
    case WriteResult::Kind::kConflict:
        return {Written::Kind::kConflict, {}};
    case WriteResult::Kind::kGone:
        return {Written::Kind::kGone, {}};
    default:
        if (outcome.error) {
            const Fault& fault = outcome.error->faults().front();
            log(object, "Trouble", fault.message + ": " + fault.because);
        }
        return {Written::Kind::kUnclear, {}};
    }
}

Written ApiServer::finish(const ObjectWrite& one, const WriteResult& outcome) {
    const Object& object = *one.object;
    const Action& action = *one.action;
    if (action.kind == Action::Kind::kRemove) {
        if (outcome.kind == WriteResult::Kind::kDone) {
            log(object, "Expired", "ttlSecondsAfterFinished is over");
            return {Written::Kind::kDone, {}};
        }
        return finish(object, outcome);
    }
    const bool is_status = action.kind == Action::Kind::kWriteStatus;
    Object changed = object;
    if (is_status) {
        changed.status = action.status;
        changed.stored = Stored::kStatus;
        changed.job.started = job_start(object, action.status);
    }
    Written written = finish(changed, outcome);
    if (written.kind == Written::Kind::kDone) {
        if (is_status) {
            log(object, word_of(action.status), detail_of(action.status));
        } else if (action.kind == Action::Kind::kClaim) {
            log(object, "Claimed");
        } else {
            log(object, "Released", "finalizer removed");
        }
    }
    return written;
}

Written ApiServer::claim(const Object& object) {
    return write_one(object, {Action::Kind::kClaim});
}

Written ApiServer::write_status(const Object& object, const Status& status) {
    Action action{Action::Kind::kWriteStatus};
    action.status = status;
    return write_one(object, action);
}

Written ApiServer::let_go(const Object& object) {
    return write_one(object, {Action::Kind::kLetGo});
}

Written ApiServer::remove(const Object& object) {
    return write_one(object, {Action::Kind::kRemove});
}

void ApiServer::tell(const Object& object, const Action::Event& event) {
    if (may_act_ && !may_act_()) {
        return;
    }
    const bool is_job = object.form == Form::kJob;
    const apiserver::EventSubject subject{is_job ? "batch/v1" : std::string(kGroupVersion),
                                          std::string(kind_of(object)),
                                          object.space,
                                          object.name,
                                          object.uid};
    events_.record(subject,
                   {event.reason, event.reason, event.message, event.is_warning, event.reason},
                   boot_time());
    if (event.is_warning) {
        log(object, "Warning", event.reason + ": " + event.message);
    }
}

bool is_not_found(const apiserver::Reply& reply, const std::string& name) {
    constexpr int kNotFound = 404;
    if (reply.status != kNotFound) {
        return false;
    }
    const nlohmann::json status = parse_json(reply.body);
    return status.is_object() && status.value("reason", nlohmann::json()) == "NotFound" &&
           status.value("details", nlohmann::json::object()).value("name", nlohmann::json()) ==
               name;
}

std::optional<bool> exists_in(Pump& pump,
                              const std::vector<std::string>& collections,
                              const std::string& name,
                              const std::string& uid) {
    constexpr std::chrono::milliseconds kAsked{10'000};
    for (const std::string& collection : collections) {
        std::string path = collection;
        path += "/" + name;
        const auto reply = pump.get(path, kAsked);
        if (reply && reply->ok()) {
            const Json object = parse_json(reply->body);
            if (object.is_object() &&
                member_text(object.value("metadata", Json::object()), "uid") == uid) {
                return true;
            }
        } else if (!reply || !is_not_found(*reply, name)) {
            return std::nullopt;
        }
    }
    return false;
}

} // namespace cybele::bridge
