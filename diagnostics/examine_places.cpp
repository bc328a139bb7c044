// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/examine.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <system_error>

#include <fmt/format.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace cybele::diagnostics {

namespace {

namespace fs = std::filesystem;

struct FileSystemRow {
    std::uint32_t magic; ///< statfs(2), or the file system's own headers
    std::string_view name;
    bool is_shared;
    bool is_memory;
};
constexpr FileSystemRow kFileSystems[] = {
    {0x6969, "nfs", true, false},
    {0x0bd00bd0, "lustre", true, false},
    {0x47504653, "gpfs", true, false},
    {0x19830326, "beegfs", true, false},
    {0x00c36400, "ceph", true, false},
    {0x5346414f, "afs", true, false},
    {0xff534d42, "cifs", true, false},
    {0xfe534d42, "smb", true, false},
    {0x01021994, "tmpfs", false, true},
    {0x858458f6, "ramfs", false, true},
    {0x794c7630, "overlay", false, false},
};

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30U;
constexpr std::uint64_t kComfortable = 4 * kGibibyte;
/// For a journal, keys and settings.
constexpr std::uint64_t kLittle = 16 * kMebibyte;

bool can_write(const fs::path& folder) {
    return ::access(folder.c_str(), W_OK | X_OK) == 0;
}

std::string described(const fs::path& folder, const FileSystem& system) {
    return fmt::format("{}: {}{}{} free",
                       printable(folder.native()),
                       system.name,
                       system.name.empty() ? "" : ", ",
                       size_text(system.free));
}

Finding home(const Environment& environment) {
    const fs::path folder = environment.home();
    const FileSystem system = file_system_of(folder);
    std::error_code error;
    const std::string help = "set HOME, or CYBELE_CACHE_DIR, CYBELE_STATE_DIR and CYBELE_STORE";
    if (!environment.get_absolute("HOME")) {
        return lacks(
            "home", "HOME is not set, and this account has none", "/ is used instead", help);
    }
    if (!fs::is_directory(folder, error)) {
        return lacks("home",
                     printable(folder.native()) + " is not a folder",
                     "nothing can be stored there",
                     help);
    }
    if (system.is_read_only || !can_write(folder)) {
        return lacks("home",
                     printable(folder.native()) + " cannot be written",
                     "cache, journal and store must be elsewhere",
                     help);
    }
    if (system.free < kLittle) {
        return lacks("home", described(folder, system), "it is full: nothing can be stored", help);
    }
    Finding finding = works("home", described(folder, system));
    if (system.is_shared) {
        finding.what += "; shared, so nodes see images that lie there";
    }
    return finding;
}

Finding temporary(const Environment& environment) {
    constexpr const char* kSubject = "temporary space";
    const fs::path folder = environment.temporary_directory();
    const fs::path there = nearest_folder(folder);
    const FileSystem system = file_system_of(there);
    const std::string help = "set CYBELE_TMPDIR to a folder of a local disk with 4 GiB free";
    const std::string what = described(folder, system);
    if (!can_write(there) || system.free == 0) {
        return fails(kSubject,
                     printable(folder.native()) +
                         (there == folder ? " cannot be written" : " cannot be made"),
                     "nothing can be built",
                     help);
    }
    if (system.forbids_programs) {
        return fails(kSubject, what + ", noexec", "no step of a build can run there", help);
    }
    if (system.is_shared) {
        return lacks(kSubject,
                     what,
                     "builds of ordinary users fail where the server does not know subordinate ids",
                     help);
    }
    if (system.free < kComfortable) {
        return lacks(kSubject, what, "large images may not fit while they are built", help);
    }
    if (system.is_memory) {
        return lacks(kSubject, what, "builds use memory of this machine", help);
    }
    return works(kSubject, what);
}

Finding kept(const KeptFolder& folder) {
    const fs::path there = nearest_folder(folder.path);
    const FileSystem system = file_system_of(there);
    const std::string subject(folder.subject);
    const std::string help = fmt::format("name another: {}=DIR", folder.variable);
    const std::string follows(folder.follows);
    const auto judge = folder.is_needed ? fails : lacks;
    if (system.is_read_only || !can_write(there)) {
        return judge(
            subject, printable(folder.path.native()) + " cannot be written", follows, help);
    }
    if (system.free < kMebibyte) {
        return judge(subject, described(folder.path, system), follows, help);
    }
    return works(subject, described(folder.path, system));
}

/// The installed locales, a line each; empty where nobody can say.
std::string installed_locales() {
    if (!find_program("locale")) {
        return {};
    }
    Command command;
    command.argv = {"locale", "-a"};
    command.input = "";
    command.errors = Command::Stream::kDiscard;
    command.limit = std::chrono::seconds(5);
    const auto outcome = run_process(command);
    return outcome ? outcome->output : std::string();
}

Finding locale(const Environment& environment) {
    const std::string missing = missing_locale(environment, installed_locales());
    if (missing.empty()) {
        return works(
            "locale",
            environment.get_or("LC_ALL",
                               environment.get_or("LC_CTYPE", environment.get_or("LANG", "C"))));
    }
    return lacks("locale",
                 printable(missing) + " is not installed",
                 "programs in builds and jobs complain and use C; cybelectl needs none",
                 "export LC_ALL=C.UTF-8");
}

} // namespace

fs::path nearest_folder(fs::path folder) {
    std::error_code error;
    while (folder.has_relative_path() && !fs::is_directory(folder, error)) {
        folder = folder.parent_path();
    }
    return folder;
}

FileSystem file_system_of(const fs::path& folder) {
    FileSystem system;
    const fs::path there = nearest_folder(folder);
    struct statfs kind {};
    if (::statfs(there.c_str(), &kind) == 0) {
        const auto* const row = std::ranges::find_if(kFileSystems, [&](const auto& known) {
            return known.magic == static_cast<std::uint32_t>(kind.f_type);
        });
        if (row != std::end(kFileSystems)) {
            system.name = row->name;
            system.is_shared = row->is_shared;
            system.is_memory = row->is_memory;
        }
    }
    struct statvfs space {};
    if (::statvfs(there.c_str(), &space) == 0) {
        system.is_read_only = (space.f_flag & ST_RDONLY) != 0;
        system.forbids_programs = (space.f_flag & ST_NOEXEC) != 0;
        system.free = std::uint64_t{space.f_bavail} * space.f_frsize;
    }
    return system;
}

std::string size_text(std::uint64_t bytes) {
    return bytes >= kGibibyte
               ? fmt::format("{:.1f} GiB",
                             static_cast<double>(bytes) / static_cast<double>(kGibibyte))
               : fmt::format("{:.1f} MiB",
                             static_cast<double>(bytes) / static_cast<double>(kMebibyte));
}

std::string missing_locale(const Environment& environment, std::string_view installed) {
    std::string wanted = environment.get_or(
        "LC_ALL", environment.get_or("LC_CTYPE", environment.get_or("LANG", "C")));
    const auto spelled = [](std::string_view name) {
        std::string text;
        for (const char letter : name) {
            if (letter != '-') {
                text += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
            }
        }
        return text;
    };
    if (wanted == "C" || wanted == "POSIX" || installed.empty()) {
        return {};
    }
    while (!installed.empty()) {
        const std::string_view line = installed.substr(0, installed.find('\n'));
        installed.remove_prefix(std::min(line.size() + 1, installed.size()));
        if (spelled(line) == spelled(wanted)) {
            return {};
        }
    }
    return wanted;
}

void examine_places(const DoctorInput& input, Findings& findings) {
    const Environment& environment = input.environment;
    findings.push_back(home(environment));
    findings.push_back(temporary(environment));
    findings.push_back(kept({"cache",
                             environment.cache_directory(),
                             "CYBELE_CACHE_DIR",
                             "bases cannot be cached, so nothing can be built"}));
    for (const KeptFolder& folder : input.folders) {
        findings.push_back(kept(folder));
    }
    findings.push_back(locale(environment));
}

} // namespace cybele::diagnostics
