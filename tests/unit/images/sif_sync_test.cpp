// SPDX-License-Identifier: Apache-2.0
// In which order a change in place writes and syncs, as its system calls show: a power failure may
// lose everything that was not synced before.
#include "../explorer.hpp"
#include "images/sif/change_file.hpp"
#include "sif_sample.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace sample;

namespace {

constexpr std::int64_t kSyncNow = 1800000000;

/// "write", "sync" or "cut" of a descriptor; empty: another call.
std::string verb_of(std::uint64_t call) {
    switch (call) {
    case SYS_write:
    case SYS_pwrite64:
        return "write ";
    case SYS_fsync:
    case SYS_fdatasync:
        return "sync ";
    case SYS_ftruncate:
        return "cut ";
    default:
        return {};
    }
}

/// What the process is about to do to which file below `folder`; empty: nothing of these.
std::string event_of(const explorer::Actor& actor, const fs::path& folder) {
    __ptrace_syscall_info info{};
    if (::ptrace(PTRACE_GET_SYSCALL_INFO, actor.pid(), sizeof info, &info) <= 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY) {
        return {};
    }
    if (info.entry.nr == SYS_unlink || info.entry.nr == SYS_unlinkat) {
        return "remove";
    }
    const std::string verb = verb_of(info.entry.nr);
    std::error_code error;
    const fs::path file = fs::read_symlink(
        fmt::format("/proc/{}/fd/{}", actor.pid(), static_cast<int>(info.entry.args[0])), error);
    if (verb.empty() || error || !file.native().starts_with(folder.native())) {
        return {};
    }
    return verb + (file == folder ? "folder" : file.filename().native());
}

/// Each event once where it comes several times in a row.
std::vector<std::string> events_of(const std::function<int()>& work, const fs::path& folder) {
    std::vector<std::string> events;
    explorer::Actor actor(work);
    while (!actor.is_over()) {
        (void)actor.step();
        const std::string event = actor.is_over() ? std::string() : event_of(actor, folder);
        if (!event.empty() && (events.empty() || events.back() != event)) {
            events.push_back(event);
        }
    }
    REQUIRE(actor.code() == 0);
    return events;
}

} // namespace

TEST_CASE("each part of a change in place is on the disk before the next one is written") {
    const auto folder = TempDirectory::make("/var/tmp", "cybele-sync");
    REQUIRE(folder);
    const fs::path path = folder->path() / "a.sif";
    REQUIRE(write_image(path, image()));
    const auto change = [&] {
        ChangeOptions options;
        options.may_copy = false;
        const auto done = change_image(
            path,
            [](Table& table, int fd) -> Result<ChangeOutcome> {
                CYBELE_CHECK(table.add(fd, definition(), kSyncNow));
                table.set_modified(kSyncNow);
                return ChangeOutcome{};
            },
            options);
        return done ? 0 : 1;
    };
    CHECK(events_of(change, folder->path()) == std::vector<std::string>{"write a.sif.journal",
                                                                        "sync a.sif.journal",
                                                                        "sync folder",
                                                                        "write a.sif",
                                                                        "sync a.sif",
                                                                        "write a.sif.journal",
                                                                        "sync a.sif.journal",
                                                                        "write a.sif",
                                                                        "sync a.sif",
                                                                        "remove",
                                                                        "sync folder"});
}
