// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"

#include <string>

/// The keyrings as Apptainer shows them, and keys that are chosen by their number.
namespace cybele::cli {

/// `key list [--secret] [--global]`; gives the exit code.
[[nodiscard]] Result<int> list_keyring(const Session& session, const OtherCall& call);

/// The fingerprint of the only key of a keyring; of several the one whose number is read from
/// standard input.
[[nodiscard]] Result<std::string>
ask_for_key(const Session& session, bool is_secret, bool is_export);

} // namespace cybele::cli
