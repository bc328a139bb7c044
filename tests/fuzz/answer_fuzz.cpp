// SPDX-License-Identifier: Apache-2.0
#include "apiserver/list_watch.hpp"
#include "submission/backends/backend.hpp"
#include "submission/backends/framed.hpp"
#include "submission/backends/pbs.hpp"
#include "submission/backends/slurm_accounting.hpp"
#include "submission/backends/slurm_queue.hpp"
#include "submission/backends/slurmrest_shapes.hpp"
#include "submission/backends/token.hpp"
#include "submission/records/record.hpp"
#include "submission/submit/usage.hpp"
#include "support/json.hpp"
#include "tests/fuzz/checks.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

using namespace cybele;
using namespace cybele::fuzz;
using namespace cybele::submission;

namespace {

void check_statuses(const std::vector<JobStatus>& statuses) {
    for (const JobStatus& status : statuses) {
        must(!status.id.empty() && status.signal >= 0 && status.began >= 0 && status.ended >= 0);
    }
}

/// The same bytes as the answer to each command of a batch system. A job that was accepted has an
/// id; a failure is said.
void try_commands(std::string_view bytes) {
    for (const auto& make :
         {slurm_commands, torque_commands, slurm_torque_commands, pbspro_commands}) {
        const auto commands = make();
        for (const int code : {0, 1}) {
            Outcome outcome;
            outcome.code = code;
            outcome.output = bytes;
            outcome.errors = bytes;
            const Receipt receipt = commands->receipt(outcome);
            must(receipt.kind != Receipt::Kind::kAccepted || !receipt.id.empty());
            if (const auto statuses = commands->statuses({outcome})) {
                check_statuses(*statuses);
            } else {
                check_refusal(statuses.error());
            }
            if (const auto statuses = commands->all_statuses({outcome})) {
                check_statuses(*statuses);
            }
            check_statuses(commands->findings({outcome}));
            (void)commands->spent(outcome);
            (void)commands->end_in_words(bytes);
            (void)commands->is_over_already(outcome);
        }
    }
    (void)unknown_ids(bytes);
    check_statuses(read_squeue_of_all(bytes));
    (void)read_sacct(bytes);
}

/// slurmrestd's answers.
void try_service(std::string_view body) {
    (void)slurmrest::choose_version(body);
    for (const int status : {200, 401, 500}) {
        const Receipt receipt = slurmrest::read_receipt(status, body);
        must(receipt.kind != Receipt::Kind::kAccepted || !receipt.id.empty());
    }
    const auto answer = parse_json<nlohmann::json>(body);
    (void)slurmrest::first_error(answer);
    check_statuses(slurmrest::read_jobs(answer));
    (void)slurmrest::newest_moment(answer);
    (void)read_claims(body);
}

/// What a login node wrote: all answers, or nothing.
void try_frames(std::string_view output) {
    if (const auto answers = read_frames(output, 2, 1, "nonce")) {
        must(answers->outcomes.size() == 2 && answers->files.size() == 1);
    }
}

/// The record that a job left: whatever is in it, a code that a shell can have.
void try_record(std::string_view text) {
    if (const auto record = parse_exit_record(text, "exit.json")) {
        must(record->shell_code() >= 0 && record->shell_code() <= 255);
    } else {
        check_refusal(record.error());
    }
    (void)read_asked(text);
}

/// A server that answers whatever is asked with these bytes.
class Server : public apiserver::Transport {
public:
    std::uint64_t send(const apiserver::Call& call, apiserver::Receiver& /*receiver*/) override {
        is_stream = call.is_stream;
        return ++last;
    }
    void end(std::uint64_t id) override {
        if (id == last) {
            ended = id;
        }
    }
    std::uint64_t last = 0;
    std::uint64_t ended = 0;
    bool is_stream = false;
};

/// Counts what a list and its watch show: an end has a begin.
class Counts : public apiserver::Observer {
public:
    void on_list_begin() override {
        is_listing = true;
    }
    void on_object(nlohmann::json& object) override {
        must(object.is_object());
    }
    void on_deleted(nlohmann::json& object) override {
        must(object.is_object());
    }
    void on_list_end() override {
        must(is_listing);
        is_listing = false;
    }
    void on_rewound(const std::string& seen, const std::string& now) override {
        must(seen != now);
    }
    void on_error(const Error& error) override {
        check_refusal(error);
    }
    void on_recovered() override {}
    bool is_listing = false;
};

/// Lines of an API server, each as a page of a list or an event of a watch.
void try_api(std::string_view text) {
    Server server;
    Counts counts;
    apiserver::ListWatchSettings settings;
    settings.path = "/api/v1/pods";
    apiserver::ListWatch list(settings, server, counts, 1);
    apiserver::Moment now{0};
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
        if (list.next_wake() != apiserver::kNever && list.next_wake() > now) {
            now = list.next_wake();
        }
        list.wake(now);
        const std::uint64_t id = server.last;
        if (server.is_stream && server.ended != id) {
            list.on_start(id, now);
            list.on_line(id, line, now);
            if (line.ends_with(' ')) {
                apiserver::Reply reply;
                reply.status = 200;
                list.on_reply(id, reply, now);
            }
        } else if (server.ended != id) {
            apiserver::Reply reply;
            reply.status = line.starts_with("{\"kind\":\"Status\"") ? 410 : 200;
            reply.body = line;
            list.on_reply(id, reply, now);
        }
        now += apiserver::Moment{1};
    }
}

} // namespace

/// Answers of batch systems, of services and of an API server. The first byte chooses the kind.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using Try = void (*)(std::string_view);
    constexpr Try kTries[] = {try_commands, try_service, try_frames, try_record, try_api};
    if (size > 0) {
        kTries[data[0] % std::size(kTries)]({reinterpret_cast<const char*>(data) + 1, size - 1});
    }
    return 0;
}
