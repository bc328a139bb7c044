// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/build_target.hpp"

#include "support/quote.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> refuse_target(const std::string& why) {
    return fail(ErrorCode::kInput,
                problem("build-target-refused", "While checking build target: " + why));
}

/// An empty directory, or what looks like a sandbox.
bool may_be_replaced(const fs::path& directory) {
    constexpr std::string_view kMarks[] = {".singularity.d", "dev", "proc", "sys"};
    std::error_code failed;
    return fs::is_empty(directory, failed) ||
           std::ranges::all_of(kMarks, [&](std::string_view mark) {
               return fs::exists(fs::symlink_status(directory / mark, failed));
           });
}

} // namespace

Result<void> check_build_target(const OtherCall& call) {
    const std::string& name = call.words.front();
    if (name.empty()) {
        return refuse_target("failed to get absolute path for \"\": path is empty");
    }
    std::error_code failed;
    const fs::path place = fs::absolute(name, failed).lexically_normal();
    const fs::path file = place.has_filename() ? place : place.parent_path();
    const std::string shown = printable(file.native());
    const bool is_update = call.has("--update");
    const bool is_forced = call.has("--force");
    if (is_update && !call.has("--sandbox")) {
        return refuse_target("only sandbox update is supported: --sandbox flag is missing");
    }
    if (!fs::exists(file, failed)) {
        return is_update ? refuse_target("could not update sandbox " + shown + ": doesn't exist")
                         : Result<void>();
    }
    const bool is_directory = fs::is_directory(file, failed);
    if (is_update && !is_directory) {
        return refuse_target("only sandbox update is supported: " + shown + " is not a directory");
    }
    if (is_directory && !is_forced && !may_be_replaced(file)) {
        return refuse_target(shown +
                             " is not empty and is not an Apptainer sandbox, check its content "
                             "first and use --force if you want to overwrite it");
    }
    if (!is_update && !is_forced) {
        return refuse_target("build target '" + printable(file.filename().native()) +
                             "' already exists. Use --force if you want to overwrite it");
    }
    return {};
}

} // namespace cybele::cli
