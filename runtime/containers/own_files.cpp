// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/own_files.hpp"

#include "runtime/containers/isolation.hpp"
#include "runtime/containers/root_image.hpp"
#include "runtime/namespaces/resolve.hpp"
#include "runtime/namespaces/system_calls.hpp"
#include "support/file.hpp"

#include <algorithm>
#include <utility>

#include <sys/stat.h>

namespace cybele::runtime {
namespace {

using namespaces::Mount;

/// Text of a regular file in the image; nothing for anything else.
std::optional<std::string> read_in_image(int root, const char* path) {
    const auto fd = namespaces::open_in_root(root, path);
    struct stat status = {};
    if (!fd || fstat(fd->get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return std::nullopt;
    }
    const auto text = read_file(namespaces::descriptor_path(fd->get()));
    return text ? std::optional(*text) : std::nullopt;
}

/// Root, who may add accounts where the image takes changes: in the image's own files.
bool may_add_accounts(const HostView& host) {
    return host.is_changing && host.caller.uid == 0;
}

/// What Apptainer says of files that an image lacks.
void tell_missing_files(int root, bool may_lack_passwd, bool may_lack_group) {
    if (may_lack_passwd && !namespaces::open_in_root(root, "/etc/passwd")) {
        warn_as_apptainer("passwd file doesn't exist in container, not updating");
    }
    if (may_lack_group && !namespaces::open_in_root(root, "/etc/group")) {
        warn_as_apptainer("group file doesn't exist in container, not updating");
    }
}

/// Like in Apptainer, the host's folders for temporary files are not made in an image.
void leave_out_temporary(std::vector<Mount>& mounts, int root) {
    for (const std::string target : {"/tmp", "/var/tmp"}) {
        const auto found = std::ranges::find_if(mounts, [&](const Mount& one) {
            return one.target == target && one.is_optional && !one.is_named;
        });
        if (found != mounts.end() && !namespaces::open_in_root(root, target)) {
            warn_as_apptainer("Skipping mount " + target + " [tmp]: " + target +
                              " doesn't exist in container");
            mounts.erase(found);
        }
    }
}

} // namespace

Result<std::vector<UniqueFd>> add_own_files(std::vector<Mount>& mounts,
                                            const Stage& stage,
                                            int image,
                                            const std::filesystem::path& home,
                                            const HostView& host) {
    std::vector<UniqueFd> opened;
    const auto add = [&](const char* name, const char* target, const std::string& text) {
        const bool is_users = std::ranges::any_of(
            mounts, [&](const Mount& mount) { return mount.target.lexically_normal() == target; });
        if (is_users) {
            return Result<void>();
        }
        auto file = stage.make_file(name, text);
        if (!file) {
            return Result<void>(fail(std::move(file).error()));
        }
        Mount mount;
        mount.source_fd = file->get();
        mount.target = target;
        mount.is_optional = true;
        mount.options = "nosuid,nodev";
        mounts.push_back(std::move(mount));
        opened.push_back(std::move(*file));
        return Result<void>();
    };
    if (host.resolv_conf) {
        CYBELE_CHECK(add("resolv.conf", "/etc/resolv.conf", *host.resolv_conf));
    }
    if (!host.hostname.empty()) {
        CYBELE_CHECK(add("hostname", "/etc/hostname", host.hostname + "\n"));
    }
    const bool is_image_own = may_add_accounts(host);
    const auto passwd = host.has_passwd ? read_in_image(image, "/etc/passwd") : std::nullopt;
    if (passwd && !(is_image_own && has_account(*passwd, 0))) {
        CYBELE_CHECK(add("passwd", "/etc/passwd", merge_passwd(*passwd, host.caller, home)));
    }
    const auto group = host.has_group ? read_in_image(image, "/etc/group") : std::nullopt;
    if (group && !(is_image_own && has_account(*group, 0))) {
        CYBELE_CHECK(
            add("group", "/etc/group", merge_group(*group, host.caller, host.adds_all_groups)));
    }
    tell_missing_files(image, host.has_passwd && !passwd, host.has_group && !group);
    if (host.adds_all_groups && host.has_passwd && !passwd) { // a small image of Apptainer's
        leave_out_temporary(mounts, image);
    }
    return opened;
}

HostView
view_of(const Request& request, const std::filesystem::path& home, const Environment& environment) {
    HostView host{this_caller(home, environment.get_or("USER", "")), {}, {}};
    if (request.user.fakeroot) {
        std::vector<std::string> groups{"root:x:0:"};
        if (request.global.follows_apptainer) { // of the user who becomes root, as there
            groups = std::move(host.caller.groups);
        }
        host.caller = {0, 0, "root:x:0:0:root:/root:/bin/bash", std::move(groups)};
    }
    host.adds_all_groups = request.global.follows_apptainer;
    host.hostname = request.isolation.hostname;
    host.has_passwd = !request.site.has_image_passwd;
    host.has_group = !request.site.has_image_group;
    host.is_changing =
        request.image.writable || request.image.writable_tmpfs || !request.image.overlays.empty();
    if (request.site.has_image_resolv_conf && request.isolation.dns.empty()) {
        return host;
    }
    if (auto resolv_conf = request.isolation.dns.empty() ? read_file("/etc/resolv.conf")
                                                         : resolv_conf_of(request.isolation.dns)) {
        host.resolv_conf = std::move(*resolv_conf);
    }
    return host;
}

} // namespace cybele::runtime
