// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan_json.hpp"

#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/json.hpp"

namespace cybele::pipeline {

std::string print_json(const ImagePlan& plan) {
    using Ordered = nlohmann::ordered_json;
    Ordered copies = Ordered::array();
    for (const PlannedCopy& copy : plan.copies) {
        copies.push_back({{"from", copy.line.source}, {"to", copy.line.destination}});
    }
    const Ordered value{{"source", plan.source.native()},
                        {"kind",
                         plan.is_recipe  ? "recipe"
                         : plan.is_image ? "image"
                                         : "definition"},
                        {"recipe", plan.recipe},
                        {"definition", hex(sha256(plan.definition.text))},
                        {"directory", plan.directory.native()},
                        {"output", plan.output.native()},
                        {"epoch", plan.epoch ? Ordered(*plan.epoch) : Ordered(nullptr)},
                        {"compression", plan.image.compression},
                        {"sbom", plan.image.sbom},
                        {"labels", plan.image.labels},
                        {"bases", plan.digests},
                        {"copies", copies}};
    return json_text(value, -1);
}

} // namespace cybele::pipeline
