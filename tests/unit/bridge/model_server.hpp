// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/objects/fence.hpp"
#include "bridge/server/server.hpp"
#include "model.hpp"

/// An API server in memory, which fails, loses answers and is restored to the past as the real one.
namespace model {

class Server : public bridge::Server {
public:
    explicit Server(World& world) : world_(world) {}

    bridge::Written claim(const bridge::Object& object) override {
        return change(object, object, Fence::kRevision, [](bridge::Object& stored) {
            if (stored.deleted != 0) {
                return false; // 422: no new finalizer on an object that is being deleted
            }
            if (!stored.has_finalizer()) {
                stored.finalizers.emplace_back(bridge::kFinalizer);
            }
            return true;
        });
    }
    bridge::Written write_status(const bridge::Object& object,
                                 const bridge::Status& status) override {
        order += 's';
        bridge::Object written = object;
        written.status = status;
        written.stored = bridge::Stored::kStatus;
        return change(object, std::move(written), Fence::kAll, [&](bridge::Object& stored) {
            const bridge::Status& before = stored.status;
            const bool is_repaired = released && released(object.uid) == status.job_id;
            world_.promise(before.job_id.empty() || before.job_id == status.job_id || is_repaired,
                           "the id of " + object.uid + " was changed");
            const bool was_over = before.holds("Complete") || before.holds("Failed");
            const bool is_over = status.holds("Complete") || status.holds("Failed");
            world_.promise(!was_over || is_over, "an end of " + object.uid + " was taken back");
            world_.note(object.uid + " " + status.job_id + " " + status.state + " " +
                        status.reason + " for " + object.resource_version);
            stored.status = status;
            stored.stored = bridge::Stored::kStatus;
            return true;
        });
    }
    bridge::Written let_go(const bridge::Object& object) override {
        order += 'l';
        return change(object, object, Fence::kStatus, [this](bridge::Object& stored) {
            const bool is_orphan = stored.spec.on_delete == bridge::OnDelete::kOrphan;
            world_.promise(stored.deleted == 0 || is_orphan || !runs(stored.uid),
                           stored.uid + " goes before its job");
            std::erase(stored.finalizers, std::string(bridge::kFinalizer));
            return true;
        });
    }
    bridge::Written remove(const bridge::Object& object) override {
        return change(object, object, Fence::kRevision, [this](bridge::Object& stored) {
            stored.deleted = stored.deleted == 0 ? world_.now : stored.deleted;
            return true;
        });
    }
    void tell(const bridge::Object& /*object*/, const bridge::Action::Event& /*event*/) override {
        world_.count("events");
        order += 'e';
    }

    /// By a person.
    void remove_by_user(const std::string& uid) {
        if (const auto found = objects.find(uid); found != objects.end()) {
            found->second.deleted = world_.now;
            stamp(found->second);
            drop_if_free(uid);
        }
    }
    void strip(const std::string& uid) {
        if (const auto found = objects.find(uid); found != objects.end()) {
            found->second.finalizers.clear();
            stamp(found->second);
            drop_if_free(uid);
        }
    }
    void stamp(bridge::Object& object) {
        object.resource_version = std::to_string(++revision);
    }

    std::string order; ///< of the writes: a letter for each status, release of an object and Event
    std::map<std::string, bridge::Object> objects;
    std::function<bool(const std::string&)> runs; ///< whether a job that was let go lives
    /// The id that the cluster has noted as the one to be let go.
    std::function<std::string(const std::string&)> released;
    std::vector<std::string> deleted; ///< in the order of their DELETED events
    std::uint64_t revision = 10;

private:
    enum class Fence { kRevision, kStatus, kAll };

    /// Whether the server takes a write that is based on `known`: by its tests, or by the
    /// precondition of a merge patch and of a deletion.
    bool fits(const bridge::Object& known, const bridge::Object& stored, Fence fence) {
        const bool is_same_revision = known.resource_version == stored.resource_version;
        if (fence == Fence::kRevision) {
            return is_same_revision;
        }
        const nlohmann::json tests =
            fence == Fence::kAll ? bridge::fence(known) : bridge::tests_of_status(known);
        nlohmann::json json{
            {"metadata", {{"uid", stored.uid}, {"resourceVersion", stored.resource_version}}}};
        if (stored.stored != bridge::Stored::kNothing) {
            json["status"] = nlohmann::json::parse(bridge::status_json(stored.status));
        }
        const bool is_passed = bridge::passes(tests, json);
        if (is_same_revision && !is_passed) {
            world_.count("revisions that came again");
        }
        return is_passed;
    }

    /// `answered`: what the caller knows after the write; the server answers metadata alone.
    template <class Change>
    bridge::Written
    change(const bridge::Object& object, bridge::Object answered, Fence fence, Change change) {
        using Kind = bridge::Written::Kind;
        world_.point();
        world_.count("writes");
        if (world_.chance(4)) {
            return {Kind::kUnclear};
        }
        const auto found = objects.find(object.uid);
        if (found == objects.end()) {
            return {Kind::kGone};
        }
        if (!fits(object, found->second, fence) || !change(found->second)) {
            world_.count("conflicts");
            return {Kind::kConflict};
        }
        stamp(found->second);
        answered.resource_version = found->second.resource_version;
        answered.deleted = found->second.deleted;
        answered.finalizers = found->second.finalizers;
        bridge::Written written{Kind::kDone, std::move(answered)};
        if (drop_if_free(object.uid)) {
            written.object.reset();
        }
        world_.point();
        return world_.chance(6) ? bridge::Written{Kind::kUnclear} : written;
    }

    bool drop_if_free(const std::string& uid) {
        const bridge::Object& object = objects.at(uid);
        if (object.deleted == 0 || !object.finalizers.empty()) {
            return false;
        }
        world_.note("gone: " + uid);
        objects.erase(uid);
        deleted.push_back(uid);
        ++revision;
        return true;
    }

    World& world_;
};

} // namespace model
