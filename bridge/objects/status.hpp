// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::bridge {

/// A condition of the object's status, as Kubernetes has them.
struct Condition {
    std::string type;
    std::string status; ///< True, False, Unknown
    std::string reason; ///< one word
    std::string message;
    std::int64_t changed = 0; ///< Unix seconds

    bool operator==(const Condition&) const = default;
};

/// A pair of texts, of standard output and standard error.
struct Streams {
    std::string standard_output;
    std::string standard_error;

    bool operator==(const Streams&) const = default;
};

struct ResultFile {
    std::string name;
    std::int64_t size = 0;
    std::string sha256;

    bool operator==(const ResultFile&) const = default;
};

/// The status of an object: what was decided about its batch job. The fields of the resource
/// definition (kubernetes/crd). Times are Unix seconds, 0: not known.
struct Status {
    std::string phase; ///< Pending, Running, Succeeded, Failed, Unknown
    std::string job_id;
    std::string token;
    std::string state; ///< Claimed, Prepared, then the batch system's own word
    std::string reason;
    std::string account;
    std::string site; ///< whose batch system has the job; empty: of an earlier version
    std::optional<int> exit_code;
    std::optional<int> signal;
    std::int64_t started = 0;
    std::int64_t ended = 0;
    std::int64_t generation = 0;
    int attempt = 0;
    int restarts = 0;
    Streams output; ///< paths on the cluster
    Streams tail;   ///< the last bytes of each
    std::vector<ResultFile> results;
    std::int64_t results_count = 0;
    std::vector<Condition> conditions;

    bool operator==(const Status&) const = default;

    [[nodiscard]] const Condition* find(std::string_view type) const;
    [[nodiscard]] bool holds(std::string_view type) const; ///< whether it is there and True
    /// Sets a condition; its time changes with its status only.
    void set(Condition condition);
};

/// The longest of each that a status holds; the resource definition has the same.
inline constexpr std::size_t kLongestMessage = 1024;
inline constexpr std::size_t kMostResults = 32;

/// The status as JSON, with the fields that are set. Its order is fixed.
[[nodiscard]] std::string status_json(const Status& status);

/// The same without its conditions.
[[nodiscard]] std::string status_fields_json(const Status& status);

} // namespace cybele::bridge
