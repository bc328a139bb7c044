// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/check.hpp"

#include "bridge/batch/batch_cluster.hpp"
#include "bridge/batch/ways.hpp"
#include "bridge/configuration/findings.hpp"
#include "bridge/server/api_server.hpp"
#include "bridge/server/pump.hpp"
#include "bridge/verbs/check_owners.hpp"
#include "bridge/verbs/probe.hpp"
#include "kubernetes/objects/crd.hpp"
#include "support/counted.hpp"
#include "support/http.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <chrono>
#include <set>
#include <vector>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

using Json = nlohmann::json;
using Report = std::function<void(const CheckFinding&)>;

constexpr std::chrono::milliseconds kAnswer{15'000};

/// A right that the bridge needs.
struct Right {
    std::string_view group;
    std::string_view resource; ///< empty: the plural of the kind
    std::string_view part;     ///< subresource
    std::string_view verb;
    bool is_own; ///< in the bridge's own namespace, else in those that it serves
};
constexpr Right kRights[] = {
    {"cybelectl.io", "", "", "get", false},
    {"cybelectl.io", "", "", "list", false},
    {"cybelectl.io", "", "", "watch", false},
    {"cybelectl.io", "", "", "patch", false},
    {"cybelectl.io", "", "", "delete", false},
    {"cybelectl.io", "", "status", "patch", false},
    {"events.k8s.io", "events", "", "create", false},
    {"events.k8s.io", "events", "", "patch", false},
    {"coordination.k8s.io", "leases", "", "create", true},
    {"coordination.k8s.io", "leases", "", "get", true},
    {"coordination.k8s.io", "leases", "", "update", true},
};

/// Also of a bridge that runs ordinary Jobs.
constexpr Right kJobRights[] = {
    {"batch", "jobs", "", "get", false},
    {"batch", "jobs", "", "list", false},
    {"batch", "jobs", "", "watch", false},
    {"batch", "jobs", "", "patch", false},
    {"batch", "jobs", "status", "patch", false},
};

/// Also of a bridge with virtual nodes.
constexpr Right kPodRights[] = {
    {"", "pods", "", "create", false},
    {"", "pods", "", "delete", false},
    {"", "pods", "", "list", false},
    {"", "pods", "", "watch", false},
    {"", "pods", "status", "patch", false},
};

/// Also of a bridge with `namespaces`, to its own one.
constexpr Right kBindingRights[] = {
    {"rbac.authorization.k8s.io", "rolebindings", "", "list", false},
    {"rbac.authorization.k8s.io", "rolebindings", "", "watch", false},
    {"rbac.authorization.k8s.io", "rolebindings", "", "patch", false},
};

/// The first minor version of Kubernetes 1 that leaves Jobs with `managedBy` alone.
constexpr int kFirstManagedBy = 32;

/// WORKDIR COMMAND: who runs this, and what it finds.
constexpr std::string_view kSeeAccount = R"sh(id -un
[ -d "$1" ] && [ -w "$1" ] && [ -x "$1" ] && echo folder
command -v "$2" >/dev/null && echo command
exit 0
)sh";

Fault fault_of(ErrorCode code, Problem problem, std::string because, std::string help) {
    return Fault(code, std::move(problem), std::move(because), std::move(help));
}

/// Whether the schema of the kind, as the server publishes it, has the field.
bool has_field(const Json& schema, std::string_view field) {
    const Json* inner = &schema;
    for (const std::string_view name : text::split(field, '.')) {
        if (inner->contains("items")) {
            inner = &member_of(*inner, "items");
        }
        inner = &member_of(member_of(*inner, "properties"), name);
        if (inner->empty()) {
            return false;
        }
    }
    return true;
}

/// Of the fields of our definition those that the server's has not; none where it publishes none.
std::vector<std::string> missing_fields(const Json& published, const std::string& kind) {
    const Json& schemas = member_of(member_of(published, "components"), "schemas");
    std::vector<std::string> missing;
    for (const auto& [name, schema] : schemas.items()) {
        if (!name.ends_with("." + kind)) {
            continue;
        }
        for (const std::string& field : kubernetes::crd_fields(kind)) {
            if (!has_field(schema, field)) {
                missing.push_back(field);
            }
        }
    }
    return missing;
}

class Checks {
public:
    Checks(const ServiceRequest& request, bool probes, const Report& report)
        : request_(request), probes_(probes), report_(report),
          plural_(text::lowered(kind_text(request.configuration.site.kind)) + "s") {}

    void run() {
        for (Fault& fault : refused_fields(request_.configuration)) {
            bad("the Bridge and its Site", std::move(fault));
        }
        check_server();
        check_cluster();
    }

private:
    void good(std::string what) {
        report_({std::move(what), std::nullopt});
    }
    void bad(std::string what, Fault fault) {
        ++bad_;
        report_({std::move(what), std::move(fault)});
    }

    void check_server() {
        auto access = apiserver::Access::read(request_.environment, request_.access);
        if (!access) {
            bad("access to the API server", access.error().faults().front());
            return;
        }
        own_space_ = request_.name_space.empty() ? access->name_space() : request_.name_space;
        const std::string server = access->server();
        apiserver::Connection connection(
            HttpClient::find(request_.environment, request_.program.native()),
            std::move(*access),
            1);
        Pump pump(connection);
        const auto reply = pump.get("/version", kAnswer);
        if (!reply || !reply->ok()) {
            const std::string why =
                !reply ? "no answer within 15 seconds"
                : reply->failure
                    ? reply->failure->faults().front().because
                    : apiserver::refusal("reading the version", *reply).faults().front().because;
            bad("API server " + server,
                fault_of(ErrorCode::kEnvironment,
                         problem("api-server-silent",
                                 "the API server " + printable(server) + " does not answer"),
                         printable(why),
                         "see whether `kubectl version` works with the same kubeconfig"));
            return;
        }
        const Json version = parse_json(reply->body);
        good(fmt::format("API server {}, version {}",
                         server,
                         version.is_object() ? printable(version.value("gitVersion", "?")) : "?"));
        check_managed_by(version);
        check_definition(pump);
        check_rights(pump);
    }

    [[nodiscard]] bool manages_jobs() const {
        return request_.configuration.document.manages_jobs;
    }

    /// An older server starts pods for such a Job, and the work would be done two times.
    void check_managed_by(const Json& version) {
        const std::string minor = version.is_object() ? version.value("minor", "") : "";
        if (!manages_jobs() || text::number(minor).value_or(kFirstManagedBy) >= kFirstManagedBy) {
            return;
        }
        bad("ordinary Jobs",
            fault_of(ErrorCode::kEnvironment,
                     problem("bridge-managed-by-unsupported",
                             "Kubernetes 1." + printable(minor) + " ignores `managedBy` of Jobs"),
                     "it would start pods for Jobs that the bridge runs; 1.32 is the first that "
                     "does not",
                     "remove `managed-jobs` from " +
                         printable(request_.configuration.file.native())));
    }

    void check_definition(Pump& pump) {
        const std::string kind(kind_text(request_.configuration.site.kind));
        constexpr int kNotFound = 404;
        const auto reply =
            pump.get("/apis/" + std::string(kGroupVersion) + "/" + plural_ + "?limit=1", kAnswer);
        if (reply && reply->status == kNotFound) {
            bad("resource definition of " + kind,
                fault_of(ErrorCode::kInput,
                         problem("bridge-kind-not-installed",
                                 "the API server does not know the kind " + kind),
                         "its resource definition is not installed",
                         "cybelectl kube crd " + kind + " | kubectl apply -f -"));
        } else if (reply && reply->status != 0) { // 403 is for the rights to say
            check_fields(pump, kind);
        }
    }

    /// An older definition drops fields from what is written, without an error.
    void check_fields(Pump& pump, const std::string& kind) {
        const auto reply = pump.get("/openapi/v3/apis/" + std::string(kGroupVersion), kAnswer);
        const std::vector<std::string> missing =
            missing_fields(reply && reply->ok() ? parse_json(reply->body) : Json(), kind);
        if (missing.empty()) {
            good("resource definition of " + kind);
            return;
        }
        bad("resource definition of " + kind,
            fault_of(ErrorCode::kInput,
                     problem("bridge-kind-outdated",
                             "the resource definition of " + kind + " is not that of this version"),
                     "it has no fields " + text::joined(missing, ", "),
                     "cybelectl kube crd " + kind + " | kubectl apply -f -"));
    }

    void check_rights(Pump& pump) {
        std::vector<std::string> spaces = request_.configuration.document.namespaces;
        if (spaces.empty()) {
            spaces.emplace_back(); // all of them
        }
        std::size_t count = 0;
        std::vector<std::string> missing;
        std::vector<Right> rights(std::begin(kRights), std::end(kRights));
        if (manages_jobs()) {
            rights.insert(rights.end(), std::begin(kJobRights), std::end(kJobRights));
        }
        if (request_.configuration.document.virtual_nodes) {
            rights.insert(rights.end(), std::begin(kPodRights), std::end(kPodRights));
        }
        if (!request_.configuration.document.namespaces.empty()) {
            rights.insert(rights.end(), std::begin(kBindingRights), std::end(kBindingRights));
        }
        for (const Right& right : rights) {
            for (const std::string& space :
                 right.is_own ? std::vector<std::string>{own_space_} : spaces) {
                ++count;
                const std::string resource =
                    right.resource.empty() ? plural_ : std::string(right.resource);
                if (!may(pump, right, resource, space)) {
                    missing.push_back(fmt::format("{} {}{}{} in {}",
                                                  right.verb,
                                                  resource,
                                                  right.part.empty() ? "" : "/",
                                                  right.part,
                                                  space.empty() ? "all namespaces" : space));
                }
            }
        }
        if (missing.empty()) {
            good(fmt::format("{} rights on the API server", count));
            return;
        }
        bad("rights on the API server",
            fault_of(ErrorCode::kEnvironment,
                     problem("bridge-rights-missing",
                             fmt::format("{} of {} rights are missing", missing.size(), count)),
                     text::joined(missing, "; "),
                     "apply what `cybelectl bridge install` prints, as an administrator"));
    }

    bool
    may(Pump& pump, const Right& right, const std::string& resource, const std::string& space) {
        Json attributes{{"group", right.group}, {"resource", resource}, {"verb", right.verb}};
        if (!right.part.empty()) {
            attributes["subresource"] = right.part;
        }
        if (!space.empty()) {
            attributes["namespace"] = space;
        }
        if ((right.resource == "leases" && right.verb != "create") ||
            right.resource == "rolebindings") {
            attributes["name"] = "cybelectl-bridge-" + request_.configuration.document.name;
        }
        const Json review{{"apiVersion", "authorization.k8s.io/v1"},
                          {"kind", "SelfSubjectAccessReview"},
                          {"spec", {{"resourceAttributes", std::move(attributes)}}}};
        const auto reply = pump.post(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review.dump(), kAnswer);
        const Json answer = reply ? parse_json(reply->body) : Json();
        return answer.is_object() && answer.value("status", Json::object()).value("allowed", false);
    }

    void check_cluster() {
        const launchers::Bridge& document = request_.configuration.document;
        std::set<std::string> broken;
        for (const launchers::BridgeAccount& row : document.accounts) {
            const int before = bad_;
            check_account(row);
            if (bad_ != before) {
                broken.insert(row.account);
            }
        }
        ClusterSettings settings;
        settings.dialect = request_.configuration.dialect;
        settings.accounts = document.accounts;
        settings.sockets = request_.sockets;
        settings.program = request_.program;
        settings.environment = request_.environment;
        settings.reader = reader_of(document);
        settings.lists_each_account = true; // where users do not see each other's jobs
        BatchCluster cluster(settings);
        const Poll poll = cluster.poll();
        if (poll.is_complete) {
            good("queue: " + counted(poll.jobs.size(), "job") + " of all users");
            for (const std::string& account : poll.silent) {
                if (!broken.contains(account)) { // else it was reported
                    bad("jobs of " + account,
                        fault_of(ErrorCode::kEnvironment,
                                 problem("bridge-account-unlisted",
                                         "the jobs of " + account + " cannot be listed"),
                                 printable(cluster.failure_of(account).message),
                                 "see whether that user can list its jobs by the same way"));
                }
            }
            check_owners(request_, poll, report_);
        } else {
            bad("queue",
                fault_of(ErrorCode::kEnvironment,
                         problem("bridge-queue-unreadable", "the queue cannot be read"),
                         printable(poll.words),
                         "correct `reader` in " + printable(request_.configuration.file.native()) +
                             ", or ask the site whether users see each other's jobs"));
        }
    }

    void check_account(const launchers::BridgeAccount& row) {
        if (!row.way.slurmrestd.empty()) {
            check_service(row);
            return;
        }
        const auto host =
            host_of({row.way, row.account, request_.sockets, request_.environment, nullptr});
        const auto commands = commands_of(request_.configuration.dialect);
        submission::Submission nothing;
        static const launchers::Job none;
        nothing.job = &none;
        const std::string submit = commands->submission(nothing).argv.front();
        const std::string way = way_text(row.way, row.account);
        submission::Call call;
        call.argv = {
            "sh", "-c", std::string(kSeeAccount), "cybelectl", row.workdir.native(), submit};
        call.programs = {submit};
        const std::string what =
            fmt::format("account {} for namespace {}, {}", row.account, row.name_space, way);
        const auto answers = host->exchange({call}, {});
        if (!answers) {
            bad(what, answers.error().faults().front());
            return;
        }
        const auto lines = text::split(answers->outcomes.front().output, '\n');
        const auto has = [&](std::string_view word) {
            return std::find(lines.begin() + 1, lines.end(), word) != lines.end();
        };
        if (lines.front() != row.account) {
            bad(what,
                fault_of(ErrorCode::kEnvironment,
                         problem("bridge-account-wrong",
                                 fmt::format("commands for {} run as {}",
                                             row.account,
                                             printable(lines.front()))),
                         "a job must belong to the account of its row",
                         fmt::format("correct `way` of the row, for example {{ssh: {}@LOGIN}} or "
                                     "{{sudo: true}}",
                                     row.account)));
        } else if (!has("folder")) {
            bad(what,
                fault_of(ErrorCode::kEnvironment,
                         problem("bridge-workdir-unwritable",
                                 fmt::format(
                                     "{} cannot write to {}", row.account, row.workdir.native())),
                         "records of jobs are stored below `workdir`",
                         "create the folder as that user"));
        } else if (!has("command")) {
            bad(what,
                fault_of(ErrorCode::kEnvironment,
                         problem("bridge-command-missing",
                                 fmt::format("{} has no command {}", row.account, submit)),
                         "it is neither in PATH nor in that of a login shell",
                         "set PATH in ~/.profile of that user"));
        } else {
            good(what);
            probe(row);
        }
    }

    /// By a REST service: whose token it is, whether the service answers, and the records' folder.
    void check_service(const launchers::BridgeAccount& row) {
        const std::string what = fmt::format("account {} for namespace {}, {}",
                                             row.account,
                                             row.name_space,
                                             way_text(row.way, row.account));
        const ServiceConnection service =
            service_of(row.way, row.account, request_.environment, request_.program);
        std::optional<Error> wrong = check_token(*service.token, row.account);
        if (!wrong) {
            wrong = service.backend->look_at_all().failure;
        }
        const std::error_code error = make_records(row);
        if (!wrong && error) {
            wrong =
                system_error("cannot create " + printable(row.way.records.native()), error.value());
        }
        if (wrong) {
            bad(what, wrong->faults().front());
        } else {
            good(what);
        }
    }

    void probe(const launchers::BridgeAccount& row) {
        if (!probes_) {
            return;
        }
        const std::string what =
            fmt::format("probe of account {}: a held job was found and cancelled", row.account);
        if (auto fault = probe_account(request_, row)) {
            bad(what, std::move(*fault));
        } else {
            good(what);
        }
    }

    const ServiceRequest& request_;
    bool probes_;
    const Report& report_;
    std::string plural_;
    std::string own_space_;
    int bad_ = 0; ///< findings
};

} // namespace

void check_bridge(const ServiceRequest& request,
                  bool probes,
                  const std::function<void(const CheckFinding&)>& report) {
    Checks(request, probes, report).run();
}

} // namespace cybele::bridge
