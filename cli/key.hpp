// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <vector>

namespace cybele::cli {

struct Session;

/// `key list`: the keys in files, PEM or OpenPGP; without files those of the keyring.
[[nodiscard]] Result<int> list_keys(const Session& session, const std::vector<std::string>& files);

} // namespace cybele::cli
