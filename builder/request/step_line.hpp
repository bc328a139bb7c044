// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// How lines of BuildReporter::on_step begin or end that their readers tell apart. In a build of
/// several stages the stage's name and ": " come first.
namespace cybele::builder::step_line {

inline constexpr std::string_view kUnpack = "unpack ";            ///< a base, or a layer of it
inline constexpr std::string_view kPack = "pack ";                ///< the image, whose name follows
inline constexpr std::string_view kApplications = "applications"; ///< the step that makes them
inline constexpr std::string_view kReused = ": reused"; ///< behind the name of a cached step
inline constexpr std::string_view kUnchanged = "nothing changed: "; ///< no step is carried out
inline constexpr std::string_view kWarning = "warning: ";

} // namespace cybele::builder::step_line
