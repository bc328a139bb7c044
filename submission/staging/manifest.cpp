// SPDX-License-Identifier: Apache-2.0
#include "submission/staging/manifest.hpp"

#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;
using launchers::Job;

/// One item of `stage-in` while its files are found.
struct Item {
    const Job& job;
    std::string field; ///< stage-in[N]
    std::vector<StagedFile>& staged_files;
    Faults& faults;
    Contents contents;

    void
    refuse(std::string_view member, Problem problem, std::string because, std::string help) const {
        faults.add(job.fault_at(fmt::format("{}.{}", field, member),
                                std::move(problem),
                                std::move(because),
                                std::move(help)));
    }
};

/// The target without dots and slashes at its end; empty where it is none, which is told.
std::string target_of(const Item& item, const std::string& to) {
    const fs::path path = fs::path(to).lexically_normal();
    std::string target = path.native();
    while (target.ends_with('/')) {
        target.pop_back();
    }
    const std::string first = path.empty() ? std::string() : path.begin()->native();
    if (path.is_absolute() || first == ".." || first == "~") {
        item.refuse("to",
                    problem("input-target-outside", printable(to) + " is not below the workdir"),
                    "inputs are put where the job runs, and nowhere else",
                    "write a path relative to `workdir`");
        return {};
    }
    if (first == ".cybelectl") {
        item.refuse(
            "to",
            problem("input-target-reserved", printable(to) + " is where jobs keep their records"),
            "`.cybelectl` belongs to cybelectl",
            "choose another name");
        return {};
    }
    return target.empty() ? "." : target;
}

bool is_one_line(const Item& item, const std::string& target) {
    if (target.find_first_of("\n\r") == std::string::npos) {
        return true;
    }
    item.refuse("from",
                problem("input-name-line-end", printable(target) + " has a line's end in its name"),
                "names travel line by line",
                "rename it");
    return false;
}

void add_manifest_file(const Item& item, const fs::path& source, const std::string& target) {
    struct stat status {};
    if (!is_one_line(item, target)) {
        return;
    }
    if (::stat(source.c_str(), &status) != 0 || ::access(source.c_str(), R_OK) != 0) {
        const Error error = system_error("cannot read " + printable(source.native()), errno);
        item.refuse("from",
                    problem("input-unreadable", error.message()),
                    error.faults().front().because,
                    "let yourself read it, or leave it out");
        return;
    }
    if (!S_ISREG(status.st_mode)) {
        item.refuse(
            "from",
            problem("input-kind", printable(source.native()) + " is neither a file nor a folder"),
            "devices, sockets and links to folders are not copied",
            "name what it stands for");
        return;
    }
    std::string digest = "-";
    if (item.contents == Contents::kDigested) {
        const auto found = sha256_file(source);
        if (!found) {
            item.faults.add(found.error());
            return;
        }
        digest = hex(*found);
    }
    item.staged_files.push_back({source,
                                 target,
                                 static_cast<std::uint64_t>(status.st_size),
                                 std::move(digest),
                                 (status.st_mode & S_IXUSR) != 0,
                                 item.field});
}

void add_empty_folder(const Item& item, const fs::path& source, const std::string& target) {
    std::error_code error;
    if (fs::is_empty(source, error) && !error && is_one_line(item, target)) {
        item.staged_files.push_back({source, target, 0, {}, false, item.field});
    }
}

void add_folder(const Item& item, const fs::path& source, const std::string& target) {
    std::error_code error;
    const std::string prefix = target == "." ? "" : target + "/";
    if (target != ".") {
        add_empty_folder(item, source, target);
    }
    auto at = fs::recursive_directory_iterator(source, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
        std::error_code ignored;
        const std::string name = prefix + at->path().lexically_relative(source).native();
        if (!at->is_directory(ignored) || at->is_symlink(ignored)) {
            add_manifest_file(item, at->path(), name);
        } else {
            add_empty_folder(item, at->path(), name);
        }
    }
    if (error) {
        item.refuse("from",
                    problem("input-folder-unreadable",
                            "cannot read the folder " + printable(source.native())),
                    error.message(),
                    "let yourself read all of it");
    }
}

void add_item(const Item& item, const std::string& to, const fs::path& source) {
    std::string target = target_of(item, to);
    std::error_code error;
    if (!fs::exists(source, error)) {
        item.refuse("from",
                    problem("input-missing", "there is no " + printable(source.native())),
                    "relative paths start at the Job's folder",
                    "fix the path, or make the file first");
        return;
    }
    if (target.empty()) {
        return;
    }
    if (fs::is_directory(source, error)) {
        add_folder(item, source, target);
        return;
    }
    if (target == ".") {
        target = source.filename().native();
    } else if (to.ends_with('/')) {
        target += "/" + source.filename().native();
    }
    add_manifest_file(item, source, target);
}

/// Two files of one name, or a file where another needs a folder.
void check_targets(const Job& job, const std::vector<StagedFile>& staged_files, Faults& faults) {
    for (std::size_t index = 1; index < staged_files.size(); ++index) {
        const StagedFile& before = staged_files[index - 1];
        const StagedFile& staged = staged_files[index];
        const bool is_below =
            !before.digest.empty() && staged.target.starts_with(before.target + "/");
        if (staged.target == before.target || is_below) {
            faults.add(job.fault_at(std::max(before.field, staged.field) + ".to",
                                    problem("input-target-duplicate",
                                            "two inputs are to be " + printable(before.target)),
                                    printable(before.source.native()) + " and " +
                                        printable(staged.source.native()),
                                    "give one of them another `to`"));
        }
    }
}

fs::path source_of(const Job& job, const std::string& from, const Environment& environment) {
    const fs::path path =
        from == "~" || from.starts_with("~/")
            ? environment.home() / from.substr(std::min<std::size_t>(2, from.size()))
            : job.folder / from;
    const fs::path normal = path.lexically_normal();
    return normal.has_filename() ? normal : normal.parent_path();
}

} // namespace

Result<std::vector<StagedFile>>
read_manifest(const Job& job, const Environment& environment, Contents contents) {
    std::vector<StagedFile> staged_files;
    Faults faults;
    for (std::size_t index = 0; index < job.stage_in.size(); ++index) {
        const auto& [from, to] = job.stage_in[index];
        const Item item{job, fmt::format("stage-in[{}]", index), staged_files, faults, contents};
        add_item(item, to, source_of(job, from, environment));
    }
    // A slash sorts before all else, so that a file and what would lie in it stand side by side.
    std::stable_sort(
        staged_files.begin(), staged_files.end(), [](const StagedFile& a, const StagedFile& b) {
            return fs::path(a.target) < fs::path(b.target);
        });
    check_targets(job, staged_files, faults);
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return staged_files;
}

} // namespace cybele::submission
