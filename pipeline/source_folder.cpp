// SPDX-License-Identifier: Apache-2.0
#include "pipeline/source_folder.hpp"

#include "support/directory.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

/// Folders that other programs make from the source.
constexpr std::string_view kMadeFolders[] = {
    "__pycache__", "build", "dist", "env", "node_modules", "results", "venv"};

bool is_made_folder(std::string_view name) {
    return contains(kMadeFolders, name) || name.starts_with("cmake-build") ||
           name.ends_with(".egg-info");
}

class FolderWalk {
public:
    explicit FolderWalk(SourceFolder& into) : into_(into) {}

    Result<void> walk(int folder, const std::string& prefix, std::size_t depth) {
        CYBELE_TRY(const auto names, names_in(folder, into_.root / prefix));
        for (const std::string& name : names) {
            struct stat status {};
            const bool is_hidden = name.starts_with('.') && (depth > 0 || name != ".binder");
            if (is_hidden || ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
                continue;
            }
            const std::string path = prefix + name;
            if (!is_utf8(name)) {
                skip(path, "a Recipe cannot hold its name, which is not UTF-8");
                continue;
            }
            if (S_ISREG(status.st_mode)) {
                CYBELE_CHECK(take(path));
            } else if (S_ISDIR(status.st_mode)) {
                CYBELE_CHECK(enter(folder, name, path, depth));
            } else {
                skip(path, S_ISLNK(status.st_mode) ? "links are not followed" : "it is not a file");
            }
        }
        return {};
    }

private:
    Result<void> take(const std::string& path) {
        into_.files.push_back(path);
        if (into_.files.size() > kMostSourceFiles) {
            return fail(ErrorCode::kInput,
                        problem("folder-too-many-files",
                                printable(into_.root.native()) + " holds more than " +
                                    std::to_string(kMostSourceFiles) + " files"),
                        "it looks like more than the source of one program",
                        "name the folder of the source with --from");
        }
        return {};
    }

    Result<void>
    enter(int folder, const std::string& name, const std::string& path, std::size_t depth) {
        if (is_made_folder(name)) {
            return {};
        }
        if (depth >= kDeepestSource) {
            skip(path, "it is deeper than " + std::to_string(kDeepestSource) + " folders");
            return {};
        }
        const UniqueFd child(
            ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!child.valid()) {
            skip(path, std::string("it cannot be read: ") + std::strerror(errno)); // NOLINT
            return {};
        }
        return walk(child.get(), path + "/", depth + 1);
    }

    void skip(const std::string& path, const std::string& because) {
        constexpr std::size_t kMostSkipped = 20;
        if (into_.skipped.size() < kMostSkipped) {
            into_.skipped.push_back(printable(path) + ": not read, " + because);
        } else if (into_.skipped.size() == kMostSkipped) {
            into_.skipped.emplace_back("further files were not read, for the same reasons");
        }
    }

    SourceFolder& into_;
};

} // namespace

bool SourceFolder::has(std::string_view file) const {
    return contains(files, file);
}

Result<SourceFolder> read_source_folder(const fs::path& root) {
    SourceFolder folder;
    folder.root = root;
    const UniqueFd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) {
        const int saved = errno;
        const bool is_file = saved == ENOTDIR;
        if (!is_file && saved != ENOENT) {
            return fail(system_error("cannot open the folder " + printable(root.native()), saved));
        }
        return fail(ErrorCode::kInput,
                    problem("folder-unreadable",
                            printable(root.native()) +
                                (is_file ? " is not a folder" : " cannot be opened as a folder")),
                    is_file ? "" : std::strerror(saved), // NOLINT(concurrency-mt-unsafe)
                    is_file ? "write `--from " +
                                  shell_quote(root.has_parent_path() ? root.parent_path().native()
                                                                     : std::string(".")) +
                                  "`"
                            : "name the folder that holds the source, as `--from .`");
    }
    CYBELE_CHECK(FolderWalk(folder).walk(fd.get(), {}, 0));
    return folder;
}

Result<std::string>
read_source_text(const SourceFolder& folder, const std::string& file, std::size_t limit) {
    const fs::path path = folder.root / file;
    const auto refuse = [&](const std::string& because) {
        return fail(ErrorCode::kInput,
                    problem("folder-file-unreadable", printable(file) + ": not read"),
                    because);
    };
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!fd.valid() || ::fstat(fd.get(), &status) != 0) {
        return refuse(std::string("it cannot be read: ") + std::strerror(errno)); // NOLINT
    }
    if (!S_ISREG(status.st_mode)) {
        return refuse("it is not a file");
    }
    std::string text(std::min<std::size_t>(limit, static_cast<std::size_t>(status.st_size)), '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t count = ::read(fd.get(), text.data() + size, text.size() - size);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            break;
        }
        size += static_cast<std::size_t>(count);
    }
    text.resize(size);
    if (size == limit && static_cast<std::size_t>(status.st_size) > limit) {
        text.resize(std::min(text.size(), text.rfind('\n') + 1));
    }
    if (text.find('\0') != std::string::npos) {
        return refuse("it is a binary file");
    }
    return text;
}

} // namespace cybele::pipeline
