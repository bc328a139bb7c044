// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cybele::bridge {

/// `[A-Za-z0-9._-]{1,63}`, no `-` or `.` first: the name of a job, a queue or an account.
[[nodiscard]] bool is_batch_name(std::string_view text);

/// The id of a job as Slurm, TORQUE and OpenPBS write it: `12`, `12.server`, `12[3].server`.
[[nodiscard]] bool is_job_id(std::string_view text);

/// A UUID in lower case, as the API server gives: it becomes the name of a folder.
[[nodiscard]] bool is_uid(std::string_view text);

/// RFC 1123: a namespace, and the name of an object in it.
[[nodiscard]] bool is_object_place(std::string_view space, std::string_view name);

} // namespace cybele::bridge
