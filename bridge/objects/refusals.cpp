// SPDX-License-Identifier: Apache-2.0
#include "bridge/objects/refusals.hpp"

#include "support/find.hpp"

#include <array>

namespace cybele::bridge {
namespace {

// A spec cannot be edited, so what is wrong with the object alone stays wrong. What an
// administrator can change (accounts, queues, limits) is checked again, and the object waits.
constexpr std::array kRefusals{
    RefusalRow{kNameTooLong, true, "create the object under a name of at most 63 characters"},
    RefusalRow{kSpecInvalid, true, "correct the field and create the object again"},
    RefusalRow{kScriptTooLong, true, "move data out of the script into a file on the cluster"},
    RefusalRow{kScriptNotText, true, "save the script as plain text and create the object again"},
    RefusalRow{kResultsInvalid, true, "correct spec.results and create the object again"},
    RefusalRow{kDirectiveRefused, true, "remove the line and create the object again"},
    RefusalRow{kWrongSystem, true, "create the object with the other kind"},
    RefusalRow{kNotConvertible, true, "remove these fields and create the Job again"},
    RefusalRow{kNoAccount, false, "ask the administrator for an account for this namespace"},
    RefusalRow{kAccountNotAdmitted, false, "create the object again with an admitted account"},
    RefusalRow{kAccountAmbiguous, true, "create the object again with an admitted account"},
    RefusalRow{kQueueNotAdmitted, false, "create the object again with an admitted queue"},
    RefusalRow{kQueueLimit, false, "create the object again for less, or for a larger queue"},
    RefusalRow{kSelectorNotMet, false, "create the object again for a queue with that label"},
    RefusalRow{kResultsRootNotAdmitted, false, "create the object again with an admitted path"},
    RefusalRow{kTooOldToBeSure, false, "ask the administrator for `cybelectl bridge accept`"},
};

} // namespace

std::span<const RefusalRow> refusal_rows() {
    return kRefusals;
}

const RefusalRow* find_refusal(std::string_view reason) {
    return find_row(kRefusals, reason, &RefusalRow::reason);
}

} // namespace cybele::bridge
