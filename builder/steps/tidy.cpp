// SPDX-License-Identifier: Apache-2.0
#include "builder/steps/tidy.hpp"

#include "images/inspection/layout_root.hpp"

#include <array>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

/// Files that identify a machine: they stay, but empty.
constexpr std::array<std::string_view, 2> kEmptied = {"etc/machine-id", "var/lib/dbus/machine-id"};

constexpr std::array<std::string_view, 7> kRemoved = {"var/log/dpkg.log",
                                                      "var/log/alternatives.log",
                                                      "var/log/bootstrap.log",
                                                      "var/log/lastlog",
                                                      "var/log/faillog",
                                                      "var/cache/ldconfig/aux-cache",
                                                      "var/lib/systemd/catalog/database"};

/// Files of a folder whose names end so are removed; its folders stay.
struct Sweep {
    std::string_view directory;
    std::string_view ending;
};
constexpr std::array<Sweep, 8> kSweeps = {Sweep{"var/lib/apt/lists", ""},
                                          Sweep{"var/lib/apt/lists/partial", ""},
                                          Sweep{"var/cache/apt", ".bin"},
                                          Sweep{"var/cache/apt/archives", ".deb"},
                                          Sweep{"var/cache/debconf", "-old"},
                                          Sweep{"var/lib/dpkg", "-old"},
                                          Sweep{"var/log/apt", ""},
                                          Sweep{"var/cache/ldconfig", ""}};

bool is_regular(const images::RootDirectory& root, const std::string& path) {
    const UniqueFd fd = root.open_inside(path, O_PATH | O_NOFOLLOW);
    struct stat status {};
    return fd.valid() && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode);
}

void give_to_owner(const std::filesystem::path& root) {
    namespace fs = std::filesystem;
    constexpr auto kOfOwner = fs::perms::owner_read | fs::perms::owner_write;
    std::error_code ignored;
    for (fs::recursive_directory_iterator at(root, ignored), end; at != end;
         at.increment(ignored)) {
        const fs::file_status status = at->symlink_status(ignored);
        const bool is_directory = status.type() == fs::file_type::directory;
        const fs::perms wanted = is_directory ? fs::perms::owner_all : kOfOwner;
        const bool is_file = is_directory || status.type() == fs::file_type::regular;
        if (is_file && (status.permissions() & wanted) != wanted) {
            fs::permissions(at->path(), wanted, fs::perm_options::add, ignored);
        }
    }
}

} // namespace

Result<void> tidy(const std::filesystem::path& path, bool fixes_permissions) {
    CYBELE_TRY(const auto root, images::RootDirectory::open(path));
    for (const std::string_view name : kEmptied) {
        const UniqueFd fd = root.open_inside(name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
        if (fd.valid()) {
            (void)!::ftruncate(fd.get(), 0);
        }
    }
    for (const std::string_view name : kRemoved) {
        if (is_regular(root, std::string(name))) {
            CYBELE_CHECK(root.remove(name));
        }
    }
    for (const Sweep& sweep : kSweeps) {
        for (const std::string& name : root.list(sweep.directory)) {
            const std::string file = std::string(sweep.directory) + "/" + name;
            if (name.ends_with(sweep.ending) && is_regular(root, file)) {
                CYBELE_CHECK(root.remove(file));
            }
        }
    }
    if (fixes_permissions) {
        give_to_owner(path);
    }
    return {};
}

bool has_help(const std::filesystem::path& root) {
    std::error_code unknown;
    return std::filesystem::exists(
        std::filesystem::symlink_status(root / ".singularity.d/runscript.help", unknown));
}

std::string
help_beside(bool keeps_base, std::string help, std::map<std::string, std::string>& labels) {
    if (!keeps_base) {
        return help;
    }
    for (const char* name :
         {"org.label-schema.usage", "org.label-schema.usage.apptainer.runscript.help"}) {
        if (!help.empty()) {
            labels.try_emplace(name, "/.singularity.d/runscript.help");
        }
    }
    return {};
}

} // namespace cybele::builder
