// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/objects/object.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

/// Results in claims: a pod of the object's own namespace, for which quota and pod security of that
/// namespace count, gets them from the bridge and writes them into the volume.
namespace cybele::bridge {

inline constexpr std::string_view kCollectorAudience = "cybelectl-bridge";
inline constexpr std::string_view kCollectorLabel = "cybelectl.io/collects-for";

/// What the pod is told.
struct CollectorPlace {
    std::string bridge; ///< its name
    std::string image;
    std::string address; ///< of the listener: IP address and port
    std::string certificate;
};

[[nodiscard]] std::string collector_name(const Object& object);
[[nodiscard]] nlohmann::json collector_json(const Object& object, const CollectorPlace& place);

/// A file that the bridge offers, and the line that says so: `SIZE SHA256 NAME`.
struct OfferedFile {
    std::uint64_t size = 0;
    std::string sha256;
    std::string name; ///< below the volume
};
/// Unset: not such a list. A name that leads out of the volume is none.
[[nodiscard]] std::optional<std::vector<OfferedFile>> read_offer(std::string_view text);
/// Keeps what is offered twice once, such as an output that a pattern of the results matches too.
/// The first name that two different files have; empty: none has.
[[nodiscard]] std::string keep_each_once(std::vector<OfferedFile>& files);

/// The report that fits into the 4,096 bytes of a pod's termination message, in the form of
/// kCollectResults.
[[nodiscard]] std::string collector_report(const std::vector<OfferedFile>& files);
[[nodiscard]] std::string collector_failure(std::string_view reason, std::string_view words);

} // namespace cybele::bridge
