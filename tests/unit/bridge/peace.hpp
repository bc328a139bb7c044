// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/rounds/rounds.hpp"
#include "model_server.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// Rounds on the model of both sides, without faults.
namespace peace {

using namespace cybele;

inline constexpr const char* kOne = "00000000-0000-4000-8000-000000000001";

/// A bridge without faults.
struct Peace {
    model::World world{1};
    model::Cluster cluster{world};
    model::Server server{world};
    bridge::Rounds rounds{[](const bridge::Object&) {
        return bridge::Admitted{"alice", std::nullopt};
    }};

    Peace() {
        world.has_faults = false;
        server.runs = [](const std::string&) { return false; };
    }
    void create(const std::string& uid = kOne) {
        bridge::Object object;
        object.uid = uid;
        object.space = "physics";
        object.name = "hello";
        object.created = world.now;
        server.stamp(object);
        server.objects[uid] = object;
    }
    bridge::RoundReport round() {
        for (const auto& [uid, object] : server.objects) {
            rounds.put(object);
        }
        for (const std::string& uid : server.deleted) {
            rounds.gone(uid);
        }
        bridge::World now;
        now.now = world.now;
        return rounds.round(server, cluster, now);
    }
    model::Job& late_job() {
        model::Job job;
        job.id = "99";
        job.owner = "alice";
        job.token = kOne;
        cluster.jobs.push_back(job);
        return cluster.jobs.back();
    }
};

/// How often records are read, and jobs handed over: once for many objects.
class CountingCluster : public model::Cluster {
public:
    using model::Cluster::Cluster;

    std::vector<bridge::RecordObservation>
    search_many(const std::vector<const bridge::Object*>& all,
                const std::string& account) override {
        searched.push_back(account + " " + std::to_string(all.size()));
        return model::Cluster::search_many(all, account);
    }
    std::vector<bridge::RecordObservation> submit_many(const std::vector<bridge::HandOver>& all,
                                                       const std::string& account) override {
        submitted.push_back(account + " " + std::to_string(all.size()));
        return model::Cluster::submit_many(all, account);
    }
    std::vector<bridge::OutputObservation>
    read_outputs(const std::vector<const bridge::Object*>& all,
                 const std::string& /*account*/) override {
        read.push_back(all.size());
        std::vector<bridge::OutputObservation> sights(all.size());
        for (std::size_t at = 0; at < all.size(); ++at) {
            sights[at].tail.standard_output = "of " + all[at]->uid;
        }
        return sights;
    }
    std::vector<std::string> searched;
    std::vector<std::string> submitted;
    std::vector<std::size_t> read;
};

} // namespace peace
