// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cybele::runtime {

/// A directive of apptainer.conf.
struct SiteDirective {
    enum class Kind { kSwitch, kChoice, kNumber, kList, kText };

    std::string_view name;
    std::string_view usual; ///< the value without a file; of a list: with commas
    Kind kind;
    std::string_view choices = kind == Kind::kSwitch ? "yes no" : ""; ///< separated by blanks

    /// A list and a text can have any value.
    [[nodiscard]] bool accepts(std::string_view value) const;
};

/// Those that Apptainer knows. `site_settings` says which of them have an effect here.
inline constexpr SiteDirective kSiteDirectives[] = {
    {"allow setuid", "yes", SiteDirective::Kind::kSwitch},
    {"allow ipc ns", "yes", SiteDirective::Kind::kSwitch},
    {"allow pid ns", "yes", SiteDirective::Kind::kSwitch},
    {"allow user ns", "yes", SiteDirective::Kind::kSwitch},
    {"allow uts ns", "yes", SiteDirective::Kind::kSwitch},
    {"config passwd", "yes", SiteDirective::Kind::kSwitch},
    {"config group", "yes", SiteDirective::Kind::kSwitch},
    {"config resolv_conf", "yes", SiteDirective::Kind::kSwitch},
    {"mount proc", "yes", SiteDirective::Kind::kSwitch},
    {"mount sys", "yes", SiteDirective::Kind::kSwitch},
    {"mount devpts", "yes", SiteDirective::Kind::kSwitch},
    {"mount home", "yes", SiteDirective::Kind::kSwitch},
    {"mount tmp", "yes", SiteDirective::Kind::kSwitch},
    {"mount hostfs", "no", SiteDirective::Kind::kSwitch},
    {"user bind control", "yes", SiteDirective::Kind::kSwitch},
    {"enable fusemount", "yes", SiteDirective::Kind::kSwitch},
    {"enable underlay", "yes", SiteDirective::Kind::kChoice, "yes no preferred"},
    {"mount slave", "yes", SiteDirective::Kind::kSwitch},
    {"allow container sif", "yes", SiteDirective::Kind::kSwitch},
    {"allow container encrypted", "yes", SiteDirective::Kind::kSwitch},
    {"allow container squashfs", "yes", SiteDirective::Kind::kSwitch},
    {"allow container extfs", "yes", SiteDirective::Kind::kSwitch},
    {"allow container dir", "yes", SiteDirective::Kind::kSwitch},
    {"allow setuid-mount encrypted", "yes", SiteDirective::Kind::kSwitch},
    {"allow setuid-mount squashfs", "iflimited", SiteDirective::Kind::kChoice, "yes no iflimited"},
    {"allow setuid-mount extfs", "no", SiteDirective::Kind::kSwitch},
    {"always use nv", "no", SiteDirective::Kind::kSwitch},
    {"use nvidia-container-cli", "no", SiteDirective::Kind::kSwitch},
    {"always use rocm", "no", SiteDirective::Kind::kSwitch},
    {"shared loop devices", "no", SiteDirective::Kind::kSwitch},
    {"max loop devices", "256", SiteDirective::Kind::kNumber},
    {"sessiondir max size", "64", SiteDirective::Kind::kNumber},
    {"mount dev", "yes", SiteDirective::Kind::kChoice, "yes no minimal"},
    {"enable overlay", "yes", SiteDirective::Kind::kChoice, "yes no try driver"},
    {"bind path", "/etc/localtime,/etc/hosts", SiteDirective::Kind::kList},
    {"limit container owners", "", SiteDirective::Kind::kList},
    {"limit container groups", "", SiteDirective::Kind::kList},
    {"limit container paths", "", SiteDirective::Kind::kList},
    {"allow net users", "", SiteDirective::Kind::kList},
    {"allow net groups", "", SiteDirective::Kind::kList},
    {"allow net networks", "", SiteDirective::Kind::kList},
    {"allow netns paths", "", SiteDirective::Kind::kList},
    {"root default capabilities", "full", SiteDirective::Kind::kChoice, "full file no"},
    {"memory fs type", "tmpfs", SiteDirective::Kind::kChoice, "tmpfs ramfs"},
    {"cni configuration path", "", SiteDirective::Kind::kText},
    {"cni plugin path", "", SiteDirective::Kind::kText},
    {"binary path", "", SiteDirective::Kind::kText},
    {"suidbinary path", "", SiteDirective::Kind::kText},
    {"mksquashfs procs", "0", SiteDirective::Kind::kNumber},
    {"mksquashfs mem", "", SiteDirective::Kind::kText},
    {"image driver", "", SiteDirective::Kind::kText},
    {"download concurrency", "3", SiteDirective::Kind::kNumber},
    {"download part size", "5242880", SiteDirective::Kind::kNumber},
    {"download buffer size", "32768", SiteDirective::Kind::kNumber},
    {"systemd cgroups", "yes", SiteDirective::Kind::kSwitch},
    {"apptheus communication socket path",
     "/run/apptheus/gateway.sock",
     SiteDirective::Kind::kText},
    {"allow monitoring", "no", SiteDirective::Kind::kSwitch},
};

} // namespace cybele::runtime
