// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

/// The bodies of writes.
namespace cybele::apiserver {

inline constexpr std::string_view kMergePatch = "application/merge-patch+json";
inline constexpr std::string_view kJsonPatch = "application/json-patch+json";
inline constexpr std::string_view kJsonBody = "application/json";
/// Asks for the metadata alone in the answer to a write.
inline constexpr std::string_view kMetadataOnly =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// `change` with the resourceVersion that it is based on: any other state of the object is a
/// conflict (409). For /status no uid is a fence: the server drops metadata there except for the
/// resourceVersion.
[[nodiscard]] std::string merge_patch(nlohmann::json change, std::string_view revision);

/// Adds a finalizer to the object that it is based on: the same uid and resourceVersion.
[[nodiscard]] std::string add_finalizer(const nlohmann::json& object, std::string_view finalizer);

/// The operation of a JSON patch that refuses the patch (422) unless `value` is at `path`; null:
/// unless nothing is there, although what contains it is.
[[nodiscard]] nlohmann::json test(const std::string& path, nlohmann::json value);

/// JSON patch that removes the finalizer of the object with this uid; unset where it has none.
/// Meanwhile changed finalizers are refused (422), and what fails one of the further `tests`.
[[nodiscard]] std::optional<std::string>
remove_finalizer(const nlohmann::json& object, std::string_view finalizer, nlohmann::json tests);

/// JSON patch that replaces /status of an object that passes the `tests`.
[[nodiscard]] std::string set_status(nlohmann::json tests, nlohmann::json status);

struct DeleteConditions {
    std::string uid;      ///< another one is a conflict (409)
    std::string revision; ///< empty: any
    std::optional<int> grace_seconds;
};
[[nodiscard]] std::string delete_options(const DeleteConditions& conditions);

} // namespace cybele::apiserver
