// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/list_watch.hpp"
#include "apiserver/write.hpp"
#include "bridge/configuration/configuration.hpp"
#include "bridge/nodes/node_view.hpp"
#include "bridge/objects/object.hpp"
#include "bridge/objects/transition.hpp"
#include "bridge/server/logged_words.hpp"
#include "bridge/server/pump.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

/// A view of queues as nodes and of jobs as pods, for people and tools that look at these. Nothing
/// is decided by it: it is made from what the rounds know, and who deletes it changes no job.
namespace cybele::bridge {

class VirtualNodes {
public:
    struct Settings {
        const Configuration& configuration;
        std::function<bool()> may_act;       ///< the Lease is this process's
        std::function<std::int64_t()> clock; ///< Unix nanoseconds
        TransitionLog log;
    };
    VirtualNodes(Settings settings,
                 apiserver::Transport& transport,
                 apiserver::Writer& writer,
                 std::uint64_t seed);
    VirtualNodes(const VirtualNodes&) = delete;
    VirtualNodes& operator=(const VirtualNodes&) = delete;
    ~VirtualNodes();

    /// Watches the pods of this view.
    void add_to(Pump& pump);
    [[nodiscard]] const apiserver::ListWatches& watches() const {
        return watches_;
    }
    /// Makes nodes that are missing, and renews their Leases. Often; it knows when it is time.
    void keep_nodes(apiserver::Moment now, bool is_answered);
    /// The list of pods of others on one node, when it is time to look at it; one after the other.
    [[nodiscard]] std::optional<std::string> due_list(apiserver::Moment now);
    /// Such pods never run: their status says so, once.
    void refuse_others(const nlohmann::json& list);
    /// What the batch system says of its queues; empty: it did not say.
    void show_queues(std::vector<LiveQueue> queues) {
        live_ = std::move(queues);
    }
    /// Of this view, in the namespace.
    [[nodiscard]] bool has_pods(const std::string& space) const;
    /// Where the API server gets the output of pods.
    void listen_at(NodeAddress listener) {
        listener_ = std::move(listener);
        due_ = apiserver::Moment{0};
    }
    /// Shows an object as its pod, after each round.
    void show(const Object& object);

private:
    class Watcher;
    struct Pod {
        std::string uid;
        std::string path;
        std::string shown;       ///< its phase, reason and code
        bool is_leaving = false; ///< it is being deleted
    };

    void keep_node(const launchers::SiteQueue& queue, bool is_answered);
    void make_node(const launchers::SiteQueue& queue);
    /// A queue that is stopped, or that is gone, gets no pods. Undone where it was done here only.
    void mark_stopped(const launchers::SiteQueue& queue, const nlohmann::json& node);
    [[nodiscard]] const LiveQueue* live_queue(const std::string& name) const;
    void keep_lease(const std::string& node, const std::string& uid);
    void make_pod(const Object& object);
    /// Whether the name of the object's pod has been that of another pod for some time.
    [[nodiscard]] bool is_name_taken(const std::string& uid) const;
    [[nodiscard]] bool is_listed() const;
    /// The uid of the object that the pod stands for; empty: of none.
    std::string put(const nlohmann::json& pod);
    void drop(const nlohmann::json& pod);
    void remove(const Pod& pod);
    /// Forgets the pods below a path, apart from these.
    void drop_others(const std::string& prefix, const std::set<std::string>& owners);
    void send(std::string method,
              std::string path,
              std::string_view type,
              const nlohmann::json& body,
              std::function<void(const apiserver::WriteResult&)> on_end = {});
    void report(const apiserver::WriteResult& outcome);
    /// The same words are logged once an hour.
    void report(const std::string& words);
    /// Whether pods of the namespace, or of the object, were refused a short time ago.
    [[nodiscard]] bool is_refusing(const std::string& space_or_uid);
    void note_refused(const std::string& space_or_uid);
    [[nodiscard]] std::string node_name(const std::string& queue) const;

    Settings settings_;
    apiserver::Transport& transport_;
    apiserver::Writer& writer_;
    std::vector<std::unique_ptr<Watcher>> watchers_;
    apiserver::ListWatches watches_;
    std::uint64_t seed_;
    std::map<std::string, Pod> pods_; ///< by the uid of the object
    std::set<std::string> pending_;   ///< pods that are being written
    /// When the name of a pod was first found taken, by the uid of the object.
    std::map<std::string, apiserver::Moment> taken_since_;
    std::map<std::string, apiserver::Moment> refused_; ///< when, by namespace or uid
    LoggedWords logged_;
    std::vector<LiveQueue> live_;
    apiserver::Moment due_{0};
    apiserver::Moment due_list_{0};
    std::size_t next_list_ = 0;
    NodeAddress listener_;
};

} // namespace cybele::bridge
