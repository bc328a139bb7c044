// SPDX-License-Identifier: Apache-2.0
#include "builder/pack/phase_json.hpp"

#include "definitions/grammar/grammar.hpp"
#include "support/encoding.hpp"
#include "support/json.hpp"

#include <nlohmann/json.hpp>

namespace cybele::builder {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr int kOneLine = -1;

/// Keys are texts of several lines; their digest names them as well.
Ordered name_of(const std::string& key) {
    return key.empty() ? Ordered(nullptr) : Ordered(hex(sha256(key)));
}

/// The lines of %files that a step copies by, as they are written.
Ordered files_of(const Step& step) {
    Ordered files = Ordered::array();
    const bool is_copy = step.kind == Step::Kind::kCopy || step.kind == Step::Kind::kStageCopy;
    for (const definitions::FileLine& line :
         is_copy ? definitions::file_lines(*step.section) : std::vector<definitions::FileLine>()) {
        files.push_back({{"from", line.source}, {"to", line.destination}});
    }
    return files;
}

/// The sections of a stage that have a text.
Ordered sections_of(const definitions::Stage& stage) {
    Ordered names = Ordered::array();
    for (const definitions::Section& section : stage.sections) {
        if (!definitions::trim(section.text).empty()) {
            names.push_back(section.name);
        }
    }
    return names;
}

Ordered value_of(const StagePlan& stage, const StageKeys* keys) {
    Ordered steps = Ordered::array();
    for (std::size_t i = 0; i < stage.steps.size(); ++i) {
        steps.push_back({{"name", stage.steps[i].name},
                         {"copies", stage.steps[i].copies.size()},
                         {"files", files_of(stage.steps[i])}});
        if (keys != nullptr) {
            steps.back()["key"] = name_of(keys->steps[i].key);
        }
    }
    Ordered value{{"name", stage.stage->name()},
                  {"agent", stage.agent},
                  {"source", stage.source.native()},
                  {"from", stage.stage->header_value("from")},
                  {"sections", sections_of(*stage.stage)},
                  {"steps", steps}};
    if (const std::string keys_of_base = stage.stage->header_value("fingerprints");
        !keys_of_base.empty()) {
        value["fingerprints"] = keys_of_base;
    }
    if (keys != nullptr) {
        value["base-key"] = name_of(keys->base);
        value["base-digest"] = stage.base_digest;
    }
    return value;
}

Ordered value_of(const BuildPlan& plan, const std::vector<StageKeys>* keys) {
    Ordered stages = Ordered::array();
    for (std::size_t i = 0; i < plan.stages.size(); ++i) {
        stages.push_back(value_of(plan.stages[i], keys == nullptr ? nullptr : &(*keys)[i]));
    }
    return {{"stages", stages}, {"needed-bytes", plan.needed_bytes}};
}

} // namespace

std::string print_json(const BuildPlan& plan) {
    return json_text(value_of(plan, nullptr), kOneLine);
}

std::string print_json(const BasedBuild& build) {
    Ordered value = value_of(build.plan, &build.keys);
    value["needs-namespace"] = build.map != namespaces::IdMap::kNone;
    value["image-key"] = name_of(build.image_key);
    return json_text(value, kOneLine);
}

std::string print_json(const BuiltTrees& trees) {
    Ordered roots = Ordered::array();
    for (const auto& root : trees.roots) {
        roots.push_back(root.native());
    }
    const Ordered value{{"roots", roots},
                        {"layers", trees.layers ? trees.layers->folders().size() : 0}};
    return json_text(value, kOneLine);
}

std::string print_json(const PackedImage& image) {
    const Ordered value{{"file", image.file.native()}, {"reused", image.is_reused}};
    return json_text(value, kOneLine);
}

std::string print_json(const SignedImage& image) {
    const Ordered value{
        {"file", image.file.native()},
        {"signatures", image.signatures},
        {"made-from", image.made_from ? Ordered(hex(*image.made_from)) : Ordered(nullptr)}};
    return json_text(value, kOneLine);
}

std::string print_json(const BuildResult& result) {
    Ordered bases = Ordered::array();
    for (const UsedBase& base : result.bases) {
        bases.push_back({{"uri", base.uri}, {"digest", base.digest}});
    }
    const Ordered value{
        {"image", result.image.native()}, {"bytes", result.bytes}, {"bases", bases}};
    return json_text(value, kOneLine);
}

} // namespace cybele::builder
