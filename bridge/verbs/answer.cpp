// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/answer.hpp"

#include "bridge/batch/offer_script.hpp"
#include "bridge/batch/outputs.hpp"
#include "bridge/batch/ways.hpp"
#include "bridge/nodes/collect_pod.hpp"
#include "bridge/nodes/node_view.hpp"
#include "bridge/nodes/pod_view.hpp"
#include "bridge/service/metrics.hpp"
#include "bridge/service/server_session.hpp"
#include "bridge/verbs/log_options.hpp"
#include "bridge/verbs/logs.hpp"
#include "submission/backends/command_backend.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::bridge {
namespace {

using AnswerJson = nlohmann::json;

/// What the client is told instead of an answer.
struct Rejection {
    int status = 0;
    std::string words;
};
using Rejected = std::optional<Rejection>;

constexpr int kBadRequest = 400;
constexpr int kUnauthorized = 401;
constexpr int kForbiddenToClient = 403;
constexpr int kNotHere = 404;
constexpr int kUnavailableNow = 503;

/// Who asks, as the API server names it.
struct Asker {
    std::string name;
    std::vector<std::string> groups;
    std::string pod;
    std::string pod_uid;
};

/// The words of the path, and the values of its query.
struct Address {
    std::vector<std::string> words;
    std::map<std::string, std::string> values;

    [[nodiscard]] std::string value(const std::string& name) const {
        const auto found = values.find(name);
        return found == values.end() ? std::string() : found->second;
    }
};

/// As in a form: a `+` is a blank.
std::string query_text(std::string_view text) {
    std::string spaced(text);
    std::replace(spaced.begin(), spaced.end(), '+', ' ');
    return percent_decoded(spaced);
}

Address address_of(const std::string& path) {
    Address address;
    const std::size_t query = std::min(path.find('?'), path.size());
    for (const std::string_view word :
         text::split(std::string_view(path).substr(1, query - 1), '/')) {
        address.words.push_back(percent_decoded(word));
    }
    if (query < path.size()) {
        for (const std::string_view pair :
             text::split(std::string_view(path).substr(query + 1), '&')) {
            const std::size_t equals = std::min(pair.find('='), pair.size());
            address.values[query_text(pair.substr(0, equals))] =
                query_text(pair.substr(std::min(equals + 1, pair.size())));
        }
    }
    return address;
}

std::vector<std::string> texts_of(const AnswerJson& json) {
    std::vector<std::string> texts;
    for (const AnswerJson& item : json.is_array() ? json : AnswerJson::array()) {
        if (item.is_string()) {
            texts.push_back(item.get<std::string>());
        }
    }
    return texts;
}

class Answer {
public:
    Answer(const ServiceRequest& service,
           ServerSession& server,
           const ListenerRequest& request,
           const std::function<bool(std::string_view)>& print)
        : service_(service), server_(server), request_(request), print_(print),
          address_(address_of(request.path)) {}

    Rejected run(const std::function<bool()>& is_interrupted) {
        const std::vector<std::string>& words = address_.words;
        constexpr std::size_t kWordsOfLogs = 4;
        constexpr std::size_t kWordsOfResults = 4;
        if (words.size() == kWordsOfLogs && words[0] == "containerLogs") {
            return logs(is_interrupted);
        }
        if (words.size() == kWordsOfResults && words[0] == "results") {
            return results();
        }
        if (words.size() == 1 && words[0] == "metrics") {
            return metrics();
        }
        return Rejection{kNotHere, "nothing is served under this path"};
    }

private:
    /// The token's user, where it is one of this server's for the audience.
    Result<std::optional<Asker>> user_of_token(const std::string& audience) {
        AnswerJson spec{{"token", request_.token}};
        if (!audience.empty()) {
            spec["audiences"] = AnswerJson::array({audience});
        }
        CYBELE_TRY(const AnswerJson review,
                   server_.review("/apis/authentication.k8s.io/v1/tokenreviews",
                                  {{"apiVersion", "authentication.k8s.io/v1"},
                                   {"kind", "TokenReview"},
                                   {"spec", spec}}));
        const AnswerJson& status = member_of(review, "status");
        if (status.value("authenticated", AnswerJson(false)) != AnswerJson(true)) {
            return std::optional<Asker>();
        }
        const std::vector<std::string> audiences = texts_of(member_of(status, "audiences"));
        if (!audience.empty() && !contains(audiences, audience)) {
            return std::optional<Asker>(); // a server that does not know audiences
        }
        const AnswerJson& user = member_of(status, "user");
        const AnswerJson& extra = member_of(user, "extra");
        const auto first = [&](const char* name) {
            const std::vector<std::string> texts = texts_of(member_of(extra, name));
            return texts.empty() ? std::string() : texts.front();
        };
        Asker asker;
        asker.name = member_text(user, "username");
        asker.groups = texts_of(member_of(user, "groups"));
        asker.pod = first("authentication.kubernetes.io/pod-name");
        asker.pod_uid = first("authentication.kubernetes.io/pod-uid");
        return std::optional(std::move(asker));
    }

    /// As a kubelet decides: who has this right at the API server. `kind` names the attributes.
    Rejected check_right(const char* kind, const AnswerJson& attributes, const std::string& what) {
        Asker asker{request_.user, request_.groups, {}, {}};
        if (request_.certificate != "good" || asker.name.empty()) {
            std::optional<Asker> user;
            if (!request_.token.empty()) {
                auto review = user_of_token({});
                if (!review) {
                    return unavailable(review.error());
                }
                user = std::move(*review);
            }
            if (!user) {
                return Rejection{kUnauthorized,
                                 "a certificate or a token of the cluster is needed"};
            }
            asker = std::move(*user);
        }
        const auto review = server_.review(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {{"apiVersion", "authorization.k8s.io/v1"},
             {"kind", "SubjectAccessReview"},
             {"spec",
              {{"user", asker.name}, {"groups", AnswerJson(asker.groups)}, {kind, attributes}}}});
        if (!review) {
            return unavailable(review.error());
        }
        const AnswerJson& status = member_of(*review, "status");
        return status.value("allowed", AnswerJson(false)) == AnswerJson(true)
                   ? Rejected()
                   : Rejection{kForbiddenToClient, asker.name + " may not get " + what};
    }

    Rejected metrics() {
        if (auto rejected = check_right(
                "nonResourceAttributes", {{"verb", "get"}, {"path", "/metrics"}}, "/metrics")) {
            return rejected;
        }
        const auto text = read_file(metrics_file(service_));
        if (!text) {
            return Rejection{kUnavailableNow, "no round has ended yet"};
        }
        (void)(print_("200 text/plain; version=0.0.4\n") && print_(*text));
        return {};
    }

    static Rejection unavailable(const Error& error) {
        return {kUnavailableNow, error.message()};
    }

    /// The object that the pod stands for. Whoever makes a pod that names another object of its
    /// namespace may read the output of that one as well.
    Rejected find_by_pod(const std::string& space, const std::string& pod, Object& object) {
        const Rejection missing{kNotHere, "pod " + printable(pod) + " stands for no job"};
        if (!is_place_text(space + "/" + pod)) {
            return missing;
        }
        const auto list = server_.read("/api/v1/namespaces/" + space +
                                       "/pods?limit=1&fieldSelector=metadata.name%3D" + pod);
        if (!list) {
            return unavailable(list.error());
        }
        const AnswerJson& items = member_of(*list, "items");
        if (!items.is_array() || items.empty()) {
            return missing;
        }
        const AnswerJson& metadata = member_of(items[0], "metadata");
        const AnswerJson& owners = member_of(metadata, "ownerReferences");
        if (member_text(member_of(metadata, "labels"), kBridgeLabel) !=
                service_.configuration.document.name ||
            !owners.is_array() || owners.empty()) {
            return missing;
        }
        const std::string kind =
            member_text(owners[0], "kind") == "Job" ? std::string(kOrdinaryJob) : std::string();
        auto found = server_.object(kind + space + "/" + member_text(owners[0], "name"));
        if (!found || found->uid != member_text(owners[0], "uid")) {
            return missing;
        }
        object = std::move(*found);
        return {};
    }

    Rejected logs(const std::function<bool()>& is_interrupted) {
        const std::string& pod = address_.words[2];
        const std::string& container = address_.words[3];
        // Rights first: who has none learns nothing of what there is.
        const auto& queues = service_.configuration.cluster.queues;
        const std::string some_node =
            queues.empty() ? "" : node_of(service_.configuration, queues.front().name);
        const AnswerJson attributes{
            {"verb", "get"}, {"resource", "nodes"}, {"subresource", "proxy"}, {"name", some_node}};
        if (auto rejected = check_right("resourceAttributes", attributes, "nodes/proxy")) {
            return rejected;
        }
        if (container != kContainerOfOutput && container != kContainerOfErrors) {
            return Rejection{kNotHere,
                             "a pod of a job has the containers `batch` and `batch-stderr` only"};
        }
        LogsRequest request;
        if (auto refused = read_log_options(address_.values, request)) {
            return Rejection{kBadRequest, std::move(*refused)};
        }
        Object object;
        if (auto rejected = find_by_pod(address_.words[1], pod, object)) {
            return rejected;
        }
        request.place = (object.form == Form::kJob ? std::string(kOrdinaryJob) : "") +
                        object.space + "/" + object.name;
        request.is_errors = container == kContainerOfErrors;
        request.is_interrupted = is_interrupted;
        bool has_begun = false;
        request.print = [&](std::string_view text) {
            const bool is_first = !std::exchange(has_begun, true);
            return (!is_first || print_("200 text/plain\n")) && print_(text);
        };
        const auto shown = show_logs_of(server_, service_, request, std::move(object));
        if (!has_begun) {
            return shown ? Rejection{200, ""} : Rejection{kBadRequest, words_of(shown.error())};
        }
        return {};
    }

    /// What was wrong, and why, in the line that kubectl prints.
    static std::string words_of(const Error& error) {
        const Fault& fault = error.faults().front();
        return fault.message + ": " + fault.because + "; " + fault.help;
    }

    /// The object whose collector pod has the token. Everyone else gets one and the same answer,
    /// so that the answer does not show which objects exist.
    Rejected find_for_collector(const std::string& space, const std::string& name, Object& object) {
        if (request_.token.empty()) {
            return Rejection{kUnauthorized, "the token of a collector pod is needed"};
        }
        const Rejection stranger{kForbiddenToClient, "the token is not that of its collector pod"};
        auto user = user_of_token(std::string(kCollectorAudience));
        if (!user) {
            return unavailable(user.error());
        }
        const std::optional<Asker>& asker = *user;
        if (!asker || !asker->name.starts_with("system:serviceaccount:" + space + ":")) {
            return stranger;
        }
        auto found = server_.object(space + "/" + name);
        if (!found || asker->pod.empty() || asker->pod != collector_name(*found)) {
            return stranger;
        }
        object = std::move(*found);
        const auto pod = server_.read_if_present("/api/v1/namespaces/" + object.space + "/pods/" +
                                                 collector_name(object));
        if (!pod) {
            return unavailable(pod.error());
        }
        const AnswerJson& metadata = member_of(*pod, "metadata");
        const bool is_ours = member_text(metadata, "uid") == asker->pod_uid &&
                             member_text(member_of(metadata, "labels"), kCollectorLabel) ==
                                 service_.configuration.document.name &&
                             member_text(member_of(metadata, "labels"), kUidLabel) == object.uid;
        return is_ours ? Rejected() : stranger;
    }

    Rejected results() {
        Object object;
        if (auto rejected = find_for_collector(address_.words[1], address_.words[2], object)) {
            return rejected;
        }
        const bool has_ended = object.status.holds("Complete") || object.status.holds("Failed");
        const std::string& what = address_.words[3];
        const std::string name = address_.value("name");
        const auto& asked = object.spec.results;
        if (!has_ended || !asked || claim_of(object).empty() ||
            (what != "list" && what != "file") || (what == "file" && name.empty())) {
            return Rejection{kNotHere, "there are no results under this path"};
        }
        const auto row = row_of(service_, object);
        if (!row) {
            return Rejection{kNotHere, row.error().message()};
        }
        if (!row->way.slurmrestd.empty()) {
            return Rejection{kNotHere, "slurmrestd has no files"};
        }
        const auto host =
            host_of({row->way, row->account, service_.sockets, service_.environment, nullptr});
        const Streams output = output_paths(object, row->workdir);
        submission::Call call;
        call.argv = {"sh",
                     "-c",
                     std::string(kOfferResults),
                     "cybelectl",
                     row->workdir.native(),
                     asked->from,
                     output.standard_output,
                     output.standard_error,
                     what == "file" ? name : ""};
        call.limit = std::chrono::hours(1); // digests of large files
        const auto answers = host->exchange({call}, {});
        if (!answers) {
            return unavailable(answers.error());
        }
        const cybele::Outcome& outcome = answers->outcomes.front();
        if (!outcome.ok()) {
            return Rejection{outcome.code == 4 ? kNotHere : kUnavailableNow,
                             submission::words_of(outcome)};
        }
        if (what == "list") {
            (void)(print_("200 text/plain\n") && print_(outcome.output));
            return {};
        }
        return pass_on(*host, outcome.output);
    }

    /// The bytes of the file, which is read piece by piece.
    Rejected pass_on(submission::Host& host, std::string path) {
        constexpr std::uint64_t kPieceOfFile = 4U << 20U;
        while (path.ends_with('\n')) {
            path.pop_back();
        }
        if (!path.starts_with('/')) {
            return Rejection{kNotHere, "the path is not absolute"};
        }
        std::uint64_t offset = 0;
        if (!print_("200 application/octet-stream\n")) {
            return {};
        }
        while (true) {
            const auto answers = host.exchange({}, {{path, offset, kPieceOfFile}});
            if (!answers || !answers->files.front().exists) {
                return {}; // the digest shows that it is not complete
            }
            const submission::ReadBack& back = answers->files.front();
            offset += back.bytes.size();
            if (back.bytes.empty() || !print_(back.bytes) || offset >= back.size) {
                return {};
            }
        }
    }

    const ServiceRequest& service_;
    ServerSession& server_;
    const ListenerRequest& request_;
    const std::function<bool(std::string_view)>& print_;
    Address address_;
};

} // namespace

Result<ListenerRequest> read_listener_request(std::string_view line) {
    const AnswerJson json = parse_json(std::string(line));
    ListenerRequest request;
    request.path = member_text(json, "path");
    request.token = member_text(json, "token");
    request.certificate = member_text(json, "certificate");
    request.user = member_text(json, "user");
    request.groups = texts_of(member_of(json, "groups"));
    if (!request.path.starts_with('/')) {
        return fail(ErrorCode::kInput,
                    problem("bridge-request-invalid", "this is not a request of the listener"),
                    "`bridge run` starts this command for each request",
                    "set `listen` in the Bridge, and run `cybelectl bridge run`");
    }
    return request;
}

void answer_request(const ServiceRequest& service,
                    const ListenerRequest& request,
                    const std::function<bool(std::string_view)>& print,
                    const std::function<bool()>& is_interrupted) {
    Rejected rejected;
    if (const auto server = ServerSession::open(service); !server) {
        rejected = Rejection{kUnavailableNow, server.error().message()};
    } else {
        rejected = Answer(service, **server, request, print).run(is_interrupted);
    }
    if (rejected) {
        (void)print(fmt::format("{} text/plain\n{}{}",
                                rejected->status,
                                rejected->words,
                                rejected->words.empty() ? "" : "\n"));
    }
}

} // namespace cybele::bridge
