// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/decide/decide.hpp"

#include <optional>
#include <vector>

namespace cybele::bridge {

/// What the API server answered to a write.
struct Written {
    enum class Kind {
        kDone,     ///< `object` is as it is now; unset: it is gone with this write
        kConflict, ///< somebody else wrote first: read it again, and decide again
        kGone,     ///< the object does not exist any more
        kUnclear,  ///< no answer: it may be written or not
    };
    Kind kind = Kind::kUnclear;
    std::optional<Object> object = {};
};

/// A write that was decided for an object.
struct ObjectWrite {
    const Object* object = nullptr;
    const Action* action = nullptr; ///< is_write()
};

[[nodiscard]] bool is_write(const Action& action);

/// The API server, as the bridge writes to it. Each write names the object's resourceVersion or its
/// uid, so that what was decided on an older object is refused.
class Server {
public:
    Server() = default;
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    virtual ~Server() = default;

    [[nodiscard]] virtual Written claim(const Object& object) = 0;
    [[nodiscard]] virtual Written write_status(const Object& object, const Status& status) = 0;
    [[nodiscard]] virtual Written let_go(const Object& object) = 0;
    [[nodiscard]] virtual Written remove(const Object& object) = 0;
    /// One for each of several objects, in their order, or at the same time; what became of each.
    [[nodiscard]] virtual std::vector<Written> write_all(const std::vector<ObjectWrite>& all);
    /// An Event; nothing depends on whether it comes.
    virtual void tell(const Object& object, const Action::Event& event) = 0;

protected:
    [[nodiscard]] Written write(const ObjectWrite& one);
};

} // namespace cybele::bridge
