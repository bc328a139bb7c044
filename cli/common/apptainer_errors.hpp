// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <optional>
#include <string>

namespace cybele::cli {

/// An error in Apptainer's words.
struct ApptainerError {
    std::string words;
    bool is_fatal = true;     ///< those of keys and key servers are not
    bool is_of_build = false; ///< found after the build began
};

/// Verbs that start a container have words of their own for some errors.
enum class Verbs { kAny, kStart };

/// The error as Apptainer 1.4.5 words it, where programs that call it look for its words; nothing
/// for the others.
[[nodiscard]] std::optional<ApptainerError> apptainer_error_of(const Fault& fault, Verbs verbs);

/// What its client of registries says of a pull without the right login; the fault is about the
/// registry's address.
[[nodiscard]] std::string
unauthorized_answer(const Fault& fault, const std::string& repository, const std::string& tag);

} // namespace cybele::cli
