// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/objects/object.hpp"

#include <nlohmann/json_fwd.hpp>

/// What keeps a write from an object that is not as it was when the write was decided. A
/// resourceVersion is not enough: where etcd is restored to the past, the same one comes again with
/// another content. So the words of the status that decisions rest on are tested as well.
namespace cybele::bridge {

/// The tests of a JSON patch that an object passes whose status has the id, the state, the phase
/// and the Site that are known of it.
[[nodiscard]] nlohmann::json tests_of_status(const Object& object);

/// The same, and it is this object at this resourceVersion.
[[nodiscard]] nlohmann::json fence(const Object& object);

/// What the server has in the place of the status of an object that was read from `json`.
[[nodiscard]] Stored stored_in(const nlohmann::json& json, const Object& object);

/// Whether the object on the server passes these tests, as the server answers: null is the value of
/// a member that is not there, of an object that is.
[[nodiscard]] bool passes(const nlohmann::json& tests, const nlohmann::json& object);

} // namespace cybele::bridge
