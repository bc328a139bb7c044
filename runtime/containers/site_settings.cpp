// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/site_settings.hpp"

#include "images/sif/start.hpp"
#include "runtime/containers/extended_file.hpp"
#include "runtime/containers/isolation.hpp"
#include "runtime/containers/site_directives.hpp"
#include "support/file.hpp"
#include "support/presence.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cctype>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::runtime {
namespace {

constexpr std::size_t kMostSettings = std::size_t{1} << 20U;

/// What a setting offers and is not here.
struct OfferedSetting {
    std::string_view word;
    std::string_view value;
    const char* instead;
};
constexpr OfferedSetting kOfferedSettings[] = {
    {"mount hostfs", "yes", "bind the directories that are needed, by --bind"},
    {"root default capabilities", "file", "root keeps none; --add-caps names those that it needs"}};

/// What `--no-mount` calls the mounts that a word switches off.
constexpr std::pair<std::string_view, std::string_view> kSwitchedMounts[] = {
    {"mount proc", "proc"},
    {"mount sys", "sys"},
    {"mount dev", "dev"},
    {"mount devpts", "devpts"},
    {"mount home", "home"},
    {"mount tmp", "tmp"}};

bool is_setting_word(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
        return std::isalpha(c) != 0 || c == ' ' || c == '_' || c == '-';
    });
}

bool has_setting(const SiteSettings& settings, std::string_view word, std::string_view value) {
    const auto found = settings.find(word);
    return found != settings.end() && found->second.front() == value;
}

std::vector<std::string> setting_list(const SiteSettings& settings, std::string_view word) {
    const auto found = settings.find(word);
    return found == settings.end() ? std::vector<std::string>() : list_words(found->second);
}

constexpr std::string_view kForbiddenHelp =
    "ask the administrator of this host, who sets it in apptainer.conf";

std::string not_allowed(const std::filesystem::path& image) {
    return "the settings of this host do not allow the image '" + printable(image.string()) + "'";
}

tl::unexpected<Error> forbidden_image(const std::filesystem::path& image,
                                      const std::string& because) {
    return fail(ErrorCode::kEnvironment,
                problem("image-forbidden-by-site", not_allowed(image)),
                because,
                std::string(kForbiddenHelp));
}

/// Which kind of images the file is one of, as apptainer.conf calls it.
std::string_view setting_kind(const std::filesystem::path& image) {
    std::error_code ignored;
    if (std::filesystem::is_directory(image, ignored)) {
        return "dir";
    }
    const UniqueFd fd(open(image.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    const images::ImageStart start = images::image_start(fd.get());
    if (start.kind == images::ImageStart::Kind::kSif) {
        return "sif";
    }
    if (fd.valid() && is_extended(fd.get(), 0)) {
        return "extfs";
    }
    return start.is_squashfs() ? "squashfs" : "";
}

Result<void> check_kind_allowed(const SiteSettings& settings, const std::filesystem::path& image) {
    const std::string_view kind = setting_kind(image);
    if (kind.empty() || !has_setting(settings, "allow container " + std::string(kind), "no")) {
        return {};
    }
    return fail(ErrorCode::kEnvironment,
                problem(kind == "sif"     ? "sif-forbidden-by-site"
                        : kind == "dir"   ? "directory-forbidden-by-site"
                        : kind == "extfs" ? "extfs-forbidden-by-site"
                                          : "squashfs-forbidden-by-site",
                        not_allowed(image)),
                "'allow container " + std::string(kind) + " = no' is set",
                std::string(kForbiddenHelp));
}

bool is_listed(const std::vector<std::string>& names, const std::string& name, unsigned id) {
    return std::ranges::any_of(
        names, [&](const std::string& one) { return one == name || one == std::to_string(id); });
}

Result<void> check_site_image(const SiteSettings& settings, const Request& request) {
    for (const std::string& overlay : list_words(request.image.overlays)) {
        CYBELE_CHECK(check_kind_allowed(settings, overlay.substr(0, overlay.find(':'))));
    }
    struct stat status = {};
    std::error_code failed;
    const auto path = std::filesystem::canonical(request.image.file, failed);
    if (failed || stat(path.c_str(), &status) != 0) {
        return {}; // whoever opens it tells why
    }
    CYBELE_CHECK(check_kind_allowed(settings, path));
    if (const auto folders = setting_list(settings, "limit container paths"); !folders.empty()) {
        const bool is_inside = std::ranges::any_of(folders, [&](const std::string& folder) {
            const auto full = std::filesystem::weakly_canonical(folder, failed);
            return std::mismatch(full.begin(), full.end(), path.begin(), path.end()).first ==
                   full.end();
        });
        if (!is_inside) {
            return forbidden_image(request.image.file, "it is outside of 'limit container paths'");
        }
    }
    if (const auto users = setting_list(settings, "limit container owners"); !users.empty()) {
        const passwd* const owner = getpwuid(status.st_uid); // NOLINT(concurrency-mt-unsafe)
        if (!is_listed(users, owner == nullptr ? "" : owner->pw_name, status.st_uid)) {
            return forbidden_image(request.image.file,
                                   "its owner is not one of 'limit container owners'");
        }
    }
    if (const auto groups = setting_list(settings, "limit container groups"); !groups.empty()) {
        const group* const owner = getgrgid(status.st_gid); // NOLINT(concurrency-mt-unsafe)
        if (!is_listed(groups, owner == nullptr ? "" : owner->gr_name, status.st_gid)) {
            return forbidden_image(request.image.file,
                                   "its group is not one of 'limit container groups'");
        }
    }
    return {};
}

tl::unexpected<Error>
invalid_setting(std::string_view word, const std::string& value, const std::string& file) {
    return fail(ErrorCode::kInput,
                problem("site-setting-invalid",
                        "'" + printable(value) + "' is not a value of '" + std::string(word) + "'"),
                printable(file) + " sets it",
                "correct the file, or name another one by --config");
}

/// What root may do unless it asks for more: by `no` and `file` nothing.
void apply_root_capabilities(const SiteSettings& settings, Request& request) {
    const bool is_limited = has_setting(settings, "root default capabilities", "no") ||
                            has_setting(settings, "root default capabilities", "file");
    if (is_limited && geteuid() == 0 && !request.user.fakeroot) {
        request.user.no_privs = true;
    }
}

/// What the settings offer and is not here is reported, since a program may need it.
void note_offers(const SiteSettings& settings, std::vector<std::string>& warnings) {
    for (const auto& [word, value, instead] : kOfferedSettings) {
        if (has_setting(settings, word, value)) {
            warnings.push_back("'" + std::string(word) + " = " + std::string(value) +
                               "' of this host has no effect: " + instead);
        }
    }
    if (const auto driver = settings.find("image driver");
        driver != settings.end() && !driver->second.front().empty()) {
        warnings.push_back("'image driver = " + printable(driver->second.front()) +
                           "' of this host has no effect: images are mounted by the kernel or "
                           "by FUSE programs");
    }
}

/// Takes back what was asked for and is not allowed.
void take_back_forbidden(const SiteSettings& settings,
                         Request& request,
                         std::vector<std::string>& warnings) {
    const auto take_back = [&](bool& flag, std::string_view word, const char* what) {
        if (flag && has_setting(settings, word, "no")) {
            flag = false;
            warnings.push_back(request.global.follows_apptainer
                                   ? "Not virtualizing " + std::string(what).substr(2) +
                                         " namespace by configuration"
                                   : std::string(what) +
                                         " is not allowed by the settings of this host");
        }
    };
    if (has_setting(settings, "allow pid ns", "no") && request.isolation.containall) {
        request.isolation.containall = false; // all of it but the process ids
        request.isolation.contain = true;
        request.variables.cleanenv = true;
        request.isolation.ipc = true;
        warnings.emplace_back("--pid is not allowed by the settings of this host");
    }
    take_back(request.isolation.pid, "allow pid ns", "--pid");
    take_back(request.isolation.ipc, "allow ipc ns", "--ipc");
    take_back(request.isolation.uts, "allow uts ns", "--uts");
    if (!request.isolation.hostname.empty() && has_setting(settings, "allow uts ns", "no")) {
        request.isolation.hostname.clear();
        warnings.emplace_back("--hostname is not allowed by the settings of this host");
    }
    request.site.forbids_binds = has_setting(settings, "user bind control", "no");
}

} // namespace

SiteSettings read_site_settings(std::string_view text) {
    SiteSettings settings;
    for (const std::string_view line : text::split_terminated(text, '\n')) {
        const std::size_t equals = line.find('=');
        const std::string_view word = text::trimmed(line.substr(0, equals));
        if (equals == std::string_view::npos || !is_setting_word(word)) {
            continue;
        }
        if (const std::string_view value = text::trimmed(line.substr(equals + 1)); !value.empty()) {
            settings[std::string(word)].emplace_back(value);
        }
    }
    return settings;
}

Result<std::optional<SiteSettings>> find_site_settings(const std::string& named) {
    std::optional<std::string> text;
    std::string file = named;
    if (!named.empty()) {
        CYBELE_TRY(text, read_file(named, kMostSettings));
    }
    for (const std::filesystem::path folder : kSettingsFolders) {
        const std::string place = folder / (folder.filename().string() + ".conf");
        if (text) {
            break;
        }
        CYBELE_TRY(const bool is_there, is_present(place, "the settings of this host"));
        if (is_there) {
            file = place;
            CYBELE_TRY(text, read_file(place, kMostSettings));
        }
    }
    if (!text) {
        return std::optional<SiteSettings>();
    }
    SiteSettings settings = read_site_settings(*text);
    for (const SiteDirective& directive : kSiteDirectives) {
        const auto found = settings.find(directive.name);
        if (found != settings.end() && !directive.accepts(found->second.front())) {
            return invalid_setting(directive.name, found->second.front(), file);
        }
    }
    return std::optional(std::move(settings));
}

std::vector<std::string> forbidden_binds(const Request& request) {
    if (!request.global.follows_apptainer) {
        return {"binds of users are not allowed by the settings of this host"};
    }
    std::vector<std::string> warnings;
    warnings.reserve(request.files.binds.size());
    for (const std::string& text : request.files.binds) {
        warnings.push_back("Ignoring " + text.substr(0, text.find(':')) +
                           " bind mount: user bind control disabled by system administrator");
    }
    return warnings;
}

Result<void> apply_site_settings(const SiteSettings& settings,
                                 Request& request,
                                 std::vector<std::string>& warnings) {
    CYBELE_CHECK(check_site_image(settings, request));
    if (has_setting(settings, "allow user ns", "no") &&
        (request.user.fakeroot || request.isolation.userns || geteuid() != 0)) {
        return fail(ErrorCode::kEnvironment,
                    problem("user-namespace-forbidden-by-site",
                            "the settings of this host do not allow user namespaces"),
                    "'allow user ns = no' is set in apptainer.conf, and an ordinary user needs one",
                    "ask the administrator of this host");
    }
    if (has_setting(settings, "enable fusemount", "no") && !request.devices.fuse_mounts.empty()) {
        return fail(ErrorCode::kEnvironment,
                    problem("fusemount-forbidden-by-site",
                            "the settings of this host do not allow --fusemount"),
                    "'enable fusemount = no' is set in apptainer.conf",
                    "ask the administrator of this host");
    }
    if (has_setting(settings, "enable underlay", "no") && request.image.underlay) {
        return fail(ErrorCode::kEnvironment,
                    problem("underlay-forbidden-by-site",
                            "the settings of this host do not allow --underlay"),
                    "'enable underlay = no' is set in apptainer.conf",
                    "leave out --underlay");
    }
    note_offers(settings, warnings);
    if (request.devices.nv && has_setting(settings, "use nvidia-container-cli", "yes")) {
        warnings.emplace_back("'use nvidia-container-cli = yes' of this host has no effect: the "
                              "driver's files are bound");
    }
    apply_root_capabilities(settings, request);
    take_back_forbidden(settings, request, warnings);
    request.site.bind_paths = setting_list(settings, "bind path");
    for (const auto& [word, name] : kSwitchedMounts) {
        if (has_setting(settings, word, "no")) {
            request.files.no_mount.emplace_back(name);
        }
    }
    request.site.has_small_devices = has_setting(settings, "mount dev", "minimal");
    if (const auto size = settings.find("sessiondir max size"); size != settings.end()) {
        request.site.memory_size = size->second.front() + "m";
    }
    request.site.has_image_passwd = has_setting(settings, "config passwd", "no");
    request.site.has_image_group = has_setting(settings, "config group", "no");
    request.site.has_image_resolv_conf = has_setting(settings, "config resolv_conf", "no");
    request.devices.nv = request.devices.nv || has_setting(settings, "always use nv", "yes");
    request.devices.rocm = request.devices.rocm || has_setting(settings, "always use rocm", "yes");
    const bool forbids_overlays = has_setting(settings, "enable overlay", "no");
    if (forbids_overlays && !request.image.overlays.empty()) {
        return fail(ErrorCode::kInput,
                    problem("site-overlay-forbidden", "--overlay cannot be used on this host"),
                    "apptainer.conf has 'enable overlay = no'",
                    "leave --overlay out, or ask the administrator");
    }
    request.image.underlay = request.image.underlay || forbids_overlays ||
                             has_setting(settings, "enable underlay", "preferred");
    return {};
}

Result<void> check_control_list(const Request& request, const std::filesystem::path& file) {
    CYBELE_TRY(const bool is_there, is_present(file, "the list of signers whose images may start"));
    if (!is_there) {
        return {};
    }
    CYBELE_TRY(const std::string text, read_file(file, kMostSettings));
    for (const std::string_view line : text::split_terminated(text, '\n')) {
        const std::string_view setting = text::trimmed(line.substr(0, line.find('#')));
        if (setting.starts_with('[')) {
            break; // a group; the switch stands before them
        }
        const std::size_t equals = setting.find('=');
        if (text::trimmed(setting.substr(0, equals)) != "activated" ||
            equals == std::string_view::npos ||
            text::trimmed(setting.substr(equals + 1)) == "false") {
            continue;
        }
        if (setting_kind(request.image.file) != "sif") {
            return {}; // the list is for SIF files
        }
        return fail(ErrorCode::kEnvironment,
                    problem("control-list-active",
                            "the execution control list of this host is active, and not supported"),
                    printable(file.string()) +
                        " allows SIF files by their signers and directories, which is not checked",
                    "start the image by Apptainer, or ask the administrator of this host");
    }
    return {};
}

} // namespace cybele::runtime
