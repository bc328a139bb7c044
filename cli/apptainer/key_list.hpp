// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"

#include <string>

/// The keyrings as Apptainer shows them, and keys that are chosen by their number.
namespace cybele::cli {

/// `key list [--secret] [--global]`; gives the exit code.
[[nodiscard]] Result<int> list_keyring(const Session& session, const OtherCall& call);

/// What a key is chosen for; the first and the last take one of the secret keyring.
enum class KeyFor { kSigning, kPublicExport, kSecretExport };

/// The fingerprint of a key whose number is read from standard input; the only key is not asked for
/// where it signs.
[[nodiscard]] Result<std::string> ask_for_key(const Session& session, KeyFor use);

} // namespace cybele::cli
