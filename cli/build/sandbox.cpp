// SPDX-License-Identifier: Apache-2.0
#include "cli/build/sandbox.hpp"

#include "images/sif/sif.hpp"
#include "images/squashfs/unpack.hpp"
#include "runtime/containers/image_file.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* kMark = ".singularity.d";

/// Without its trailing slash.
fs::path plain(const fs::path& directory) {
    return directory.has_filename() ? directory : directory.parent_path();
}

void erase_tree(const fs::path& tree) {
    std::error_code ignored;
    for (fs::recursive_directory_iterator at(tree, ignored), end; at != end;
         at.increment(ignored)) {
        if (at->is_directory(ignored) && !at->is_symlink(ignored)) {
            fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
        }
    }
    fs::remove_all(tree, ignored);
}

} // namespace

bool is_sandbox(const fs::path& directory) {
    std::error_code failed;
    const fs::path place = plain(directory);
    return fs::is_directory(fs::symlink_status(place, failed)) && fs::exists(place / kMark, failed);
}

Result<void> replace_sandbox(const fs::path& image, const fs::path& directory) {
    erase_tree(plain(directory));
    std::error_code failed;
    fs::rename(image, plain(directory), failed);
    if (failed) {
        fs::remove(image, failed);
        return fail(system_error("cannot make " + printable(directory.native()), failed.value()));
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
    if (is_forced &&
        (is_sandbox || (replaces_files && fs::is_regular_file(fs::status(place, failed))))) {
        return {};
    }
    return fail(ErrorCode::kInput,
                problem("sandbox-exists", printable(place.native()) + " exists already"),
                !is_sandbox ? "it is not a sandbox, and nothing else is replaced"
                : fs::exists(place / kMark, failed) ? "it is a sandbox, whose changes would be lost"
                                                    : "it is an empty directory",
                is_sandbox ? "write --force, or name a new directory" : "name a new directory");
}

fs::path image_before_sandbox(const fs::path& directory) {
    return plain(directory).native() + fmt::format(".{}.sif", ::getpid());
}

Result<void> make_sandbox_of(const fs::path& image, const fs::path& directory) {
    const fs::path place = plain(directory);
    const fs::path made = place.native() + fmt::format(".{}.tmp", ::getpid());
    std::error_code failed;
    auto opened = runtime::open_image(image, images::host_architecture());
    fs::remove(image, failed); // it stays open
    CYBELE_TRY(const runtime::ImageFile file, std::move(opened));
    fs::create_directory(made, failed);
    if (failed) {
        return fail(system_error("cannot make " + printable(made.native()), failed.value()));
    }
    if (const auto unpacked =
            images::unpack_squashfs({file.fd.get(), file.offset, file.size}, made);
        !unpacked) {
        erase_tree(made);
        return fail(unpacked.error());
    }
    fs::permissions(made, fs::perms::owner_all, fs::perm_options::add, failed);
    erase_tree(place);
    fs::rename(made, place, failed);
    if (failed) {
        erase_tree(made);
        return fail(system_error("cannot make " + printable(place.native()), failed.value()));
    }
    return {};
}

} // namespace cybele::cli
