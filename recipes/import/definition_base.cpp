// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/definition_base.hpp"

#include "recipes/forms/recipe_rules.hpp"
#include "recipes/forms/words.hpp"
#include "recipes/import/dockerfile_words.hpp"
#include "recipes/tables/tables.hpp"
#include "support/characters.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

namespace cybele::recipes::definition_file {
namespace {

/// Agents that take an image, and how a Recipe writes it.
struct ImageAgentRow {
    std::string_view agent;
    std::string_view prefix;
};
constexpr std::array kImageAgents{
    ImageAgentRow{"docker", "docker://"},
    ImageAgentRow{"oras", "oras://"},
    ImageAgentRow{"library", "library://"},
    ImageAgentRow{"shub", "shub://"},
    ImageAgentRow{"localimage", ""},
    ImageAgentRow{"docker-daemon", "docker-daemon:"},
    ImageAgentRow{"docker-archive", "docker-archive:"},
    ImageAgentRow{"oci-archive", "oci-archive:"},
    ImageAgentRow{"oci", "oci:"},
};

/// Releases that a bootstrap makes from packages, and their images.
struct ReleaseRow {
    std::string_view agent;
    std::string_view version; ///< of OSVersion; empty: any
    std::string_view mirror;  ///< a word of MirrorURL; empty: any
    std::string_view image;   ///< `*` is the version
};
constexpr ReleaseRow kReleases[] = {
    {"debootstrap", "precise", "", "ubuntu:12.04"},
    {"debootstrap", "trusty", "", "ubuntu:14.04"},
    {"debootstrap", "xenial", "", "ubuntu:16.04"},
    {"debootstrap", "yakkety", "", "ubuntu:16.10"},
    {"debootstrap", "zesty", "", "ubuntu:17.04"},
    {"debootstrap", "artful", "", "ubuntu:17.10"},
    {"debootstrap", "bionic", "", "ubuntu:18.04"},
    {"debootstrap", "cosmic", "", "ubuntu:18.10"},
    {"debootstrap", "disco", "", "ubuntu:19.04"},
    {"debootstrap", "eoan", "", "ubuntu:19.10"},
    {"debootstrap", "focal", "", "ubuntu:20.04"},
    {"debootstrap", "groovy", "", "ubuntu:20.10"},
    {"debootstrap", "hirsute", "", "ubuntu:21.04"},
    {"debootstrap", "impish", "", "ubuntu:21.10"},
    {"debootstrap", "jammy", "", "ubuntu:22.04"},
    {"debootstrap", "noble", "", "ubuntu:24.04"},
    {"debootstrap", "wheezy", "", "debian:wheezy"},
    {"debootstrap", "jessie", "", "debian:jessie"},
    {"debootstrap", "stretch", "", "debian:stretch"},
    {"debootstrap", "buster", "", "debian:buster"},
    {"debootstrap", "stable", "", "debian:stable"},
    {"debootstrap", "testing", "", "debian:testing"},
    {"debootstrap", "unstable", "", "debian:sid"},
    {"yum", "", "centos", "centos:*"},
    {"yum", "", "fedora", "fedora:*"},
    {"yum", "", "rocky", "rockylinux/rockylinux:*"},
    {"yum", "", "alma", "almalinux:*"},
    {"yum", "", "scientific", "sl:*"},
    {"yum", "", "oracle", "oraclelinux:*"},
    {"zypper", "", "leap", "opensuse/leap:*"},
    {"zypper", "", "tumbleweed", "opensuse/tumbleweed:latest"},
    {"arch", "", "", "archlinux:latest"},
    {"busybox", "", "", "busybox:latest"},
};

/// Packages that a bootstrap installs anyway.
constexpr std::string_view kOwnPackages = "yum dnf apt zypper ca-certificates";

class Header {
public:
    Header(State& state, const definitions::Stage& stage) : state_(state), stage_(stage) {}

    void run() {
        const std::string agent = stage_.header_value("bootstrap");
        for (const auto& row : kImageAgents) {
            if (row.agent == agent) {
                image(row);
                return;
            }
        }
        bootstrap(agent);
    }

private:
    [[nodiscard]] yaml::Mark mark(std::string_view key) const {
        const auto found = stage_.header_lines.find(std::string(key));
        return {found == stage_.header_lines.end() ? stage_.line : found->second.number, 1};
    }

    void image(const ImageAgentRow& row) {
        std::string from = stage_.header_value("from");
        while (row.prefix.ends_with("//") && from.starts_with('/')) {
            from.erase(0, 1);
        }
        for (const auto* key : {"namespace", "registry"}) {
            const std::string part = stage_.header_value(key);
            if (!part.empty() && row.prefix.ends_with("//")) {
                from = part + "/" + from;
            }
        }
        for (const auto& release : distributions()) {
            if (row.agent == "docker" && release.agent == row.agent && release.image == from) {
                state_.stage.base = release.id;
                return;
            }
        }
        if (row.agent == "shub") {
            state_.stage.image = local_name(from);
            differ("from",
                   "Singularity Hub was closed in April 2021, so no build can read this base",
                   "save that image as " + state_.stage.image + ", or name another one in `base`");
            return;
        }
        state_.stage.image = std::string(row.prefix) + literal(from);
        Draft piece;
        piece.stages.emplace_back();
        piece.stages.front().name = "own";
        piece.stages.front().image = state_.stage.image;
        if (const auto fault = fault_of(piece)) {
            state_.ledger.refuse(mark("from"), {fault->message, fault->because, fault->help});
        }
    }

    /// "user/tool:1.0" → "tool.sif"
    static std::string local_name(const std::string& from) {
        std::string name =
            from.substr(from.rfind('/') == std::string::npos ? 0 : from.rfind('/') + 1);
        name.resize(std::min(name.find_first_of(":@"), name.size()));
        std::erase_if(name, [](char c) { return !is_word_character(c) && c != '-' && c != '.'; });
        return (name.empty() ? "base" : name) + ".sif";
    }

    void bootstrap(const std::string& agent) {
        const std::string version = stage_.header_value("osversion");
        const std::string mirror = stage_.header_value("mirrorurl");
        for (const auto& row : distributions()) {
            if (agent == "debootstrap" && row.agent == agent && row.suite == version) {
                state_.stage.base = row.id;
                packages();
                differ("mirrorurl", "the mirror is an input of the build", "give it with --mirror");
                return;
            }
        }
        for (const auto& row : kReleases) {
            const bool is_version = row.version.empty() || row.version == version;
            const bool is_complete =
                row.image.find('*') == std::string_view::npos || is_plain(version);
            if (row.agent != agent || !is_version || !is_complete ||
                mirror.find(row.mirror) == std::string::npos) {
                continue;
            }
            std::string image(row.image);
            const auto star = image.find('*');
            if (star != std::string::npos) {
                image.replace(star, 1, version);
            }
            state_.stage.image = "docker://" + image;
            packages();
            differ("bootstrap",
                   "a Recipe begins with the image of that release, docker://" + image,
                   "name another image in `base` if its packages differ");
            return;
        }
        const bool has_version = !version.empty();
        state_.ledger.refuse(
            mark(has_version ? "osversion" : "bootstrap"),
            {"no base is known for `Bootstrap: " + printable(agent) + "`" +
                 (has_version ? " with OSVersion " + printable(version) : ""),
             "a Recipe begins with a distribution or an image",
             "write `Bootstrap: docker` and `From: IMAGE` with an image of that release"});
    }

    static bool is_plain(std::string_view version) {
        return !version.empty() &&
               version.find_first_not_of("0123456789.") == std::string_view::npos;
    }

    void differ(std::string_view key, std::string because, std::string help) {
        if (stage_.header_lines.contains(std::string(key))) {
            const std::string& text = stage_.header_lines.at(std::string(key)).text;
            state_.ledger.remark(mark(key),
                                 {printable(trimmed(text)), std::move(because), std::move(help)});
        }
    }

    /// `Include:` of a bootstrap.
    void packages() {
        std::string list = stage_.header_value("include");
        std::replace(list.begin(), list.end(), ',', ' ');
        const bool is_known =
            !state_.stage.base.empty() || distribution_of_image(state_.stage.image) != nullptr;
        const std::string agent = stage_.header_value("bootstrap");
        for (const auto& word : dockerfile::split_words(list, '\\')) {
            if (has_word(kOwnPackages, word.text)) {
                continue;
            }
            if (!check_package(word.text).because.empty()) {
                state_.ledger.lose({mark("include").line, mark("include").line},
                                   mark("include"),
                                   {"'" + printable(word.text) + "' of Include",
                                    "it is not the name of one package",
                                    "name the packages in `packages.system`"});
                continue;
            }
            state_.stage.packages.system.push_back(word.text);
            state_.stage.packages.manager = is_known ? "" : agent == "debootstrap" ? "apt" : agent;
        }
    }

    State& state_;
    const definitions::Stage& stage_;
};

/// Keys that say nothing to this importer although they matter.
void name_others(State& state, const definitions::Stage& stage) {
    constexpr std::string_view kKnown =
        "bootstrap from stage registry namespace osversion mirrorurl include";
    constexpr std::string_view kIdle = "includecmd"; // of Singularity 2
    for (const auto& [key, line] : stage.header_lines) {
        if (has_word(kKnown, key) || has_word(kIdle, key)) {
            state.ledger.carry({line.number, line.number});
            continue;
        }
        state.ledger.lose(
            {line.number, line.number},
            {line.number, 1},
            {"'" + printable(trimmed(line.text)) + "'",
             key == "fingerprints" ? "a Recipe names the key that signed its base"
                                   : "a Recipe has no field for it",
             key == "fingerprints" ? "write `base: {image: …, key: FILE}`" : "leave it out"});
    }
}

} // namespace

void carry_header(State& state, const definitions::Stage& stage, Lines lines) {
    const auto text = lines_of(state.request.text);
    for (std::size_t i = lines.first; i <= lines.last && i <= text.size(); ++i) {
        const auto line = trimmed(text[i - 1]);
        if (line.starts_with('#')) {
            state.ledger.comment(i, std::string(trimmed(line, "# \t")));
        }
    }
    name_others(state, stage);
    Header(state, stage).run();
}

} // namespace cybele::recipes::definition_file
