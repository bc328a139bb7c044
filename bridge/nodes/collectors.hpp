// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/list_watch.hpp"
#include "apiserver/write.hpp"
#include "bridge/batch/cluster.hpp"
#include "bridge/configuration/configuration.hpp"
#include "bridge/nodes/collect_pod.hpp"
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

namespace cybele::bridge {

/// The pods that copy results into claims: made, watched, and removed when they have reported.
class Collectors {
public:
    struct Settings {
        const Configuration& configuration;
        std::function<bool()> may_act;       ///< the Lease is this process's
        std::function<std::int64_t()> clock; ///< Unix seconds
    };
    Collectors(Settings settings,
               apiserver::Transport& transport,
               apiserver::Writer& writer,
               std::uint64_t seed);

    Collectors(const Collectors&) = delete;
    Collectors& operator=(const Collectors&) = delete;
    ~Collectors();

    void add_to(Pump& pump);
    [[nodiscard]] const apiserver::ListWatches& watches() const {
        return watches_;
    }
    /// Where pods get the results; an address that changed is used for those made from now on.
    void serve_at(std::string address, std::string certificate);
    /// What became of the object's results; unset: its pod works, or could not be made yet.
    [[nodiscard]] std::optional<Collected> collect(const Object& object);

private:
    class Watcher;
    friend class Watcher;

    struct Pod {
        std::string uid;
        std::string path;
        bool has_ended = false;
        std::string report;
    };

    [[nodiscard]] bool are_synced() const;
    void put(const nlohmann::json& pod);
    void drop(const nlohmann::json& pod);
    void drop_all(const std::string& prefix);
    void make(const Object& object);
    void remove(const Pod& pod);

    Settings settings_;
    apiserver::Transport& transport_;
    apiserver::Writer& writer_;
    std::uint64_t seed_;
    std::vector<std::unique_ptr<Watcher>> watchers_;
    apiserver::ListWatches watches_;
    CollectorPlace place_;
    std::map<std::string, Pod> pods_;            ///< by the uid of the object
    std::map<std::string, std::string> refused_; ///< by the same: the words of the server
    /// When the name of a pod was first found taken, by the same.
    std::map<std::string, apiserver::Moment> taken_since_;
    std::set<std::string> pending_;
};

} // namespace cybele::bridge
