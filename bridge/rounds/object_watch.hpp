// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/list_watch.hpp"
#include "bridge/objects/transition.hpp"
#include "bridge/rounds/rounds.hpp"
#include "bridge/server/pump.hpp"

#include <deque>
#include <set>
#include <string>
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
    void on_trouble(const Error& error) override;
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

/// Objects of which a write had no clear answer are read.
void read_again(Pump& pump,
                const std::set<std::string>& uids,
                const JobReader& jobs,
                Rounds& rounds);

} // namespace cybele::bridge
