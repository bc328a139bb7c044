// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/batch_cluster.hpp"
#include "bridge/batch/record_scripts.hpp"
#include "bridge/decide/account_failure.hpp"
#include "bridge/objects/job_name.hpp"
#include "bridge/objects/plain_words.hpp"
#include "launchers/documents/job.hpp"
#include "schedulers/reading/asked.hpp"
#include "schedulers/reading/batch_script.hpp"
#include "submission/backends/command_backend.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <utility>

namespace cybele::bridge {
namespace {

namespace fs = std::filesystem;
using submission::Call;

constexpr int kClaimTaken = 17;
constexpr std::size_t kMostInTrip = 50;                   ///< objects
constexpr std::size_t kMostBytes = std::size_t{1} << 20U; ///< of scripts in one round trip

/// The object's queue and name, where the script itself says nothing of them.
std::vector<std::string>
further_options(const Object& object, const std::string& default_queue, bool is_slurm) {
    std::string queue = object.spec.queue;
    std::string name = object.name;
    const auto script = schedulers::read_batch_script(object.spec.batch, "batch");
    if (script) {
        const schedulers::Asked asked = schedulers::what_is_asked(*script);
        queue = queue.empty() && asked.queue.empty() ? default_queue : queue;
        name = asked.name.empty() ? name : "";
    }
    std::vector<std::string> options;
    if (!queue.empty()) {
        options.insert(options.end(), {is_slurm ? "-p" : "-q", queue});
    }
    if (!name.empty()) {
        options.insert(options.end(), {is_slurm ? "-J" : "-N", job_name(name, is_slurm)});
    }
    return options;
}

/// Held, by a service: it has no file of its own.
submission::Submission service_submission(const Object& object,
                                          const fs::path& record,
                                          const fs::path& folder,
                                          const std::string& default_queue) {
    static const launchers::Job none;
    submission::Submission submission;
    submission.job = &none;
    submission.uuid = object.uid;
    submission.name = object.name;
    submission.workdir = folder;
    submission.record = record;
    submission.script = record / "job.sh";
    submission.script_text = object.spec.batch;
    submission.files = {{submission.script, object.spec.batch}};
    submission.is_held = true;
    const auto script = schedulers::read_batch_script(object.spec.batch, "batch");
    const std::string asked = script ? schedulers::what_is_asked(*script).queue : "";
    submission.queue = !object.spec.queue.empty() ? object.spec.queue
                       : asked.empty()            ? default_queue
                                                  : "";
    return submission;
}

/// Where the round trip ends that begins at `at`.
std::size_t end_of_trip(const std::vector<HandOver>& all, std::size_t at) {
    const std::size_t most = std::min(all.size(), at + kMostInTrip);
    std::size_t bytes = all[at].object->spec.batch.size();
    std::size_t end = at + 1;
    while (end < most && bytes + all[end].object->spec.batch.size() <= kMostBytes) {
        bytes += all[end].object->spec.batch.size();
        ++end;
    }
    return end;
}

} // namespace

Call BatchCluster::hand_over_call(const Object& object, const Login& login, int attempt) const {
    const fs::path record = record_of(object, login.workdir);
    static const launchers::Job none;
    submission::Submission submission;
    submission.job = &none;
    submission.uuid = object.uid;
    submission.record = record;
    submission.script = record / ("claim-" + std::to_string(attempt)) / "job.sh";
    submission.script_text = object.spec.batch;
    submission.is_held = true;
    Call submit = commands_->submission(submission);
    const std::vector<std::string> options =
        further_options(object, settings_.default_queue, settings_.dialect == "slurm");
    submit.argv.insert(submit.argv.end() - 1, options.begin(), options.end());

    const fs::path incoming = record / ("incoming-" + random_uuid());
    Call call = record_call(kHandOver,
                            login,
                            {login.account,
                             record.native(),
                             std::to_string(attempt),
                             std::to_string(object.spec.batch.size()),
                             incoming.native(),
                             note_of(object)});
    call.argv.insert(call.argv.end(), submit.argv.begin(), submit.argv.end());
    call.programs = {submit.argv.front()};
    call.set = submit.set;
    call.unset = submit.unset;
    call.set["CYBELE_JOB"] = object.uid;
    call.set["CYBELE_JOB_DIR"] = record.native();
    call.limit = submit.limit;
    std::string text = object.spec.batch;
    if (!text.ends_with('\n')) {
        text += '\n'; // the transfer is by lines; kHandOver cuts it again
    }
    call.files = {{incoming, std::move(text)}};
    return call;
}

RecordObservation
BatchCluster::exchange(Login& login, const Object& object, const std::vector<Call>& calls) {
    return std::move(exchange(login, {{&object, calls}}).front());
}

std::vector<RecordObservation> BatchCluster::exchange(Login& login, const std::vector<Asked>& all) {
    std::vector<RecordObservation> sights;
    std::vector<Call> calls;
    const bool is_shell = login.token == nullptr;
    if (is_shell) {
        calls.push_back(record_call(kCheckUser, login, {login.account}));
        calls.front().directory.clear();
    }
    for (const Asked& one : all) {
        calls.insert(calls.end(), one.calls.begin(), one.calls.end());
    }
    // Many objects do not each wait for a login host that is down.
    if (is_shell && is_away(login)) {
        sights.resize(all.size(), failed(login.failure.message));
        return sights;
    }
    const auto answers = ask(login, calls);
    if (!answers) {
        sights.resize(all.size(), failed(login.failure.message));
        return sights;
    }
    auto outcome = answers->outcomes.begin();
    if (is_shell && !outcome->ok()) {
        sights.resize(all.size(), hinder(login, submission::words_of(*outcome)));
        return sights;
    }
    outcome += is_shell ? 1 : 0;
    for (const Asked& one : all) {
        const auto last = outcome + static_cast<std::ptrdiff_t>(one.calls.size()) - 1;
        const auto broken = std::find_if(outcome, last, [](const cybele::Outcome& call) {
            return !call.ok() && call.code != kClaimTaken;
        });
        if (broken != last) {
            sights.push_back(hinder(login, submission::words_of(*broken)));
        } else {
            sights.push_back(record_in(*last, *one.object));
            const std::string& failure = sights.back().failure;
            if (!failure.empty() || is_shell) {
                login.failure = {failure, reason_of_words(failure)};
            }
        }
        outcome = last + 1;
    }
    return sights;
}

RecordObservation
BatchCluster::search(const Object& object, const std::string& account, Claims claims) {
    Login* login = login_of(account);
    if (login == nullptr) {
        return {};
    }
    return exchange(*login, object, {search_call(object, *login, claims)});
}

std::vector<RecordObservation> BatchCluster::search_many(const std::vector<const Object*>& all,
                                                         const std::string& account) {
    Login* login = login_of(account);
    std::vector<RecordObservation> sights;
    for (std::size_t at = 0; login != nullptr && at < all.size(); at += kMostInTrip) {
        std::vector<Asked> asked;
        for (std::size_t one = at; one < std::min(all.size(), at + kMostInTrip); ++one) {
            asked.push_back({all[one], {search_call(*all[one], *login, Claims::kOpen)}});
        }
        for (RecordObservation& sight : exchange(*login, asked)) {
            sights.push_back(std::move(sight));
        }
    }
    sights.resize(all.size());
    return sights;
}

RecordObservation
BatchCluster::submit_held(const Object& object, const std::string& account, int attempt) {
    return std::move(submit_many({{&object, attempt}}, account).front());
}

std::vector<RecordObservation> BatchCluster::submit_many(const std::vector<HandOver>& all,
                                                         const std::string& account) {
    Login* login = login_of(account);
    std::vector<RecordObservation> sights;
    while (login != nullptr && sights.size() < all.size() && may_act()) {
        const std::size_t at = sights.size();
        if (login->token) {
            sights.push_back(submit_to_service(*login, *all[at].object, all[at].attempt));
            continue;
        }
        const std::vector<HandOver> trip(all.begin() + static_cast<std::ptrdiff_t>(at),
                                         all.begin() +
                                             static_cast<std::ptrdiff_t>(end_of_trip(all, at)));
        for (RecordObservation& sight : hand_over(*login, trip)) {
            sights.push_back(std::move(sight));
        }
    }
    sights.resize(all.size());
    return sights;
}

/// All of them in one round trip.
std::vector<RecordObservation> BatchCluster::hand_over(Login& login,
                                                       const std::vector<HandOver>& trip) {
    std::vector<Asked> asked;
    asked.reserve(trip.size());
    for (const HandOver& one : trip) {
        asked.push_back({one.object,
                         {hand_over_call(*one.object, login, one.attempt),
                          search_call(*one.object, login, Claims::kOpen)}});
    }
    std::vector<RecordObservation> sights = exchange(login, asked);
    std::vector<HandOver> unused;
    for (std::size_t at = 0; at < trip.size(); ++at) {
        if (!sights[at].unreachable.empty() && sights[at].claims == trip[at].attempt) {
            unused.push_back(trip[at]);
            sights[at] = hinder(login, sights[at].unreachable);
        }
    }
    if (!unused.empty()) {
        give_back(login, unused);
    }
    return sights;
}

/// Whose job a record is of, for `orphans`, `check` and after a restored backup: read_owner() reads
/// it.
std::string BatchCluster::note_of(const Object& object) const {
    std::string note =
        settings_.bridge + " " + object.space + "/" + object.name + " " + object.resource_version;
    const std::string lease = settings_.lease ? settings_.lease() : "";
    return lease.empty() ? note : note + " " + lease;
}

RecordObservation BatchCluster::submit_to_service(Login& login, const Object& object, int attempt) {
    if (const auto wrong = check_token(*login.token, login.account)) {
        return hinder(login, *wrong);
    }
    if (is_away(login)) {
        return failed(login.failure.message);
    }
    const fs::path record = record_of(object, login.workdir);
    RecordObservation sight = exchange(
        login,
        object,
        {record_call(
             kClaimScript, login, {record.native(), std::to_string(attempt), note_of(object)}),
         search_call(object, login, Claims::kOpen)});
    if (!sight.was_read || sight.claims != attempt || !sight.answer.empty() || !may_act()) {
        return sight;
    }
    const submission::Receipt receipt = login.backend->submit(
        service_submission(object, record, login.folder, settings_.default_queue));
    switch (receipt.kind) {
    case submission::Receipt::Kind::kAccepted:
        login.failure = {};
        login.back_off.succeeded();
        sight = exchange(login,
                         object,
                         {record_call(kNoteAnswerScript, login, {record.native(), receipt.id}),
                          search_call(object, login, Claims::kOpen)});
        sight.answer = receipt.id;
        break;
    case submission::Receipt::Kind::kRefused: // final once every bridge reads it
        return exchange(
            login,
            object,
            {record_call(kNoteRefusal,
                         login,
                         {record.native(), std::to_string(attempt), plain_words(receipt.words)}),
             search_call(object, login, Claims::kOpen)});
    case submission::Receipt::Kind::kUnreachable:
        give_back(login, {{&object, attempt}});
        note_failure(login);
        return hinder(login, receipt.words);
    default:
        report(receipt.words); // the queue shows it, or the claim becomes old
        break;
    }
    return sight;
}

void BatchCluster::give_back(Login& login, const std::vector<HandOver>& unused) {
    std::vector<Call> calls;
    calls.reserve(unused.size());
    for (const HandOver& one : unused) {
        calls.push_back(record_call(
            kGiveBack,
            login,
            {record_of(*one.object, login.workdir).native(), std::to_string(one.attempt)}));
    }
    if (const auto answers = login.host->exchange(calls, {}); !answers) {
        report(answers.error().message()); // then the next attempt waits until the claim is old
    }
}

} // namespace cybele::bridge
