// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/batch_cluster.hpp"
#include "bridge/batch/collect_script.hpp"
#include "bridge/batch/collected.hpp"
#include "bridge/batch/outputs.hpp"
#include "submission/backends/command_backend.hpp"

#include <algorithm>
#include <utility>

namespace cybele::bridge {
namespace {

constexpr std::size_t kMostCopies = 4; ///< of one way at the same time

} // namespace

std::vector<LiveQueue> BatchCluster::queues() {
    if (!reader_host_) {
        return {};
    }
    const auto answers = reader_host_->exchange({queues_call(settings_.dialect)}, {});
    if (!answers || !answers->outcomes.front().ok()) {
        report("the queues cannot be listed; nodes have the capacity of the Site");
        return {};
    }
    return read_live_queues(settings_.dialect, answers->outcomes.front().output);
}

OutputObservation BatchCluster::read_output(const Object& object, const std::string& account) {
    return std::move(read_outputs({&object}, account).front());
}

std::vector<OutputObservation> BatchCluster::read_outputs(const std::vector<const Object*>& all,
                                                          const std::string& account) {
    constexpr std::size_t kMostTails = 50; ///< of one round trip
    std::vector<OutputObservation> sights;
    Login* login = login_of(account);
    for (std::size_t at = 0; login != nullptr && at < all.size(); at += kMostTails) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at);
        const auto count = static_cast<std::ptrdiff_t>(std::min(kMostTails, all.size() - at));
        read_tails_of(*login, {begin, begin + count}, sights);
    }
    sights.resize(all.size());
    return sights;
}

void BatchCluster::read_tails_of(Login& login,
                                 const std::vector<const Object*>& trip,
                                 std::vector<OutputObservation>& sights) {
    submission::Call call = record_call(kReadTails, login, {login.workdir.native()});
    call.directory.clear();
    std::vector<std::size_t> asked; // which sights
    for (const Object* object : trip) {
        OutputObservation& sight = sights.emplace_back();
        sight.paths = output_paths(*object, login.folder);
        if (sight.paths == Streams() || login.token || is_away(login)) {
            continue;
        }
        asked.push_back(sights.size() - 1);
        call.argv.insert(call.argv.end(),
                         {sight.paths.standard_output, sight.paths.standard_error});
    }
    if (asked.empty()) {
        return;
    }
    const auto answers = ask(login, {call});
    std::vector<Streams> tails =
        answers ? read_tails(answers->outcomes.front().output) : std::vector<Streams>();
    for (std::size_t at = 0; at < std::min(asked.size(), tails.size()); ++at) {
        sights[asked[at]].tail = std::move(tails[at]);
    }
}

std::optional<Collected>
BatchCluster::collect(const Object& object, const std::string& account, std::int64_t begun) {
    Login* login = login_of(account);
    if (!may_act()) {
        return std::nullopt;
    }
    const std::int64_t now = settings_.clock ? settings_.clock() : 0;
    if (login == nullptr) {
        return not_collected("NoAccount",
                             "the Bridge has no row with account " + object.status.account +
                                 " for this namespace; results are where the job wrote them",
                             now);
    }
    const std::string target = host_path_of(object);
    if (login->token) {
        return not_collected("WayWithoutFiles",
                             "slurmrestd has no files; results are where the job wrote them",
                             now);
    }
    if (settings_.collect_for_claim && !claim_of(object).empty()) {
        auto collected = settings_.collect_for_claim(object);
        if (collected) {
            const OutputObservation sight = read_output(object, account);
            collected->output = sight.paths;
            collected->tail = sight.tail;
        }
        return collected;
    }
    if (target.empty()) {
        return not_collected("VolumeNotSupported",
                             settings_.collect_for_claim
                                 ? "results are copied to hostPath volumes and claims only; they "
                                   "are where the job wrote them"
                                 : "results are copied to hostPath volumes only; they are where "
                                   "the job wrote them",
                             now);
    }
    return copy_results(*login, object, begun, now);
}

/// Whether a copy of the object's results may be under way now. Those of objects that were not
/// asked for since the last round are not counted any more.
bool BatchCluster::may_copy(Login& login, const Object& object) const {
    std::erase_if(login.copies, [&](const auto& copy) { return copy.second + 1 < rounds_; });
    return login.copies.contains(object.uid) || login.copies.size() < kMostCopies;
}

/// By the account itself, on the login host.
std::optional<Collected> BatchCluster::copy_results(Login& login,
                                                    const Object& object,
                                                    std::int64_t begun,
                                                    std::int64_t now) {
    if (is_away(login) || !may_copy(login, object)) {
        return std::nullopt;
    }
    const Streams output = output_paths(object, login.workdir);
    std::vector<std::string> words{login.workdir.native(),
                                   record_of(object, login.workdir).native(),
                                   std::to_string(begun),
                                   host_path_of(object),
                                   object.spec.results.value_or(ResultsRequest{}).from,
                                   output.standard_output,
                                   output.standard_error,
                                   std::to_string(login.results_limits[object.space])};
    words.insert(words.end(), login.results_roots.begin(), login.results_roots.end());
    submission::Call call = record_call(kCollectResults, login, std::move(words));
    call.directory.clear(); // where it cannot be entered, the script says so
    login.copies[object.uid] = rounds_;
    const auto answers = ask(login, {call});
    if (!answers) {
        return std::nullopt;
    }
    const cybele::Outcome& outcome = answers->outcomes.front();
    if (!outcome.ok()) {
        login.copies.erase(object.uid);
        report(submission::words_of(outcome));
        return std::nullopt;
    }
    auto collected = read_collected(outcome.output, now);
    if (collected) {
        login.copies.erase(object.uid);
        collected->output = output;
    }
    return collected;
}

} // namespace cybele::bridge
