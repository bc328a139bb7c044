// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/batch_script.hpp"
#include "submission/backends/backend_request.hpp"
#include "submission/backends/command_backend.hpp"
#include "submission/backends/framed.hpp"
#include "submission/backends/service.hpp"
#include "submission/backends/services.hpp"
#include "submission/backends/ssh.hpp"
#include "support/encoding.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace cybele::submission {
namespace {

using Json = nlohmann::json;

constexpr int kRimrockOk = 200;
constexpr int kCreated = 201;

Json parsed_rimrock_answer(const ServiceAnswer& answer) {
    return parse_json<Json>(answer.body);
}

std::string words_in(const ServiceAnswer& answer) {
    const Json document = parsed_rimrock_answer(answer);
    std::string words = "HTTP " + std::to_string(answer.status);
    for (const char* field : {"error_message", "error_output", "standard_output"}) {
        if (const std::string text = member_text(document, field); !text::trimmed(text).empty()) {
            words += ": " + std::string(text::trimmed(text));
        }
    }
    return words;
}

/// The login host behind the service, which runs commands there.
class RimrockHost : public Host {
public:
    explicit RimrockHost(std::shared_ptr<Service> service) : service_(std::move(service)) {}

    Result<Answers> exchange(const std::vector<Call>& calls,
                             const std::vector<Reading>& readings) override {
        const std::string nonce = new_nonce();
        const Json body{{"host", service_->connection().host},
                        {"command", "sh -c " + shell_quote(framed_script(calls, readings, nonce))}};
        CYBELE_TRY(const ServiceAnswer answer,
                   service_->ask({"POST", "/api/process", json_text(body, -1)}));
        const std::string output = member_text(parsed_rimrock_answer(answer), "standard_output");
        auto answers = read_frames(output, calls.size(), readings.size(), nonce);
        if (answer.status != kRimrockOk || !answers) {
            return fail(ErrorCode::kExecution,
                        problem("rimrock-command-failed",
                                "rimrock did not run a command on " +
                                    printable(service_->connection().host)),
                        printable(words_in(answer)),
                        "the job continues; ask again with `cybelectl job status`");
        }
        return std::move(*answers);
    }

private:
    std::shared_ptr<Service> service_;
};

/// Where the first command is, behind which no directive counts.
std::size_t end_of_directives(const std::string& script, bool is_slurm) {
    const auto read = schedulers::read_batch_script(
        script, "job.sh", is_slurm ? schedulers::Reader::kSlurm : schedulers::Reader::kTorque);
    std::size_t at = 0;
    for (std::size_t line = 1; read && line != read->first_command && at < script.size(); ++line) {
        at = std::min(script.find('\n', at), script.size() - 1) + 1;
    }
    return at;
}

class Rimrock : public Backend {
public:
    Rimrock(std::shared_ptr<Service> service, std::unique_ptr<Commands> commands, bool is_slurm)
        : service_(service), is_slurm_(is_slurm),
          scheduler_(command_backend(std::move(commands), std::make_unique<RimrockHost>(service))),
          host_(std::move(service)) {}

    Receipt submit(const Submission& submission) override {
        // Its folder first: there the service puts the script, where no other job's comes.
        Call folder;
        folder.argv = {"true"};
        folder.files = submission.files;
        const auto made = host_.exchange({folder}, {});
        if (!made) {
            const Fault& fault = made.error().faults().front();
            return {Receipt::Kind::kUnreachable, {}, fault.message + ": " + fault.because};
        }
        if (!made->outcomes.front().ok()) {
            return {Receipt::Kind::kRefused, {}, words_of(made->outcomes.front())};
        }
        const auto script = std::ranges::find(submission.files, submission.script, &NewFile::path);
        const Json body{{"host", service_->connection().host},
                        {"working_directory", submission.record.native()},
                        {"script",
                         rimrock_script(submission,
                                        script == submission.files.end() ? "" : script->bytes,
                                        is_slurm_)},
                        {"tag", submission.uuid}};
        const auto answer = service_->ask({"POST", "/api/jobs", json_text(body, -1), false});
        if (!answer) {
            const Fault& fault = answer.error().faults().front();
            return {Receipt::Kind::kUnclear, {}, fault.message + ": " + fault.because};
        }
        return receipt(*answer);
    }

    QueryResult look(const std::vector<JobRef>& jobs, const std::vector<Reading>& files) override {
        return scheduler_->look(jobs, files);
    }
    QueryResult inquire(const std::vector<JobRef>& jobs) override {
        return scheduler_->inquire(jobs);
    }
    Result<std::vector<AccountedUse>> spent(const std::vector<JobRef>& jobs) override {
        return scheduler_->spent(jobs);
    }
    Result<std::vector<ReadBack>> read(const std::vector<Reading>& files) override {
        return scheduler_->read(files);
    }

    Result<std::optional<std::string>> find(const JobRef& job) override {
        CYBELE_TRY(const ServiceAnswer answer,
                   service_->ask({"GET", "/api/jobs?tag=" + percent_encoded(job.uuid), {}}));
        const Json jobs = parsed_rimrock_answer(answer);
        if (answer.status == kRimrockOk && jobs.is_array()) {
            for (const Json& one : jobs) {
                if (member_text(one, "tag") == job.uuid) {
                    return std::optional(native(member_text(one, "job_id")));
                }
            }
        }
        // A submission that the service gave up may have reached the scheduler.
        return scheduler_->find(job);
    }

    Result<void> hold(const std::vector<JobRef>& jobs, bool is_held) override {
        return scheduler_->hold(jobs, is_held);
    }

    Result<void> cancel(const std::vector<JobRef>& jobs) override {
        // Not by the service: of a job that it takes for finished it says that it was aborted.
        return scheduler_->cancel(jobs);
    }

private:
    /// `123.login01` is the service's name for Slurm's 123; TORQUE's own has such a form.
    [[nodiscard]] std::string native(const std::string& id) const {
        return is_slurm_ ? id.substr(0, id.find('.')) : id;
    }

    [[nodiscard]] Receipt receipt(const ServiceAnswer& answer) const {
        const std::string id = member_text(parsed_rimrock_answer(answer), "job_id");
        if (answer.status == kCreated && !id.empty()) {
            return {Receipt::Kind::kAccepted, native(id), {}};
        }
        const std::string words = words_in(answer);
        // Only the scheduler's own refusal is one: behind `scontrol error!` there is a job.
        const bool is_refused =
            text::contains_any(words, {"sbatch error!", "qsub error!"}) &&
            !text::contains_any(
                words, {"Unable to find JOB ID", "timed out", "Zero Bytes", "Unexpected message"});
        return {is_refused ? Receipt::Kind::kRefused : Receipt::Kind::kUnclear, {}, words};
    }

    std::shared_ptr<Service> service_;
    bool is_slurm_;
    std::unique_ptr<Backend> scheduler_;
    RimrockHost host_;
};

} // namespace

std::string rimrock_script(const Submission& submission, std::string script, bool is_slurm) {
    if (!script.ends_with('\n')) {
        script += '\n';
    }
    const std::size_t shebang = script.starts_with("#!") ? script.find('\n') + 1 : 0;
    const std::size_t end = end_of_directives(script, is_slurm);
    return script.substr(0, shebang) + "#SBATCH --comment=cybelectl:" + submission.uuid + "\n" +
           "#SBATCH --no-requeue\n" + script.substr(shebang, end - shebang) +
           "export CYBELE_JOB=" + submission.uuid +
           " CYBELE_JOB_DIR=" + shell_quote(submission.record.native()) + "\n" + script.substr(end);
}

std::unique_ptr<Backend> rimrock_backend(Connection connection,
                                         std::unique_ptr<Commands> commands,
                                         const BackendRequest& request) {
    Token token(connection.token_command, request.environment, request.clock);
    auto service = std::make_shared<Service>(
        std::move(connection),
        std::move(token),
        HttpClient::find(request.environment, request.program),
        [](const std::string& text) {
            return std::vector<HttpHeader>{
                {"PROXY", text.starts_with("-----BEGIN ") ? base64(text) : text}};
        },
        [](const ServiceAnswer& /*answer*/) { return false; });
    return std::make_unique<Rimrock>(
        std::move(service), std::move(commands), request.scheduler == "slurm");
}

} // namespace cybele::submission
