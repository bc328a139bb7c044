// SPDX-License-Identifier: Apache-2.0
#include "support/presence.hpp"

#include "support/quote.hpp"

#include <cerrno>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele {

namespace fs = std::filesystem;

namespace {

/// The first folder above that cannot be entered; its own, where none can be named.
fs::path closed_folder(const fs::path& path) {
    std::error_code error;
    fs::path place;
    for (const fs::path& part : fs::absolute(path, error).lexically_normal().parent_path()) {
        place /= part;
        if (::faccessat(AT_FDCWD, place.c_str(), X_OK, AT_EACCESS) != 0) {
            return place;
        }
    }
    return place;
}

/// Never to open the home of another user, which a wrong HOME names.
std::string help_to_open(const fs::path& folder) {
    const std::string name = shell_quote(folder.native());
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0) {
        return "correct " + name + ", or the link that leads there";
    }
    if (status.st_uid == ::geteuid()) {
        return "allow yourself to enter it: chmod u+rx " + name;
    }
    const auto first = std::next(folder.begin()); // after the root
    const bool is_system = first != folder.end() && (*first == "etc" || *first == "usr");
    return is_system && status.st_uid == 0
               ? "ask the administrator: chmod 755 " + name
               : "ask its owner to let you enter it; if it is a home, set HOME to your own";
}

} // namespace

Result<bool> is_present(const fs::path& path, std::string_view may_be_there) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0) {
        return true;
    }
    const int number = errno;
    if (number == ENOENT || number == ENOTDIR) {
        return false;
    }
    const fs::path folder = closed_folder(path);
    return fail(
        ErrorCode::kEnvironment,
        problem("settings-not-visible", "cannot look into " + printable(folder.native())),
        fmt::format("{}; {} may be there", std::generic_category().message(number), may_be_there),
        help_to_open(folder));
}

std::optional<Fault> why_absent(const fs::path& path, const std::string& named, Fault missing) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) {
        return std::nullopt;
    }
    const int number = errno;
    if (number != ENOENT && number != ENOTDIR) {
        const fs::path folder = closed_folder(path);
        missing.code = ErrorCode::kEnvironment;
        missing.set(
            problem("named-file-not-visible", "cannot look for '" + printable(named) + "'"));
        missing.because = std::generic_category().message(number) + ": it would be in " +
                          printable(folder.native());
        missing.help = help_to_open(folder);
    }
    return missing;
}

} // namespace cybele
