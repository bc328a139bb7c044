// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/request/step_event.hpp"
#include "cli/common/session.hpp"

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::cli {

/// What a build by the name of Apptainer reports: Apptainer's lines, in its order.
class ApptainerBuild {
public:
    /// `updated`: the sandbox that is updated, if any.
    ApptainerBuild(const Session& session,
                   bool makes_sandbox,
                   std::string updated,
                   bool fixes_permissions)
        : session_(&session), makes_sandbox_(makes_sandbox), updated_(std::move(updated)),
          fixes_permissions_(fixes_permissions) {}

    /// The phases of the build as JSON; "planned" says what will be told.
    void phase(const std::string& name, const std::string& value);
    void step(const builder::StepEvent& event);

private:
    struct PlannedStep {
        std::string name;
        std::vector<std::string> copies; ///< "FROM to TO"
    };
    struct PlannedStage {
        std::string name;
        std::string agent;
        std::string source;
        std::string from;         ///< as it is written
        std::string fingerprints; ///< of Fingerprints, separated by blanks
        std::vector<std::string> sections;
        std::vector<PlannedStep> steps;
    };

    void enter(std::size_t stage);
    void tell_base();
    [[nodiscard]] std::string shown_base() const;
    /// The lines that are left of this stage, as far as the one about `last`.
    void tell_metadata(std::string_view last = {});
    void tell_step(const builder::StepEvent& event);
    /// Whether the last step of this stage was told.
    [[nodiscard]] bool is_done() const;
    [[nodiscard]] std::size_t stage_of(const builder::StepEvent& event) const;
    void tell_copies(std::string_view step);
    void tell_pack();
    void tell_rest();
    [[nodiscard]] bool runs_scripts() const;
    [[nodiscard]] bool is_updated() const;

    const Session* session_;
    bool makes_sandbox_;
    std::string updated_;
    bool fixes_permissions_;
    std::vector<PlannedStage> stages_;
    std::size_t at_ = 0;
    bool has_base_ = false;                 ///< told for this stage
    std::size_t metadata_ = 0;              ///< how many lines about them were told for this stage
    std::set<std::string> done_;            ///< steps of this stage
    std::vector<builder::StepEvent> later_; ///< of stages that Apptainer builds after this one
};

/// "Starting build...", once per process.
void tell_build_starts(const Session& session);

} // namespace cybele::cli
