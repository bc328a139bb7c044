// SPDX-License-Identifier: Apache-2.0
#include "builder/layers/changes.hpp"

#include "images/inspection/packages.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostShownText = 16384;
constexpr const char* kDpkgStatus = "var/lib/dpkg/status";
/// Below these folders is what programs leave behind.
constexpr std::array<std::string_view, 16> kLeftBehind = {".cybelectl-build",
                                                          "dev",
                                                          "proc",
                                                          "run",
                                                          "sys",
                                                          "tmp",
                                                          "var/cache",
                                                          "var/lib/apt",
                                                          "var/lib/dpkg",
                                                          "var/log",
                                                          "var/tmp",
                                                          "root/.ash_history",
                                                          "root/.bash_history",
                                                          "root/.cache",
                                                          "etc/ld.so.cache",
                                                          "etc/resolv.conf"};

using Versions = std::map<std::string, std::string>;

Versions installed_versions(const std::string& status) {
    Versions versions;
    for (const images::Package& package : images::parse_dpkg_status(status)) {
        versions[package.name] = package.version;
    }
    return versions;
}

bool is_whiteout(const struct stat& status) {
    return S_ISCHR(status.st_mode) && status.st_rdev == 0;
}

bool is_in_folder(const std::string& path, std::string_view folder) {
    return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

/// Text that a here-document can hold, in a definition file too.
bool is_shown_text(const std::string& text) {
    return text.size() <= kMostShownText && (text.empty() || text.ends_with('\n')) &&
           text.find('\0') == std::string::npos && !text.starts_with('%') &&
           text.find("\n%") == std::string::npos && text.find('\r') == std::string::npos;
}

std::string here_document(const std::string& to, std::string_view how, std::string_view text) {
    std::string end = "END";
    while (text.find(end) != std::string_view::npos) {
        end += "_";
    }
    return fmt::format("cat {} {} <<'{}'\n{}{}\n", how, to, end, text, end);
}

class Changes {
public:
    Changes(const fs::path& upper, const std::vector<fs::path>& lowers)
        : upper_(upper), lowers_(lowers) {}

    std::string commands() {
        add_packages();
        walk("");
        return text_;
    }

private:
    [[nodiscard]] std::optional<fs::path> below(const std::string& path) const {
        for (const fs::path& lower : lowers_) {
            struct stat status {};
            if (::lstat((lower / path).c_str(), &status) == 0) {
                return is_whiteout(status) ? std::nullopt : std::optional(lower / path);
            }
        }
        return std::nullopt;
    }
    [[nodiscard]] bool is_opaque(const fs::path& folder) const {
        std::array<char, 1> value{};
        return ::lgetxattr(folder.c_str(), "trusted.overlay.opaque", value.data(), 1) > 0 ||
               ::lgetxattr(folder.c_str(), "user.overlay.opaque", value.data(), 1) > 0;
    }
    void add_packages();
    void walk(const std::string& folder);
    void add_entry(const std::string& path, const struct stat& status);
    void add_file(const std::string& path, const struct stat& status);
    void add_mode(const std::string& path, const struct stat& status, mode_t usual) {
        if ((status.st_mode & ALLPERMS) != usual) {
            text_ += fmt::format("chmod {:04o} {}\n", status.st_mode & ALLPERMS, word(path));
        }
    }
    static std::string word(const std::string& path) {
        return shell_quote("/" + path);
    }

    const fs::path& upper_;
    const std::vector<fs::path>& lowers_;
    std::set<std::string> of_packages_;
    std::string text_;
};

void Changes::add_packages() {
    const auto after = read_file(upper_ / kDpkgStatus);
    const auto status = below(kDpkgStatus);
    if (!after || !status) {
        return;
    }
    const Versions before = installed_versions(read_file(*status).value_or(""));
    const Versions now = installed_versions(*after);
    const std::string automatic =
        read_file(upper_ / "var/lib/apt/extended_states").value_or(std::string());
    std::string added;
    std::string removed;
    for (const auto& [name, version] : now) {
        const auto known = before.find(name);
        if (known != before.end() && known->second == version) {
            continue;
        }
        const std::string stanza = "Package: " + name + "\n";
        const std::size_t at = automatic.find(stanza);
        const std::string_view rest =
            at == std::string::npos
                ? std::string_view()
                : std::string_view(automatic).substr(at, automatic.find("\n\n", at) - at);
        if (rest.find("Auto-Installed: 1") == std::string_view::npos) {
            added += fmt::format(" {}={}", name, version);
        }
        std::error_code error;
        for (auto it = fs::directory_iterator(upper_ / "var/lib/dpkg/info", error);
             !error && it != fs::directory_iterator();
             it.increment(error)) {
            const std::string file = it->path().filename();
            if (file == name + ".list" ||
                (file.starts_with(name + ":") && file.ends_with(".list"))) {
                const std::string list = read_file(it->path()).value_or("");
                for (const std::string_view line : text::split_terminated(list, '\n')) {
                    of_packages_.emplace(line.substr(std::min<std::size_t>(line.size(), 1)));
                }
            }
        }
    }
    for (const auto& [name, version] : before) {
        removed += now.count(name) == 0 ? " " + name : "";
    }
    if (!added.empty()) {
        text_ += "apt-get update && apt-get install -y --no-install-recommends" + added + "\n";
    }
    if (!removed.empty()) {
        text_ += "apt-get purge -y" + removed + "\n";
    }
}

void Changes::add_file(const std::string& path, const struct stat& status) {
    const auto old = below(path);
    struct stat before {};
    const bool was_file = old && ::lstat(old->c_str(), &before) == 0 && S_ISREG(before.st_mode);
    const mode_t usual = was_file ? before.st_mode & ALLPERMS : 0644;
    const bool is_small = static_cast<std::size_t>(status.st_size) <= 2 * kMostShownText;
    const std::string text = is_small ? read_file(upper_ / path).value_or("") : "";
    const std::string old_text =
        is_small && was_file ? read_file(*old, 2 * kMostShownText).value_or("") : "";
    if (was_file && is_small && before.st_size == status.st_size && old_text == text) {
        add_mode(path, status, usual);
        return;
    }
    const bool is_appended = was_file && !old_text.empty() && text.starts_with(old_text);
    const std::string shown = is_appended ? text.substr(old_text.size()) : text;
    if (is_small && is_shown_text(shown)) {
        text_ += here_document(word(path), is_appended ? ">>" : ">", shown);
        add_mode(path, status, usual);
        return;
    }
    text_ += fmt::format("# /{} {}: {} bytes, to be copied by `files`\n",
                         printable(path),
                         was_file ? "was changed" : "is new",
                         status.st_size);
}

void Changes::add_entry(const std::string& path, const struct stat& status) {
    const auto old = below(path);
    struct stat before {};
    const bool was_there = old && ::lstat(old->c_str(), &before) == 0;
    if (is_whiteout(status)) {
        text_ += was_there ? "rm -rf " + word(path) + "\n" : "";
        return;
    }
    const bool is_other = was_there && (status.st_mode & S_IFMT) != (before.st_mode & S_IFMT);
    if (is_other) {
        text_ += "rm -rf " + word(path) + "\n";
    }
    if (S_ISLNK(status.st_mode)) {
        std::error_code error;
        const fs::path target = fs::read_symlink(upper_ / path, error);
        if (!was_there || is_other || fs::read_symlink(*old, error) != target) {
            text_ += "ln -sfn " + shell_quote(target.native()) + " " + word(path) + "\n";
        }
    } else if (S_ISDIR(status.st_mode)) {
        const bool is_new = !was_there || is_other || is_opaque(upper_ / path);
        if (is_new) {
            text_ += (was_there && !is_other ? "rm -rf " + word(path) + "\n" : "") + "mkdir -p " +
                     word(path) + "\n";
        }
        add_mode(path, status, is_new ? 0755 : before.st_mode & ALLPERMS);
        walk(path);
    } else if (S_ISREG(status.st_mode)) {
        add_file(path, status);
    }
}

void Changes::walk(const std::string& folder) {
    std::set<std::string> names;
    std::error_code error;
    for (auto it = fs::directory_iterator(upper_ / folder, error);
         !error && it != fs::directory_iterator();
         it.increment(error)) {
        names.insert(it->path().filename());
    }
    for (const std::string& name : names) {
        const std::string path = (fs::path(folder) / name).native();
        struct stat status {};
        if (std::ranges::any_of(kLeftBehind,
                                [&](std::string_view left) { return is_in_folder(path, left); }) ||
            ::lstat((upper_ / path).c_str(), &status) != 0) {
            continue;
        }
        if (of_packages_.count(path) == 0) {
            add_entry(path, status);
        } else if (S_ISDIR(status.st_mode)) {
            walk(path);
        }
    }
}

} // namespace

std::string changes_as_commands(const fs::path& upper, const std::vector<fs::path>& lowers) {
    return Changes(upper, lowers).commands();
}

} // namespace cybele::builder
