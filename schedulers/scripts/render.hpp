// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/job.hpp"
#include "launchers/documents/site.hpp"
#include "support/error.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cybele::images {
struct ImageFacts;
}

namespace cybele::schedulers {

/// Everything a rendering depends on. Pure: same input, same bytes on every machine.
struct RenderInput {
    const launchers::Job* job = nullptr;
    std::vector<std::string> options;          ///< of the command line, which replaced fields
    const launchers::Site* site = nullptr;     ///< may be null: embedded defaults
    std::string dialect;                       ///< slurm, torque, pbspro, slurm-torque, local
    std::string image;                         ///< the path that the script uses
    std::optional<std::string> image_digest;   ///< only when the Job gives it
    const images::ImageFacts* facts = nullptr; ///< null: unknown
    /// The directives as WLM-Operator reads them (a SlurmJob's): memory as a plain number of MB.
    bool is_for_operator = false;
    /// Directives, exports and the launch, and nothing else.
    bool is_plain = false;
};

struct RenderedScript {
    std::string text;
    std::vector<Fault> notes; ///< warnings: unknown facts, "cannot be guarded", …
};

/// The batch script. A need that the dialect cannot express, or a launch that the facts forbid, is
/// kInput with the reason; all of them at once.
[[nodiscard]] Result<RenderedScript> render_script(const RenderInput& input);

} // namespace cybele::schedulers
