// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/conda_archives.hpp"

#include "recipes/forms/words.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

namespace cybele::recipes {

std::string scalar_of(const yaml::Node& map, std::string_view key) {
    const yaml::Node* node = map.find(key);
    return node != nullptr && node->kind == yaml::Node::Kind::kScalar ? node->scalar
                                                                      : std::string{};
}

std::optional<CondaArchive> archive_of(std::string_view url) {
    std::string_view file = url.substr(0, url.find('#'));
    for (const std::string_view end : {".conda", ".tar.bz2"}) {
        if (!file.ends_with(end)) {
            continue;
        }
        file.remove_suffix(end.size());
        const auto slash = file.rfind('/');
        if (slash == std::string_view::npos) {
            return std::nullopt;
        }
        const std::string_view folder = file.substr(0, slash);
        file.remove_prefix(slash + 1);
        const auto build = file.rfind('-');
        const auto version = build == std::string_view::npos || build == 0
                                 ? std::string_view::npos
                                 : file.rfind('-', build - 1);
        if (version == std::string_view::npos || version == 0) {
            return std::nullopt;
        }
        CondaArchive archive;
        archive.name = file.substr(0, version);
        archive.version = file.substr(version + 1, build - version - 1);
        archive.build = file.substr(build + 1);
        const auto platform = folder.rfind('/');
        archive.platform = folder.substr(platform == std::string_view::npos ? 0 : platform + 1);
        if (platform != std::string_view::npos) {
            const std::string_view channel = folder.substr(0, platform);
            archive.channel = channel.substr(channel.rfind('/') + 1);
        }
        const auto is_word = [](const std::string& text) {
            return !text.empty() &&
                   text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789._+!-") == std::string::npos;
        };
        if (is_word(archive.name) && is_word(archive.version) && is_word(archive.build)) {
            return archive;
        }
        return std::nullopt;
    }
    return std::nullopt;
}

void LockedConda::add(const CondaArchive& archive, const std::string& sha256, yaml::Mark mark) {
    draft_.packages.conda_packages.push_back(archive.name + "=" + archive.version + "=" +
                                             archive.build +
                                             (sha256.empty() ? "" : " sha256:" + sha256));
    if (sha256.empty() && without_sum_++ == 0) {
        first_ = mark;
    }
    if (!archive.channel.empty()) {
        channel(archive.channel);
    }
}

void LockedConda::channel(const std::string& name) {
    auto& channels = draft_.packages.conda_channels;
    if (is_text_line(name) && !contains(channels, name)) {
        channels.push_back(literal(name));
    }
}

void LockedConda::finish(yaml::Mark mark, std::string_view command) {
    if (draft_.packages.conda_packages.empty() && draft_.packages.pip.empty()) {
        if (!ledger_.is_refused()) {
            ledger_.refuse(mark,
                           {"no package for " + std::string(kCondaPlatform),
                            "images are built for it",
                            "make the lock for it: `" + std::string(command) + "`"});
        }
        return;
    }
    if (without_sum_ > 0) {
        ledger_.remark(first_,
                       {std::to_string(without_sum_) + " conda packages have no SHA-256",
                        "MD5 can be forged: version and build are compared, not the bytes",
                        "create the lock again with a newer conda-lock"});
    }
    if (!draft_.packages.conda_packages.empty()) {
        add_installer(draft_, draft_, "micromamba", request_);
        if (draft_.packages.conda_channels.empty()) {
            draft_.packages.conda_channels = {"conda-forge"};
        }
    }
}

} // namespace cybele::recipes
