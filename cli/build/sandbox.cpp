// SPDX-License-Identifier: Apache-2.0
#include "cli/build/sandbox.hpp"

#include "images/sif/sif.hpp"
#include "images/squashfs/unpack.hpp"
#include "runtime/containers/image_file.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <system_error>

namespace cybele::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* kMark = ".singularity.d";

/// Without its trailing slash.
fs::path plain(const fs::path& directory) {
    return directory.has_filename() ? directory : directory.parent_path();
}

/// Whether this process works in the directory or below it.
bool holds_process(const fs::path& directory) {
    std::error_code failed;
    const fs::path here = fs::current_path(failed);
    const fs::path place = fs::weakly_canonical(directory, failed);
    return failed ||
           std::mismatch(place.begin(), place.end(), here.begin(), here.end()).first == place.end();
}

} // namespace

bool is_replaceable(const fs::path& target) {
    std::error_code failed;
    const fs::file_status status = fs::symlink_status(plain(target), failed);
    return fs::is_symlink(status) || (fs::is_directory(status) && !holds_process(target));
}

Result<builder::Workspace> workspace_beside(const fs::path& directory) {
    const fs::path place = plain(directory);
    const fs::path folder = place.has_parent_path() ? place.parent_path() : fs::path(".");
    std::error_code failed;
    if (!fs::is_directory(folder, failed)) {
        return fail(ErrorCode::kInput,
                    problem("output-folder-missing",
                            "the folder " + printable(folder.native()) + " does not exist"),
                    "the sandbox is made there",
                    "make it: `mkdir -p " + shell_quote(folder.native()) + "`");
    }
    return builder::Workspace::make(folder, namespaces::IdMap::kNone);
}

Result<void> replace_target(const fs::path& image, const fs::path& target) {
    CYBELE_CHECK(remove_tree(plain(target)));
    std::error_code failed;
    fs::rename(image, plain(target), failed);
    if (failed) {
        return fail(system_error("cannot make " + printable(target.native()), failed.value()));
    }
    return {};
}

Result<void> check_sandbox(const fs::path& directory, bool is_forced, bool replaces_files) {
    std::error_code failed;
    const fs::path place = plain(directory);
    if (!fs::exists(fs::symlink_status(place, failed))) {
        return {};
    }
    const bool is_sandbox = fs::is_directory(place, failed) && !fs::is_symlink(place, failed) &&
                            (fs::exists(place / kMark, failed) || fs::is_empty(place, failed));
    if (is_forced && (is_sandbox || (replaces_files && !holds_process(place)))) {
        return {};
    }
    const bool has_changes = is_sandbox && fs::exists(place / kMark, failed);
    return fail(ErrorCode::kInput,
                problem(has_changes ? "sandbox-exists" : "sandbox-place-taken",
                        printable(place.native()) + " exists already")
                    .about(place.native()),
                has_changes  ? "it is a sandbox, whose changes would be lost"
                : is_sandbox ? "it is an empty directory"
                             : "it is not a sandbox, and nothing else is replaced",
                is_sandbox ? "write --force, or name a new directory" : "name a new directory");
}

Result<void> make_sandbox_of(const fs::path& image, const fs::path& directory) {
    const fs::path place = plain(directory);
    const fs::path made = image.parent_path() / "root";
    std::error_code failed;
    auto opened = runtime::open_image(image, images::host_architecture());
    fs::remove(image, failed); // it stays open
    CYBELE_TRY(const runtime::ImageFile file, std::move(opened));
    fs::create_directory(made, failed);
    if (failed) {
        return fail(system_error("cannot make " + printable(made.native()), failed.value()));
    }
    CYBELE_CHECK(images::unpack_squashfs({file.fd.get(), file.offset, file.size}, made));
    fs::permissions(made, fs::perms::owner_all, fs::perm_options::add, failed);
    CYBELE_CHECK(remove_tree(place));
    fs::rename(made, place, failed);
    if (failed) {
        return fail(system_error("cannot make " + printable(place.native()), failed.value()));
    }
    return {};
}

} // namespace cybele::cli
