// SPDX-License-Identifier: Apache-2.0
#include "cli/common/apptainer_build.hpp"

#include "cli/common/apptainer_signatures.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

/// The lines of a build that Apptainer has, too: a row for each kind of step.
struct ApptainerLine {
    std::string_view step; ///< how ours begins
    std::string_view text;
};
constexpr ApptainerLine kScripts[] = {{"%pre", "Running pre scriptlet"},
                                      {"%setup", "Running setup scriptlet"},
                                      {"%post", "Running post scriptlet"},
                                      {"%appinstall", "Running post scriptlet"},
                                      {"%test", "Running testscript"}};
/// In the order in which Apptainer adds them.
constexpr ApptainerLine kMetadata[] = {{"help", "Adding help info"},
                                       {"labels", "Adding labels"},
                                       {"environment", "Adding environment to container"},
                                       {"startscript", "Adding startscript"},
                                       {"runscript", "Adding runscript"},
                                       {"test", "Adding testscript"}};

bool comes_from_registry(std::string_view agent) {
    return agent == "docker" || agent == "docker-archive" || agent == "oci" ||
           agent == "oci-archive" || agent == "docker-daemon";
}

bool is_sif(const std::string& file) {
    constexpr std::size_t kMagicAt = 32; // after the launch line
    std::ifstream in(file, std::ios::binary);
    std::string begin(kMagicAt + 9, '\0');
    in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    return in && begin.substr(kMagicAt) == "SIF_MAGIC";
}

} // namespace

void tell_build_starts(const Session& session) {
    static bool is_told = false;
    if (!is_told) {
        session.inform_as_apptainer("Starting build...");
    }
    is_told = true;
}

void ApptainerBuild::phase(const std::string& name, const std::string& value) {
    if (name != "planned" || !session_->prints_info) {
        return;
    }
    const auto plan = nlohmann::json::parse(value, nullptr, false);
    for (const auto& stage : plan["stages"]) {
        std::string keys;
        const std::string listed = stage.value("fingerprints", "");
        for (const auto key : text::split_terminated(listed, ',')) {
            keys += (keys.empty() ? "" : " ") + std::string(text::trimmed(key));
        }
        PlannedStage planned{stage["name"],
                             stage["agent"],
                             stage["source"],
                             stage["from"],
                             keys,
                             stage["sections"],
                             {}};
        for (const auto& step : stage["steps"]) {
            PlannedStep one{step["name"], {}};
            for (const auto& file : step["files"]) {
                one.copies.push_back(file["from"].get<std::string>() + " to " +
                                     file["to"].get<std::string>());
            }
            planned.steps.push_back(std::move(one));
        }
        stages_.push_back(std::move(planned));
    }
    tell_build_starts(*session_);
    enter(0);
}

bool ApptainerBuild::is_updated() const {
    return !updated_.empty() && at_ + 1 == stages_.size();
}

void ApptainerBuild::enter(std::size_t stage) {
    at_ = stage;
    has_base_ = false;
    metadata_ = 0;
    done_.clear();
    if (at_ >= stages_.size() || is_updated()) {
        return;
    }
    if (comes_from_registry(stages_[at_].agent)) {
        session_->inform_as_apptainer("Fetching OCI image...");
    } else if (stages_[at_].agent == "oras" || stages_[at_].agent == "library") {
        session_->inform_as_apptainer("Downloading " + stages_[at_].agent + " image");
    } else if (stages_[at_].agent == "localimage" && is_sif(stages_[at_].source)) {
        const std::string& keys = stages_[at_].fingerprints;
        if (keys.empty()) {
            session_->inform_as_apptainer("Verifying bootstrap image " + printable(shown_base()));
            warn_of_signatures(*session_, stages_[at_].source);
            return;
        }
        session_->inform_as_apptainer("Checking bootstrap image verifies with fingerprint(s): [" +
                                      printable(keys) + "]");
    }
}

/// As it is written; of an image that is named on the command line its path there.
std::string ApptainerBuild::shown_base() const {
    const std::string& from = stages_[at_].from;
    const std::string& word = session_->words.empty() ? from : session_->words.back();
    return word.ends_with("/" + from) ? word : from;
}

void ApptainerBuild::tell_base() {
    if (has_base_ || at_ >= stages_.size()) {
        return;
    }
    has_base_ = true;
    if (is_updated()) {
        session_->inform_as_apptainer("Building into existing container: " + printable(updated_));
    } else if (comes_from_registry(stages_[at_].agent)) {
        session_->inform_as_apptainer("Extracting OCI image...");
        if (fixes_permissions_) {
            session_->warn_as_apptainer(
                "The --fix-perms option modifies the filesystem permissions "
                "on the resulting container.");
        }
        session_->inform_as_apptainer("Inserting Apptainer configuration...");
    } else if (stages_[at_].agent == "localimage") {
        session_->inform_as_apptainer("Extracting local image...");
    }
}

void ApptainerBuild::tell_metadata(std::string_view last) {
    while (at_ < stages_.size() && metadata_ < std::size(kMetadata)) {
        const auto& [section, text] = kMetadata[metadata_];
        const auto& all = stages_[at_].sections;
        if (contains(all, section)) {
            session_->inform_as_apptainer(text);
        }
        ++metadata_;
        if (section == last) {
            return;
        }
    }
}

bool ApptainerBuild::is_done() const {
    return at_ >= stages_.size() || stages_[at_].steps.empty() ||
           done_.contains(stages_[at_].steps.back().name);
}

void ApptainerBuild::tell_copies(std::string_view step) {
    for (const PlannedStep& one : stages_[at_].steps) {
        for (const std::string& copy : one.name == step ? one.copies : std::vector<std::string>()) {
            session_->inform_as_apptainer("Copying " + printable(copy));
        }
    }
}

bool ApptainerBuild::runs_scripts() const {
    return std::ranges::any_of(stages_, [](const PlannedStage& stage) {
        const auto has = [&stage](std::string_view section) {
            return contains(stage.sections, section);
        };
        return has("pre") || has("setup") || has("post") || has("test") || has("appinstall");
    });
}

void ApptainerBuild::tell_pack() {
    session_->inform_as_apptainer(makes_sandbox_ ? "Creating sandbox directory..."
                                                 : "Creating SIF file...");
}

void ApptainerBuild::tell_rest() {
    for (; at_ < stages_.size(); enter(at_ + 1)) {
        tell_base();
        for (const PlannedStep& one : stages_[at_].steps) {
            tell_copies(one.name);
        }
        tell_metadata();
    }
    tell_pack();
}

void ApptainerBuild::step(const builder::StepEvent& event) {
    using Kind = builder::StepEvent::Kind;
    if (event.kind == Kind::kWarning) { // of labels
        tell_base();
        tell_metadata("labels");
        session_->warn_as_apptainer(printable(event.line));
        return;
    }
    if (!session_->prints_info || stages_.empty() || event.kind == Kind::kNote) {
        return;
    }
    if (event.kind == Kind::kUnchanged && !runs_scripts()) { // nothing that is run would be missed
        tell_rest();
        return;
    }
    if (event.kind == Kind::kUnchanged || event.kind == Kind::kReused) {
        session_->inform_as_apptainer(event.line + "; --disable-cache builds it again");
        const bool is_later = stage_of(event) > at_ && !stages_[at_].steps.empty();
        done_.insert(is_later ? stages_[at_].steps.back().name : event.step); // nothing more comes
        return;
    }
    if (event.kind == Kind::kPack) {
        for (const builder::StepEvent& one : std::exchange(later_, {})) {
            tell_step(one);
        }
    } else if (stage_of(event) > at_ && !is_done()) {
        later_.push_back(event);
        return;
    }
    tell_step(event);
    while (!later_.empty() && (is_done() || stage_of(later_.front()) == at_)) {
        const builder::StepEvent next = later_.front();
        later_.erase(later_.begin());
        tell_step(next);
    }
}

std::size_t ApptainerBuild::stage_of(const builder::StepEvent& event) const {
    const auto named = std::ranges::find(stages_, event.stage, &PlannedStage::name);
    return event.stage.empty() || named == stages_.end()
               ? at_
               : static_cast<std::size_t>(named - stages_.begin());
}

void ApptainerBuild::tell_step(const builder::StepEvent& event) {
    const std::size_t stage = stage_of(event);
    if (stage != at_) {
        tell_base();
        tell_metadata();
        enter(stage);
    }
    done_.insert(event.step);
    const bool is_pack = event.kind == builder::StepEvent::Kind::kPack;
    if (!event.step.starts_with("%pre")) {
        tell_base();
    }
    if (event.step.starts_with("%test") || is_pack) {
        tell_metadata();
    }
    tell_copies(event.step);
    for (const auto& [script, text] : kScripts) {
        if (event.step.starts_with(script)) {
            session_->inform_as_apptainer(text);
        }
    }
    if (is_pack) {
        tell_pack();
    }
}

} // namespace cybele::cli
