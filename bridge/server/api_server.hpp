// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/event.hpp"
#include "apiserver/write.hpp"
#include "bridge/objects/transition.hpp"
#include "bridge/server/pump.hpp"
#include "bridge/server/server.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cybele::bridge {

inline constexpr std::string_view kGroupVersion = "cybelectl.io/v1alpha1";

/// The path of all objects of the kind in a namespace; empty: in all.
[[nodiscard]] std::string collection_path(Kind kind, const std::string& space);
/// Of ordinary Jobs.
[[nodiscard]] std::string job_collection_path(const std::string& space);
[[nodiscard]] std::string object_path(const Object& object);

/// The body of a JSON patch of the object's `/status`, which is refused where the object is not as
/// it is known.
[[nodiscard]] std::string status_body(const Object& object, const Status& status);

/// A real API server. Each write is waited for, or all of several that are sent at the same time;
/// meanwhile the Lease is renewed.
class ApiServer : public Server {
public:
    ApiServer(Pump& pump,
              apiserver::Writer& writer,
              apiserver::EventRecorder& events,
              TransitionLog log)
        : pump_(pump), writer_(writer), events_(events), log_(std::move(log)) {}

    [[nodiscard]] Written claim(const Object& object) override;
    [[nodiscard]] Written write_status(const Object& object, const Status& status) override;
    [[nodiscard]] Written let_go(const Object& object) override;
    [[nodiscard]] Written remove(const Object& object) override;
    [[nodiscard]] std::vector<Written> write_all(const std::vector<ObjectWrite>& all) override;
    void tell(const Object& object, const Action::Event& event) override;

    /// Which process writes may go on after this moment only: the Lease's.
    void may_act(std::function<bool()> may_act) {
        may_act_ = std::move(may_act);
    }

private:
    [[nodiscard]] Written write_one(const Object& object, const Action& action);
    [[nodiscard]] Written finish(const Object& object, const apiserver::WriteResult& outcome);
    [[nodiscard]] Written finish(const ObjectWrite& one, const apiserver::WriteResult& outcome);
    void log(const Object& object, std::string what, std::string detail = {}) const;

    Pump& pump_;
    apiserver::Writer& writer_;
    apiserver::EventRecorder& events_;
    TransitionLog log_;
    std::function<bool()> may_act_;
};

/// Whether one of the collections has an object with this name and uid; unset: the server does not
/// say.
[[nodiscard]] std::optional<bool> exists_in(Pump& pump,
                                            const std::vector<std::string>& collections,
                                            const std::string& name,
                                            const std::string& uid);

/// The server says that this very object does not exist. A server that is just starting answers 404
/// without these words.
[[nodiscard]] bool is_not_found(const apiserver::Reply& reply, const std::string& name);

} // namespace cybele::bridge
