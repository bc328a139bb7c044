// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/backend.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

/// The shapes of slurmrestd's messages. Up to v0.0.38 values are plain; from v0.0.39 on a number is
/// {set, infinite, number}, a state a list, and an exit code a map. Both are read everywhere.
namespace cybele::submission::slurmrest {

/// The third number of v0.0.N.
using Version = int;
constexpr Version kOldest = 36;      ///< Slurm 20.11
constexpr Version kFirstOfMaps = 39; ///< Slurm 23.02
constexpr Version kNewest = 42;      ///< Slurm 24.11

/// The newest version that the service has and that this program knows, by its /openapi/v3.
[[nodiscard]] Result<Version> choose_version(std::string_view openapi);

/// The first of the `errors` of an answer.
struct SlurmError {
    int number = 0; ///< Slurm's; -1: "Unspecified error", which a refused token gives too
    std::string text;
};
[[nodiscard]] std::optional<SlurmError> first_error(const nlohmann::json& answer);

/// The body of a submission: the script, and its directives as fields, since slurmrestd does not
/// read them. A directive that has no field is kInput.
[[nodiscard]] Result<std::string>
submission_body(const Submission& submission, const std::string& script, Version version);

/// What an answer to a submission means.
[[nodiscard]] Receipt read_receipt(int status, std::string_view body);

/// The jobs of an answer; an array's waiting elements each.
[[nodiscard]] std::vector<JobStatus> read_jobs(const nlohmann::json& answer);

/// The latest moment that the jobs tell of, Unix seconds by the server's clock; 0: none.
[[nodiscard]] std::int64_t newest_moment(const nlohmann::json& answer);

} // namespace cybele::submission::slurmrest
