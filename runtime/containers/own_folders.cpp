// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/own_folders.hpp"

#include "runtime/containers/isolation.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <utility>

namespace cybele::runtime {

using namespaces::Mount;

Mount bind(std::filesystem::path source, std::filesystem::path target) {
    Mount mount;
    mount.source = std::move(source);
    mount.target = std::move(target);
    mount.is_optional = true;
    return mount;
}

Mount fresh(Mount::Kind kind, const std::filesystem::path& target, std::string options) {
    Mount mount;
    mount.kind = kind;
    mount.target = target;
    mount.options = std::move(options);
    return mount;
}

std::string memory_options(const Request& request, const std::string& mode) {
    const std::string& size = request.site.memory_size;
    return "mode=" + mode + ",size=" + (size.empty() ? "64m" : size);
}

Result<Mount> own_folder(const Request& request,
                         const std::filesystem::path& target,
                         const std::filesystem::path& name,
                         std::filesystem::perms mode) {
    if (request.files.workdir.empty()) {
        const bool is_open = mode == std::filesystem::perms(01777);
        return fresh(
            Mount::Kind::kTmpfs, target, memory_options(request, is_open ? "1777" : "0755"));
    }
    std::error_code failed;
    const auto folder = std::filesystem::absolute(request.files.workdir, failed);
    const bool is_made = request.global.follows_apptainer && *name.begin() == "scratch" &&
                         !std::filesystem::exists(folder, failed); // like there, of these alone
    if (!is_made && !std::filesystem::is_directory(folder, failed)) {
        return fail(ErrorCode::kInput,
                    problem(std::filesystem::exists(folder, failed) ? "workdir-not-directory"
                                                                    : "workdir-missing",
                            "'" + printable(request.files.workdir) + "' is not a directory")
                        .about(request.files.workdir),
                    "--workdir names the directory in which /tmp and the like are made",
                    "mkdir " + shell_quote(request.files.workdir));
    }
    const bool is_new = std::filesystem::create_directories(folder / name, failed);
    if (failed) {
        return fail(system_error("cannot make '" + printable((folder / name).string()) + "'",
                                 failed.value()));
    }
    if (is_new) {
        std::filesystem::permissions(folder / name, mode, failed);
    }
    Mount mount = bind(folder / name, target);
    mount.options = kUserFlags;
    mount.is_optional = false;
    return mount;
}

namespace {

/// Like in Apptainer, a scratch directory above the home has an empty directory at its place.
Result<void> add_home_below(std::vector<Mount>& mounts,
                            const Request& request,
                            const Home& home,
                            const std::filesystem::path& target) {
    const auto [end, ignored] =
        std::mismatch(target.begin(), target.end(), home.target.begin(), home.target.end());
    if (request.files.no_home || end != target.end() || target == home.target) {
        return {};
    }
    CYBELE_TRY(Mount mount,
               own_folder(request,
                          home.target,
                          std::filesystem::path("scratch") / home.target.relative_path(),
                          std::filesystem::perms(0755)));
    mount.is_optional = false;
    mount.is_named = true;
    mounts.push_back(std::move(mount));
    return {};
}

} // namespace

Result<void> add_scratch(std::vector<Mount>& mounts, const Request& request, const Home& home) {
    for (const std::string& word : list_words(request.files.scratch)) {
        if (request.global.follows_apptainer && !word.starts_with('/')) {
            return fail(ErrorCode::kInput,
                        problem("scratch-relative",
                                "--scratch: '" + printable(word) + "' is not an absolute path")
                            .about(word),
                        "it is a directory of the container",
                        "write --scratch " + shell_quote("/" + word));
        }
        const std::filesystem::path target = std::filesystem::path("/") / word;
        CYBELE_TRY(Mount mount,
                   own_folder(request,
                              target,
                              std::filesystem::path("scratch") / target.relative_path(),
                              std::filesystem::perms(0755)));
        mount.is_optional = false;
        mount.is_named = true; // it may be made in the home directory
        mounts.push_back(std::move(mount));
        CYBELE_CHECK(add_home_below(mounts, request, home, target.lexically_normal()));
    }
    return {};
}

} // namespace cybele::runtime
