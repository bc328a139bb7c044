// SPDX-License-Identifier: Apache-2.0
#include "definitions/lint/knowledge.hpp"

#include "definitions/grammar/grammar.hpp"
#include "definitions/lint/script.hpp"
#include "support/find.hpp"

#include <array>
#include <string>

namespace cybele::definitions {
namespace {

/// Agents whose result holds packages of a distribution and sets no variable.
constexpr std::array<std::string_view, 7> kPackageAgents = {
    "debootstrap", "yum", "dnf", "zypper", "arch", "busybox", "scratch"};

/// An image by its name without registry and tag; `variables` between blanks.
struct KnownBase {
    std::string_view image;
    std::string_view variables; ///< "" for a distribution without more
};
constexpr std::array kKnownBases = {
    KnownBase{"ubuntu", ""},
    KnownBase{"debian", ""},
    KnownBase{"centos", ""},
    KnownBase{"fedora", ""},
    KnownBase{"alpine", ""},
    KnownBase{"busybox", ""},
    KnownBase{"rockylinux", ""},
    KnownBase{"rockylinux/rockylinux", ""},
    KnownBase{"almalinux", ""},
    KnownBase{"almalinux/almalinux", ""},
    KnownBase{"opensuse/leap", ""},
    KnownBase{"opensuse/tumbleweed", ""},
    KnownBase{"amazonlinux", ""},
    KnownBase{"oraclelinux", ""},
    KnownBase{"archlinux", ""},
    KnownBase{"neurodebian", ""},
    KnownBase{"continuumio/miniconda", " LANG LC_ALL "},
    KnownBase{"continuumio/miniconda3", " LANG LC_ALL "},
    KnownBase{"continuumio/anaconda3", " LANG LC_ALL "},
    KnownBase{"continuumio/anaconda", " LANG LC_ALL "},
    KnownBase{"condaforge/mambaforge", " CONDA_DIR LANG LC_ALL "},
    KnownBase{"condaforge/miniforge3", " CONDA_DIR LANG LC_ALL "},
    KnownBase{"python",
              " LANG GPG_KEY PYTHON_VERSION PYTHON_PIP_VERSION PYTHON_SETUPTOOLS_VERSION "},
    KnownBase{"r-base", " LANG LC_ALL R_BASE_VERSION "},
    KnownBase{"julia", " JULIA_PATH JULIA_VERSION JULIA_GPG "},
    KnownBase{"golang", " GOLANG_VERSION GOPATH GOTOOLCHAIN "},
    KnownBase{"openjdk", " JAVA_HOME JAVA_VERSION LANG "},
    KnownBase{"rust", " RUSTUP_HOME CARGO_HOME RUST_VERSION "},
    KnownBase{"node", " NODE_VERSION YARN_VERSION "},
    KnownBase{"gcc", " GCC_VERSION GPG_KEYS GCC_MIRRORS "},
    KnownBase{"perl", " PERL_VERSION "},
};

/// Folders of the Filesystem Hierarchy Standard that Debian, Ubuntu, EL and Alpine all have, and
/// those of one family by whose name its files are meant.
constexpr std::array<std::string_view, 74> kUsualFolders = {"",
                                                            "/bin",
                                                            "/boot",
                                                            "/dev",
                                                            "/etc",
                                                            "/etc/alternatives",
                                                            "/etc/apt",
                                                            "/etc/apt/sources.list.d",
                                                            "/etc/cron.daily",
                                                            "/etc/default",
                                                            "/etc/init.d",
                                                            "/etc/ld.so.conf.d",
                                                            "/etc/opt",
                                                            "/etc/pam.d",
                                                            "/etc/pki",
                                                            "/etc/pki/rpm-gpg",
                                                            "/etc/profile.d",
                                                            "/etc/security",
                                                            "/etc/skel",
                                                            "/etc/ssl",
                                                            "/etc/ssl/certs",
                                                            "/etc/sysconfig",
                                                            "/etc/yum.repos.d",
                                                            "/home",
                                                            "/lib",
                                                            "/lib64",
                                                            "/media",
                                                            "/mnt",
                                                            "/opt",
                                                            "/proc",
                                                            "/root",
                                                            "/run",
                                                            "/sbin",
                                                            "/srv",
                                                            "/sys",
                                                            "/tmp",
                                                            "/usr",
                                                            "/usr/bin",
                                                            "/usr/games",
                                                            "/usr/include",
                                                            "/usr/lib",
                                                            "/usr/lib64",
                                                            "/usr/libexec",
                                                            "/usr/local",
                                                            "/usr/local/bin",
                                                            "/usr/local/etc",
                                                            "/usr/local/games",
                                                            "/usr/local/include",
                                                            "/usr/local/lib",
                                                            "/usr/local/man",
                                                            "/usr/local/sbin",
                                                            "/usr/local/share",
                                                            "/usr/local/src",
                                                            "/usr/sbin",
                                                            "/usr/share",
                                                            "/usr/share/dict",
                                                            "/usr/share/doc",
                                                            "/usr/share/info",
                                                            "/usr/share/man",
                                                            "/usr/share/misc",
                                                            "/usr/src",
                                                            "/var",
                                                            "/var/backups",
                                                            "/var/cache",
                                                            "/var/lib",
                                                            "/var/lib/misc",
                                                            "/var/local",
                                                            "/var/lock",
                                                            "/var/log",
                                                            "/var/mail",
                                                            "/var/opt",
                                                            "/var/run",
                                                            "/var/spool",
                                                            "/var/tmp"};

/// "docker.io/library/ubuntu:22.04" → "ubuntu".
std::string_view image_name(std::string_view from) {
    for (const std::string_view prefix :
         {"docker://", "index.docker.io/", "docker.io/", "registry-1.docker.io/", "library/"}) {
        if (from.starts_with(prefix)) {
            from.remove_prefix(prefix.size());
        }
    }
    from = from.substr(0, from.find('@'));
    const std::size_t slash = from.rfind('/');
    const std::size_t colon = from.find(':', slash == std::string_view::npos ? 0 : slash);
    return from.substr(0, colon);
}

const KnownBase* known_base(const Stage& stage) {
    static constexpr KnownBase kPackageBase{"", ""};
    const std::string agent = stage.header_value("bootstrap");
    if (contains(kPackageAgents, agent)) {
        return &kPackageBase;
    }
    if (agent != "docker") {
        return nullptr;
    }
    const std::string from = stage.header_value("from");
    return find_row(kKnownBases, image_name(from), &KnownBase::image);
}

/// What says which program is /bin/sh: a part of an image's name or tag, a bootstrap agent, or a
/// program of the package manager.
struct ShellSign {
    std::string_view sign;
    BaseShell shell;
};
constexpr std::array kImageSigns = {
    ShellSign{"centos", BaseShell::kBash},      ShellSign{"rocky", BaseShell::kBash},
    ShellSign{"almalinux", BaseShell::kBash},   ShellSign{"fedora", BaseShell::kBash},
    ShellSign{"redhat", BaseShell::kBash},      ShellSign{"rhel", BaseShell::kBash},
    ShellSign{"ubi7", BaseShell::kBash},        ShellSign{"ubi8", BaseShell::kBash},
    ShellSign{"ubi9", BaseShell::kBash},        ShellSign{"amazonlinux", BaseShell::kBash},
    ShellSign{"oraclelinux", BaseShell::kBash}, ShellSign{"scientificlinux", BaseShell::kBash},
    ShellSign{"opensuse", BaseShell::kBash},    ShellSign{"archlinux", BaseShell::kBash},
    ShellSign{"alpine", BaseShell::kBusybox},   ShellSign{"busybox", BaseShell::kBusybox},
    ShellSign{"ubuntu", BaseShell::kDash},      ShellSign{"debian", BaseShell::kDash},
    ShellSign{"buster", BaseShell::kDash},      ShellSign{"bullseye", BaseShell::kDash},
    ShellSign{"bookworm", BaseShell::kDash},    ShellSign{"trixie", BaseShell::kDash},
};
constexpr std::array kAgentSigns = {
    ShellSign{"debootstrap", BaseShell::kDash},
    ShellSign{"yum", BaseShell::kBash},
    ShellSign{"dnf", BaseShell::kBash},
    ShellSign{"zypper", BaseShell::kBash},
    ShellSign{"arch", BaseShell::kBash},
    ShellSign{"busybox", BaseShell::kBusybox},
};
constexpr std::array kManagerSigns = {
    ShellSign{"apt-get", BaseShell::kDash},
    ShellSign{"apt", BaseShell::kDash},
    ShellSign{"dpkg", BaseShell::kDash},
    ShellSign{"yum", BaseShell::kBash},
    ShellSign{"dnf", BaseShell::kBash},
    ShellSign{"microdnf", BaseShell::kBash},
    ShellSign{"zypper", BaseShell::kBash},
    ShellSign{"pacman", BaseShell::kBash},
    ShellSign{"apk", BaseShell::kBusybox},
};

BaseShell shell_of_manager(const Stage& stage) {
    for (const Section& section : stage.sections) {
        if (section.name != "post") {
            continue;
        }
        for (const ScriptCommand& command : script_commands(section.text)) {
            for (const ShellSign& row : kManagerSigns) {
                if (command.program() == row.sign) {
                    return row.shell;
                }
            }
        }
    }
    return BaseShell::kUnknown;
}

} // namespace

BaseShell base_shell(const Stage& stage) {
    const std::string agent = stage.header_value("bootstrap");
    for (const ShellSign& row : kAgentSigns) {
        if (agent == row.sign) {
            return row.shell;
        }
    }
    const std::string from = lower(stage.header_value("from"));
    for (const ShellSign& row : kImageSigns) {
        if (from.find(row.sign) != std::string::npos) {
            return row.shell;
        }
    }
    return shell_of_manager(stage);
}

bool base_may_set(const Stage& stage, std::string_view variable) {
    const KnownBase* base = known_base(stage);
    return base == nullptr ||
           base->variables.find(" " + std::string(variable) + " ") != std::string_view::npos;
}

bool has_known_base(const Stage& stage) {
    return known_base(stage) != nullptr;
}

bool has_plain_base(const Stage& stage) {
    const KnownBase* base = known_base(stage);
    return base != nullptr && base->variables.empty();
}

bool is_usual_folder(std::string_view path) {
    while (path.ends_with('/') || path.ends_with("/.")) {
        path.remove_suffix(1);
    }
    return contains(kUsualFolders, path);
}

bool is_cluster(std::string_view word, std::string_view wanted, std::string_view known) {
    const std::size_t at =
        word.starts_with('-') ? word.find_first_of(wanted, 1) : std::string_view::npos;
    return at != std::string_view::npos && word.find_first_not_of(known, 1) >= at;
}

bool is_interpreter(std::string_view program) {
    constexpr std::array<std::string_view, 6> kInterpreters = {
        "sh", "bash", "dash", "zsh", "python", "perl"};
    const std::size_t version = program.find_last_not_of("0123456789.");
    return contains(kInterpreters,
                    program.substr(0, version == std::string_view::npos ? 0 : version + 1));
}

} // namespace cybele::definitions
