// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"
#include "cli/apptainer/own_words.hpp"

/// The commands of ours that sign, verify, and make and export keys, from Apptainer's words.
namespace cybele::cli {

[[nodiscard]] Result<OwnWords> sign_or_verify(const Session& session, const OtherCall& call);
/// `key import --global` and `key remove --global`, in the words of Apptainer for users.
[[nodiscard]] Result<OwnWords> change_global_keyring(const Session& session, const OtherCall& call);
[[nodiscard]] Result<OwnWords> key_new(Session& session, const OtherCall& call);
[[nodiscard]] Result<OwnWords> key_export(const Session& session, const OtherCall& call);

} // namespace cybele::cli
