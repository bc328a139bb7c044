// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"
#include "images/openpgp/keyring.hpp"

#include <string>

/// The keyrings as Apptainer shows them, and keys that are chosen by their number.
namespace cybele::cli {

/// `key list [--secret] [--global]`; gives the exit code.
[[nodiscard]] Result<int> list_keyring(const Session& session, const OtherCall& call);

/// The public keys that root has chosen for all users of the machine; empty where the file is
/// missing.
[[nodiscard]] Result<images::openpgp::Keyring> global_ring();

/// What a key is chosen for; the first and the last take one of the secret keyring.
enum class KeyFor { kSigning, kPublicExport, kSecretExport };

/// The fingerprint of the only key of a keyring; of several the one whose number is read from
/// standard input.
[[nodiscard]] Result<std::string> ask_for_key(const Session& session, KeyFor use);

} // namespace cybele::cli
