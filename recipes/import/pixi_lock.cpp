// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/recipe_rules.hpp"
#include "recipes/import/conda_archives.hpp"
#include "recipes/import/import.hpp"
#include "support/quote.hpp"

#include <map>
#include <set>

namespace cybele::recipes {
namespace {

using yaml::Node;
using Kind = Node::Kind;

/// pixi.lock: environments that name addresses, and what is known of each address.
class PixiFile {
public:
    PixiFile(const ImportRequest& request, Ledger& ledger, Draft& draft)
        : ledger_(ledger), draft_(draft), locked_(request, ledger, draft) {}

    void read(const Node& root) {
        const Node* version = root.find("version");
        const std::string form = scalar_of(root, "version");
        if (form != "4" && form != "5" && form != "6" && form != "7") {
            ledger_.refuse(version == nullptr ? root.mark : version->mark,
                           {"version '" + printable(form) + "' of the lock file is not known",
                            "versions 4 to 7 are known",
                            "export the environment and import that: `pixi workspace export "
                            "conda-explicit-spec`"});
            return;
        }
        ledger_.carry(lines_of_node(*version));
        if (const Node* platforms = root.find("platforms")) {
            choose_platform(*platforms);
        }
        const Node* packages = root.find("packages");
        for (std::size_t i = 0; packages != nullptr && i < packages->items.size(); ++i) {
            const Node& item = packages->items[i];
            std::string address;
            for (const char* key : {"conda", "pypi", "url", "path", "conda_source"}) {
                address = address.empty() ? scalar_of(item, key) : address;
            }
            // In form 5, `- kind: conda` and `url:`; a package may be listed for each Python.
            known_.emplace(address, &item);
        }
        const Node* environments = root.find("environments");
        if (environments == nullptr || environments->kind != Kind::kMapping) {
            ledger_.refuse(root.mark,
                           {"'environments' is missing",
                            "it names the packages of each environment",
                            "create the lock again: `pixi lock`"});
            return;
        }
        ledger_.carry({environments->mark.line, environments->mark.line});
        for (const auto& entry : environments->entries) {
            environment(entry);
        }
        for (const auto& [address, item] : known_) {
            if (!used_.contains(address)) {
                ledger_.lose(lines_of_node(*item),
                             item->mark,
                             {"'" + printable(address) + "'",
                              "it is of another environment or platform",
                              "nothing is to be done"});
            }
        }
        for (const auto& entry : root.entries) {
            if (entry.first.scalar == "packages" || entry.first.scalar == "environments") {
                ledger_.carry({entry.first.mark.line, entry.first.mark.line});
            } else if (entry.first.scalar == "platforms") {
                ledger_.carry(lines_of_entry(entry));
            } else if (entry.first.scalar != "version") {
                ledger_.lose(lines_of_entry(entry),
                             entry.first.mark,
                             {"'" + printable(entry.first.scalar) + "'",
                              "this importer does not know it",
                              "leave it out"});
            }
        }
        locked_.finish(root.mark, "pixi workspace platform add linux-64");
    }

private:
    /// Form 7: platforms have names, and the first that fits is used.
    void choose_platform(const Node& platforms) {
        for (const Node& item : platforms.items) {
            const std::string name = scalar_of(item, "name");
            const std::string folder = scalar_of(item, "subdir");
            if ((folder.empty() ? name : folder) != kCondaPlatform) {
                continue;
            }
            platform_ = name;
            if (const Node* needs = item.find("virtual-packages")) {
                ledger_.remark(needs->mark,
                               {"the platform '" + printable(name) + "' has requirements",
                                "a Recipe does not check the kernel, the C library or the GPU",
                                "check that the cluster has what is listed there"});
            }
            return;
        }
    }

    void environment(const yaml::Entry& entry) {
        if (entry.first.scalar != "default") {
            ledger_.lose(lines_of_entry(entry),
                         entry.first.mark,
                         {"the environment '" + printable(entry.first.scalar) + "'",
                          "the Recipe has that of the name 'default'",
                          "nothing is to be done"});
            return;
        }
        ledger_.carry({entry.first.mark.line, entry.first.mark.line});
        for (const auto& field : entry.second.entries) {
            const std::string& key = field.first.scalar;
            if (key == "packages") {
                ledger_.carry({field.first.mark.line, field.first.mark.line});
                for (const auto& platform : field.second.entries) {
                    platform_packages(platform);
                }
                continue;
            }
            if (key == "channels") {
                channels(field);
            } else if (key == "indexes") {
                for (const auto& item : field.second.items) {
                    index(item.scalar, field.first.mark);
                }
            }
            ledger_.carry(lines_of_entry(field));
        }
    }

    void channels(const yaml::Entry& list) {
        for (const auto& item : list.second.items) {
            std::string name = without_secrets(scalar_of(item, "url"));
            while (name.ends_with('/')) {
                name.pop_back();
            }
            const std::string host = host_of(name);
            if (host.empty() || host == "conda.anaconda.org") {
                locked_.channel(name.substr(name.rfind('/') + 1));
                continue;
            }
            locked_.channel(name);
            ledger_.remark(list.first.mark, // its own line may hold a password
                           {"the channel on " + printable(host),
                            "its address is carried, without a user, a password or a token",
                            "build where it is reached, or name another one in `channels`"});
        }
    }

    void index(const std::string& address, yaml::Mark mark) {
        const std::string host = host_of(address);
        if (!host.empty() && host != "pypi.org") {
            ledger_.remark(mark,
                           {"packages of the index on " + printable(host),
                            "a build has one index; the checksums hold whichever gives the files",
                            "name one that has all packages: `cybelectl build --pip-index URL`"});
        }
    }

    void platform_packages(const yaml::Entry& platform) {
        if (platform.first.scalar != platform_) {
            ledger_.lose(lines_of_entry(platform),
                         platform.first.mark,
                         {"packages of " + printable(platform.first.scalar),
                          "images are built for " + printable(platform_),
                          "nothing is to be done"});
            return;
        }
        ledger_.carry(lines_of_entry(platform));
        for (const auto& item : platform.second.items) {
            const bool is_conda = item.find("conda") != nullptr;
            const std::string source = scalar_of(item, "conda_source"); // built by pixi itself
            const std::string address =
                source.empty() ? scalar_of(item, is_conda ? "conda" : "pypi") : source;
            const auto found = known_.find(address);
            if (!address.empty() && (!source.empty() || address.find("://") == std::string::npos)) {
                const Node& own = found == known_.end() ? item : *found->second;
                used_.insert(address);
                ledger_.lose(lines_of_node(own),
                             own.mark,
                             {"'" + printable(address) + "'",
                              "it is a folder or source code, such as the project itself",
                              "copy it with `files` and install it in a step"});
                continue;
            }
            if (address.empty() || found == known_.end()) {
                ledger_.refuse(item.mark,
                               {"'" + printable(address) + "' is not in 'packages'",
                                "its checksum stands there",
                                "create the lock again: `pixi lock`"});
                continue;
            }
            used_.insert(address);
            package(*found->second, address, is_conda);
        }
    }

    void package(const Node& item, const std::string& address, bool is_conda) {
        const std::string sum = scalar_of(item, "sha256");
        if (!sum.empty() && !check_hex_digest(sum).because.empty()) {
            ledger_.refuse(item.find("sha256")->mark,
                           {"the hash of " + printable(address) + " is not a SHA-256",
                            "a SHA-256 has 64 lower-case hexadecimal digits",
                            "create the lock again: `pixi lock`"});
            return;
        }
        if (!is_conda) {
            const std::string name = scalar_of(item, "name");
            if (sum.empty()) {
                ledger_.lose(lines_of_node(item),
                             item.mark,
                             {"'" + printable(address) + "'",
                              "the lock has no checksum of it",
                              "copy it with `files` and install it in a step"});
                return;
            }
            carry_requirement(ledger_,
                              {name + "==" + scalar_of(item, "version") + " --hash=sha256:" + sum,
                               lines_of_node(item),
                               item.mark},
                              draft_.packages.pip);
            return;
        }
        auto archive = archive_of(address);
        if (!archive) {
            ledger_.lose(lines_of_node(item),
                         item.mark,
                         {"'" + printable(address) + "'",
                          "it is not the address of a conda package",
                          "build it in a step"});
            return;
        }
        archive->channel.clear(); // the environment names them, in their order
        locked_.add(*archive, sum, item.mark);
        carry_node(ledger_, item);
    }

    Ledger& ledger_;
    Draft& draft_;
    LockedConda locked_;
    std::map<std::string, const Node*> known_;
    std::set<std::string> used_;
    std::string platform_{kCondaPlatform};
};

} // namespace

Draft import_pixi_lock(const ImportRequest& request, const Node& root, Ledger& ledger) {
    Draft draft;
    set_base(draft, request.base);
    PixiFile(request, ledger, draft).read(root);
    return draft;
}

} // namespace cybele::recipes
