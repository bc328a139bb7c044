// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/job.hpp"
#include "schedulers/scripts/image_place.hpp"
#include "schedulers/scripts/values.hpp"
#include "support/quote.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace cybele::schedulers {
namespace {

using templates::Value;
using templates::Values;

bool is_below_folder(std::string_view path) {
    return !path.starts_with('/') && !path.starts_with('~');
}

} // namespace

bool is_beside_workdir(const RenderInput& input) {
    const launchers::Job& job = *input.job;
    return job.image && job.image->expanded.empty() && !job.workdir.empty() &&
           is_below_folder(input.image);
}

void add_image(const Rendering& rendering, Values& values) {
    const auto& input = rendering.input;
    values["has-image"] = input.job->image.has_value();
    const bool expands = input.job->image && !input.job->image->expanded.empty();
    // Where all nodes find it, whatever folder they are in.
    const bool is_elsewhere = is_beside_workdir(input);
    values["keeps-submission-folder"] = is_elsewhere;
    const char* const folder = is_elsewhere                   ? "\"$submitted\"/"
                               : is_below_folder(input.image) ? "\"$PWD\"/"
                                                              : "";
    values["image"] =
        expands
            ? Value(Value::Verbatim{expansion_expression(*input.job, input.job->image->expanded)})
            : Value(folder + path_expression(input.image));
    const std::string digest = input.image_digest.value_or("");
    values["image-digest"] = digest.empty() ? Value() : Value(digest);
    const bool is_sha256 = digest.starts_with("sha256:");
    values["image-sha256"] = is_sha256;
    if (input.image.find("://") != std::string::npos) {
        Fault note =
            input.job->fault_at("image",
                                problem("image-only-in-registry",
                                        printable(input.image) + " is not here, and the script "
                                                                 "would look for a file"),
                                "an image of a registry is pulled when the job is submitted",
                                "call `cybelectl submit`, or pull it and name it here: "
                                "`cybelectl image pull`, then `image: store:NAME:TAG`");
        note.is_warning = true;
        rendering.faults.add(std::move(note));
    }
    if (input.job->image && input.image.empty() && !expands) {
        rendering.faults.add(input.job->fault_at(
            "image",
            problem("image-not-a-file", "an image that is not a file is not supported yet"),
            "this version starts images from files only",
            "name the image's path, or build the Recipe first"));
    }
}

} // namespace cybele::schedulers
