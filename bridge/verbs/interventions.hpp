// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/service/service.hpp"

#include <string>

/// What an administrator decides, where the bridge cannot.
namespace cybele::bridge {

/// Lets an object be handed over that is older than the records of jobs: it may have run before.
/// kInput where the object does not wait for that.
[[nodiscard]] Result<void> accept_object(const ServiceRequest& request, const std::string& place);

/// Removes the finalizer of a deleted object, although its job was not proven to have ended. kInput
/// where the object was not deleted, or is not held by the bridge.
[[nodiscard]] Result<Object> forget_object(const ServiceRequest& request, const std::string& place);

} // namespace cybele::bridge
