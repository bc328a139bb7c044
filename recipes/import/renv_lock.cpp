// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/import.hpp"
#include "recipes/import/lists.hpp"
#include "support/quote.hpp"

namespace cybele::recipes {
namespace {

using yaml::Node;
using Kind = Node::Kind;

constexpr std::string_view kPlace = "/opt/renv/renv.lock";

std::string renv_text(const Node& map, std::string_view key) {
    const Node* node = map.kind == Kind::kMapping ? map.find(key) : nullptr;
    return node != nullptr && node->kind == Kind::kScalar ? node->scalar : std::string{};
}

bool is_r_version(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// Where renv restores packages from without help.
bool is_restorable(std::string_view source) {
    for (const std::string_view known :
         {"Repository", "CRAN", "Bioconductor", "GitHub", "GitLab"}) {
        if (source == known) {
            return true;
        }
    }
    return source.empty();
}

void check_restored(Ledger& ledger, const yaml::Entry& entry) {
    const std::string source = renv_text(entry.second, "Source");
    if (!is_r_version(renv_text(entry.second, "Version").substr(0, 1))) {
        ledger.refuse(entry.first.mark,
                      {"the package " + printable(entry.first.scalar) + " has no version",
                       "renv installs exactly the locked versions",
                       "create the lock again: `renv::snapshot()`"});
    } else if (!is_restorable(source)) {
        ledger.remark(entry.first.mark,
                      {"the package " + printable(entry.first.scalar) + " of the source '" +
                           printable(source) + "'",
                       "renv finds it only where the project's machine has it",
                       "copy it into the image with `files` and install it in a step"});
    }
}

} // namespace

Draft import_renv(const ImportRequest& request, const Node& root, Ledger& ledger) {
    Draft draft;
    const Node* r = root.find("R");
    const Node* packages = root.find("Packages");
    const std::string version = r == nullptr ? "" : renv_text(*r, "Version");
    if (!is_r_version(version) || packages == nullptr || packages->kind != Kind::kMapping) {
        ledger.refuse(r == nullptr ? root.mark : r->mark,
                      {"the version of R, or the list of packages, is missing",
                       "a lock of renv has 'R' with 'Version', and 'Packages'",
                       "create the lock again: `renv::snapshot()`"});
        return draft;
    }
    set_base(draft, request.base == "debian:12" ? "docker://r-base:" + version : request.base);
    for (const auto& entry : root.entries) {
        const std::string& key = entry.first.scalar;
        if (key == "R" || key == "Packages" || key == "Bioconductor" || key == "Python") {
            ledger.carry(lines_of_entry(entry));
            continue;
        }
        ledger.lose(lines_of_entry(entry),
                    entry.first.mark,
                    {"'" + printable(key) + "'", "this importer does not know it", "leave it out"});
    }
    for (const auto& entry : packages->entries) {
        check_restored(ledger, entry);
    }
    ledger.carry({root.mark.line, lines_of(request.text).size()}); // braces; lost lines stay named
    std::string repositories;
    const Node* list = r->find("Repositories");
    for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
        const std::string address = renv_text(list->items[i], "URL");
        if (without_secrets(address) != address) {
            ledger.refuse(list->items[i].mark,
                          {"the address of '" + printable(without_secrets(address)) +
                               "' names a user or a password",
                           "the lock is copied into the image, which others can read",
                           "remove them there: a build has no credentials for it"});
        }
        const bool is_plain = address.find_first_of("'\"\\ \n") == std::string::npos;
        if (is_plain && !address.empty()) {
            repositories += (repositories.empty() ? "\"" : ", \"") + address + "\"";
        }
    }
    FileCopy copy;
    copy.from = request.file.filename().native();
    copy.to = kPlace;
    draft.files.push_back(std::move(copy));
    DraftStep step;
    step.comments = {"The packages of renv.lock, in the versions that it names."};
    step.run = "Rscript -e '" +
               (repositories.empty() ? "" : "options(repos = c(" + repositories + ")); ") +
               "if (!requireNamespace(\"renv\", quietly = TRUE)) install.packages(\"renv\")' "
               "-e 'renv::restore(lockfile = \"" +
               std::string(kPlace) + "\", library = .Library.site[1], prompt = FALSE)'\n";
    draft.steps.push_back(std::move(step));
    ledger.remark(packages->mark,
                  {std::to_string(packages->entries.size()) + " packages of R have no SHA-256",
                   "renv compares versions, not the bytes of archives",
                   "name a repository that keeps its versions with `R.Repositories`"});
    return draft;
}

} // namespace cybele::recipes
