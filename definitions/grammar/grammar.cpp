// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/grammar.hpp"

#include "support/characters.hpp"
#include "support/find.hpp"

#include <array>

namespace cybele::definitions {
namespace {

constexpr std::optional<Version> kNotInSingularity = std::nullopt;
constexpr Since kAlways{{{1, 0, 0}}, {{3, 1, 0}}};
constexpr Since kStageSince{{{1, 0, 0}}, {{3, 2, 0}}};
constexpr Since kSuse{{{1, 0, 0}}, {{3, 4, 0}}};
constexpr Since kSince37{{{1, 0, 0}}, {{3, 7, 0}}};
constexpr Since kTemplated{{{1, 2, 0}}, {{4, 0, 0}}};
constexpr Since kBuildkit{{{1, 5, 0}}, kNotInSingularity};

constexpr std::string_view kAll;
constexpr std::string_view kOci = " docker docker-archive docker-daemon oci oci-archive ";
constexpr std::string_view kSigned = " library localimage oras shub ";
constexpr std::string_view kImages =
    " buildkit docker docker-archive docker-daemon dockerfile library localimage oci oci-archive "
    "oras shub ";
constexpr std::string_view kRpm = " dnf yum zypper ";
constexpr std::string_view kZypper = " zypper ";
constexpr std::string_view kVersions = " debootstrap dnf yum zypper ";
constexpr std::string_view kIncludes = " arch debootstrap dnf yum zypper ";
constexpr std::string_view kPackages = " busybox debootstrap dnf yum zypper ";
constexpr std::string_view kBuildkitAgents = " buildkit dockerfile ";

constexpr std::array kHeaderKeys = {
    HeaderKey{"bootstrap", "Bootstrap", kAlways, kAll},
    HeaderKey{"from", "From", kAlways, kImages},
    HeaderKey{"stage", "Stage", kStageSince, kAll},
    HeaderKey{"includecmd", "IncludeCmd", kAlways, kOci},
    HeaderKey{"mirrorurl", "MirrorURL", kAlways, kPackages},
    HeaderKey{"updateurl", "UpdateURL", kAlways, kRpm},
    HeaderKey{"osversion", "OSVersion", kAlways, kVersions},
    HeaderKey{"include", "Include", kAlways, kIncludes},
    HeaderKey{"library", "Library", kAlways, " library "},
    HeaderKey{"registry", "Registry", kAlways, " docker "},
    HeaderKey{"namespace", "Namespace", kAlways, " docker "},
    HeaderKey{"product", "Product", kSuse, kZypper},
    HeaderKey{"user", "User", kSuse, kZypper},
    HeaderKey{"regcode", "Regcode", kSuse, kZypper},
    HeaderKey{"productpgp", "ProductPGP", kSuse, kZypper},
    HeaderKey{"registerurl", "RegisterURL", kSuse, kZypper},
    HeaderKey{"modules", "Modules", kSuse, kZypper},
    HeaderKey{"fingerprints", "Fingerprints", kSince37, kSigned},
    HeaderKey{"confurl", "ConfURL", Since{{{1, 1, 0}}, kNotInSingularity}, " arch "},
    HeaderKey{"setopt", "Setopt", Since{{{1, 2, 0}}, {{3, 11, 1}}}, " dnf yum "},
    HeaderKey{"target", "Target", kBuildkit, kBuildkitAgents},
    HeaderKey{"frontend", "Frontend", kBuildkit, kBuildkitAgents},
    HeaderKey{"filename", "Filename", kBuildkit, kBuildkitAgents},
    HeaderKey{"buildargs", "BuildArgs", kBuildkit, kBuildkitAgents},
};
/// OtherURL1, OtherURL2 …; the table of Apptainer's parser spells it `otherurl&n`.
constexpr std::string_view kNumberedKey = "otherurl";
constexpr std::string_view kNumberedSpelling = "OtherURL";

constexpr std::array kSections = {
    SectionName{"arguments", false, kTemplated}, SectionName{"pre", false, kAlways},
    SectionName{"setup", false, kAlways},        SectionName{"files", false, kAlways},
    SectionName{"post", false, kAlways},         SectionName{"environment", false, kAlways},
    SectionName{"runscript", false, kAlways},    SectionName{"startscript", false, kAlways},
    SectionName{"test", false, kAlways},         SectionName{"labels", false, kAlways},
    SectionName{"help", false, kAlways},         SectionName{"appinstall", true, kAlways},
    SectionName{"applabels", true, kAlways},     SectionName{"appfiles", true, kAlways},
    SectionName{"appenv", true, kAlways},        SectionName{"apptest", true, kAlways},
    SectionName{"apphelp", true, kAlways},       SectionName{"apprun", true, kAlways},
    SectionName{"appstart", true, kTemplated},
};

constexpr std::array kAgents = {
    Agent{"arch", kAlways},
    Agent{"buildkit", kBuildkit},
    Agent{"busybox", kAlways},
    Agent{"debootstrap", kAlways},
    Agent{"dnf", Since{{{1, 4, 0}}, {{4, 3, 0}}}},
    Agent{"docker", kAlways},
    Agent{"docker-archive", kAlways},
    Agent{"docker-daemon", kAlways},
    Agent{"dockerfile", kBuildkit},
    Agent{"library", kAlways},
    Agent{"localimage", kAlways},
    Agent{"oci", kAlways},
    Agent{"oci-archive", kAlways},
    Agent{"oras", Since{{{1, 0, 0}}, {{3, 3, 0}}}},
    Agent{"scratch", kAlways},
    Agent{"shub", kAlways},
    Agent{"yum", kAlways},
    Agent{"zypper", kAlways},
};

bool is_numbered_key(std::string_view key) {
    if (!key.starts_with(kNumberedKey)) {
        return false;
    }
    const std::string_view number = key.substr(kNumberedKey.size());
    return number == "&n" ||
           (!number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos);
}

/// Blanks beyond ASCII, in UTF-8: NEL, NBSP, Ogham, the general punctuation's, ideographic.
constexpr std::array<std::string_view, 19> kWideBlanks = {"\xC2\x85",
                                                          "\xC2\xA0",
                                                          "\xE1\x9A\x80",
                                                          "\xE2\x80\x80",
                                                          "\xE2\x80\x81",
                                                          "\xE2\x80\x82",
                                                          "\xE2\x80\x83",
                                                          "\xE2\x80\x84",
                                                          "\xE2\x80\x85",
                                                          "\xE2\x80\x86",
                                                          "\xE2\x80\x87",
                                                          "\xE2\x80\x88",
                                                          "\xE2\x80\x89",
                                                          "\xE2\x80\x8A",
                                                          "\xE2\x80\xA8",
                                                          "\xE2\x80\xA9",
                                                          "\xE2\x80\xAF",
                                                          "\xE2\x81\x9F",
                                                          "\xE3\x80\x80"};

constexpr std::string_view kDottedI = "\xC4\xB0";
constexpr std::string_view kKelvin = "\xE2\x84\xAA";

} // namespace

std::span<const HeaderKey> header_keys() {
    return kHeaderKeys;
}

bool agent_reads(std::string_view agent, std::string_view key) {
    const HeaderKey* row = find_row(kHeaderKeys, key, &HeaderKey::key);
    const std::string_view agents = is_numbered_key(key) ? kZypper
                                    : row == nullptr     ? kAll
                                                         : row->agents;
    return agents.empty() || agents.find(" " + std::string(agent) + " ") != std::string_view::npos;
}

const Since* header_since(std::string_view key) {
    if (is_numbered_key(key)) {
        return &kSuse;
    }
    const HeaderKey* row = find_row(kHeaderKeys, key, &HeaderKey::key);
    return row == nullptr ? nullptr : &row->since;
}

const Since* section_since(std::string_view name) {
    const SectionName* row = find_row(kSections, name, &SectionName::name);
    return row == nullptr ? nullptr : &row->since;
}

const Since* agent_since(std::string_view name) {
    const Agent* row = find_row(kAgents, name, &Agent::name);
    return row == nullptr ? nullptr : &row->since;
}

bool is_header_key(std::string_view key, const Dialect& dialect) {
    const Since* since = header_since(key);
    return since != nullptr && since->holds_for(dialect);
}

std::string header_spelling(std::string_view key) {
    if (const HeaderKey* row = find_row(kHeaderKeys, key, &HeaderKey::key)) {
        return std::string(row->spelling);
    }
    if (key.starts_with(kNumberedKey)) {
        return std::string(kNumberedSpelling) + std::string(key.substr(kNumberedKey.size()));
    }
    return std::string(key);
}

std::span<const SectionName> section_names() {
    return kSections;
}

bool is_section(std::string_view name, const Dialect& dialect) {
    const SectionName* row = find_row(kSections, name, &SectionName::name);
    return row != nullptr && !row->is_app && row->since.holds_for(dialect);
}

bool is_app_section(std::string_view name, const Dialect& dialect) {
    const SectionName* row = find_row(kSections, name, &SectionName::name);
    return row != nullptr && row->is_app && row->since.holds_for(dialect);
}

std::span<const Agent> agents() {
    return kAgents;
}

bool is_agent(std::string_view name, const Dialect& dialect) {
    const Since* since = agent_since(name);
    return since != nullptr && since->holds_for(dialect);
}

std::size_t blank_length(std::string_view text) {
    if (text.empty()) {
        return 0;
    }
    const char first = text.front();
    if (first == ' ' || (first >= '\t' && first <= '\r')) {
        return 1;
    }
    for (const std::string_view blank : kWideBlanks) {
        if (text.starts_with(blank)) {
            return blank.size();
        }
    }
    return 0;
}

std::string_view trim(std::string_view text) {
    while (const std::size_t length = blank_length(text)) {
        text.remove_prefix(length);
    }
    for (bool found = true; found && !text.empty();) {
        found = false;
        for (std::size_t length = 1; length <= 3 && length <= text.size() && !found; ++length) {
            if (blank_length(text.substr(text.size() - length)) == length) {
                text.remove_suffix(length);
                found = true;
            }
        }
    }
    return text;
}

std::string lower(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text.substr(i).starts_with(kDottedI)) {
            result += 'i';
            i += kDottedI.size() - 1;
        } else if (text.substr(i).starts_with(kKelvin)) {
            result += 'k';
            i += kKelvin.size() - 1;
        } else {
            const char c = text[i];
            result += to_lower(c);
        }
    }
    return result;
}

} // namespace cybele::definitions
