// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/rounds/rounds.hpp"
#include "model_server.hpp"

#include <memory>

namespace model {

/// One process of the bridge: what it holds is lost with it.
class Controller {
public:
    Controller(World& world, Server& server, Cluster& cluster, std::string site)
        : world_(world), server_(server), cluster_(cluster), site_(std::move(site)) {
        start();
    }

    /// Reads, looks and acts; a kill begins it again without a memory.
    void act() {
        if (is_acting_) {
            return; // it sleeps in the middle of something
        }
        is_acting_ = true;
        try {
            read();
            bridge::World world;
            world.now = world_.now;
            world.is_rewound = is_rewound_;
            world.reads_tails = true;
            world.site = site_;
            (void)pace_.begin();
            const bridge::RoundReport report = rounds_->round(server_, cluster_, world, &pace_);
            steps += report.objects;
            is_rewound_ = is_rewound_ && !report.is_complete;
            must_read_ = report.must_read;
        } catch (const Crash&) {
            start();
        }
        is_acting_ = false;
    }

    std::uint64_t steps = 0; ///< turns of objects

private:
    void start() {
        rounds_ = std::make_unique<bridge::Rounds>([](const bridge::Object&) {
            return bridge::Admitted{"alice", std::nullopt};
        });
        seen_ = 0;
        deletions_ = server_.deleted.size();
        must_read_.clear();
        is_rewound_ = false;
        is_fresh_ = true;
    }

    void read() {
        if (server_.revision < seen_) {
            world_.count("rewinds noticed");
            start();
            is_rewound_ = true;
        }
        // What a watch has not transferred yet is decided upon as it was.
        const bool is_late = !is_fresh_ && world_.chance(30);
        is_fresh_ = false;
        for (const auto& [uid, object] : server_.objects) {
            if (!is_late || must_read_.contains(uid)) {
                rounds_->put(object);
            }
        }
        if (is_late) {
            return;
        }
        seen_ = server_.revision;
        for (; deletions_ < server_.deleted.size(); ++deletions_) {
            rounds_->gone(server_.deleted[deletions_]);
        }
    }

    static std::vector<launchers::BridgeAccount> by_ssh() {
        launchers::BridgeAccount row;
        row.account = "alice";
        row.way.ssh = "head";
        return {row};
    }

    World& world_;
    Server& server_;
    Cluster& cluster_;
    std::string site_;
    /// A poll may be due at any moment of a round.
    bridge::HandOverPace pace_{
        by_ssh(),
        [this] { return std::chrono::milliseconds{1'000 * world_.now}; },
        [this] { return std::chrono::milliseconds{world_.chance(10) ? 0 : 3'600'000}; }};
    std::unique_ptr<bridge::Rounds> rounds_;
    std::set<std::string> must_read_;
    std::uint64_t seen_ = 0;
    std::size_t deletions_ = 0;
    bool is_rewound_ = false;
    bool is_fresh_ = true;
    bool is_acting_ = false;
};

/// A story of some objects under every fault, then a time of peace after which all must be well.
class Story {
public:
    explicit Story(std::uint64_t seed)
        : world(seed), cluster(world), other(world), server(world), has_two_sites_(seed % 4 == 0),
          first_(world, server, cluster, "here"),
          second_(
              world, server, has_two_sites_ ? other : cluster, has_two_sites_ ? "there" : "here") {
        cluster.has_accounting = world.below(3) != 0;
        other.has_accounting = cluster.has_accounting;
        world.meanwhile = [this] { second_.act(); };
        server.runs = [this](const std::string& uid) {
            const Cluster& its = cluster_of(uid);
            return std::any_of(its.jobs.begin(), its.jobs.end(), [&](const Job& job) {
                return job.token == uid && !job.is_over() && job.state != submission::State::kHeld;
            });
        };
        server.released = [this](const std::string& uid) { return cluster_of(uid).released(uid); };
    }

    /// Returns the turns of objects that were taken.
    std::uint64_t tell() {
        for (int step = 0; step < 150; ++step) {
            happen();
        }
        make_peace();
        check();
        return first_.steps + second_.steps;
    }

    World world;
    Cluster cluster;
    Cluster other; ///< of another Site, in some stories; its ids are the same
    Server server;

private:
    /// Where the job of the object is.
    Cluster& cluster_of(const std::string& uid) {
        const auto found = server.objects.find(uid);
        return found != server.objects.end() && found->second.status.site == "there" ? other
                                                                                     : cluster;
    }
    void pass_time() {
        cluster.pass_time();
        other.pass_time();
    }

    void happen() {
        switch (world.below(14)) {
        case 0:
            create();
            break;
        case 1:
            (world.below(4) == 0 ? other : cluster).disturb();
            break;
        case 2:
            if (world.below(3) == 0) {
                remove();
            }
            break;
        case 3:
            if (world.below(8) == 0) {
                strip();
            }
            break;
        case 4:
            // The cluster that has the job remembers it after a rewind; the other one does not.
            if (world.below(4) == 0 && !has_two_sites_) {
                rewind();
            }
            break;
        case 5:
        case 6:
            second_.act();
            break;
        case 7:
        case 8:
        case 9:
            world.now += 1 + static_cast<std::int64_t>(world.below(40));
            pass_time();
            break;
        default:
            first_.act();
        }
    }

    void create() {
        if (created_.size() >= 4) {
            return;
        }
        bridge::Object object;
        std::string number = std::to_string(created_.size());
        object.uid = "00000000-0000-4000-8000-00000000000" + number;
        object.space = "physics";
        object.name = "job" + number;
        object.created = world.now;
        object.generation = 1;
        object.spec.batch = "#!/bin/sh\n";
        if (world.below(4) == 0) {
            object.spec.on_delete = bridge::OnDelete::kOrphan;
        }
        if (world.below(3) == 0) {
            object.spec.results = bridge::ResultsRequest{"out", "{}"};
        }
        server.stamp(object);
        created_.push_back(object);
        server.objects[object.uid] = object;
    }

    void remove() {
        if (const std::string uid = any(); !uid.empty()) {
            world.count("deletions");
            server.remove_by_user(uid);
        }
    }

    void strip() {
        if (const std::string uid = any(); !uid.empty()) {
            world.count("finalizers stripped");
            stripped_.insert(uid);
            server.strip(uid);
        }
    }

    /// etcd is restored from a backup that was taken earlier, or a backup is taken.
    void rewind() {
        if (!backup_) {
            backup_ = {server.objects, server.revision};
            return;
        }
        world.count("rewinds");
        for (const auto& [uid, object] : server.objects) {
            if (!backup_->objects.contains(uid)) {
                vanished_.insert(uid); // created later, and not deleted
            }
        }
        for (const auto& [uid, object] : backup_->objects) {
            vanished_.erase(uid);
            rewound_.insert(uid);
        }
        server.objects = backup_->objects;
        // Others write as well: where the revision passes the one that a bridge has seen before it
        // looks, it does not notice.
        if (world.below(4) == 0) {
            world.count("unnoticed rewinds");
        } else {
            server.revision = backup_->revision;
        }
        backup_.reset();
    }

    std::string any() {
        return created_.empty() ? "" : created_[world.below(created_.size())].uid;
    }

    void make_peace() {
        world.has_faults = false;
        for (int round = 0; round < 150 && !(round > 2 && is_quiet()); ++round) {
            world.now += 15;
            pass_time();
            first_.act();
            second_.act();
        }
    }

    /// Whether no job lives and every object has come to its end; a late job may still come.
    [[nodiscard]] bool is_quiet() const {
        const auto lives = [](const Job& job) { return !job.is_over(); };
        return std::none_of(cluster.jobs.begin(), cluster.jobs.end(), lives) &&
               std::none_of(other.jobs.begin(), other.jobs.end(), lives) &&
               std::all_of(server.objects.begin(), server.objects.end(), [](const auto& one) {
                   const bridge::Status& status = one.second.status;
                   return one.second.deleted == 0 && !one.second.has_finalizer() &&
                          (status.holds("Complete") || status.holds("Failed"));
               });
    }

    void check() {
        for (const bridge::Object& one : created_) {
            const auto found = server.objects.find(one.uid);
            world.promise(cluster.committed[one.uid].size() + other.committed[one.uid].size() <= 1,
                          "jobs run on two clusters for " + one.uid);
            if (found != server.objects.end()) {
                check_kept(found->second);
            } else if (!vanished_.contains(one.uid)) {
                check_gone(one);
            }
        }
    }

    void check_kept(const bridge::Object& object) {
        const std::string& uid = object.uid;
        const bridge::Status& status = object.status;
        const bool is_good = status.holds("Complete");
        world.promise(object.deleted == 0, uid + " is deleted and stays");
        world.promise(is_good || status.holds("Failed"), uid + " has no end: " + status.state);
        world.promise(!object.has_finalizer(), uid + " ended and keeps its finalizer");
        for (const auto* jobs : {&cluster.jobs, &other.jobs}) {
            for (const Job& job : *jobs) {
                world.promise(job.token != uid || job.is_over(),
                              "job " + job.id + " outlives " + uid);
            }
        }
        Cluster& its = cluster_of(uid);
        const Job* job = its.find_id(status.job_id);
        const auto& committed = its.committed[uid];
        world.promise(committed.empty() || committed.contains(status.job_id),
                      "the job that ran is not that of " + uid);
        if (job == nullptr) {
            world.promise(!is_good, uid + " is complete without a job");
            return;
        }
        const bridge::Condition* failed = status.find("Failed");
        const std::string reason = is_good || failed == nullptr ? "" : failed->reason;
        if (reason == "LeftNoTrace") {
            world.promise(!its.has_accounting, uid + " left a trace in the accounting");
            return;
        }
        world.promise(is_good == (job->state == submission::State::kDone),
                      uid + " has another end");
        world.promise(status.exit_code == job->code, uid + " has another code");
        world.promise(status.restarts == job->restarts, uid + " has another count of requeues");
    }

    void check_gone(const bridge::Object& object) {
        check_gone_from(cluster, object);
        check_gone_from(other, object);
    }

    void check_gone_from(const Cluster& its, const bridge::Object& object) {
        const bool is_orphan = object.spec.on_delete == bridge::OnDelete::kOrphan;
        for (const Job& job : its.jobs) {
            if (job.token != object.uid || job.is_over()) {
                continue;
            }
            // Taken from the server by force, or by a backup that was older than its claim: such
            // jobs are listed, not cancelled (`bridge orphans`).
            const bool was_forced = stripped_.contains(object.uid) || rewound_.contains(object.uid);
            const bool is_held = job.state == submission::State::kHeld;
            // A bridge that did not run when the object went has not seen that it did; the one of
            // the other cluster knows nothing of this job. `bridge orphans` lists it.
            const bool is_unseen = has_two_sites_;
            const bool is_excused =
                was_forced || (is_held ? job.is_very_late || is_unseen : is_orphan);
            world.promise(is_excused, "job " + job.id + " is left of " + object.uid);
        }
    }

    struct Backup {
        std::map<std::string, bridge::Object> objects;
        std::uint64_t revision = 0;
    };

    bool has_two_sites_;
    Controller first_;
    Controller second_;
    std::vector<bridge::Object> created_;
    std::optional<Backup> backup_;
    std::set<std::string> stripped_; ///< a person took the finalizer off
    std::set<std::string> vanished_; ///< with the restore of a backup
    std::set<std::string> rewound_;
};

} // namespace model
