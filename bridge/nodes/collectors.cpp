// SPDX-License-Identifier: Apache-2.0
#include "bridge/nodes/collectors.hpp"

#include "apiserver/patch.hpp"
#include "bridge/batch/collected.hpp"
#include "bridge/nodes/node_view.hpp"
#include "bridge/nodes/pod_view.hpp"
#include "support/boot_time.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <utility>

namespace cybele::bridge {
namespace {

using CollectorsJson = nlohmann::json;
using apiserver::WriteResult;

constexpr std::chrono::milliseconds kPatienceOfCollectors{20'000};
constexpr std::chrono::milliseconds kNameOfCollectorIsTaken{20'000};

/// The termination message of the pod's container.
std::string message_of(const CollectorsJson& status) {
    const CollectorsJson& statuses = member_of(status, "containerStatuses");
    return statuses.is_array() && !statuses.empty()
               ? member_text(member_of(member_of(statuses[0], "state"), "terminated"), "message")
               : std::string();
}

} // namespace

/// The pods of one namespace, or of all.
class Collectors::Watcher : public apiserver::Observer {
public:
    Watcher(Collectors& owner, std::string prefix) : owner_(owner), prefix_(std::move(prefix)) {}

    void on_list_begin() override {
        owner_.drop_all(prefix_);
    }
    void on_object(CollectorsJson& pod) override {
        owner_.put(pod);
    }
    void on_deleted(CollectorsJson& pod) override {
        owner_.drop(pod);
    }
    void on_list_end() override {}
    void on_rewound(const std::string& /*seen*/, const std::string& /*now*/) override {
        owner_.drop_all(prefix_);
    }
    void on_error(const Error& /*error*/) override {}
    void on_recovered() override {}

private:
    Collectors& owner_;
    std::string prefix_; ///< of their paths
};

Collectors::~Collectors() = default;

Collectors::Collectors(Settings settings,
                       apiserver::Transport& transport,
                       apiserver::Writer& writer,
                       std::uint64_t seed)
    : settings_(std::move(settings)), transport_(transport), writer_(writer), seed_(seed) {
    place_.bridge = settings_.configuration.document.name;
    place_.image = settings_.configuration.document.collector_image;
}

void Collectors::add_to(Pump& pump) {
    std::vector<std::string> spaces = settings_.configuration.document.namespaces;
    if (spaces.empty()) {
        spaces.emplace_back();
    }
    for (const std::string& space : spaces) {
        apiserver::ListWatchSettings settings;
        const std::string prefix = "/api/v1/" + (space.empty() ? "" : "namespaces/" + space + "/");
        settings.path = prefix + "pods";
        watchers_.push_back(std::make_unique<Watcher>(*this, prefix));
        settings.selector = "labelSelector=cybelectl.io%2Fcollects-for%3D" + place_.bridge;
        watches_.push_back(std::make_unique<apiserver::ListWatch>(
            settings, transport_, *watchers_.back(), ++seed_));
        pump.add(*watches_.back());
    }
}

void Collectors::serve_at(std::string address, std::string certificate) {
    place_.address = std::move(address);
    place_.certificate = std::move(certificate);
}

/// Else a pod could be made that is there.
bool Collectors::are_synced() const {
    return std::ranges::all_of(watches_, [](const auto& watch) { return watch->is_settled(); });
}

std::optional<Collected> Collectors::collect(const Object& object) {
    if (!are_synced() || !settings_.may_act() || pending_.contains(object.uid)) {
        return std::nullopt;
    }
    const std::int64_t now = settings_.clock();
    if (const auto refused = refused_.find(object.uid); refused != refused_.end()) {
        std::string words = std::move(refused->second);
        refused_.erase(refused);
        return not_collected("CollectorRefused", std::move(words), now);
    }
    const auto found = pods_.find(object.uid);
    if (found == pods_.end()) {
        if (!place_.address.empty()) {
            make(object);
        }
        return std::nullopt;
    }
    if (!found->second.has_ended) {
        return std::nullopt;
    }
    auto collected = read_collected(found->second.report, now);
    remove(found->second);
    return collected ? std::move(collected)
                     : std::optional(not_collected("CollectorFailed",
                                                   "pod " + collector_name(object) +
                                                       " ended without a report",
                                                   now));
}

void Collectors::make(const Object& object) {
    pending_.insert(object.uid);
    apiserver::Write write;
    write.method = "POST";
    write.path = "/api/v1/namespaces/" + object.space + "/pods";
    write.content_type = apiserver::kJsonBody;
    write.body = json_text(collector_json(object, place_), -1);
    write.patience = kPatienceOfCollectors;
    write.on_end =
        [this, uid = object.uid, name = collector_name(object)](const WriteResult& outcome) {
            pending_.erase(uid);
            CollectorsJson pod = parse_json(outcome.body);
            if (outcome.kind == WriteResult::Kind::kDone && pod.is_object()) {
                put(pod);
            } else if (outcome.error && (outcome.kind == WriteResult::Kind::kForbidden ||
                                         outcome.kind == WriteResult::Kind::kRefused)) {
                const Fault& fault = outcome.error->faults().front();
                refused_[uid] = printable(fault.message + ": " + fault.because);
            } else if (outcome.kind == WriteResult::Kind::kConflict) {
                // The pod of a deleted namesake goes within seconds.
                const auto since = taken_since_.emplace(uid, boot_time()).first->second;
                if (boot_time() - since >= kNameOfCollectorIsTaken) {
                    refused_[uid] = "pod " + name + " exists, and was not made for this object";
                    taken_since_.erase(uid);
                }
            }
        };
    (void)writer_.submit(std::move(write), boot_time());
}

/// It stays known until the server says that it is gone, so that no second one is made.
void Collectors::remove(const Pod& pod) {
    apiserver::Write write;
    write.method = "DELETE";
    write.path = pod.path;
    write.content_type = apiserver::kJsonBody;
    write.body = apiserver::delete_options({pod.uid, {}, {}});
    write.patience = kPatienceOfCollectors;
    (void)writer_.submit(std::move(write), boot_time());
}

void Collectors::drop_all(const std::string& prefix) {
    std::erase_if(pods_, [&](const auto& entry) { return entry.second.path.starts_with(prefix); });
}

void Collectors::put(const CollectorsJson& pod) {
    const CollectorsJson& metadata = member_of(pod, "metadata");
    const CollectorsJson& status = member_of(pod, "status");
    const std::string owner = member_text(member_of(metadata, "labels"), kUidLabel);
    const std::string phase = member_text(status, "phase");
    Pod known;
    known.uid = member_text(metadata, "uid");
    known.path = "/api/v1/namespaces/" + member_text(metadata, "namespace") + "/pods/" +
                 member_text(metadata, "name");
    known.has_ended = phase == "Succeeded" || phase == "Failed";
    known.report = message_of(status);
    if (!owner.empty() && !known.uid.empty()) {
        taken_since_.erase(owner);
        pods_[owner] = std::move(known);
    }
}

void Collectors::drop(const CollectorsJson& pod) {
    const CollectorsJson& metadata = member_of(pod, "metadata");
    const auto found = pods_.find(member_text(member_of(metadata, "labels"), kUidLabel));
    if (found != pods_.end() && found->second.uid == member_text(metadata, "uid")) {
        pods_.erase(found);
    }
}

} // namespace cybele::bridge
