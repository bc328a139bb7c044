// SPDX-License-Identifier: Apache-2.0
#include "bridge/service/server_session.hpp"

#include "apiserver/write.hpp"
#include "bridge/configuration/managed_job.hpp"
#include "bridge/objects/patterns.hpp"
#include "bridge/server/api_server.hpp"
#include "support/encoding.hpp"
#include "support/http.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

using PageJson = nlohmann::json;

constexpr std::chrono::milliseconds kPage{30'000};

tl::unexpected<Error> silent(const std::optional<apiserver::Reply>& reply) {
    return fail(ErrorCode::kEnvironment,
                problem("api-server-silent", "the API server does not answer"),
                reply && reply->failure ? reply->failure->faults().front().because
                                        : "no answer within 30 seconds",
                "see whether `kubectl version` works with the same kubeconfig");
}

/// What the server answered to a question for the path.
Result<PageJson> content_of(const std::string& path, const std::optional<apiserver::Reply>& reply) {
    if (reply && reply->ok()) {
        return parse_json(reply->body);
    }
    if (reply && reply->status != 0) {
        return fail(apiserver::refusal("reading " + path, *reply));
    }
    return silent(reply);
}

std::string text_of_page(const PageJson& json) {
    return json_text(json, -1);
}

Result<Object> object_of_item(PageJson item, const PageJson& list, const JobReader& jobs) {
    item["apiVersion"] =
        member_text(list, "apiVersion"); // items of a list do not repeat their kind
    if (!item.contains("kind")) {
        std::string kind = member_text(list, "kind");
        item["kind"] = kind.substr(0, kind.size() - std::min<std::size_t>(4, kind.size()));
    }
    return object_of_json(item, jobs);
}

/// The place without the word that asks for an ordinary Job.
std::string without_kind(const std::string& place) {
    const bool names_kind = std::count(place.begin(), place.end(), '/') == 2;
    return names_kind && place.starts_with(kOrdinaryJob) ? place.substr(kOrdinaryJob.size())
                                                         : place;
}

bool is_job_collection(const std::string& path) {
    return path.starts_with("/apis/batch/");
}

bool is_foreign_job(const PageJson& json, const std::string& path) {
    return is_job_collection(path) && !is_managed(json);
}

} // namespace

bool is_place_text(const std::string& text) {
    const std::size_t slash = text.find('/');
    return slash != std::string::npos &&
           is_object_place(text.substr(0, slash), text.substr(slash + 1));
}

ServerSession::ServerSession(const ServiceRequest& request, apiserver::Access access)
    : request_(request), jobs_(job_reader(request.configuration)),
      space_(request.name_space.empty() ? access.name_space() : request.name_space),
      connection_(
          HttpClient::find(request.environment, request.program.native()), std::move(access), 1),
      pump_(connection_) {}

Result<std::unique_ptr<ServerSession>> ServerSession::open(const ServiceRequest& request) {
    CYBELE_TRY(apiserver::Access access,
               apiserver::Access::read(request.environment, request.access));
    return std::unique_ptr<ServerSession>(new ServerSession(request, std::move(access)));
}

Result<PageJson> ServerSession::read_if_present(const std::string& path) {
    constexpr int kNotFound = 404;
    const auto reply = pump_.get(path, kPage);
    return reply && reply->status == kNotFound ? PageJson::object() : content_of(path, reply);
}

Result<PageJson> ServerSession::read(const std::string& path) {
    return content_of(path, pump_.get(path, kPage));
}

Result<void> ServerSession::each_object(const std::function<void(const Object&)>& take) {
    std::vector<std::string> spaces = request_.configuration.document.namespaces;
    if (spaces.empty()) {
        spaces.emplace_back();
    }
    for (const std::string& space : spaces) {
        for (const std::string& path : collections(space)) {
            CYBELE_CHECK(each_of(path, take));
        }
    }
    return {};
}

std::vector<std::string> ServerSession::collections(const std::string& space) const {
    std::vector<std::string> paths{collection_path(request_.configuration.site.kind, space)};
    if (jobs_) {
        paths.push_back(job_collection_path(space));
    }
    return paths;
}

Result<void> ServerSession::each_of(const std::string& path,
                                    const std::function<void(const Object&)>& take) {
    std::string next;
    do {
        std::string query = path + "?limit=200";
        query += next.empty() ? "" : "&continue=" + percent_encoded(next);
        CYBELE_TRY(const PageJson list, read(query));
        const PageJson& items = member_of(list, "items");
        for (const PageJson& item : items.is_array() ? items : PageJson::array()) {
            if (is_foreign_job(item, path)) {
                continue;
            }
            if (const auto object = object_of_item(item, list, jobs_)) {
                take(*object);
            }
        }
        next = member_text(member_of(list, "metadata"), "continue");
    } while (!next.empty());
    return {};
}

Result<void> check_place(const std::string& place) {
    if (is_place_text(without_kind(place))) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                problem("bridge-object-name-invalid",
                        "'" + printable(place) + "' is not the name of an object"),
                "an object is named as NAMESPACE/NAME, an ordinary Job also as "
                "job/NAMESPACE/NAME",
                "write it like physics/lolcow");
}

Result<Object> ServerSession::object(const std::string& place) {
    CYBELE_CHECK(check_place(place));
    const std::string plain = without_kind(place);
    const bool is_job = plain != place;
    const std::size_t slash = plain.find('/');
    for (const std::string& path : collections(plain.substr(0, slash))) {
        if (is_job && !is_job_collection(path)) {
            continue;
        }
        CYBELE_TRY(const PageJson json, read_if_present(path + "/" + plain.substr(slash + 1)));
        if (!json.empty() && !is_foreign_job(json, path)) {
            return object_of_json(json, jobs_);
        }
    }
    const std::string_view kind = is_job ? "Job" : kind_text(request_.configuration.site.kind);
    return fail(ErrorCode::kInput,
                problem("bridge-object-missing", fmt::format("{} {} does not exist", kind, plain)),
                is_job ? "the API server has no Job of that name whose `managedBy` is the bridge"
                       : "the API server has no object of that name",
                fmt::format("kubectl get {}s -A", kind));
}

Result<bool> ServerSession::exists(const std::string& place, const std::string& uid) {
    const std::size_t slash = place.find('/');
    for (const std::string& path : collections(place.substr(0, slash))) {
        CYBELE_TRY(const PageJson json, read_if_present(path + "/" + place.substr(slash + 1)));
        if (member_text(member_of(json, "metadata"), "uid") == uid) {
            return true;
        }
    }
    return false;
}

Result<PageJson> ServerSession::review(const std::string& path, const PageJson& body) {
    const auto reply = pump_.post(path, text_of_page(body), kPage);
    if (reply && reply->ok()) {
        return parse_json(reply->body);
    }
    if (reply && reply->status != 0) {
        return fail(apiserver::refusal("asking " + path, *reply));
    }
    return silent(reply);
}

Result<void> ServerSession::patch(const std::string& what,
                                  const std::string& path,
                                  std::string_view type,
                                  std::string body) {
    constexpr int kNotFound = 404;
    constexpr int kConflict = 409;
    constexpr int kUnprocessable = 422;
    const auto reply = pump_.patch(path, type, std::move(body), kPage);
    if (!reply || reply->status == 0) {
        return silent(reply);
    }
    if (reply->ok()) {
        return {};
    }
    Fault fault = apiserver::refusal(what, *reply).faults().front();
    if (reply->status == kConflict || reply->status == kNotFound ||
        apiserver::is_failed_test(*reply)) {
        fault.help = "repeat the command: the object was changed meanwhile";
    } else if (reply->status == kUnprocessable) {
        fault.help = "run the command as an administrator, or with the bridge's service account";
    }
    return fail(std::move(fault));
}

} // namespace cybele::bridge
