// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/recipe_rules.hpp"
#include "recipes/forms/words.hpp"
#include "recipes/import/import.hpp"
#include "recipes/import/lists.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <set>

namespace cybele::recipes {
namespace {

using yaml::Node;
using Kind = Node::Kind;

constexpr std::string_view kPlatform = "linux-64";

std::string scalar_of(const Node& map, std::string_view key) {
    const Node* node = map.find(key);
    return node != nullptr && node->kind == Kind::kScalar ? node->scalar : std::string{};
}

/// What an archive's address says of it.
struct Archive {
    std::string name;
    std::string version;
    std::string build;
    std::string channel;
    std::string platform;
};

/// ADDRESS/CHANNEL/PLATFORM/NAME-VERSION-BUILD.conda
std::optional<Archive> archive_of(std::string_view url) {
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
        Archive archive;
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

/// Puts packages of a lock into a Recipe: each with version, build and checksum.
class Locked {
public:
    Locked(const ImportRequest& request, Ledger& ledger, Draft& draft)
        : request_(request), ledger_(ledger), draft_(draft) {}

    void add(const Archive& archive, const std::string& sha256, yaml::Mark mark) {
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

    void channel(const std::string& name) {
        auto& channels = draft_.packages.conda_channels;
        if (is_text_line(name) &&
            std::find(channels.begin(), channels.end(), name) == channels.end()) {
            channels.push_back(literal(name));
        }
    }

    void finish(yaml::Mark mark) {
        if (draft_.packages.conda_packages.empty() && draft_.packages.pip.empty()) {
            if (!ledger_.is_refused()) {
                ledger_.refuse(mark,
                               {"no package for " + std::string(kPlatform),
                                "images are built for it",
                                "make the lock for it: `conda-lock -p linux-64`"});
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

private:
    const ImportRequest& request_;
    Ledger& ledger_;
    Draft& draft_;
    std::size_t without_sum_ = 0;
    yaml::Mark first_;
};

class LockFile {
public:
    LockFile(const ImportRequest& request, Ledger& ledger, Draft& draft)
        : ledger_(ledger), draft_(draft), locked_(request, ledger, draft) {}

    void read(const Node& root) {
        for (const auto& entry : root.entries) {
            const std::string& key = entry.first.scalar;
            if (key == "version") {
                version(entry);
            } else if (key == "metadata") {
                ledger_.carry(lines_of_entry(entry));
                channels(entry.second);
            } else if (key == "package") {
                ledger_.carry({entry.first.mark.line, entry.first.mark.line});
                packages(entry.second);
            } else {
                ledger_.lose(
                    lines_of_entry(entry),
                    entry.first.mark,
                    {"'" + printable(key) + "'", "this importer does not know it", "leave it out"});
            }
        }
        locked_.finish(root.mark);
    }

private:
    void version(const yaml::Entry& entry) {
        if (entry.second.scalar != "1") {
            ledger_.refuse(entry.second.mark,
                           {"version '" + printable(entry.second.scalar) + "' of the lock's form",
                            "version 1 is known",
                            "create the lock again with conda-lock 1 or later"});
            return;
        }
        ledger_.carry(lines_of_entry(entry));
    }

    void channels(const Node& metadata) {
        const Node* list = metadata.find("channels");
        if (list == nullptr) {
            return;
        }
        for (const auto& item : list->items) {
            locked_.channel(item.kind == Kind::kScalar ? item.scalar : scalar_of(item, "url"));
        }
    }

    void packages(const Node& list) {
        if (list.kind != Kind::kSequence) {
            ledger_.refuse(
                list.mark,
                {"'package' is not a list", "it lists the packages", "create the lock again"});
            return;
        }
        for (const auto& item : list.items) {
            package(item);
        }
    }

    void package(const Node& item) {
        const std::string name = scalar_of(item, "name");
        const std::string platform = scalar_of(item, "platform");
        const std::string category = scalar_of(item, "category");
        const std::string manager = scalar_of(item, "manager");
        if (!is_text_line(name)) {
            ledger_.refuse(
                item.mark,
                {"a package without 'name'", "it names nothing", "create the lock again"});
            return;
        }
        const auto lose = [&](std::string because, std::string help) {
            ledger_.lose(lines_of_node(item),
                         item.mark,
                         {"the package " + printable(name), std::move(because), std::move(help)});
        };
        if (!platform.empty() && platform != kPlatform && platform != "noarch") {
            lose("it is of " + printable(platform), "nothing is to be done");
        } else if (!category.empty() && category != "main") {
            lose("it is of the category '" + printable(category) + "'",
                 "add it to the Recipe if the image needs it");
        } else if (manager == "pip") {
            pip(item, name);
        } else if (manager == "conda") {
            conda(item, name);
        } else {
            ledger_.refuse(item.mark,
                           {"the package " + printable(name) + " has no manager that is known",
                            "'manager' is conda or pip",
                            "create the lock again"});
        }
    }

    std::optional<std::string> sum_of(const Node& item, const std::string& name) {
        const Node* hash = item.find("hash");
        const std::string sum = hash != nullptr ? scalar_of(*hash, "sha256") : std::string{};
        if (!sum.empty() && !check_hex_digest(sum).because.empty()) {
            ledger_.refuse(hash->mark,
                           {"the SHA-256 of " + printable(name) + " is none",
                            "it has 64 lower-case hexadecimal digits",
                            "create the lock again"});
            return std::nullopt;
        }
        return sum;
    }

    void pip(const Node& item, const std::string& name) {
        const std::string version = scalar_of(item, "version");
        const auto sum = sum_of(item, name);
        if (!sum) {
            return;
        }
        RequirementLine line{name + "==" + version + (sum->empty() ? "" : " --hash=sha256:" + *sum),
                             lines_of_node(item),
                             item.mark};
        carry_requirement(ledger_, line, draft_.packages.pip);
    }

    void conda(const Node& item, const std::string& name) {
        const auto sum = sum_of(item, name);
        auto archive = archive_of(scalar_of(item, "url"));
        if (!archive || archive->name != name) {
            ledger_.refuse(item.mark,
                           {"the address of " + printable(name) + " does not end in its archive",
                            "it states the package's build",
                            "create the lock again"});
            return;
        }
        if (sum) {
            archive->channel.clear(); // `metadata` names them, in their order
            locked_.add(*archive, *sum, item.mark);
            carry_node(ledger_, item);
        }
    }

    Ledger& ledger_;
    Draft& draft_;
    Locked locked_;
};

} // namespace

Draft import_conda_lock(const ImportRequest& request, const Node& root, Ledger& ledger) {
    Draft draft;
    set_base(draft, request.base);
    LockFile(request, ledger, draft).read(root);
    remark_unlocked(ledger, root.mark, draft.packages);
    return draft;
}

Draft import_explicit(const ImportRequest& request, Ledger& ledger) {
    Draft draft;
    set_base(draft, request.base);
    Locked locked(request, ledger, draft);
    const auto lines = lines_of(ledger.source().text());
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string& line = lines[i];
        const auto first = line.find_first_not_of(" \t");
        if (first == std::string::npos) {
            continue;
        }
        const std::string_view text =
            std::string_view(line).substr(first, line.find_last_not_of(" \t") - first + 1);
        const Lines own{i + 1, i + 1};
        const yaml::Mark mark{i + 1, first + 1};
        if (text.front() == '#') {
            ledger.comment(i + 1,
                           std::string(text.substr(
                               std::min<std::size_t>(text.size(), text.find_first_not_of("# ")))));
            continue;
        }
        if (text == "@EXPLICIT") {
            ledger.carry(own);
            continue;
        }
        const auto archive = archive_of(text);
        if (!archive) {
            ledger.refuse(mark,
                          {"'" + printable(text) + "' is not the address of a conda package",
                           "it ends in NAME-VERSION-BUILD.conda or .tar.bz2",
                           "create the list again with `conda list --explicit --sha256`"});
            continue;
        }
        if (archive->platform != kPlatform && archive->platform != "noarch") {
            ledger.lose(own,
                        mark,
                        {"the package " + archive->name,
                         "it is of " + printable(archive->platform),
                         "nothing is to be done"});
            continue;
        }
        const auto sharp = text.find('#');
        std::string_view sum =
            sharp == std::string_view::npos ? std::string_view{} : text.substr(sharp + 1);
        sum = sum.starts_with("sha256:") ? sum.substr(7) : sum;
        const bool is_sum = check_hex_digest(sum).because.empty();
        locked.add(*archive, is_sum ? std::string(sum) : std::string{}, mark);
        ledger.carry(own);
    }
    locked.finish({1, 1});
    return draft;
}

} // namespace cybele::recipes
