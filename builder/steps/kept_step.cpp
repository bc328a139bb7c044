// SPDX-License-Identifier: Apache-2.0
#include "builder/steps/kept_step.hpp"

#include "support/json.hpp"

namespace cybele::builder {

std::string print_kept(const KeptStep& kept) {
    nlohmann::json parts = nlohmann::json::array();
    for (const KeyPart& part : kept.parts) {
        parts.push_back({part.what, part.digest});
    }
    const nlohmann::json document{{"definition", kept.definition},
                                  {"stage", kept.stage},
                                  {"step", kept.step},
                                  {"parent", kept.parent},
                                  {"text", kept.text},
                                  {"parts", parts}};
    return json_text(document, 1) + "\n";
}

KeptStep read_kept(std::string_view about) {
    const auto document = parse_json(about);
    KeptStep kept;
    if (!document.is_object()) {
        return kept;
    }
    const auto text = [&](const char* name) { return member_text(document, name); };
    kept.definition = text("definition");
    kept.step = text("step");
    kept.parent = text("parent");
    kept.text = text("text");
    if (const auto stage = document.find("stage");
        stage != document.end() && stage->is_number_unsigned()) {
        kept.stage = stage->get<std::size_t>();
    }
    const auto parts = document.find("parts");
    for (const auto& part : parts != document.end() ? *parts : nlohmann::json::array()) {
        if (part.is_array() && part.size() == 2 && part[0].is_string() && part[1].is_string()) {
            kept.parts.push_back({part[0].get<std::string>(), part[1].get<std::string>()});
        }
    }
    return kept;
}

} // namespace cybele::builder
