// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/namespaces/sandbox.hpp"
#include "support/error.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace cybele::builder {

/// Root needs no user namespace; a user needs the range of subordinate ids, for packages own files
/// by many ids. Without one everything belongs to one id.
[[nodiscard]] Result<namespaces::IdMap>
choose_map(const std::function<void(const std::string&)>& tell);

/// How files of this user's builds are owned: a layer made otherwise cannot stand in.
[[nodiscard]] std::string_view owners_of(namespaces::IdMap map);

} // namespace cybele::builder
