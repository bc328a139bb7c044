// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/words.hpp"
#include "recipes/import/import.hpp"
#include "recipes/import/lists.hpp"
#include "recipes/import/toml.hpp"
#include "recipes/model/tree.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <set>

namespace cybele::recipes {
namespace {

using yaml::Node;
using Kind = Node::Kind;

std::string pipfile_text(const Node& map, std::string_view key) {
    const Node* node = map.kind == Kind::kMapping ? map.find(key) : nullptr;
    return node != nullptr && node->kind == Kind::kScalar ? node->scalar : std::string{};
}

/// A Pipfile, or its lock, as lines of `packages.pip`.
class PipfileReader {
public:
    PipfileReader(Ledger& ledger, Draft& draft) : ledger_(ledger), draft_(draft) {}

    void lock(const Node& root) {
        const Node* meta = root.find("_meta");
        const Node* packages = root.find("default");
        const std::string version = meta == nullptr ? "" : pipfile_text(*meta, "pipfile-spec");
        if (version != "6" || packages == nullptr) {
            ledger_.refuse(meta == nullptr ? root.mark : meta->mark,
                           {"version '" + printable(version) + "' of the lock file is not known",
                            "this program reads version 6 of `_meta.pipfile-spec`, with a map "
                            "`default` of packages",
                            "create the lock again: `pipenv lock`"});
            return;
        }
        for (const auto& entry : root.entries) {
            if (&entry.second == meta) {
                ledger_.carry(lines_of_entry(entry));
                sources(*meta, "sources");
            } else if (&entry.second == packages) {
                add_all(entry, true);
            } else {
                lose_group(entry);
            }
        }
    }

    /// With a lock, the packages are those of the lock.
    void project(const Node& root, bool has_lock) {
        sources(root, "source");
        for (const auto& entry : root.entries) {
            const std::string& key = entry.first.scalar;
            if (key == "packages" && !has_lock) {
                add_all(entry, false);
            } else if (has_word("packages source requires", key)) {
                ledger_.carry(lines_of_entry(entry));
            } else if (has_word("pipenv scripts", key)) {
                ledger_.lose(lines_of_entry(entry),
                             entry.first.mark,
                             {"'" + key + "'", "it guides Pipenv alone", "nothing is to be done"});
            } else {
                lose_group(entry);
            }
            ledger_.carry({entry.first.mark.line, entry.first.mark.line});
        }
    }

private:
    void lose_group(const yaml::Entry& entry) {
        if (entry.second.entries.empty()) {
            ledger_.carry(lines_of_entry(entry));
            return;
        }
        ledger_.lose(lines_of_entry(entry),
                     entry.first.mark,
                     {"the packages of '" + printable(entry.first.scalar) + "'",
                      "only development, or another group, needs them",
                      "add those to the Recipe that the image needs"});
    }

    /// The index is an input of the build: each that is not PyPI is reported, without a password.
    void sources(const Node& map, std::string_view key) {
        const Node* list = map.find(key);
        for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
            const std::string own = without_secrets(pipfile_text(list->items[i], "url"));
            if (own.empty() || own.find("://pypi.org/") != std::string::npos ||
                !indexes_.insert(own).second) {
                continue;
            }
            ledger_.remark(list->items[i].mark,
                           {"packages of the index '" + printable(own) + "'",
                            "a build has one index; the checksums hold whichever gives the files",
                            "name one that has all packages: `cybelectl build --pip-index URL`"});
        }
    }

    void add_all(const yaml::Entry& group, bool is_lock) {
        for (const auto& entry : group.second.entries) {
            add(entry, is_lock);
        }
    }

    /// `"==1.2"`, `"*"`, or a map with the version, extras, a marker and checksums.
    void add(const yaml::Entry& entry, bool is_lock) {
        const Node& own = entry.second;
        for (const std::string_view key : {"git", "hg", "svn", "bzr", "path", "file", "editable"}) {
            if (own.kind == Kind::kMapping && own.find(key) != nullptr) {
                ledger_.lose(lines_of_entry(entry),
                             entry.first.mark,
                             {"the package " + printable(entry.first.scalar),
                              "it comes from a repository, a folder or an address, of which the "
                              "file has no checksum",
                              "build it from `packages.source`, or copy it with `files`"});
                return;
            }
        }
        const std::string version =
            own.kind == Kind::kScalar ? own.scalar : pipfile_text(own, "version");
        const bool is_pinned = own.kind == Kind::kMapping && version.starts_with("==");
        if (is_lock ? !is_pinned : own.kind != Kind::kScalar && own.kind != Kind::kMapping) {
            ledger_.refuse(
                entry.first.mark,
                {"the package " + printable(entry.first.scalar) + " has no version",
                 is_lock ? "a lock of Pipenv has a version of each package"
                         : "a package has a version, `*`, or a map",
                 is_lock ? "create the lock again: `pipenv lock`" : "write it as `NAME = \"*\"`"});
            return;
        }
        std::string line = entry.first.scalar + list_of(own, "extras") +
                           (version == "*" ? std::string() : version) + markers_of(own);
        const Node* hashes = own.kind == Kind::kMapping ? own.find("hashes") : nullptr;
        for (std::size_t i = 0; hashes != nullptr && i < hashes->items.size(); ++i) {
            line += " --hash=" + hashes->items[i].scalar;
        }
        carry_requirement(
            ledger_, {line, lines_of_entry(entry), entry.first.mark}, draft_.packages.pip);
    }

    static std::string list_of(const Node& map, std::string_view key) {
        const Node* list = map.kind == Kind::kMapping ? map.find(key) : nullptr;
        std::string words;
        for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
            words += (words.empty() ? "[" : ",") + list->items[i].scalar;
        }
        return words.empty() ? words : words + "]";
    }

    /// `markers`, and the markers that a Pipfile writes as keys of their own.
    static std::string markers_of(const Node& map) {
        std::string marker = pipfile_text(map, "markers");
        for (const std::string_view key : {"os_name",
                                           "sys_platform",
                                           "platform_machine",
                                           "platform_system",
                                           "python_version",
                                           "python_full_version",
                                           "implementation_name"}) {
            const std::string own = pipfile_text(map, key);
            if (!own.empty()) { // "== 'linux'"
                marker += (marker.empty() ? "" : " and ") + std::string(key) + " " + own;
            }
        }
        std::replace(marker.begin(), marker.end(), '"', '\'');
        return marker.empty() ? marker : " ; " + marker;
    }

    Ledger& ledger_;
    Draft& draft_;
    std::set<std::string> indexes_;
};

void finish(Ledger& ledger, const Node& root, Draft& draft) {
    if (draft.packages.pip.empty() && !ledger.is_refused()) {
        ledger.refuse(root.mark,
                      {"no package that the project itself needs",
                       "groups for development, folders and repositories are left out",
                       "check that this is the right file"});
    }
    add_mpi(ledger, draft);
    remark_unlocked(ledger, root.mark, draft.packages);
}

} // namespace

Draft import_pipfile_lock(const ImportRequest& request, const Node& root, Ledger& ledger) {
    Draft draft;
    set_base(draft, request.base);
    PipfileReader(ledger, draft).lock(root);
    finish(ledger, root, draft);
    return draft;
}

Result<Draft> import_pipfile(const ImportRequest& request, Ledger& ledger) {
    Draft draft;
    set_base(draft, request.base);
    CYBELE_TRY(Node root, parse_toml(ledger.source()));
    const auto lines = lines_of(request.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (trimmed(lines[i]).starts_with('#')) {
            ledger.carry({i + 1, i + 1});
        }
    }
    const auto path = (request.file.parent_path() / "Pipfile.lock").lexically_normal();
    const bool has_lock = request.read && request.look && request.look(path) == PathKind::kFile;
    PipfileReader reader(ledger, draft);
    reader.project(root, has_lock);
    if (has_lock) {
        CYBELE_TRY(const std::string text, request.read(path));
        CYBELE_TRY(yaml::Document locked, yaml::parse(text, path.native()));
        const std::size_t file = ledger.add(locked.source);
        set_file(locked.root, file);
        ledger.carry({locked.root.mark.line, locked.root.mark.line, file}); // the brace
        reader.lock(locked.root);
        root = std::move(locked.root);
    }
    finish(ledger, root, draft);
    return draft;
}

} // namespace cybele::recipes
