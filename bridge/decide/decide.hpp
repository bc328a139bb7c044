// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/decide/observe.hpp"

#include <string>
#include <vector>

namespace cybele::bridge {

/// What is done for an object, on the API server or on the cluster.
struct Action {
    enum class Kind {
        kClaim,       ///< API: add the finalizer
        kWriteStatus, ///< API: `status`
        kLetGo,       ///< API: remove the finalizer
        kRemove,      ///< API: delete the object
        kEvent,       ///< API: `event`; nothing waits for it
        kSearch,      ///< cluster: read the record
        kClose,       ///< cluster: close the record, and read it
        kInquire,     ///< cluster: accounting and record
        kSubmit,      ///< cluster: hand over held, as `attempt`
        kRelease,     ///< cluster: `ids`, unless the record names another job
        kCancel,      ///< cluster: `ids`
        kReadOutput,  ///< cluster: the last of the output
        kCollect,     ///< cluster: results, the copy that was begun at `begun`
        kNoteOrphan,  ///< cluster: the record says that the job has no object
        kForget,      ///< drop what is remembered
    };
    struct Event {
        std::string reason;
        std::string message;
        bool is_warning = false;
    };
    Kind kind = Kind::kForget;
    std::vector<std::string> ids = {};
    int attempt = 0;
    std::int64_t begun = 0; ///< of kCollect: which copy it is
    Status status = {};
    Event event = {};
};

struct Decision {
    Step step = Step::kWait;
    std::string_view why; ///< of the table's row
    std::vector<Action> actions;
    Memory memory;
};

/// The rule: what is done next for an object, by what stands in it, what is seen of its job and
/// what time it is. Pure. After kSearch, kClose, kInquire, kSubmit, kReadOutput and each write to
/// the API server it is asked again with the answer; a decision without actions ends the round for
/// the object.
[[nodiscard]] Decision decide(const Case& one);

} // namespace cybele::bridge
