// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/recipe_rules.hpp"
#include "recipes/forms/words.hpp"
#include "recipes/import/import.hpp"
#include "recipes/import/lists.hpp"
#include "recipes/import/toml.hpp"
#include "recipes/packages/packages.hpp"
#include "support/find.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace cybele::recipes {
namespace {

using yaml::Node;
using Kind = Node::Kind;

std::string lock_text(const Node& map, std::string_view key) {
    const Node* node = map.kind == Kind::kMapping ? map.find(key) : nullptr;
    return node != nullptr && node->kind == Kind::kScalar ? node->scalar : std::string{};
}

std::vector<const Node*> lock_items(const Node& map, std::string_view key) {
    std::vector<const Node*> items;
    const Node* node = map.kind == Kind::kMapping ? map.find(key) : nullptr;
    for (std::size_t i = 0; node != nullptr && i < node->items.size(); ++i) {
        items.push_back(&node->items[i]);
    }
    return items;
}

/// Whether a dependency is one of other systems alone, as far as the usual markers say it.
bool is_elsewhere(std::string marker) {
    std::replace(marker.begin(), marker.end(), '"', '\'');
    const bool has_choice = marker.find(" or ") != std::string::npos;
    for (const std::string_view other : {"sys_platform == 'win32'",
                                         "sys_platform == 'darwin'",
                                         "sys_platform == 'emscripten'",
                                         "platform_system == 'Windows'",
                                         "platform_system == 'Darwin'",
                                         "os_name == 'nt'"}) {
        if (!has_choice && marker.find(other) != std::string::npos) {
            return true;
        }
    }
    return false;
}

/// Whether an archive fits Linux on x86_64; sources fit everywhere.
bool is_usable(std::string_view file) {
    if (!file.ends_with(".whl")) {
        return true;
    }
    return file.ends_with("-any.whl") || (file.find("linux") != std::string_view::npos &&
                                          file.find("x86_64") != std::string_view::npos);
}

/// Packages of a lock, each with its checksums, as lines of `packages.pip`.
class PythonLock {
public:
    PythonLock(Ledger& ledger, Draft& draft) : ledger_(ledger), draft_(draft) {}

    void uv(const Node& root) {
        version(root, "version", {"1"}, "uv");
        for (const Node* item : lock_items(root, "package")) {
            add_reach(*item);
            ++counts_[lock_text(*item, "name")];
            if (has_usable_file(*item)) {
                usable_.insert(lock_text(*item, "name"));
            }
        }
        follow();
        for (const Node* item : lock_items(root, "package")) {
            uv_package(*item);
        }
        others(root, {"version", "revision", "package"});
        finish(root);
    }

    void poetry(const Node& root) {
        const Node* metadata = root.find("metadata");
        if (metadata == nullptr || metadata->kind != Kind::kMapping) {
            ledger_.refuse(root.mark,
                           {"'metadata' is missing",
                            "it says in which form the lock is written",
                            "create the lock again: `poetry lock`"});
            return;
        }
        version(*metadata, "lock-version", {"1.0", "1.1", "2.0", "2.1"}, "poetry");
        for (const Node* item : lock_items(root, "package")) {
            ++counts_[lock_text(*item, "name")];
        }
        for (const Node* item : lock_items(root, "package")) {
            poetry_package(*item, *metadata);
        }
        others(root, {"metadata", "package"});
        ledger_.carry(lines_of_node(*metadata));
        finish(root);
    }

private:
    void version(const Node& map,
                 std::string_view key,
                 std::initializer_list<std::string_view> known,
                 std::string_view tool) {
        const Node* node = map.find(key);
        const std::string own = lock_text(map, key);
        if (contains(known, own)) {
            ledger_.carry(lines_of_node(*node));
            return;
        }
        std::string list;
        for (const auto word : known) {
            list += (list.empty() ? "" : ", ") + std::string(word);
        }
        ledger_.refuse(node == nullptr ? map.mark : node->mark,
                       {"version '" + printable(own) + "' of the lock file is not known",
                        "this program reads version " + list,
                        "export the packages with their checksums and import that: `" +
                            std::string(tool) + " export` writes requirements.txt"});
    }

    void others(const Node& root, std::initializer_list<std::string_view> known) {
        for (const auto& entry : root.entries) {
            const std::string& key = entry.first.scalar;
            if (contains(known, key)) {
                continue;
            }
            ledger_.lose(lines_of_entry(entry),
                         entry.first.mark,
                         {"'" + printable(key) + "'",
                          "it guides the choice of versions, which the lock has made",
                          "nothing is to be done"});
        }
    }

    void finish(const Node& root) {
        if (!draft_.packages.pip.empty() || ledger_.is_refused()) {
            return;
        }
        ledger_.refuse(root.mark,
                       {"no package that the project itself needs on Linux",
                        "groups for development and extras are left out",
                        "check that this is the right lock"});
    }

    static bool is_project(const Node& package) {
        const Node* source = package.find("source");
        return source != nullptr && source->kind == Kind::kMapping &&
               (source->find("virtual") != nullptr || source->find("editable") != nullptr);
    }

    void add_reach(const Node& package) {
        const std::string name = lock_text(package, "name");
        if (is_project(package)) {
            roots_.push_back(name);
        }
        const auto add = [&](const Node* dependency) {
            if (!is_elsewhere(lock_text(*dependency, "marker"))) {
                needs_[name].insert(lock_text(*dependency, "name"));
            }
        };
        for (const Node* dependency : lock_items(package, "dependencies")) {
            add(dependency);
        }
        const Node* optional = package.find("optional-dependencies");
        if (optional != nullptr && !is_project(package)) { // of an extra that something asks for
            for (const auto& entry : optional->entries) {
                for (const Node* dependency : lock_items(*optional, entry.first.scalar)) {
                    add(dependency);
                }
            }
        }
    }

    void follow() {
        std::vector<std::string> open = roots_;
        while (!open.empty()) {
            const std::string name = std::move(open.back());
            open.pop_back();
            if (reached_.insert(name).second) {
                open.insert(open.end(), needs_[name].begin(), needs_[name].end());
            }
        }
    }

    /// A lock of uv has a package more than once where systems need other versions of it.
    static bool has_usable_file(const Node& package) {
        const auto wheels = lock_items(package, "wheels");
        return package.find("sdist") != nullptr || std::ranges::any_of(wheels, [](const Node* own) {
                   return is_usable(file_of(*own));
               });
    }

    void lose(const Node& package, std::string because, std::string help) {
        ledger_.lose(lines_of_node(package),
                     package.mark,
                     {"the package " + printable(lock_text(package, "name")),
                      std::move(because),
                      std::move(help)});
    }

    void uv_package(const Node& package) {
        const std::string name = lock_text(package, "name");
        const Node* source = package.find("source");
        if (is_project(package)) {
            lose(package,
                 "it is the project itself",
                 "copy its files with `files` and install it in a step");
            return;
        }
        if (!roots_.empty() && !reached_.contains(name)) {
            lose(package,
                 "only groups for development, extras or other systems need it",
                 "add it to the Recipe if the image needs it");
            return;
        }
        if (source == nullptr || source->find("registry") == nullptr) {
            lose(package,
                 "it comes from a repository, a folder or an address, of which the lock has no "
                 "checksum",
                 "build it from `packages.source`");
            return;
        }
        if (usable_.contains(name) && !has_usable_file(package)) {
            lose(package,
                 "this version has no file for Linux on x86_64; another one has",
                 "nothing is to be done");
            return;
        }
        index(lock_text(*source, "registry"), package);
        std::vector<const Node*> archives = lock_items(package, "wheels");
        const Node* sdist = package.find("sdist");
        const bool has_wheel =
            std::ranges::any_of(archives, [](const Node* own) { return is_usable(file_of(*own)); });
        if (sdist != nullptr && !has_wheel) {
            archives.push_back(sdist);
        }
        add(package, archives);
    }

    void poetry_package(const Node& package, const Node& metadata) {
        const std::string name = lock_text(package, "name");
        const Node* source = package.find("source");
        const std::string type = source == nullptr ? "" : lock_text(*source, "type");
        const std::string category = lock_text(package, "category");
        const auto groups = lock_items(package, "groups");
        const bool is_main = groups.empty() ? category.empty() || category == "main"
                                            : std::ranges::any_of(groups, [](const Node* group) {
                                                  return group->scalar == "main";
                                              });
        if (!is_main || lock_text(package, "optional") == "true") {
            lose(package,
                 "only a group or an extra needs it",
                 "add it to the Recipe if the image needs it");
            return;
        }
        if (is_elsewhere(lock_text(package, "markers"))) {
            lose(package, "it is of another system", "nothing is to be done");
            return;
        }
        if (!type.empty() && type != "legacy") {
            lose(package,
                 "it comes from '" + printable(type) + "', of which the lock has no checksum",
                 "build it from `packages.source`");
            return;
        }
        index(type.empty() ? "" : lock_text(*source, "url"), package);
        auto archives = lock_items(package, "files");
        const Node* files = metadata.find("files"); // of the form 1.1
        if (archives.empty() && files != nullptr) {
            archives = lock_items(*files, name);
        }
        const bool has_wheel = std::ranges::any_of(archives, [](const Node* own) {
            return file_of(*own).ends_with(".whl") && is_usable(file_of(*own));
        });
        std::erase_if(archives, [&](const Node* own) {
            return has_wheel && !file_of(*own).ends_with(".whl");
        });
        add(package, archives);
    }

    /// For which Python and system one of several versions is.
    static std::string marker_of(const Node& package) {
        std::string marker = lock_text(package, "markers"); // of Poetry
        std::replace(marker.begin(), marker.end(), '"', '\'');
        for (const Node* each : lock_items(package, "resolution-markers")) {
            marker += (marker.empty() ? "(" : " or (") + each->scalar + ")";
        }
        return marker;
    }

    static std::string file_of(const Node& archive) {
        const std::string file = lock_text(archive, "file");
        return file.empty() ? lock_text(archive, "url") : file;
    }

    /// The index is an input of the build: each that is not PyPI is reported, without a password
    /// and without the line that may hold one.
    void index(const std::string& address, const Node& package) {
        const std::string own = without_secrets(address);
        if (own.empty() || own.find("://pypi.org/") != std::string::npos ||
            !indexes_.insert(own).second) {
            return;
        }
        ledger_.remark(package.mark,
                       {"packages of the index '" + printable(own) + "'",
                        "a build has one index; the checksums hold whichever gives the files",
                        "name one that has all packages: `cybelectl build --pip-index URL`"});
    }

    void add(const Node& package, const std::vector<const Node*>& archives) {
        const std::string name = lock_text(package, "name");
        const std::string version = lock_text(package, "version");
        const std::string marker = counts_[name] > 1 ? marker_of(package) : std::string();
        if (counts_[name] > 1 && marker.empty()) {
            ledger_.refuse(package.mark,
                           {"the package " + printable(name) + " appears two times",
                            "nothing says which version is for which Python and system",
                            "create the lock again"});
            return;
        }
        std::string line = name + "==" + version + (marker.empty() ? "" : " ; " + marker);
        for (const Node* archive : archives) {
            if (!is_usable(file_of(*archive))) {
                continue;
            }
            const std::string hash = lock_text(*archive, "hash");
            if (!hash.starts_with("sha256:") ||
                !check_hex_digest(std::string_view(hash).substr(7)).because.empty()) {
                ledger_.refuse(archive->mark,
                               {"the hash of " + printable(name) + " is not a SHA-256",
                                "a SHA-256 is `sha256:` and 64 lower-case hexadecimal digits",
                                "create the lock again"});
                return;
            }
            line += " --hash=" + hash;
        }
        if (line.find(" --hash=") == std::string::npos) {
            ledger_.refuse(package.mark,
                           {"the package " + printable(name) + " has no file for Linux on x86_64",
                            "images are built for it",
                            "lock a version that has one"});
            return;
        }
        carry_requirement(
            ledger_, {line, lines_of_node(package), package.mark}, draft_.packages.pip);
    }

    Ledger& ledger_;
    Draft& draft_;
    std::vector<std::string> roots_;
    std::map<std::string, std::set<std::string>> needs_;
    std::set<std::string> reached_;
    std::map<std::string, std::size_t> counts_; ///< versions of a package
    std::set<std::string> usable_;              ///< with a file for Linux on x86_64
    std::set<std::string> indexes_;
};

void comments_of(Ledger& ledger, const std::string& text, std::size_t file) {
    const auto lines = lines_of(text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const auto own = trimmed(lines[i], " \t");
        if (own.starts_with('#')) {
            ledger.carry({i + 1, i + 1, file});
        }
    }
}

/// What a project says of itself; its versions are in the lock.
void carry_project(Ledger& ledger, const Node& root, Draft& draft) {
    const Node* own = root.find("project");
    const Node* tool = root.find("tool");
    const Node* poetry = tool == nullptr ? nullptr : tool->find("poetry");
    const std::string name = own != nullptr ? lock_text(*own, "name")
                                            : (poetry == nullptr ? "" : lock_text(*poetry, "name"));
    if (is_name(name)) {
        draft.name = name;
    }
    for (const auto& entry : root.entries) {
        const bool is_own = entry.first.scalar == "project";
        for (const auto& field : entry.second.entries) {
            const std::string& key = field.first.scalar;
            if (is_own && has_word("name dependencies requires-python", key)) {
                ledger.carry(lines_of_entry(field));
                continue;
            }
            ledger.lose(lines_of_entry(field),
                        field.first.mark,
                        {"'" + printable(entry.first.scalar + "." + key) + "'",
                         "the Recipe has the packages of the lock",
                         "install the project itself in a step if the image needs it"});
        }
        ledger.carry({entry.first.mark.line, entry.first.mark.line});
    }
}

} // namespace

Result<Draft> import_python_lock(const ImportRequest& request, Ledger& ledger) {
    Draft draft;
    set_base(draft, request.base);
    CYBELE_TRY(const Node root, parse_toml(ledger.source()));
    comments_of(ledger, request.text, 0);
    PythonLock lock(ledger, draft);
    request.kind == ImportKind::kUvLock ? lock.uv(root) : lock.poetry(root);
    add_mpi(ledger, draft);
    return draft;
}

Result<Draft> import_pyproject(const ImportRequest& request, Ledger& ledger) {
    Draft draft;
    set_base(draft, request.base);
    CYBELE_TRY(const Node root, parse_toml(ledger.source()));
    comments_of(ledger, request.text, 0);
    carry_project(ledger, root, draft);
    for (const std::string_view name : {"uv.lock", "poetry.lock"}) {
        const auto path = (request.file.parent_path() / name).lexically_normal();
        if (!request.read || !request.look || request.look(path) == PathKind::kUnknown) {
            continue;
        }
        CYBELE_TRY(const std::string text, request.read(path));
        const yaml::Source source(path.native(), text);
        const std::size_t file = ledger.add(source);
        CYBELE_TRY(const Node locked, parse_toml(source, file));
        comments_of(ledger, text, file);
        PythonLock lock(ledger, draft);
        name == "uv.lock" ? lock.uv(locked) : lock.poetry(locked);
        add_mpi(ledger, draft);
        return draft;
    }
    ledger.refuse({1, 1},
                  {"there is no uv.lock and no poetry.lock next to this file",
                   "the lock has the versions and checksums of the packages",
                   "run `uv lock` or `poetry lock` there"});
    return draft;
}

} // namespace cybele::recipes
