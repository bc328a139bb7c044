// SPDX-License-Identifier: Apache-2.0
#include "builder/files/context.hpp"

#include "builder/files/output.hpp"
#include "builder/files/workspace.hpp"
#include "images/sif/start.hpp"

#include <fcntl.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOwnFiles = ".cybelectl";

/// Less than any SIF that this program or Apptainer writes.
constexpr off_t kLeastImageBytes = off_t{30} << 10U;

/// By its bytes, whatever its name: `.img`, `.simg`, none.
bool is_image(const fs::path& path, const CopiedNode& node) {
    if (!S_ISREG(node.status.st_mode) ||
        (path.extension() != ".sif" && node.status.st_size < kLeastImageBytes)) {
        return false;
    }
    const UniqueFd fd = reopen(node.fd.get(), O_RDONLY);
    return fd.valid() && images::image_start(fd.get()).kind == images::ImageStart::Kind::kSif;
}

} // namespace

Result<BuildContext>
BuildContext::open(Rules rules, const fs::path& directory, const fs::path& output) {
    BuildContext context;
    context.rules_ = rules;
    context.directory_ = absolute_path(directory);
    context.output_ = absolute_path(output);
    struct stat status {};
    if (::stat(output.c_str(), &status) == 0) {
        context.output_file_ = status;
    }
    if (rules == Rules::kRecipe) {
        CYBELE_TRY(context.ignored_, IgnoreFile::read(context.directory_));
    }
    return context;
}

bool BuildContext::is_output(const fs::path& path, const CopiedNode& node) const {
    return path == output_ || (output_file_ && output_file_->st_dev == node.status.st_dev &&
                               output_file_->st_ino == node.status.st_ino);
}

BuildContext::Answer
BuildContext::look(const fs::path& path, const CopiedNode& node, bool is_named) const {
    const fs::path place = absolute_path(path);
    const std::string name = place.filename();
    if (!is_named && name.starts_with(kWorkspacePrefix)) {
        return {"a folder of a build", false};
    }
    if (rules_ == Rules::kDefinition) {
        return {};
    }
    if (is_output(place, node)) {
        return {"the output of this build", false};
    }
    if (!is_named && name == ".git") {
        return {"the history", false};
    }
    if (!is_named && (name.starts_with(kOwnFiles) || is_image(place, node))) {
        return {name.starts_with(kOwnFiles) ? "a file of cybelectl" : "an image", false};
    }
    const std::string below = place.lexically_relative(directory_);
    const bool is_below =
        !below.empty() && below != "." && below != ".." && !below.starts_with("../");
    if (const auto line = is_below ? ignored_.line_for(below) : std::nullopt) {
        return {ignored_.name_of_line(*line),
                S_ISDIR(node.status.st_mode) && ignored_.has_exceptions()};
    }
    return {};
}

} // namespace cybele::builder
