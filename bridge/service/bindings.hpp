// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/list_watch.hpp"
#include "apiserver/write.hpp"
#include "bridge/objects/transition.hpp"
#include "bridge/server/pump.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::bridge {

/// The RoleBindings that give the bridge its rights in each of its `namespaces`. The deletion of a
/// namespace would remove them before the jobs there have ended, so they have a finalizer, which
/// this removes when nothing there needs the bridge any more.
class Bindings {
public:
    struct Settings {
        std::string bridge; ///< name
        std::vector<std::string> spaces;
        TransitionLog log;
    };
    Bindings(Settings settings,
             apiserver::Transport& transport,
             apiserver::Writer& writer,
             std::uint64_t seed);
    Bindings(const Bindings&) = delete;
    Bindings& operator=(const Bindings&) = delete;
    ~Bindings();

    void add_to(Pump& pump);
    [[nodiscard]] const apiserver::ListWatches& watches() const {
        return watches_;
    }
    /// Of those that are being deleted.
    void let_go(const std::function<bool(const std::string& space)>& is_needed);

private:
    class Watcher;

    void let_go(Watcher& binding, std::string patch);

    Settings settings_;
    apiserver::Transport& transport_;
    apiserver::Writer& writer_;
    std::uint64_t seed_;
    std::vector<std::unique_ptr<Watcher>> watchers_;
    apiserver::ListWatches watches_;
};

} // namespace cybele::bridge
