// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/batch/back_off.hpp"
#include "bridge/batch/cluster.hpp"
#include "bridge/batch/queue_observation.hpp"
#include "bridge/batch/ways.hpp"
#include "launchers/documents/bridge.hpp"
#include "submission/backends/backend.hpp"
#include "support/environment.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cybele::bridge {

struct ClusterSettings {
    std::string bridge;  ///< its name, for the records
    std::string dialect; ///< slurm, torque, slurm-torque, pbspro
    std::string default_queue;
    launchers::BridgeConnection reader;
    std::vector<launchers::BridgeAccount> accounts;
    std::chrono::milliseconds poll{15'000}; ///< the usual pause after a way has failed
    /// Each account also lists its own jobs, as for a queue that users do not see completely.
    bool lists_each_account = false;
    std::filesystem::path sockets; ///< folder of ssh connections that are kept
    std::filesystem::path program; ///< this one, next to which the HTTP helper is
    Environment environment;
    std::function<bool()> may_act;                    ///< the Lease is still this process's
    std::function<std::string()> lease;               ///< its uid; unset: nothing is handed over
    std::function<std::int64_t()> clock;              ///< Unix seconds
    std::function<void(const std::string&)> on_words; ///< what failed, for the log
    submission::Meanwhile meanwhile = nullptr;
    /// Results for a claim; unset: not finished yet. Null: the Bridge has no collector.
    std::function<std::optional<Collected>(const Object&)> collect_for_claim = nullptr;
};

[[nodiscard]] SeenJob seen_job(const submission::JobStatus& status);

/// The record of the object's job, below the folder of the records of its account.
[[nodiscard]] std::filesystem::path record_of(const Object& object,
                                              const std::filesystem::path& workdir);

/// The commands of a dialect; null: it has none that the bridge can use.
[[nodiscard]] std::unique_ptr<submission::Commands> commands_of(const std::string& dialect);

/// A real batch system: its queue by one way, everything else as the job's own account, with the
/// records in `WORKDIR/.cybelectl/UID`.
class BatchCluster : public Cluster {
public:
    explicit BatchCluster(ClusterSettings settings);

    [[nodiscard]] bool serves(const std::string& account) const override {
        return logins_.contains(account);
    }
    [[nodiscard]] AccountFailure failure_of(const std::string& account) const override {
        const auto found = logins_.find(account);
        return found == logins_.end() ? AccountFailure() : found->second.failure;
    }
    [[nodiscard]] Poll poll() override;
    [[nodiscard]] Poll poll_again() override;
    [[nodiscard]] RecordObservation
    search(const Object& object, const std::string& account, Claims claims) override;
    [[nodiscard]] std::vector<JobObservation> inquire(const std::vector<const Object*>& objects,
                                                      const std::string& account) override;
    [[nodiscard]] std::vector<RecordObservation> search_many(const std::vector<const Object*>& all,
                                                             const std::string& account) override;
    [[nodiscard]] RecordObservation
    submit_held(const Object& object, const std::string& account, int attempt) override;
    [[nodiscard]] std::vector<RecordObservation> submit_many(const std::vector<HandOver>& all,
                                                             const std::string& account) override;
    void release(const std::vector<Named>& jobs) override;
    void cancel(const std::vector<Named>& jobs) override;
    [[nodiscard]] OutputObservation read_output(const Object& object,
                                                const std::string& account) override;
    [[nodiscard]] std::vector<OutputObservation> read_outputs(const std::vector<const Object*>& all,
                                                              const std::string& account) override;
    [[nodiscard]] std::optional<Collected>
    collect(const Object& object, const std::string& account, std::int64_t begun) override;
    void note_orphan(const Object& object, const std::string& account) override;

    /// The queues as the batch system shows them; empty: it does not say.
    [[nodiscard]] std::vector<LiveQueue> queues();

    /// How long the batch system took to answer the last poll.
    [[nodiscard]] std::chrono::milliseconds answer_time() const {
        return answer_time_;
    }
    /// Queries of the queue that were made.
    [[nodiscard]] std::uint64_t polls() const {
        return polls_;
    }

private:
    /// One account of the cluster, and how commands are run as it.
    struct Login {
        std::string account;
        std::filesystem::path workdir;            ///< where the records are
        std::filesystem::path folder;             ///< where jobs start
        std::unique_ptr<submission::Token> token; ///< of a service, which has no files
        std::vector<std::string> results_roots;
        std::map<std::string, std::uint64_t> results_limits; ///< by namespace
        std::unique_ptr<submission::Host> host;
        std::unique_ptr<submission::Backend> backend;
        AccountFailure failure;  ///< of the last commands
        BackOff back_off;        ///< of its shell or service
        bool is_private = false; ///< the reader does not see its jobs
        /// Objects whose results are being copied, and the round in which they were last asked for.
        std::map<std::string, std::uint64_t> copies;
    };

    Login* login_of(const std::string& account);
    [[nodiscard]] submission::Call
    record_call(std::string_view script, const Login& login, std::vector<std::string> words) const;
    [[nodiscard]] submission::Call
    search_call(const Object& object, const Login& login, Claims claims) const;
    [[nodiscard]] submission::Call
    hand_over_call(const Object& object, const Login& login, int attempt) const;
    void ask_accounting(Login& login,
                        const std::vector<const Object*>& objects,
                        std::vector<JobObservation>& found);
    void read_records(Login& login,
                      const std::vector<const Object*>& objects,
                      std::vector<JobObservation>& found);
    /// Calls for one object; the last one is kSearchScript.
    struct Asked {
        const Object* object = nullptr;
        std::vector<submission::Call> calls;
    };
    /// Makes the calls of all in one round trip, and reads the records.
    std::vector<RecordObservation> exchange(Login& login, const std::vector<Asked>& all);
    RecordObservation
    exchange(Login& login, const Object& object, const std::vector<submission::Call>& calls);
    /// The same by a service: the claim first, then the request, then its answer into the record.
    RecordObservation submit_to_service(Login& login, const Object& object, int attempt);
    [[nodiscard]] std::string note_of(const Object& object) const;
    std::vector<RecordObservation> hand_over(Login& login, const std::vector<HandOver>& trip);
    /// Claims through which nothing was submitted.
    void give_back(Login& login, const std::vector<HandOver>& unused);
    [[nodiscard]] std::optional<Collected>
    copy_results(Login& login, const Object& object, std::int64_t begun, std::int64_t now);
    void keep_ends(Poll& poll);
    void add_private_jobs(Poll& poll);
    void report(const std::string& words) const;
    /// Up to 50 objects in one round trip.
    void read_tails_of(Login& login,
                       const std::vector<const Object*>& trip,
                       std::vector<OutputObservation>& sights);
    /// A record that could not be read, and why.
    [[nodiscard]] RecordObservation failed(const std::string& words) const;
    /// The same, and commands as the account fail until they succeed again.
    RecordObservation hinder(Login& login, const std::string& words, std::string_view reason) const;
    RecordObservation hinder(Login& login, const std::string& words) const;
    RecordObservation hinder(Login& login, const Error& error) const;
    [[nodiscard]] std::vector<std::string> commit(Login& login, const std::vector<Named>& jobs);
    [[nodiscard]] Result<void> may_ask(Login& login) const;
    /// Its shell or service failed, and is not tried yet.
    [[nodiscard]] static bool is_away(const Login& login);
    void note_failure(Login& login) const;
    /// As the account, by its shell; a failure is noted.
    Result<submission::Answers> ask(Login& login, const std::vector<submission::Call>& calls) const;
    [[nodiscard]] bool may_copy(Login& login, const Object& object) const;
    void take_result(Login& login, const Result<void>& done) const;
    /// Of the answer of kSearchScript.
    [[nodiscard]] RecordObservation record_in(const cybele::Outcome& outcome,
                                              const Object& object) const;
    [[nodiscard]] bool may_act() const {
        return !settings_.may_act || settings_.may_act();
    }

    ClusterSettings settings_;
    std::unique_ptr<submission::Commands> commands_;
    std::unique_ptr<submission::Backend> reader_;
    std::unique_ptr<submission::Host> reader_host_; ///< null: a service without commands
    std::map<std::string, Login> logins_;           ///< by account
    /// Ends that the queue showed: it forgets them, maybe while the API server is away.
    std::map<std::pair<std::string, std::string>, SeenJob> ends_; ///< by token and id
    std::uint64_t rounds_ = 0;
    std::uint64_t polls_ = 0;
    std::chrono::milliseconds answer_time_{0};
};

} // namespace cybele::bridge
