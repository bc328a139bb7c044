// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cybele::kubernetes {

struct ConvertedObject {
    std::string text;        ///< a document of kind Job
    std::vector<Fault> left; ///< warnings: each field that could not be carried, with its place
};

/// Whether the program itself would not notice that the field of `left` is missing.
[[nodiscard]] bool is_without_effect(const Fault& fault);

/// Whether a text looks like a Kubernetes object: a line begins with `apiVersion:`.
[[nodiscard]] bool is_object(std::string_view text);

/// An ordinary `batch/v1` Job or `v1` Pod as a document of kind Job: image, command, resources,
/// environment, volumes of the host, indexes. ConfigMaps that stand in the same file are looked up.
/// Another kind, none or several of them in one file, and what makes no valid Job are kInput.
[[nodiscard]] Result<ConvertedObject> convert_object(const std::string& text,
                                                     const std::string& file);

} // namespace cybele::kubernetes
