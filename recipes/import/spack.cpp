// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/recipe_rules.hpp"
#include "recipes/forms/words.hpp"
#include "recipes/import/import.hpp"
#include "recipes/import/lists.hpp"
#include "recipes/tables/tables.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <fmt/format.h>

namespace cybele::recipes {
namespace {

using yaml::Node;
using Kind = Node::Kind;

constexpr std::size_t kMostSpecs = 1000;

/// Parts of an environment that a Recipe has no word for.
struct LostRow {
    std::string_view key;
    std::string_view because;
    std::string_view help;
};
constexpr LostRow kLostRows[] = {
    {"packages",
     "preferences are not part of a spec",
     "write version, variants and compiler into the spec: `hdf5@1.14 +mpi`"},
    {"compilers",
     "the compilers are those of the base",
     "choose a base that has them, or write `%gcc@…` into the specs"},
    {"mirrors", "addresses are inputs, never part of a Recipe", "give them where it is built"},
    {"repos", "folders of packages are not in the image", "copy them with `files`"},
    {"include", "only this file is read", "write its content into this one"},
    {"config", "an image is built in one place", "leave it out"},
    {"modules", "an image has its programs on PATH", "leave it out"},
    {"develop", "a Recipe's sources are pinned", "name the program in `packages.source`"},
    {"env_vars", "the Recipe has `environment`", "write the variables there"},
};

class SpackFile {
public:
    SpackFile(const ImportRequest& request, Ledger& ledger, Draft& draft)
        : request_(request), ledger_(ledger), draft_(draft) {}

    void read(const Node& root) {
        const Node* own = root.find("spack");
        for (const auto& entry : root.entries) {
            ledger_.carry({entry.first.mark.line, entry.first.mark.line});
            if (entry.first.scalar != "spack") {
                lose(entry, "a file of Spack has `spack` alone", "leave it out");
            }
        }
        if (own == nullptr || own->kind != Kind::kMapping) {
            ledger_.refuse(root.mark,
                           {"there is no 'spack'",
                            "an environment's file begins with it",
                            "name the file of the environment"});
            return;
        }
        if (const Node* definitions = own->find("definitions")) {
            define(*definitions);
        }
        for (const auto& entry : own->entries) {
            field(entry);
        }
        if (draft_.packages.spack.empty() && !ledger_.is_refused()) {
            ledger_.refuse(own->mark,
                           {"'specs' names no package",
                            "there is nothing to install",
                            "add `specs: [NAME@VERSION]`"});
            return;
        }
        add_installer(draft_, draft_, "spack", request_);
    }

private:
    void lose(const yaml::Entry& entry, std::string because, std::string help) {
        ledger_.lose(
            lines_of_entry(entry),
            entry.first.mark,
            {"'" + printable(entry.first.scalar) + "'", std::move(because), std::move(help)});
    }

    void key(const yaml::Entry& entry) {
        ledger_.carry({entry.first.mark.line, entry.first.mark.line});
    }

    void field(const yaml::Entry& entry) {
        const std::string& name = entry.first.scalar;
        if (name == "specs") {
            key(entry);
            specs(entry.second);
        } else if (name == "definitions") {
            ledger_.carry(lines_of_entry(entry));
        } else if (name == "view") {
            if (entry.second.scalar == "true" || entry.second.scalar == "default") {
                ledger_.carry(lines_of_entry(entry));
            } else {
                lose(entry, "an image has one view, on PATH", "leave it out");
            }
        } else if (name == "concretizer") {
            concretizer(entry);
        } else if (name == "container") {
            key(entry);
            container(entry.second);
        } else {
            other(entry);
        }
    }

    void other(const yaml::Entry& entry) {
        const std::string& name = entry.first.scalar;
        std::vector<std::string_view> known{
            "specs", "definitions", "view", "concretizer", "container"};
        for (const auto& row : kLostRows) {
            if (row.key == name) {
                lose(entry, std::string(row.because), std::string(row.help));
                return;
            }
            known.push_back(row.key);
        }
        const std::string near = nearest(name, known);
        if (!near.empty()) {
            ledger_.refuse(entry.first.mark,
                           {"no field '" + printable(name) + "'",
                            "Spack refuses it too",
                            "did you mean `" + near + "`?"});
            return;
        }
        lose(entry, "a Recipe has no word for it", "leave it out");
    }

    void concretizer(const yaml::Entry& entry) {
        key(entry);
        for (const auto& own : entry.second.entries) {
            const bool is_same = own.first.scalar == "unify" && own.second.scalar == "true";
            if (is_same) {
                ledger_.carry(lines_of_entry(own));
            } else {
                lose(own, "the environment is concretized with Spack's defaults", "leave it out");
            }
        }
    }

    /// `definitions: [{name: [spec, …]}]`
    void define(const Node& list) {
        for (const auto& item : list.items) {
            for (const auto& [name, values] : item.entries) {
                if (name.scalar == "when") {
                    ledger_.remark(name.mark,
                                   {"the definition holds always",
                                    "`when` asks the machine that builds",
                                    "write what is meant into `specs`"});
                    continue;
                }
                auto& own = definitions_[name.scalar];
                for (const auto* value : text_items(ledger_, values, name.scalar)) {
                    own.push_back(value->scalar);
                }
            }
        }
    }

    /// The texts that an item stands for: itself, or those of `$name`.
    std::vector<std::string> expanded(const Node& item) {
        if (!item.scalar.starts_with('$')) {
            return {item.scalar};
        }
        const auto at = item.scalar.find_first_not_of("$%^");
        const std::string name = at == std::string::npos ? "" : item.scalar.substr(at);
        const std::string prefix = item.scalar.substr(1, at == std::string::npos ? 0 : at - 1);
        const auto found = definitions_.find(name);
        if (found == definitions_.end()) {
            std::vector<std::string_view> known;
            known.reserve(definitions_.size());
            for (const auto& [own, values] : definitions_) {
                known.push_back(own);
            }
            const std::string near = nearest(name, known);
            ledger_.refuse(item.mark,
                           {"'" + printable(item.scalar) + "' is not defined",
                            "`$` names one of `definitions`",
                            near.empty() ? "define it" : "did you mean `$" + near + "`?"});
            return {};
        }
        std::vector<std::string> list;
        for (const auto& value : found->second) {
            list.push_back(prefix + value);
        }
        return list;
    }

    void specs(const Node& list) {
        if (list.kind != Kind::kSequence) {
            ledger_.refuse(list.mark,
                           {"'specs' is not a list", "it lists specs", help_for_items(list)});
            return;
        }
        for (const auto& item : list.items) {
            if (item.kind == Kind::kScalar && is_text_line(item.scalar)) {
                for (const auto& spec : expanded(item)) {
                    add(spec, item);
                }
            } else if (const Node* matrix = item.find("matrix")) {
                rows(item, *matrix);
            } else {
                ledger_.refuse(item.mark,
                               {"this is not a spec", "it is a text, or a `matrix`", "correct it"});
            }
        }
    }

    /// All combinations of one word of each row.
    void rows(const Node& item, const Node& matrix) {
        if (const Node* exclude = item.find("exclude")) {
            ledger_.remark(exclude->mark,
                           {"nothing is excluded from the matrix",
                            "only Spack can decide whether a spec satisfies another",
                            "remove the specs that are not meant from the Recipe"});
        }
        std::vector<std::string> all{""};
        for (const auto& row : matrix.items) {
            std::vector<std::string> words;
            for (const auto* word : text_items(ledger_, row, "matrix")) {
                const auto own = expanded(*word);
                words.insert(words.end(), own.begin(), own.end());
            }
            std::vector<std::string> next;
            for (const auto& start : all) {
                for (const auto& word : words) {
                    if (next.size() > kMostSpecs) {
                        break; // add() refuses it
                    }
                    next.push_back(start.empty() ? word : fmt::format("{} {}", start, word));
                }
            }
            all = std::move(next);
        }
        for (const auto& spec : all) {
            add(spec, item);
        }
    }

    void add(const std::string& spec, const Node& item) {
        auto& list = draft_.packages.spack;
        if (list.size() == kMostSpecs) {
            ledger_.refuse(item.mark,
                           {"more than 1000 specs",
                            "more than any environment has",
                            "name those that are meant"});
        }
        if (list.size() >= kMostSpecs || spec.empty()) {
            return;
        }
        ledger_.carry(lines_of_node(item));
        const std::string own = literal(spec);
        if (!contains(list, own)) {
            list.push_back(own);
        }
    }

    void container(const Node& map) {
        for (const auto& entry : map.entries) {
            const std::string& name = entry.first.scalar;
            if (name == "format") {
                ledger_.carry(lines_of_entry(entry));
            } else if (name == "images") {
                key(entry);
                images(entry.second);
            } else if (name == "os_packages") {
                key(entry);
                packages(entry.second);
            } else if (name == "labels") {
                key(entry);
                labels(entry.second);
            } else if (name == "strip") {
                lose(entry, "programs stay as Spack installs them", "strip them in a step");
            } else {
                lose(entry, "a Recipe has no word for it", "write it into the Recipe");
            }
        }
    }

    void images(const Node& map) {
        for (const auto& entry : map.entries) {
            const std::string& name = entry.first.scalar;
            const std::string& value = entry.second.scalar;
            if (name == "spack") {
                const std::string wanted = value.starts_with('v') ? value.substr(1) : value;
                if (wanted == installer_version("spack")) {
                    ledger_.carry(lines_of_entry(entry));
                } else {
                    ledger_.lose(lines_of_entry(entry),
                                 entry.second.mark,
                                 {"Spack '" + printable(value) + "'",
                                  "of " + std::string(installer_version("spack")) +
                                      " alone the commit is known",
                                  "write its commit into `packages.source`"});
                }
            } else if ((name == "os" || name == "final") && base(entry)) {
                ledger_.carry(lines_of_entry(entry));
            } else if (name != "os" && name != "final") {
                lose(entry, "an imported environment has one stage", "name it in `stages`");
            }
        }
    }

    bool base(const yaml::Entry& entry) {
        const std::string& value = entry.second.scalar;
        for (const auto& row : distributions()) {
            if (row.id == value || row.image == value) {
                set_base(draft_, std::string(row.id));
                return true;
            }
        }
        ledger_.lose(lines_of_entry(entry),
                     entry.second.mark,
                     {"the base '" + printable(value) + "'",
                      "the tables do not know it",
                      "the base is " + request_.base + "; give another one with --base"});
        return false;
    }

    void packages(const Node& map) {
        for (const auto& entry : map.entries) {
            const std::string& name = entry.first.scalar;
            if (name == "command" || name == "update") {
                ledger_.carry(lines_of_entry(entry)); // the base's manager is known
                continue;
            }
            if (name != "build" && name != "final") {
                lose(entry, "`build` and `final` are known", "leave it out");
                continue;
            }
            key(entry);
            for (const auto* item : text_items(ledger_, entry.second, name)) {
                if (!check_package(item->scalar).because.empty()) {
                    ledger_.lose(lines_of_node(*item),
                                 item->mark,
                                 {"the package '" + printable(item->scalar) + "'",
                                  "it is not NAME or NAME=VERSION",
                                  "write it so"});
                    continue;
                }
                draft_.packages.system.push_back(item->scalar);
                carry_node(ledger_, *item);
            }
        }
    }

    void labels(const Node& map) {
        for (const auto& entry : map.entries) {
            const auto& [name, value] = entry;
            const bool is_good = check_label(name.scalar).because.empty() &&
                                 value.kind == Kind::kScalar && is_text_line(value.scalar) &&
                                 value.scalar.find("{{") == std::string::npos;
            if (is_good) {
                draft_.labels[name.scalar] = literal(value.scalar);
                ledger_.carry(lines_of_entry(entry));
            } else {
                lose(entry, "an image's label cannot be so", "rename it");
            }
        }
    }

    const ImportRequest& request_;
    Ledger& ledger_;
    Draft& draft_;
    std::map<std::string, std::vector<std::string>, std::less<>> definitions_;
};

} // namespace

Draft import_spack(const ImportRequest& request, const Node& root, Ledger& ledger) {
    Draft draft;
    set_base(draft, request.base);
    SpackFile(request, ledger, draft).read(root);
    return draft;
}

} // namespace cybele::recipes
