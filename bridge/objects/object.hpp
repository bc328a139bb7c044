// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/objects/status.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace cybele::bridge {

/// Keeps an object on the API server until its batch job has ended or was cancelled.
inline constexpr std::string_view kFinalizer = "cybelectl.io/batch-job";

enum class Kind { kSlurmJob, kTorqueJob };
[[nodiscard]] std::string_view kind_text(Kind kind);

/// Which resource of the API server the object is.
enum class Form {
    kOwn, ///< of the bridge's own group, as its kind says
    kJob, ///< batch/v1 Job with `managedBy: cybelectl.io/bridge`
};
inline constexpr std::string_view kManager = "cybelectl.io/bridge";

enum class OnDelete { kCancel, kOrphan };

/// What is copied back after the job, and the volume that it is copied to.
struct ResultsRequest {
    std::string from;
    std::string mount; ///< the volume as JSON
};

struct Spec {
    std::string batch;
    std::string queue;
    std::string account;
    std::map<std::string, std::string> node_selector;
    std::optional<ResultsRequest> results;
    std::optional<std::int64_t> seconds_to_live; ///< of the object, after the end of the job
    OnDelete on_delete = OnDelete::kCancel;
};

/// What only an ordinary Job has.
struct JobFacts {
    bool is_suspended = false; ///< `spec.suspend`
    bool is_indexed = false;
    bool has_deadline = false; ///< `activeDeadlineSeconds`
    std::int64_t started = 0;  ///< as its status has it: written once
};

/// What the server has in the place of an object's status.
enum class Stored {
    kNothing,
    kStatus,  ///< `Object::status`
    kForeign, ///< what the bridge did not write, which is read as an empty status
};

/// Why an object cannot be handed over as it is: a reason of `refusals.hpp`, and the words for it.
struct Refusal {
    std::string reason;
    std::string message;
};

/// A SlurmJob or TorqueJob as the API server has it. Times are Unix seconds, 0: none.
struct Object {
    Kind kind = Kind::kSlurmJob; ///< of a Job: that of the bridge, which its script is for
    Form form = Form::kOwn;
    std::string space; ///< the namespace
    std::string name;
    std::string uid; ///< the token of the batch job
    std::string resource_version;
    std::int64_t generation = 0;
    std::int64_t created = 0;
    std::int64_t deleted = 0; ///< when the deletion was asked for
    std::vector<std::string> finalizers;
    Spec spec;
    JobFacts job;
    Status status;
    Stored stored = Stored::kNothing;
    std::optional<Refusal> refusal; ///< of its spec or its status; what could be read is there

    [[nodiscard]] bool has_finalizer() const;
};

/// Fills the kind and the spec of an ordinary Job; what is wrong is the object's refusal.
using JobReader = std::function<void(const nlohmann::json& job, Object& object)>;

/// Reads an object, or with `jobs` an ordinary Job, from the JSON of the API server. Everything in
/// it was written by somebody else: it is bounded and checked. A text from which not even the
/// object's identity can be read is kInput; all else that is wrong is the object's `refusal`, so
/// that it has a condition.
[[nodiscard]] Result<Object> read_object(std::string_view json, const JobReader& jobs = {});
/// The same from JSON that was read: an item of a list, which is not written down only to be read
/// again.
[[nodiscard]] Result<Object> object_of_json(const nlohmann::json& json, const JobReader& jobs = {});

/// Once a job was handed over, only the directives of its script are of use: the rest is dropped,
/// so that many objects need little memory.
void forget_script(Object& object);

/// How kubectl names the kind of the object.
[[nodiscard]] std::string_view kind_of(const Object& object);

} // namespace cybele::bridge
