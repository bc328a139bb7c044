// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/batch_cluster.hpp"
#include "bridge/batch/record_sight.hpp"
#include "submission/backends/command_backend.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cybele::bridge {
namespace {

constexpr std::size_t kMostAccounted = 5000; ///< of one call: an argument is bounded
constexpr std::size_t kMostRecords = 50;     ///< of one round trip

/// What follows the number of a job's id: the name of its server. A server that does not answer
/// fails a query for the jobs of all servers.
std::string server_of_id(const std::string& id) {
    const std::size_t dot = id.find('.');
    return dot == std::string::npos ? std::string() : id.substr(dot);
}

/// Accounted jobs by id; several entries of one id are different runs of it, or other jobs.
using Accounted = std::multimap<std::string, const submission::JobStatus*>;

bool is_accounted_for(const submission::JobStatus& status,
                      const Object& object,
                      const std::string& account) {
    const bool is_other = (!status.owner.empty() && status.owner != account) ||
                          (!status.uuid.empty() && status.uuid != object.uid);
    // An id that came again after a reset: without its comment the start tells two jobs apart.
    const std::int64_t started = object.status.started;
    const bool is_another_run =
        status.uuid.empty() && started != 0 && status.began != 0 && status.began != started;
    return !status.is_unknown && !is_other && !is_another_run;
}

/// Asked for by its account, a job of it lives; the reader's query of the queue did not show it.
bool is_hidden(const submission::JobStatus& status) {
    return !submission::is_over(status.state) && !status.owner.empty() && !status.uuid.empty();
}

/// Whether the account sees jobs that the reader does not.
bool take_accounted(const submission::QueryResult& answer,
                    const std::vector<std::pair<const Object*, JobObservation*>>& asked,
                    const std::string& account) {
    bool shows_more = false;
    Accounted by_id;
    for (const submission::JobStatus& status : answer.seen) {
        by_id.emplace(status.id, &status);
    }
    for (const auto& [object, inquired] : asked) {
        inquired->accounted.was_asked = true;
        const auto [first, last] = by_id.equal_range(object->status.job_id);
        for (auto at = first; at != last; ++at) {
            if (is_accounted_for(*at->second, *object, account)) {
                inquired->accounted.job = seen_job(*at->second);
                shows_more = shows_more || is_hidden(*at->second);
                break;
            }
        }
    }
    return shows_more;
}

} // namespace

std::vector<JobObservation> BatchCluster::inquire(const std::vector<const Object*>& objects,
                                                  const std::string& account) {
    std::vector<JobObservation> found(objects.size());
    Login* login = login_of(account);
    if (login != nullptr && login->token == nullptr && is_away(*login)) {
        const RecordObservation unread = failed(login->failure.message);
        for (JobObservation& inquired : found) {
            inquired.record = unread;
        }
    } else if (login != nullptr) {
        ask_accounting(*login, objects, found);
        read_records(*login, objects, found);
    }
    return found;
}

void BatchCluster::ask_accounting(Login& login,
                                  const std::vector<const Object*>& objects,
                                  std::vector<JobObservation>& found) {
    std::map<std::string, std::vector<std::pair<const Object*, JobObservation*>>> by_server;
    for (std::size_t at = 0; at < objects.size(); ++at) {
        const std::string& id = objects[at]->status.job_id;
        if (id.empty() || id == "0") {
            found[at].accounted.was_asked = true; // there is nothing to ask for
        } else {
            by_server[server_of_id(id)].emplace_back(objects[at], &found[at]);
        }
    }
    for (const auto& [server, all] : by_server) {
        for (std::size_t at = 0; at < all.size(); at += kMostAccounted) {
            const std::vector<std::pair<const Object*, JobObservation*>> asked(
                all.begin() + static_cast<std::ptrdiff_t>(at),
                all.begin() +
                    static_cast<std::ptrdiff_t>(std::min(all.size(), at + kMostAccounted)));
            std::vector<submission::JobRef> jobs;
            jobs.reserve(asked.size());
            for (const auto& [object, inquired] : asked) {
                submission::JobRef& job = jobs.emplace_back();
                job.id = object->status.job_id;
                job.uuid = object->uid;
                job.record = record_of(*object, login.workdir).native();
                job.folder = login.workdir.native();
                job.name = object->name;
            }
            const submission::QueryResult answer = login.backend->inquire(jobs);
            if (answer.failure) {
                report(answer.failure->faults().front().message);
            } else if (take_accounted(answer, asked, login.account)) {
                login.is_private = true;
            }
        }
    }
}

void BatchCluster::read_records(Login& login,
                                const std::vector<const Object*>& objects,
                                std::vector<JobObservation>& found) {
    for (std::size_t at = 0; at < objects.size(); at += kMostRecords) {
        const std::size_t end = std::min(objects.size(), at + kMostRecords);
        std::vector<submission::Call> calls;
        for (std::size_t one = at; one < end; ++one) {
            calls.push_back(search_call(*objects[one], login, Claims::kOpen));
        }
        const auto answers = ask(login, calls);
        for (std::size_t one = at; one < end; ++one) {
            found[one].record = answers ? record_in(answers->outcomes[one - at], *objects[one])
                                        : failed(login.failure.message);
        }
        if (!answers) {
            break; // the account's other records cannot be read either
        }
    }
}

} // namespace cybele::bridge
