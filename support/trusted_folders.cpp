// SPDX-License-Identifier: Apache-2.0
#include "support/trusted_folders.hpp"

#include "support/file.hpp"
#include "support/find.hpp"
#include "support/lock.hpp"
#include "support/own_folder.hpp"
#include "support/own_path.hpp"
#include "support/presence.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>

namespace cybele {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kFile = "trusted-folders";

/// The list, and who else changes it waits until the lock goes.
struct ListChange {
    UniqueFd lock;
    std::vector<fs::path> folders;
};

Result<std::vector<fs::path>> read_list(const fs::path& path) {
    std::vector<fs::path> folders;
    CYBELE_TRY(const bool is_there, is_present(path, "the list of trusted folders"));
    if (!is_there) {
        return folders;
    }
    CYBELE_TRY(const std::string text, read_own_file(path));
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        if (rest.front() == '/') {
            folders.emplace_back(rest.substr(0, end));
        }
        rest = rest.substr(std::min(end + 1, rest.size()));
    }
    return folders;
}

Result<ListChange> begin_change(const Environment& environment) {
    const fs::path folder = environment.config_directory();
    CYBELE_CHECK(make_own_folder(
        {folder, "the list of trusted folders", "CYBELE_CONFIG_DIR", OwnFolder::kOwnFolder}));
    const fs::path path = folder / (std::string(kFile) + ".lock");
    ListChange change;
    change.lock = UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!change.lock.valid() || !take_lock(change.lock.get(), LOCK_EX)) {
        return fail(system_error("cannot lock " + printable(path.native()), errno));
    }
    CYBELE_TRY(change.folders, read_list(folder / kFile));
    return change;
}

Result<void> write_list(const Environment& environment, const std::vector<fs::path>& folders) {
    std::string text;
    for (const fs::path& folder : folders) {
        text += folder.native() + "\n";
    }
    return write_file(environment.config_directory() / kFile, text, 0600);
}

} // namespace

Result<TrustedFolders> TrustedFolders::load(const Environment& environment) {
    TrustedFolders trusted;
    CYBELE_TRY(trusted.folders_, read_list(environment.config_directory() / kFile));
    return trusted;
}

bool TrustedFolders::allows(const fs::path& folder) const {
    std::error_code error;
    const fs::path real = folders_.empty() ? fs::path() : fs::canonical(folder, error);
    return !error && contains(folders_, real);
}

Result<fs::path> TrustedFolders::add(const Environment& environment, const fs::path& folder) {
    std::error_code error;
    fs::path real = fs::canonical(folder, error);
    if (error || !fs::is_directory(real, error)) {
        return fail(ErrorCode::kInput,
                    problem("folder-missing", "no such folder: " + printable(folder.native())),
                    {},
                    "name the folder that holds the settings: `cybelectl config trust " +
                        (fs::is_regular_file(folder, error)
                             ? shell_quote(folder.has_parent_path() ? folder.parent_path().native()
                                                                    : std::string("."))
                             : std::string("DIR")) +
                        "`");
    }
    if (real.native().find('\n') != std::string::npos) {
        return fail(
            ErrorCode::kInput,
            problem("folder-name-line-end", printable(real.native()) + " cannot be trusted"),
            "its name has a line break, which the list of trusted folders cannot hold",
            "rename the folder");
    }
    CYBELE_TRY(ListChange change, begin_change(environment));
    if (!contains(change.folders, real)) {
        change.folders.push_back(real);
        CYBELE_CHECK(write_list(environment, change.folders));
    }
    return real;
}

Result<fs::path> TrustedFolders::remove(const Environment& environment, const fs::path& folder) {
    std::error_code error;
    fs::path real = fs::canonical(folder, error);
    if (error) {
        real = fs::absolute(folder, error).lexically_normal();
    }
    CYBELE_TRY(ListChange change, begin_change(environment));
    if (std::erase(change.folders, real) == 0) {
        return fail(ErrorCode::kInput,
                    problem("folder-not-trusted",
                            printable(real.native()) + " is not in the list of trusted folders"),
                    {},
                    "show the list: cybelectl config trust");
    }
    CYBELE_CHECK(write_list(environment, change.folders));
    return real;
}

} // namespace cybele
