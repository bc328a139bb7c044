// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/openpgp/certificate.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cybele::cli {

struct Session;

/// `key list`: the keys in files, PEM or OpenPGP; without files those of the keyring.
[[nodiscard]] Result<int> list_keys(const Session& session, const std::vector<std::string>& files);

/// Why a key of OpenPGP is unusable as of `now` (Unix seconds), its time being one of the reasons;
/// empty: it is usable.
[[nodiscard]] std::string why_unusable(const images::openpgp::KeyState& key, std::int64_t now);

} // namespace cybele::cli
