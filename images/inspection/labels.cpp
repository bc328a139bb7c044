// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/labels.hpp"

#include "images/inspection/inspect_json.hpp"
#include "support/json.hpp"

namespace cybele::images {

std::string print_labels(const Labels& labels) {
    return print_json(nlohmann::ordered_json(labels), 1);
}

Result<Labels> parse_labels(std::string_view text) {
    const auto json = parse_json(text);
    if (!json.is_object()) {
        return fail(ErrorCode::kInput,
                    problem("image-labels-unreadable", "the labels of the image cannot be read"),
                    "/.singularity.d/labels.json holds no JSON object",
                    "build the image again");
    }
    Labels labels;
    for (const auto& [key, value] : json.items()) {
        labels[key] = value.is_string() ? value.get<std::string>() : json_text(value, -1);
    }
    return labels;
}

} // namespace cybele::images
