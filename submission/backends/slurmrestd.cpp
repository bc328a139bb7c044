// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/backend_request.hpp"
#include "submission/backends/service.hpp"
#include "submission/backends/services.hpp"
#include "submission/backends/slurmrest_shapes.hpp"
#include "support/encoding.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <thread>

#include <nlohmann/json.hpp>

namespace cybele::submission {
namespace {

using Json = nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

constexpr int kSlurmrestdOk = 200;
constexpr int kNotChanged = 304;
constexpr int kServerError = 500;
constexpr int kUnspecified = -1;
constexpr int kNoSuchJob = 2017;    ///< ESLURM_INVALID_JOB_ID
constexpr int kInTransition = 2020; ///< ESLURM_TRANSITION_STATE_NO_UPDATE
constexpr int kOver = 2021;         ///< ESLURM_ALREADY_DONE

Json parsed_slurmrestd_answer(const ServiceAnswer& answer) {
    return parse_json<Json>(answer.body);
}

/// A token that expired gives 500 with no better word than this.
bool may_be_the_token(const ServiceAnswer& answer) {
    const auto error = slurmrest::first_error(parsed_slurmrestd_answer(answer));
    return answer.status == kServerError &&
           (!error || error->number == kUnspecified || error->number == 0 ||
            error->text.find("config") != std::string::npos ||
            error->text.find("uthentication") != std::string::npos);
}

tl::unexpected<Error> unexpected_answer(const Service& service, const ServiceAnswer& answer) {
    const auto error = slurmrest::first_error(parsed_slurmrestd_answer(answer));
    return fail(
        ErrorCode::kEnvironment,
        problem("slurmrestd-answer", "slurmrestd does not answer as it should"),
        printable(service.connection().address) + " said HTTP " + std::to_string(answer.status) +
            (error ? ": " + printable(error->text) : std::string()),
        may_be_the_token(answer) ? "see whether the token is still good, and whether slurmctld runs"
                                 : "the job continues; ask again with `cybelectl job status`");
}

/// The job's number, without the index of an element.
std::string number_of_job(const std::string& id) {
    return id.substr(0, id.find('_'));
}

/// Slurm's REST service. It has no files: records and logs are seen where their folder is shared
/// with this machine; else how a job ended is what Slurm says.
class Slurmrestd : public Backend {
public:
    explicit Slurmrestd(Service service) : service_(std::move(service)) {}

    Receipt submit(const Submission& submission) override {
        const auto body = prepare(submission);
        if (!body) {
            const Fault& fault = body.error().faults().front();
            return {body.error().code() == ErrorCode::kInput ? Receipt::Kind::kRefused
                                                             : Receipt::Kind::kUnreachable,
                    {},
                    fault.message + ": " + fault.because};
        }
        const auto answer = service_.ask({"POST", path("job/submit"), *body, false});
        if (!answer) {
            const Fault& fault = answer.error().faults().front();
            return {Receipt::Kind::kUnclear, {}, fault.message + ": " + fault.because};
        }
        return slurmrest::read_receipt(answer->status, answer->body);
    }

    QueryResult look(const std::vector<JobRef>& /*jobs*/,
                     const std::vector<Reading>& files) override {
        QueryResult query_result;
        query_result.files = read(files).value();
        if (const auto asked = list(); !asked) {
            query_result.failure = asked.error();
        } else {
            query_result.seen = seen_;
        }
        return query_result;
    }

    QueryResult look_at_all() override {
        return look({}, {});
    }

    /// One call each: the service releases no lists. What became of each, the queue shows.
    Result<void> release(const std::vector<std::string>& ids) override {
        Result<void> all;
        for (const std::string& id : ids) {
            const auto answer = ask({"POST", "job/" + percent_encoded(id), R"({"hold": false})"});
            if (!answer) {
                all = tl::unexpected(answer.error());
            }
        }
        return all;
    }

    /// One call for any number of jobs: several are picked from the list of all.
    QueryResult inquire(const std::vector<JobRef>& jobs) override {
        QueryResult query_result;
        std::set<std::string> ids; // all elements of an array in one call
        for (const JobRef& job : jobs) {
            ids.insert(number_of_job(job.id));
        }
        if (ids.size() < 2) {
            return ids.empty() ? query_result : inquire_one(*ids.begin());
        }
        if (const auto asked = list(); !asked) {
            query_result.failure = asked.error();
            return query_result;
        }
        std::copy_if(seen_.begin(),
                     seen_.end(),
                     std::back_inserter(query_result.seen),
                     [&](const JobStatus& seen) { return ids.contains(number_of_job(seen.id)); });
        return query_result;
    }

    Result<std::optional<std::string>> find(const JobRef& job) override {
        newest_ = 0; // an old answer does not count
        CYBELE_CHECK(list());
        const auto found = std::ranges::find(seen_, job.uuid, &JobStatus::uuid);
        return found == seen_.end() ? std::nullopt : std::optional(number_of_job(found->id));
    }

    Result<void> cancel(const std::vector<JobRef>& jobs) override {
        Result<void> all;
        for (const JobRef& job : jobs) {
            if (auto taken = cancel_one(job); !taken) {
                all = std::move(taken);
            }
        }
        return all;
    }

private:
    QueryResult inquire_one(const std::string& id) {
        QueryResult query_result;
        const auto answer = ask({"GET", "job/" + percent_encoded(id), {}});
        if (!answer) {
            query_result.failure = answer.error();
        } else {
            query_result.seen = slurmrest::read_jobs(parsed_slurmrestd_answer(*answer));
        }
        return query_result;
    }

    /// Answers what changes nothing, so the token is known to be good before something is asked.
    Result<void> greet() {
        if (version_ != 0) {
            return {};
        }
        CYBELE_TRY(const ServiceAnswer answer, service_.ask({"GET", "/openapi/v3", {}}));
        if (answer.status != kSlurmrestdOk) {
            return unexpected_answer(service_, answer);
        }
        CYBELE_TRY(version_, slurmrest::choose_version(answer.body));
        return {};
    }

    [[nodiscard]] std::string path(const std::string& rest) const {
        return "/slurm/v0.0." + std::to_string(version_) + "/" + rest;
    }

    Result<ServiceAnswer> ask(ServiceRequest request) {
        CYBELE_CHECK(greet());
        request.path = path(request.path);
        return service_.ask(request);
    }

    Result<std::string> prepare(const Submission& submission) {
        CYBELE_TRY(const ServiceAnswer answer, ask({"GET", "ping", {}}));
        if (answer.status != kSlurmrestdOk) {
            return unexpected_answer(service_, answer);
        }
        const auto script = std::ranges::find(submission.files, submission.script, &NewFile::path);
        return slurmrest::submission_body(
            submission, script == submission.files.end() ? "" : script->bytes, version_);
    }

    /// Asks for all jobs; where nothing changed since, the service says just that.
    Result<void> list() {
        // A second in which something changed may have seen more changes behind our answer.
        constexpr std::chrono::seconds kSettled{2};
        const bool is_settled = newest_ != 0 && answered_at_ >= first_seen_at_ + kSettled;
        const std::string query =
            is_settled ? "jobs?update_time=" + std::to_string(newest_) : "jobs";
        CYBELE_TRY(const ServiceAnswer answer, ask({"GET", query, {}}));
        if (answer.status == kNotChanged) {
            return {};
        }
        const Json document = parsed_slurmrestd_answer(answer);
        if (answer.status != kSlurmrestdOk || !document.is_object()) {
            return unexpected_answer(service_, answer);
        }
        seen_ = slurmrest::read_jobs(document);
        answered_at_ = SteadyClock::now();
        if (const std::int64_t newest = slurmrest::newest_moment(document); newest != newest_) {
            newest_ = newest;
            first_seen_at_ = answered_at_;
        }
        return {};
    }

    Result<void> cancel_one(const JobRef& job) {
        constexpr int kTries = 10;
        constexpr std::chrono::milliseconds kPause{500};
        for (int tries = 1;; ++tries) {
            CYBELE_TRY(const ServiceAnswer answer,
                       ask({"DELETE", "job/" + percent_encoded(job.id), {}}));
            const auto error = slurmrest::first_error(parsed_slurmrestd_answer(answer));
            if (answer.status == kSlurmrestdOk ||
                (error && (error->number == kNoSuchJob || error->number == kOver))) {
                return {};
            }
            // Between two of its states a job takes no change.
            if (!error || error->number != kInTransition || tries == kTries) {
                return unexpected_answer(service_, answer);
            }
            std::this_thread::sleep_for(kPause);
        }
    }

    Service service_;
    slurmrest::Version version_ = 0;
    std::vector<JobStatus> seen_; ///< of the last whole answer
    std::int64_t newest_ = 0;     ///< the latest moment in it, by the server's clock
    SteadyClock::time_point first_seen_at_;
    SteadyClock::time_point answered_at_;
};

} // namespace

std::unique_ptr<Backend> slurmrestd_backend(Connection connection, const BackendRequest& request) {
    const std::string user = request.environment.get_or("USER", "");
    Token token(connection.token_command, request.environment, request.clock);
    return std::make_unique<Slurmrestd>(Service(
        std::move(connection),
        std::move(token),
        HttpClient::find(request.environment, request.program),
        [user](const std::string& text) {
            const TokenClaims claims = read_claims(text);
            return std::vector<HttpHeader>{
                {"X-SLURM-USER-NAME", claims.user.empty() ? user : claims.user},
                {"X-SLURM-USER-TOKEN", text}};
        },
        may_be_the_token));
}

} // namespace cybele::submission
