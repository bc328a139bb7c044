// SPDX-License-Identifier: Apache-2.0
#include "builder/pack/keys.hpp"

#include "builder/files/copy.hpp"
#include "builder/steps/host_script.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace cybele::builder {
namespace {

/// To be raised when a step's result would differ for the same text.
constexpr std::string_view kStepFormat = "step 5";
constexpr std::string_view kImageFormat = "image 3";
constexpr const char* kParent = "the step before it";

std::string digest_of(std::string_view text) {
    return hex(sha256(text));
}

void add_copies(const Step& step, registry::KnownFiles& files, std::vector<KeyPart>& parts) {
    for (const Copy& copy : step.copies) {
        Sha256 digest;
        add_to_digest(
            copy.destination, copy.listing ? *copy.listing : list_all(copy, {}, files), digest);
        const std::string source = copy.sources.empty() ? "?" : copy.sources.front().native();
        parts.push_back(
            {fmt::format("'{}' for '{}'", source, copy.destination), hex(digest.finish())});
    }
}

/// What scripts get from the caller, where that is not the usual.
void add_rules(const BuildRequest& request, std::vector<KeyPart>& parts) {
    if (request.steps.umask != StepRules().umask) {
        parts.push_back({"its umask", fmt::format("{:o}", request.steps.umask)});
    }
    for (const auto& [name, value] : request.steps.variables) {
        parts.push_back({"the variable " + name, digest_of(value)});
    }
}

/// What the modes of copied files depend on, where they are not those of the files.
void add_copy_rules(const BuildRequest& request, std::vector<KeyPart>& parts) {
    if (request.steps.follows_apptainer) {
        parts.push_back({"the modes of its files", fmt::format("{:o}", request.steps.umask)});
    }
}

StepKey key_of_step(const Step& step,
                    const std::string& parent,
                    const std::vector<StageKeys>& earlier,
                    const AgentContext& context) {
    StepKey result;
    std::vector<KeyPart>& parts = result.parts;
    parts.push_back({kParent, digest_of(parent)});
    parts.push_back({"its kind", fmt::format("{}", static_cast<int>(step.kind))});
    parts.push_back({"its text", digest_of(step.text)});
    parts.push_back({"its interpreter", digest_of(step.arguments)});
    bool is_known = !parent.empty() && step.kind != Step::Kind::kHostScript && !step.find_copies;
    if (step.kind == Step::Kind::kCopy || step.kind == Step::Kind::kApps) {
        add_copies(step, context.files, parts);
        add_copy_rules(context.request, parts);
    } else if (step.kind == Step::Kind::kStageCopy) {
        // The other stage's key stands for its files, so that they need not be made to know it.
        // Of its own stage it copies what the steps before have left.
        const bool is_own = step.from_stage >= earlier.size();
        const std::string& other = is_own ? parent : earlier[step.from_stage].result();
        is_known = is_known && !other.empty();
        parts.push_back({"the stage it copies from", digest_of(other)});
        parts.push_back({"the list of its files", digest_of(step.section->text)});
    } else if (context.request.time.is_deterministic) {
        parts.push_back({"SOURCE_DATE_EPOCH", fmt::format("{}", context.request.time.now)});
    }
    if (step.kind == Step::Kind::kScript || step.kind == Step::Kind::kApps) {
        add_rules(context.request, parts);
    }
    Sha256 key;
    key.update(fmt::format("{}\n{}\n", kStepFormat, images::host_architecture()));
    if (const std::string& other = context.request.bases.architecture; !other.empty()) {
        key.update(other + "\n");
    }
    for (const KeyPart& part : parts) {
        key.update(part.digest + "\n");
    }
    result.key = is_known ? hex(key.finish()) : "";
    return result;
}

/// Without labels of its own, an image is the same whether or not they replace those of its base.
bool has_labels(const BuildRequest& request) {
    const auto& stages = request.source.definition.stages;
    return std::ranges::any_of(stages, [](const auto& stage) { return stage.has("labels"); });
}

} // namespace

Result<std::vector<StageKeys>> find_keys(const BuildPlan& plan, const AgentContext& context) {
    std::vector<StageKeys> all;
    for (const StagePlan& stage : plan.stages) {
        StageKeys keys;
        keys.base = stage.base_key;
        if (keys.base.empty()) {
            CYBELE_TRY(keys.base, find_agent(stage.agent)->key(stage, context));
        }
        if (has_command(stage.stage->joined("pre"))) {
            keys.base.clear();
        } else if (!keys.base.empty() && context.request.time.is_deterministic) {
            // What is made for a base is as old as its build, unless that is later than this time.
            keys.base += fmt::format("\nepoch {}", context.request.time.now);
        }
        if (context.request.steps.follows_apptainer && !keys.base.empty()) {
            keys.base += "\nwithout files in /etc that Apptainer does not make";
        }
        std::string parent = keys.base;
        for (const Step& step : stage.steps) {
            keys.steps.push_back(key_of_step(step, parent, all, context));
            parent = keys.steps.back().key;
        }
        all.push_back(std::move(keys));
    }
    return all;
}

std::string image_key(const std::vector<StageKeys>& keys,
                      const BuildRequest& request,
                      std::string_view owners) {
    if (keys.empty() || keys.back().result().empty()) {
        return {};
    }
    std::string text = fmt::format(
        "{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n",
        kImageFormat,
        keys.back().result(),
        owners,
        request.image.compression,
        request.time.is_deterministic ? request.time.now : -1,
        request.steps.runs_tests + (request.steps.keeps_base_help ? 2 : 0) +
            (request.steps.fixes_permissions ? 4 : 0) + (request.steps.has_writable_test ? 32 : 0) +
            (request.steps.follows_apptainer ? 64 : 0),
        request.image.sbom,
        request.image.name,
        request.image.version,
        digest_of(request.source.definition.text));
    if (!request.image.sources.empty()) {
        text += fmt::format("sources {}\n", digest_of(request.image.sources));
    }
    const bool replaces = request.steps.replaces_labels && has_labels(request);
    if (!request.bases.architecture.empty() || replaces) {
        text += fmt::format("architecture {} {}\n", request.bases.architecture, replaces ? 1 : 0);
    }
    for (const auto& [name, value] : request.image.labels) {
        text += fmt::format("{}={}\n", name, digest_of(value));
    }
    return text;
}

std::string layer_key(std::string_view key, std::string_view attributes, std::string_view owners) {
    return fmt::format("{}\n{}\n{}", key, attributes, owners);
}

std::string why_not_reused(const registry::Cache& cache, const KeptStep& wanted) {
    KeptStep last;
    std::int64_t when = -1;
    for (const registry::CacheEntry& entry : cache.list()) {
        KeptStep kept = read_kept(entry.about);
        if (entry.kind == "steps" && entry.used >= when && kept.definition == wanted.definition &&
            kept.stage == wanted.stage && kept.step == wanted.step && !kept.parts.empty()) {
            last = std::move(kept);
            when = entry.used;
        }
    }
    if (when < 0) {
        return {};
    }
    std::map<std::string, std::string> before;
    for (const KeyPart& part : last.parts) {
        before[part.what] = part.digest;
    }
    for (const KeyPart& part : wanted.parts) {
        const auto found = before.find(part.what);
        if (found == before.end()) {
            return printable(part.what) + " is new";
        }
        if (found->second != part.digest) {
            return printable(part.what) + " changed";
        }
        before.erase(found);
    }
    return before.empty() ? std::string() : printable(before.begin()->first) + " is gone";
}

} // namespace cybele::builder
