// SPDX-License-Identifier: Apache-2.0
#include "submission/local/job_group.hpp"

#include "submission/backends/command_backend.hpp"
#include "support/control_group.hpp"
#include "support/text.hpp"

#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::submission {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "cybelectl-"; ///< of a job's group
constexpr std::size_t kMostGroupBytes = 65536;

bool put(const fs::path& file, std::string_view text) {
    const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    return fd.valid() &&
           ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string content(const fs::path& file) {
    return read_file(file, kMostGroupBytes).value_or(std::string());
}

/// Groups inside it too, which the job may have made.
void remove_groups(const fs::path& folder) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        if (entry.is_directory(error) && !entry.is_symlink(error)) {
            remove_groups(entry.path());
        }
    }
    ::rmdir(folder.c_str());
}

} // namespace

std::optional<fs::path> own_control_group(const fs::path& root) {
    const auto mount = control_group_mount(root / "proc/self");
    const auto group = control_group(root / "proc/self");
    if (!mount || !group) {
        return std::nullopt;
    }
    std::string_view below = *group;
    if (mount->top != "/" && below.starts_with(mount->top)) {
        below.remove_prefix(mount->top.size());
    }
    return (root / mount->point.relative_path() / fs::path(below).relative_path())
        .lexically_normal();
}

std::vector<fs::path> group_places(const fs::path& own) {
    std::vector<fs::path> places;
    const fs::path folder = own.has_filename() ? own : own.parent_path();
    for (const fs::path& place : {folder.parent_path(), folder}) {
        // A process comes into a group only with leave to write both where it was and above.
        if (::access((place / "cgroup.procs").c_str(), W_OK) == 0 &&
            ::access(place.c_str(), W_OK) == 0) {
            places.push_back(place);
        }
    }
    return places;
}

JobGroup JobGroup::make(const fs::path& record, const std::string& name, std::uint64_t memory) {
    JobGroup group;
    const auto own = own_control_group("/");
    for (const fs::path& place : own ? group_places(*own) : std::vector<fs::path>()) {
        const fs::path folder = place / (std::string(kPrefix) + name);
        const UniqueFd note(
            ::open((record / "group").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        if (!note.valid() || !write_all(note.get(), folder.native(), record) ||
            ::mkdir(folder.c_str(), 0755) != 0) {
            continue;
        }
        if (memory != 0) {
            (void)put(folder / "memory.max", std::to_string(memory));
        }
        group.fd_.reset(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        group.folder_ = folder;
        return group;
    }
    ::unlink((record / "group").c_str());
    return group;
}

std::uint64_t JobGroup::ended_for_memory() const {
    const std::string text = folder_.empty() ? "" : content(folder_ / "memory.events");
    for (const std::string_view line : text::split(text, '\n')) {
        if (line.starts_with("oom_kill ")) {
            return static_cast<std::uint64_t>(text::number(line.substr(9)).value_or(0));
        }
    }
    return 0;
}

void end_group(const fs::path& record) {
    constexpr int kMilliseconds = 5000;
    const fs::path note = record / "group";
    std::error_code error;
    const fs::path folder = fs::exists(note, error) ? content(note) : std::string();
    if (folder.empty()) {
        return;
    }
    const bool is_ours = folder.filename().native().starts_with(kPrefix) &&
                         fs::exists(folder / "cgroup.procs", error);
    for (int waited = 0; is_ours && waited < kMilliseconds; ++waited) {
        remove_groups(folder);
        if (!fs::exists(folder, error)) {
            break;
        }
        (void)put(folder / "cgroup.kill", "1");
        ::poll(nullptr, 0, 1);
    }
    ::unlink(note.c_str());
}

void leave_group(const std::string& home) {
    const auto own = own_control_group("/");
    if (own && own->filename().native().starts_with(kPrefix)) {
        (void)(put(fs::path(home) / "cgroup.procs", "0") ||
               put(own->parent_path() / "cgroup.procs", "0"));
    }
}

} // namespace cybele::submission
