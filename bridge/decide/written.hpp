// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/decide/observe.hpp"

#include <string>
#include <string_view>

namespace cybele::bridge {

// The status that each step writes. All are pure, and equal where nothing changed.

/// `Accepted=False`, or Failed where the object can never be accepted.
[[nodiscard]] Status refused_status(const Case& one, const Refusal& refusal);
/// An object so old that a job of it may have left the records.
[[nodiscard]] Status too_old_status(const Case& one);
/// A Job that is not to begin yet.
[[nodiscard]] Status suspended_status(const Case& one);
/// The id of the job that was handed over held.
[[nodiscard]] Status prepared_status(const Case& one, const std::string& id);
/// What the queue shows of a job that lives.
[[nodiscard]] Status followed_status(const Case& one, const SeenJob& job);
/// The end of the job.
[[nodiscard]] Status ended_status(const Case& one, const SeenJob& job);
/// Failed without a job that could be asked: nothing was submitted, or that is not known.
[[nodiscard]] Status
given_up_status(const Case& one, std::string_view reason, std::string_view message);
/// A deletion that goes on (True), or cannot (False).
[[nodiscard]] Status cancelling_status(const Case& one,
                                       std::string_view holds,
                                       std::string_view reason,
                                       const std::string& message = {});
/// Nothing can be done as the account; the object waits. The reason is one.view.account_failure.
[[nodiscard]] Status hindered_status(const Case& one);

} // namespace cybele::bridge
