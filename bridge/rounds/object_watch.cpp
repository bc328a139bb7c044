// SPDX-License-Identifier: Apache-2.0
#include "bridge/rounds/object_watch.hpp"

#include "apiserver/revision.hpp"
#include "bridge/configuration/managed_job.hpp"
#include "bridge/server/api_server.hpp"
#include "support/json.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace cybele::bridge {

/// The rounds' own state may be newer: their writes were answered before the watch showed them.
void Inbox::put(Rounds& rounds, Item& item) {
    const Object* known = rounds.find(item.object.uid);
    const bool is_older =
        known != nullptr && !put_back_.contains(item.watch) &&
        apiserver::compare_revisions(item.object.resource_version, known->resource_version) ==
            std::partial_ordering::less;
    known_[item.watch].insert(item.object.uid);
    if (!is_older) {
        rounds.put(std::move(item.object));
    }
}

bool Inbox::apply(Rounds& rounds, std::size_t watches) {
    known_.resize(watches);
    bool was_rewound = false;
    for (; !items_.empty(); items_.pop_front()) {
        Item& item = items_.front();
        switch (item.kind) {
        case Item::Kind::kObject:
            put(rounds, item);
            break;
        case Item::Kind::kDeleted:
            known_[item.watch].erase(item.object.uid);
            rounds.gone(item.object.uid);
            break;
        case Item::Kind::kListed: {
            known_[item.watch] = std::move(item.uids);
            std::set<std::string> all;
            for (const auto& uids : known_) {
                all.insert(uids.begin(), uids.end());
            }
            rounds.keep_only(all);
            put_back_.erase(item.watch);
            break;
        }
        case Item::Kind::kPutBack:
            put_back_.insert(item.watch);
            was_rewound = true;
            break;
        }
    }
    return was_rewound;
}

void ObjectWatch::log(std::string what, std::string detail) const {
    if (log_) {
        log_({{}, {}, std::move(what), std::move(detail)});
    }
}

void ObjectWatch::take(nlohmann::json& json, Inbox::Item::Kind kind) {
    if (jobs_) {
        if (!is_managed(json)) {
            return; // Kubernetes' own, or another controller's
        }
        json["apiVersion"] = "batch/v1"; // items of a list do not repeat their kind
        json["kind"] = "Job";
    }
    auto object = object_of_json(json, jobs_);
    if (!object) {
        log("Unreadable", object.error().message());
        return;
    }
    forget_script(*object);
    if (is_listing_) {
        listed_.insert(object->uid);
    }
    Inbox::Item item;
    item.kind = kind;
    item.watch = number_;
    item.object = std::move(*object);
    inbox_.add(std::move(item));
}

void ObjectWatch::on_list_begin() {
    is_listing_ = true;
    listed_.clear();
}

void ObjectWatch::on_object(nlohmann::json& object) {
    take(object, Inbox::Item::Kind::kObject);
}

void ObjectWatch::on_deleted(nlohmann::json& object) {
    take(object, Inbox::Item::Kind::kDeleted);
}

void ObjectWatch::on_list_end() {
    is_listing_ = false;
    Inbox::Item item;
    item.kind = Inbox::Item::Kind::kListed;
    item.watch = number_;
    item.uids = std::move(listed_);
    log("Listed", std::to_string(item.uids.size()) + " objects");
    inbox_.add(std::move(item));
    listed_.clear();
}

void ObjectWatch::on_rewound(const std::string& seen, const std::string& now) {
    Inbox::Item item;
    item.kind = Inbox::Item::Kind::kPutBack;
    item.watch = number_;
    inbox_.add(std::move(item));
    log("Rewound",
        now.empty() ? "the API server was put back to an earlier state, as its Lease shows"
                    : "the API server was at revision " + seen + " and is at " + now);
}

void ObjectWatch::on_error(const Error& error) {
    const Fault& fault = error.faults().front();
    log("Trouble", fault.message + ": " + fault.because);
}

void ObjectWatch::on_recovered() {
    log("Recovered", "the API server answers");
}

void ObjectWatches::add(std::string space, std::string path, JobReader jobs) {
    spaces_.push_back(std::move(space));
    observers_.push_back(
        std::make_unique<ObjectWatch>(inbox_, observers_.size(), log_, std::move(jobs)));
    apiserver::ListWatchSettings settings;
    settings.path = std::move(path);
    watches_.push_back(std::make_unique<apiserver::ListWatch>(
        settings, transport_, *observers_.back(), seed_ + watches_.size()));
    pump_.add(*watches_.back());
}

/// A namespace that the bridge may not read does not keep it from the others.
bool ObjectWatches::is_synced() const {
    return std::ranges::any_of(watches_, [](const auto& watch) { return watch->is_synced(); }) &&
           std::ranges::all_of(watches_, [](const auto& watch) { return watch->is_settled(); });
}

bool ObjectWatches::is_synced(const std::string& space) const {
    for (std::size_t at = 0; at < watches_.size(); ++at) {
        if (spaces_[at] == space && !watches_[at]->is_synced()) {
            return false;
        }
    }
    return true;
}

void read_again(Pump& pump,
                const std::set<std::string>& uids,
                const JobReader& jobs,
                Rounds& rounds) {
    constexpr std::chrono::milliseconds kReadAgain{10'000};
    for (const std::string& uid : uids) {
        const Object* known = rounds.find(uid);
        if (known == nullptr) {
            continue;
        }
        const auto reply = pump.get(object_path(*known), kReadAgain);
        if (reply && is_not_found(*reply, known->name)) {
            rounds.gone(uid);
            continue;
        }
        if (!reply || !reply->ok()) {
            continue; // the watch shows it
        }
        auto object = read_object(reply->body, jobs);
        if (object && object->uid == uid) {
            rounds.put(std::move(*object));
        } else {
            rounds.gone(uid); // another object has the name
        }
    }
}

} // namespace cybele::bridge
