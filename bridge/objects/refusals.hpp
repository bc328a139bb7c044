// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace cybele::bridge {

// Reasons of `Accepted=False`: one word each, which tools may compare.
inline constexpr std::string_view kNameTooLong = "NameTooLong";
inline constexpr std::string_view kSpecInvalid = "SpecInvalid";
inline constexpr std::string_view kScriptTooLong = "ScriptTooLong";
inline constexpr std::string_view kScriptNotText = "ScriptNotText";
inline constexpr std::string_view kResultsInvalid = "ResultsInvalid";
inline constexpr std::string_view kDirectiveRefused = "DirectiveRefused";
inline constexpr std::string_view kWrongSystem = "WrongSystem";
inline constexpr std::string_view kNoAccount = "NoAccount";
inline constexpr std::string_view kAccountNotAdmitted = "AccountNotAdmitted";
inline constexpr std::string_view kAccountAmbiguous = "AccountAmbiguous";
inline constexpr std::string_view kQueueNotAdmitted = "QueueNotAdmitted";
inline constexpr std::string_view kQueueLimit = "QueueLimit";
inline constexpr std::string_view kSelectorNotMet = "SelectorNotMet"; ///< labels of the queue
inline constexpr std::string_view kResultsRootNotAdmitted = "ResultsRootNotAdmitted";
inline constexpr std::string_view kNotConvertible = "NotConvertible"; ///< of ordinary Jobs
inline constexpr std::string_view kTooOldToBeSure = "TooOldToBeSure";

/// Reason of `Accepted=True` by a person, after TooOldToBeSure.
inline constexpr std::string_view kAcceptedByAdmin = "AcceptedByAdmin";

/// What a reason means for the object.
struct RefusalRow {
    std::string_view reason;
    bool is_final;         ///< it depends on the object alone, which cannot change: Failed
    std::string_view help; ///< the remedy, as an imperative
};

[[nodiscard]] std::span<const RefusalRow> refusal_rows();

/// nullptr: not a reason of the table.
[[nodiscard]] const RefusalRow* find_refusal(std::string_view reason);

} // namespace cybele::bridge
