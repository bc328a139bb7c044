// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/list_watch.hpp"
#include "bridge/objects/transition.hpp"
#include "bridge/rounds/rounds.hpp"
#include "bridge/server/pump.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cybele::bridge {

/// What watches showed since the last round. A round works on a state that stands still, so it is
/// laid over the rounds' own between two of them.
class Inbox {
public:
    struct Item {
        enum class Kind { kObject, kDeleted, kListed, kPutBack };
        Kind kind = Kind::kObject;
        Object object = {};              ///< of the first two
        std::size_t watch = 0;           ///< which watch
        std::set<std::string> uids = {}; ///< of kListed
    };

    void add(Item item) {
        items_.push_back(std::move(item));
    }
    /// Lays it over `rounds`. Whether the server's past came back.
    bool apply(Rounds& rounds, std::size_t watches);

private:
    void put(Rounds& rounds, Item& item);

    std::deque<Item> items_; ///< of many; each one's memory is free when it was taken
    std::vector<std::set<std::string>> known_; ///< uids by watch
    /// Watches whose next complete list has not come: lower revisions are the truth until then.
    std::set<std::size_t> put_back_;
};

/// One watch of a kind, which fills the inbox.
class ObjectWatch : public apiserver::Observer {
public:
    /// `jobs`: it is a watch of ordinary Jobs, which reads those that the bridge manages.
    ObjectWatch(Inbox& inbox, std::size_t number, TransitionLog log, JobReader jobs = {})
        : inbox_(inbox), number_(number), log_(std::move(log)), jobs_(std::move(jobs)) {}

    void on_list_begin() override;
    void on_object(nlohmann::json& object) override;
    void on_deleted(nlohmann::json& object) override;
    void on_list_end() override;
    void on_rewound(const std::string& seen, const std::string& now) override;
    void on_error(const Error& error) override;
    void on_recovered() override;

private:
    void take(nlohmann::json& object, Inbox::Item::Kind kind);
    void log(std::string what, std::string detail) const;

    Inbox& inbox_;
    std::size_t number_;
    TransitionLog log_;
    JobReader jobs_;
    bool is_listing_ = false;
    std::set<std::string> listed_;
};

/// The watches of all kinds and namespaces that a bridge serves, and what they showed.
class ObjectWatches {
public:
    ObjectWatches(Pump& pump,
                  apiserver::Transport& transport,
                  TransitionLog log,
                  std::uint64_t seed)
        : pump_(pump), transport_(transport), log_(std::move(log)), seed_(seed) {}

    /// `space`: empty for all namespaces. `jobs`: ordinary Jobs.
    void add(std::string space, std::string path, JobReader jobs = {});
    [[nodiscard]] bool is_synced() const;
    /// What was listed in this namespace is all that there is.
    [[nodiscard]] bool is_synced(const std::string& space) const;
    bool apply(Rounds& rounds) {
        return inbox_.apply(rounds, watches_.size());
    }
    [[nodiscard]] const apiserver::ListWatches& watches() const {
        return watches_;
    }

private:
    Pump& pump_;
    apiserver::Transport& transport_;
    TransitionLog log_;
    std::uint64_t seed_;
    Inbox inbox_;
    std::vector<std::string> spaces_;
    std::vector<std::unique_ptr<ObjectWatch>> observers_;
    apiserver::ListWatches watches_;
};

/// Objects of which a write had no clear answer are read.
void read_again(Pump& pump,
                const std::set<std::string>& uids,
                const JobReader& jobs,
                Rounds& rounds);

} // namespace cybele::bridge
