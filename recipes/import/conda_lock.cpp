// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/recipe_rules.hpp"
#include "recipes/forms/words.hpp"
#include "recipes/import/conda_archives.hpp"
#include "recipes/import/import.hpp"
#include "recipes/import/lists.hpp"
#include "support/quote.hpp"

namespace cybele::recipes {
namespace {

using yaml::Node;
using Kind = Node::Kind;

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
        locked_.finish(root.mark, "conda-lock -p linux-64");
    }

private:
    void version(const yaml::Entry& entry) {
        if (entry.second.scalar != "1") {
            ledger_.refuse(
                entry.second.mark,
                {"version '" + printable(entry.second.scalar) + "' of the lock file is not known",
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
        if (!platform.empty() && platform != kCondaPlatform && platform != "noarch") {
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
                           {"the hash of " + printable(name) + " is not a SHA-256",
                            "a SHA-256 has 64 lower-case hexadecimal digits",
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
    LockedConda locked_;
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
    LockedConda locked(request, ledger, draft);
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
        if (archive->platform != kCondaPlatform && archive->platform != "noarch") {
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
    locked.finish({1, 1}, "conda-lock -p linux-64");
    return draft;
}

} // namespace cybele::recipes
