// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/recipe_rules.hpp"
#include "recipes/forms/words.hpp"
#include "recipes/import/import.hpp"
#include "recipes/import/lists.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::recipes {
namespace {

using yaml::Node;
using Kind = Node::Kind;

/// Installers whose archive is known. `archive`: below the address of `sources`.
struct InstallerRow {
    std::string_view name;
    std::string_view version;
    std::string_view archive; ///< else
    std::string_view git;
    std::string_view pin; ///< SHA-256 of the archive, or the commit
    std::string_view script;
};
constexpr InstallerRow kInstallers[] = {
    {"micromamba",
     "2.3.2",
     "micromamba-2.3.2-0.tar.bz2",
     "",
     "5512233cdd8564a671626081026dc861537a963baa06706baab08fac6f3bb9d2",
     "mkdir -p \"$PREFIX/bin\" && cp bin/micromamba \"$PREFIX/bin/\""},
    {"spack",
     "0.23.1",
     "",
     "spack.git",
     "2bfcc69fa870d3c6919be87593f22647981b648a",
     "cp -a . \"$PREFIX\""},
};

constexpr std::string_view kCondaKeys[] = {
    "name", "channels", "dependencies", "variables", "prefix", "platforms"};

class CondaFile {
public:
    CondaFile(const ImportRequest& request, Ledger& ledger, Draft& draft)
        : request_(request), ledger_(ledger), draft_(draft) {}

    void read(const Node& root) {
        for (const auto& entry : root.entries) {
            field(entry);
        }
        if (!draft_.packages.conda_packages.empty()) {
            add_installer(draft_, draft_, "micromamba", request_);
            if (draft_.packages.conda_channels.empty()) {
                draft_.packages.conda_channels = {"conda-forge"};
                ledger_.remark(root.mark,
                               {"the channel is conda-forge",
                                "the file names none, and the default differs from place to place",
                                "name the channel that is meant"});
            }
        } else if (!ledger_.is_refused() && draft_.packages.pip.empty()) {
            ledger_.refuse(root.mark,
                           {"'dependencies' names no package",
                            "there is nothing to install",
                            "add `dependencies: [NAME=VERSION]`"});
        }
        remark_unlocked(ledger_, root.mark, draft_.packages);
    }

private:
    void field(const yaml::Entry& entry) {
        const std::string& key = entry.first.scalar;
        if (key == "name") {
            carry_name(ledger_, entry, draft_);
        } else if (key == "channels") {
            ledger_.carry({entry.first.mark.line, entry.first.mark.line});
            for (const auto* item : text_items(ledger_, entry.second, "channels")) {
                draft_.packages.conda_channels.push_back(literal(item->scalar));
                carry_node(ledger_, *item);
            }
        } else if (key == "dependencies") {
            ledger_.carry({entry.first.mark.line, entry.first.mark.line});
            dependencies(entry.second);
        } else if (key == "variables") {
            ledger_.carry({entry.first.mark.line, entry.first.mark.line});
            variables(entry.second);
        } else if (key == "prefix") {
            ledger_.lose(
                lines_of_entry(entry),
                entry.first.mark,
                {"'prefix'", "conda packages of an image are in /opt/conda", "leave it out"});
        } else {
            unknown(entry);
        }
    }

    void unknown(const yaml::Entry& entry) {
        const std::string near = nearest(entry.first.scalar, kCondaKeys);
        if (!near.empty() && near != entry.first.scalar) {
            ledger_.refuse(entry.first.mark,
                           {"no field '" + printable(entry.first.scalar) + "'",
                            "conda ignores what it does not know",
                            "did you mean `" + near + "`?"});
            return;
        }
        ledger_.lose(lines_of_entry(entry),
                     entry.first.mark,
                     {"'" + printable(entry.first.scalar) + "'",
                      "a Recipe has no word for it",
                      "leave it out"});
    }

    void dependencies(const Node& list) {
        if (list.kind != Kind::kSequence) {
            ledger_.refuse(
                list.mark,
                {"'dependencies' is not a list", "conda requires a list", help_for_items(list)});
            return;
        }
        for (const auto& item : list.items) {
            if (item.kind == Kind::kScalar && is_text_line(item.scalar)) {
                draft_.packages.conda_packages.push_back(literal(item.scalar));
                carry_node(ledger_, item);
            } else if (item.kind == Kind::kMapping && item.entries.size() == 1 &&
                       item.entries.front().first.scalar == "pip") {
                ledger_.carry({item.mark.line, item.mark.line});
                pip(item.entries.front().second);
            } else {
                ledger_.refuse(item.mark,
                               {"this is not a package",
                                "a dependency is a text as `numpy=1.26`, or `pip:` with a list",
                                "correct it"});
            }
        }
    }

    void pip(const Node& list) {
        for (const auto* item : text_items(ledger_, list, "pip")) {
            RequirementLine line{item->scalar, lines_of_node(*item), item->mark};
            if (line.text.starts_with("-r") || line.text.starts_with("--requirement")) {
                ledger_.lose(line.lines,
                             line.mark,
                             {"'" + printable(line.text) + "'",
                              "the file is one of its own",
                              "import it too, and `include` what comes out"});
                continue;
            }
            carry_requirement(ledger_, line, draft_.packages.pip);
        }
    }

    void variables(const Node& map) {
        if (map.kind != Kind::kMapping) {
            ledger_.refuse(
                map.mark,
                {"'variables' is not a map", "each has a name and a value", "write NAME: VALUE"});
            return;
        }
        for (const auto& entry : map.entries) {
            const auto& [key, value] = entry;
            if (value.kind != Kind::kScalar || !is_variable_name(key.scalar) ||
                (!value.scalar.empty() && !is_text_line(value.scalar))) {
                ledger_.lose(lines_of_entry(entry),
                             key.mark,
                             {"the variable '" + printable(key.scalar) + "'",
                              "a shell cannot set it",
                              "set it in `run`"});
                continue;
            }
            draft_.environment[key.scalar] = {EnvironmentValue::How::kSet, literal(value.scalar)};
            ledger_.carry(lines_of_entry(entry));
        }
    }

    const ImportRequest& request_;
    Ledger& ledger_;
    Draft& draft_;
};

} // namespace

void add_installer(Draft& draft,
                   DraftStage& stage,
                   std::string_view name,
                   const ImportRequest& request) {
    if (stage.image.find(name) != std::string::npos) {
        return; // the base has it
    }
    for (const auto& row : kInstallers) {
        if (row.name != name) {
            continue;
        }
        draft.args["sources"] = request.sources;
        SourcePackage source;
        source.name = name;
        source.build = "script";
        source.script = row.script;
        if (row.git.empty()) {
            source.url = "@{sources}/" + std::string(row.archive);
            source.sha256 = row.pin;
        } else {
            source.git = "@{sources}/" + std::string(row.git);
            source.commit = row.pin;
        }
        stage.packages.source.push_back(std::move(source));
    }
}

std::string_view installer_version(std::string_view name) {
    for (const auto& row : kInstallers) {
        if (row.name == name) {
            return row.version;
        }
    }
    return {};
}

std::vector<const Node*> text_items(Ledger& ledger, const Node& node, std::string_view what) {
    std::vector<const Node*> items;
    if (node.kind != Kind::kSequence) {
        ledger.refuse(node.mark,
                      {"'" + std::string(what) + "' is not a list",
                       "it is a list of texts",
                       "begin each with `- `"});
        return items;
    }
    for (const auto& item : node.items) {
        if (item.kind != Kind::kScalar || !is_text_line(item.scalar)) {
            ledger.refuse(item.mark,
                          {"an item of '" + std::string(what) + "' is not a text of one line",
                           "it is a list of texts",
                           "correct it"});
        } else {
            items.push_back(&item);
        }
    }
    return items;
}

void carry_name(Ledger& ledger, const yaml::Entry& entry, Draft& draft) {
    const std::string& name = entry.second.scalar;
    draft.name = suggest_name(name);
    if (entry.second.kind != Kind::kScalar || draft.name.empty()) {
        ledger.refuse(entry.second.mark,
                      {"'name' names nothing", "the image gets it", "use letters, digits and `-`"});
        return;
    }
    ledger.carry(lines_of_entry(entry));
    if (draft.name != name) {
        ledger.remark(entry.second.mark,
                      {"the name is " + draft.name,
                       "names have small letters, digits and `-`",
                       "give another one with --name"});
    }
}

Draft import_conda(const ImportRequest& request, const Node& root, Ledger& ledger) {
    Draft draft;
    set_base(draft, request.base);
    CondaFile(request, ledger, draft).read(root);
    return draft;
}

} // namespace cybele::recipes
