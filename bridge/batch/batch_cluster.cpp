// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/batch_cluster.hpp"

#include "bridge/batch/record_scripts.hpp"
#include "bridge/batch/record_sight.hpp"
#include "bridge/decide/account_failure.hpp"
#include "bridge/objects/plain_words.hpp"
#include "submission/backends/command_backend.hpp"
#include "support/boot_time.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace cybele::bridge {
namespace {

namespace fs = std::filesystem;
using submission::Call;

struct CommandsRow {
    std::string_view dialect;
    std::unique_ptr<submission::Commands> (*make)();
};
constexpr CommandsRow kCommands[] = {{"slurm", submission::slurm_commands},
                                     {"torque", submission::torque_commands},
                                     {"slurm-torque", submission::slurm_torque_commands},
                                     {"pbspro", submission::pbspro_commands}};

std::map<std::string, std::vector<Named>> by_account(const std::vector<Named>& jobs) {
    std::map<std::string, std::vector<Named>> accounts;
    for (const Named& job : jobs) {
        accounts[job.account].push_back(job);
    }
    return accounts;
}

} // namespace

SeenJob seen_job(const submission::JobStatus& status) {
    SeenJob job;
    job.id = status.id;
    job.owner = status.owner;
    job.token = status.uuid;
    job.state = status.state;
    job.native = status.native;
    job.reason = status.is_held_by_admin ? "JobHeldAdmin" : status.reason;
    job.code = status.code;
    job.signal = status.signal;
    job.restarts = status.restarts;
    job.started = status.began;
    job.ended = status.ended;
    return job;
}

fs::path record_of(const Object& object, const fs::path& workdir) {
    return workdir / ".cybelectl" / object.uid;
}

std::unique_ptr<submission::Commands> commands_of(const std::string& dialect) {
    const auto* const row = std::ranges::find(kCommands, dialect, &CommandsRow::dialect);
    return row == std::end(kCommands) ? nullptr : row->make();
}

BatchCluster::BatchCluster(ClusterSettings settings)
    : settings_(std::move(settings)), commands_(commands_of(settings_.dialect)) {
    const auto host = [&](const launchers::BridgeConnection& way, const std::string& account) {
        return host_of(
            {way, account, settings_.sockets, settings_.environment, settings_.meanwhile});
    };
    const std::string first = settings_.accounts.empty() ? "" : settings_.accounts.front().account;
    const auto backend = [&](const launchers::BridgeConnection& way, const std::string& account) {
        ServiceConnection service =
            service_of(way, account, settings_.environment, settings_.program);
        return service.backend ? std::move(service.backend)
                               : submission::command_backend(commands_of(settings_.dialect),
                                                             host(way, account));
    };
    reader_ = backend(settings_.reader, first);
    if (settings_.reader.slurmrestd.empty()) {
        reader_host_ = host(settings_.reader, first);
    }
    for (const launchers::BridgeAccount& row : settings_.accounts) {
        Login& login = logins_[row.account];
        login.account = row.account;
        login.folder = row.workdir;
        login.workdir = records_of(row);
        (void)make_records(row); // each object of the account says so where that failed
        login.token =
            service_of(row.way, row.account, settings_.environment, settings_.program).token;
        // Several namespaces may use the account; admission checked those of the object's own row.
        login.results_roots.insert(
            login.results_roots.end(), row.results_roots.begin(), row.results_roots.end());
        login.results_limits[row.name_space] = row.results_limit;
        login.host = host(row.way, row.account);
        login.backend = backend(row.way, row.account);
    }
}

BatchCluster::Login* BatchCluster::login_of(const std::string& account) {
    const auto found = logins_.find(account);
    return found == logins_.end() ? nullptr : &found->second;
}

void BatchCluster::report(const std::string& words) const {
    if (settings_.on_words && !words.empty()) {
        settings_.on_words(words);
    }
}

RecordObservation BatchCluster::failed(const std::string& words) const {
    report(words);
    RecordObservation sight;
    sight.failure = plain_words(words);
    return sight;
}

Call BatchCluster::record_call(std::string_view script,
                               const Login& login,
                               std::vector<std::string> words) const {
    Call call;
    call.argv = {"sh", "-c", std::string(script), "cybelectl"};
    call.argv.insert(call.argv.end(), words.begin(), words.end());
    call.directory = login.workdir;
    return call;
}

Call BatchCluster::search_call(const Object& object, const Login& login, Claims claims) const {
    Call call = record_call(kSearchScript,
                            login,
                            {login.workdir.native(),
                             record_of(object, login.workdir).native(),
                             claims == Claims::kClosed ? "yes" : "no"});
    call.directory.clear(); // where it cannot be entered, the script says so
    return call;
}

bool BatchCluster::is_away(const Login& login) {
    return !login.back_off.is_due(boot_time());
}

/// Half of the usual pause, so that it is over when the next round begins.
void BatchCluster::note_failure(Login& login) const {
    login.back_off.failed(boot_time(), settings_.poll / 2);
}

Result<submission::Answers> BatchCluster::ask(Login& login, const std::vector<Call>& calls) const {
    auto answers = login.host->exchange(calls, {});
    if (!answers) {
        note_failure(login);
        (void)hinder(login, answers.error());
    } else if (!login.token) { // files say nothing of a service
        login.back_off.succeeded();
    }
    return answers;
}

RecordObservation
BatchCluster::hinder(Login& login, const std::string& words, std::string_view reason) const {
    RecordObservation sight = failed(words);
    login.failure = {sight.failure, reason};
    return sight;
}

RecordObservation BatchCluster::hinder(Login& login, const std::string& words) const {
    return hinder(login, words, reason_of_words(words));
}

RecordObservation BatchCluster::hinder(Login& login, const Error& error) const {
    const Fault& fault = error.faults().front();
    return hinder(login, fault.message + ": " + fault.because, reason_of_error(error));
}

void BatchCluster::take_result(Login& login, const Result<void>& done) const {
    login.failure = {};
    if (!done) {
        (void)hinder(login, done.error());
    }
}

RecordObservation BatchCluster::record_in(const cybele::Outcome& outcome,
                                          const Object& object) const {
    return outcome.ok() ? read_record(outcome.output, *commands_, object.uid)
                        : failed(submission::words_of(outcome));
}

/// A service with a token that is not good gives no clear answer.
Result<void> BatchCluster::may_ask(Login& login) const {
    if (login.token) {
        if (auto wrong = check_token(*login.token, login.account)) {
            return tl::unexpected(std::move(*wrong));
        }
    }
    return {};
}

/// The ids of the jobs that may be let go. A command line has room for some thousand of them.
std::vector<std::string> BatchCluster::commit(Login& login, const std::vector<Named>& jobs) {
    constexpr std::size_t kMost = 500;
    std::vector<Call> calls;
    for (std::size_t at = 0; at < jobs.size(); ++at) {
        if (at % kMost == 0) {
            calls.push_back(record_call(kCommit, login, {(login.workdir / ".cybelectl").native()}));
        }
        calls.back().argv.push_back(jobs[at].id);
        calls.back().argv.push_back(jobs[at].uid);
    }
    std::vector<std::string> ids;
    const auto answers = ask(login, calls);
    if (!answers) {
        return ids;
    }
    for (const cybele::Outcome& outcome : answers->outcomes) {
        for (const std::string_view id : text::split_terminated(outcome.output, '\n')) {
            ids.emplace_back(id);
        }
        if (!outcome.ok()) {
            (void)hinder(login, submission::words_of(outcome));
        }
    }
    return ids;
}

void BatchCluster::release(const std::vector<Named>& jobs) {
    for (const auto& [account, held] : by_account(jobs)) {
        Login* login = login_of(account);
        if (login == nullptr || !may_act() || is_away(*login)) {
            continue;
        }
        const Result<void> allowed = may_ask(*login);
        if (!allowed) {
            take_result(*login, allowed);
            continue;
        }
        const std::vector<std::string> ids = commit(*login, held);
        if (!ids.empty() && may_act()) {
            take_result(*login, login->backend->release(ids));
        }
    }
}

void BatchCluster::cancel(const std::vector<Named>& jobs) {
    for (const auto& [account, named] : by_account(jobs)) {
        Login* login = login_of(account);
        if (login == nullptr || !may_act() || is_away(*login)) {
            continue;
        }
        std::vector<submission::JobRef> refs;
        for (const Named& job : named) {
            refs.push_back({job.id, {}, {}});
        }
        const Result<void> allowed = may_ask(*login);
        take_result(*login, allowed ? login->backend->cancel(refs) : allowed);
    }
}

void BatchCluster::note_orphan(const Object& object, const std::string& account) {
    Login* login = login_of(account);
    if (login == nullptr) {
        return;
    }
    const Call call =
        record_call(kNoteOrphanScript, *login, {record_of(object, login->workdir).native()});
    if (const auto answers = login->host->exchange({call}, {}); !answers) {
        report(answers.error().message());
    }
}

} // namespace cybele::bridge
