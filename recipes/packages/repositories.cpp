// SPDX-License-Identifier: Apache-2.0
#include "recipes/packages/repositories.hpp"

#include "images/openpgp/armor.hpp"
#include "images/openpgp/keyring.hpp"
#include "recipes/packages/packages.hpp"
#include "recipes/stage/render_text.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::recipes {
namespace {

/// Where the files of the n-th repository of a stage are, and what it says in them.
struct RepositoryWay {
    std::string_view managers;
    std::string_view key;
    std::string_view list;
};
constexpr RepositoryWay kApt{
    "apt", "/etc/apt/cybelectl-{}.{}", "/etc/apt/sources.list.d/{}.sources"};
constexpr RepositoryWay kRpm{
    "dnf microdnf yum", "/etc/pki/cybelectl-{}.{}", "/etc/yum.repos.d/{}.repo"};
/// Without it apt reports a repository that it cannot reach by a warning, and succeeds.
constexpr std::string_view kStrictFile = "/etc/apt/apt.conf.d/99cybelectl";

const RepositoryWay* way_of(const ManagerRow& manager) {
    for (const RepositoryWay* way : {&kApt, &kRpm}) {
        const auto words = words_of(way->managers);
        if (contains(words, manager.name)) {
            return way;
        }
    }
    return nullptr;
}

bool is_apt(const RepositoryWay& way) {
    return &way == &kApt;
}

std::string key_file(const RepositoryWay& way, const Repository& repository, std::size_t number) {
    const bool is_armored = images::openpgp::has_armor(repository.key_text);
    return fmt::format(fmt::runtime(way.key), number, is_armored ? "asc" : "gpg");
}

std::string list_file(const RepositoryWay& way, std::size_t number) {
    return fmt::format(fmt::runtime(way.list), fmt::format("cybelectl-{}", number));
}

std::string spaced(const std::vector<std::string>& words) {
    return fmt::format("{}", fmt::join(words, " "));
}

std::string list_text(const RepositoryWay& way, const Repository& repository, std::size_t number) {
    const std::string key = key_file(way, repository, number);
    if (!is_apt(way)) {
        // Whatever the base's dnf.conf says: without it the packages may come from elsewhere.
        return fmt::format("[cybelectl-{0}]\nname={1}\nbaseurl={1}\nenabled=1\n"
                           "skip_if_unavailable=0\ngpgcheck=1\nrepo_gpgcheck=1\n"
                           "gpgkey=file://{2}\n",
                           number,
                           repository.url,
                           key);
    }
    return fmt::format(
        "Types: deb\nURIs: {}\nSuites: {}\n{}Signed-By: {}\nCheck-Date: yes\nCheck-Valid-Until: "
        "yes\n",
        repository.url,
        spaced(repository.suites),
        repository.components.empty() ? "" : "Components: " + spaced(repository.components) + "\n",
        key);
}

/// The certificate that the Recipe pins; a fault where the file holds another, or more.
std::string key_trouble(const Repository& repository) {
    const auto keyring = images::openpgp::Keyring::parse(repository.key_text, repository.key);
    if (!keyring || keyring->certificates().empty()) {
        return keyring ? "it holds no OpenPGP key of version 4" : keyring.error().message();
    }
    if (keyring->certificates().size() > 1) {
        return fmt::format("it holds {} keys, each of which would be trusted",
                           keyring->certificates().size());
    }
    const std::string& found = keyring->certificates().front().fingerprint();
    return found == images::openpgp::normal_key_id(repository.fingerprint)
               ? std::string()
               : "its fingerprint is " + found;
}

class RepositoryCheck {
public:
    RepositoryCheck(const StageContext& context, Faults& faults)
        : context_(context), faults_(faults) {}

    void one(const Repository& repository, const std::string& field, const ManagerRow* manager) {
        const RepositoryWay* way = manager == nullptr ? nullptr : way_of(*manager);
        if (manager != nullptr && way == nullptr) {
            tell(
                field,
                problem("repositories-unsupported",
                        "repositories of " + std::string(manager->name) + " are not supported yet"),
                "apt and dnf are",
                "add it in a step, or use a base with one of them");
            return;
        }
        if (way != nullptr) {
            form(repository, field, *way);
        }
        key(repository, field);
    }

private:
    void form(const Repository& repository, const std::string& field, const RepositoryWay& way) {
        const bool is_flat = std::ranges::all_of(
            repository.suites, [](const std::string& s) { return s.ends_with('/'); });
        if (!is_apt(way)) {
            if (!repository.suites.empty() || !repository.components.empty()) {
                tell(field,
                     problem("repository-of-rpm",
                             "a repository of RPMs has no suites or components"),
                     "its `url` is the folder that holds `repodata`",
                     "leave `suites` and `components` out");
            }
        } else if (repository.suites.empty() || is_flat != repository.components.empty()) {
            tell(field,
                 problem("repository-of-apt",
                         repository.suites.empty() ? "a repository of apt needs `suites`"
                         : is_flat                 ? "a flat repository of apt has no components"
                                                   : "a repository of apt needs `components`"),
                 "apt finds its list of packages by them",
                 is_flat && !repository.suites.empty() ? "leave `components` out"
                                                       : "write for example `suites: [bookworm], "
                                                         "components: [main]`, or `suites: [./]`");
        }
    }
    void key(const Repository& repository, const std::string& field) {
        if (repository.key_text.empty()) {
            const bool is_url = repository.key.find("://") != std::string::npos;
            tell(field + ".key",
                 problem("repository-key-missing",
                         "the key '" + printable(repository.key) + "' is not there"),
                 is_url ? "a key is a file next to the Recipe: rendering reads no network"
                        : "relative paths begin at the Recipe's folder",
                 is_url ? "download it: `curl -fsSLO " + shell_quote(repository.key) + "`"
                        : "correct the path");
            return;
        }
        if (const std::string trouble = key_trouble(repository); !trouble.empty()) {
            Fault fault = context_.recipe->fault_at(
                field + ".key",
                problem("repository-key-other",
                        "'" + printable(repository.key) + "' is not the key of the fingerprint"),
                trouble,
                "get the key again from its owner, and compare the fingerprint with what the "
                "owner publishes");
            fault.code = ErrorCode::kVerification;
            faults_.add(std::move(fault));
        }
    }
    void tell(const std::string& field, Problem what, std::string because, std::string help) {
        faults_.add(
            context_.recipe->fault_at(field, std::move(what), std::move(because), std::move(help)));
    }

    const StageContext& context_;
    Faults& faults_;
};

} // namespace

std::string repository_lines(const ManagerRow& manager,
                             const std::vector<Repository>& repositories) {
    const RepositoryWay* way = way_of(manager);
    std::string lines;
    for (std::size_t i = 0; way != nullptr && i < repositories.size(); ++i) {
        lines += write_file_lines(key_file(*way, repositories[i], i + 1), repositories[i].key_text);
        lines += write_file_lines(list_file(*way, i + 1), list_text(*way, repositories[i], i + 1));
    }
    if (!lines.empty() && is_apt(*way)) {
        lines += write_file_lines(kStrictFile, "APT::Update::Error-Mode \"any\";\n");
    }
    return lines;
}

std::string repository_end_lines(const ManagerRow& manager,
                                 const std::vector<Repository>& repositories) {
    const RepositoryWay* way = way_of(manager);
    if (way == nullptr || repositories.empty()) {
        return {};
    }
    std::string lines = "rm -f";
    std::string keys;
    for (std::size_t i = 0; i < repositories.size(); ++i) {
        lines += " " + key_file(*way, repositories[i], i + 1) + " " + list_file(*way, i + 1);
        std::string id = images::openpgp::normal_key_id(repositories[i].fingerprint);
        constexpr std::size_t kShort = 8;
        id = id.substr(id.size() < kShort ? 0 : id.size() - kShort);
        id = text::lowered(id);
        // rpm 6 names a key by its complete fingerprint, earlier versions by the end of it.
        keys += "for key in $(rpm -qa gpg-pubkey); do case $key in gpg-pubkey-*" + id +
                "-*) rpm -e --allmatches \"$key\" ;; esac; done\n";
    }
    return is_apt(*way) ? lines + " " + std::string(kStrictFile) + "\n" : lines + "\n" + keys;
}

void check_repositories(const StageContext& context, Faults& faults) {
    RepositoryCheck check(context, faults);
    const auto& repositories = context.fields->packages.repositories;
    for (std::size_t i = 0; i < repositories.size(); ++i) {
        check.one(repositories[i],
                  context.prefix + "packages.repositories[" + std::to_string(i) + "]",
                  manager_of(context));
    }
}

} // namespace cybele::recipes
