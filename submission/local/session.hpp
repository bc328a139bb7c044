// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include <sys/types.h>

namespace cybele::submission {

/// The file by which an attempt to start a job is taken, once: by the process that becomes the
/// script, right before it does, or by who finds its supervisor dead.
[[nodiscard]] std::filesystem::path attempt_file(const std::filesystem::path& record,
                                                 std::int64_t attempt);
/// Takes the attempt for this process, whose number and start it writes down; false: it is taken.
[[nodiscard]] bool take_attempt(const std::filesystem::path& file);

/// Ends what is left of a script whose supervisor was killed: TERM, and KILL three seconds later,
/// to the processes of its session. A session that is another's by now is let alone.
void end_session(const std::filesystem::path& attempt);

/// The processes of a session, by /proc.
[[nodiscard]] std::set<pid_t> session_members(pid_t session);

} // namespace cybele::submission
