// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/objects/object.hpp"

#include <filesystem>
#include <string>

namespace cybele::bridge {

/// The files that the object's job writes its output to, absolute: as its script names them, else
/// as the batch system does. Empty: only the batch system knows them.
[[nodiscard]] Streams output_paths(const Object& object, const std::filesystem::path& workdir);

/// The claim (PersistentVolumeClaim) of `spec.results.mount`; empty: another kind of volume.
[[nodiscard]] std::string claim_of(const Object& object);

} // namespace cybele::bridge
