// SPDX-License-Identifier: Apache-2.0
#include "recipes/mpi/mpi.hpp"
#include "recipes/packages/packages.hpp"
#include "recipes/packages/repositories.hpp"
#include "recipes/stage/compilers.hpp"

#include <algorithm>
#include <map>

namespace cybele::recipes {
namespace {

/// Generic names that each way of installing needs.
struct ToolRow {
    std::string_view way;
    std::string_view needs;
};
constexpr ToolRow kTools[] = {
    {"pip", "python python-pip"},
    {"url", "archives ca-certificates curl"},
    {"git", "ca-certificates git"},
    {"autotools", "make toolchain-c++"},
    {"cmake", "cmake make toolchain-c++"},
    {"make", "make toolchain-c++"},
    {"conda", "ca-certificates"},
    {"spack", "archives ca-certificates curl fortran git patch python toolchain-c++"},
    {"compilers", "fortran toolchain-c++"},
};

void add_tools(std::string_view way, const std::string& field, std::vector<WantedNeed>& wanted) {
    for (const auto& row : kTools) {
        if (row.way == way) {
            for (auto& need : words_of(row.needs)) {
                wanted.push_back({std::move(need), field});
            }
        }
    }
}

/// EL9's images have curl-minimal, which the whole curl must replace.
bool must_erase(const StageContext& context, const std::vector<std::string>& packages) {
    return context.base.row != nullptr && context.base.row->column.starts_with("el") &&
           std::ranges::any_of(packages, [](const std::string& package) {
               return package == "curl" || package == "libcurl-devel";
           });
}

bool has_encrypted(const std::vector<Repository>& repositories) {
    return std::ranges::any_of(repositories,
                               [](const Repository& one) { return one.url.starts_with("https:"); });
}

std::string preferences(const LockVariant& lock) {
    std::string text;
    for (const auto& package : lock.packages.at("system")) {
        text += "Package: " + package.name + "\nPin: version " + package.version +
                "\nPin-Priority: 1001\n\n";
    }
    return text;
}

std::string locked_list(const LockVariant& lock) {
    std::string text;
    for (const auto& package : lock.packages.at("system")) {
        text += package.name + " " + package.version + "\n";
    }
    return text;
}

/// Tells each package that is installed in another version than the lock's.
constexpr std::string_view kCompare =
    "dpkg-query -W -f '${Package} ${Version}\\n' | awk '\n"
    "    NR == FNR { locked[$1] = $2; next }\n"
    "    ($1 in locked) && locked[$1] != $2 { print $1 \": locked \" "
    "locked[$1] \", got \" $2; bad = 1 }\n"
    "    END { exit bad }' \"$cybelectl_lock\" - >&2\n";

} // namespace

std::vector<WantedNeed> wanted_needs(const StageContext& context) {
    const Packages& packages = context.fields->packages;
    const std::string prefix = context.prefix + "packages.";
    std::vector<WantedNeed> wanted;
    for (std::size_t i = 0; i < packages.needs.size(); ++i) {
        wanted.push_back({packages.needs[i], prefix + "needs[" + std::to_string(i) + "]"});
    }
    if (!packages.pip.empty()) {
        add_tools("pip", prefix + "pip", wanted);
    }
    if (!packages.conda_packages.empty()) {
        add_tools("conda", prefix + "conda", wanted);
    }
    if (!packages.spack.empty()) {
        add_tools("spack", prefix + "spack", wanted);
    }
    for (std::size_t i = 0; i < packages.source.size(); ++i) {
        const SourcePackage& source = packages.source[i];
        const std::string field = prefix + "source[" + std::to_string(i) + "]";
        add_tools(source.git.empty() ? "url" : "git", field, wanted);
        add_tools(source.build, field, wanted);
    }
    if (context.is_building() && !compilers_of(context).family.empty()) {
        add_tools("compilers",
                  compilers_of(context).is_own ? context.prefix + "compilers" : "compilers",
                  wanted);
    }
    return wanted;
}

std::vector<std::string> system_packages(const StageContext& context) {
    std::vector<std::string> packages = context.fields->packages.system;
    const auto add = [&](std::string_view words) {
        const auto list = words_of(words);
        packages.insert(packages.end(), list.begin(), list.end());
    };
    const auto& mpi = mpi_of(*context.recipe, *context.fields);
    if (const auto row = mpi_row_of(mpi, context.base.row)) {
        add(context.is_last ? row->run : row->devel);
        add(context.is_alone ? row->devel : std::string_view{});
    }
    for (const auto& wanted : wanted_needs(context)) {
        const NeedCell* cell = find_need(context.base.row->column, wanted.need);
        add(cell != nullptr ? cell->packages : std::string_view{});
    }
    return packages;
}

std::string
transaction(const ManagerRow& manager, std::vector<std::string> packages, const LockVariant* lock) {
    std::sort(packages.begin(), packages.end());
    packages.erase(std::unique(packages.begin(), packages.end()), packages.end());
    const bool is_locked = lock != nullptr && lock->packages.contains("system") &&
                           manager.name == std::string_view("apt");
    std::map<std::string, std::string> versions;
    std::string lines;
    if (is_locked) {
        for (const auto& package : lock->packages.at("system")) {
            versions[package.name] = package.version;
        }
        lines += write_file_lines("/etc/apt/preferences.d/cybelectl-lock", preferences(*lock));
    }
    lines += std::string(manager.before) + std::string(manager.install);
    for (const auto& package : packages) {
        const auto equals = package.find('=');
        lines += " \\\n    " + package.substr(0, equals);
        const auto locked = versions.find(package);
        if (equals != std::string::npos) {
            lines += std::string(manager.pin) + package.substr(equals + 1);
        } else if (locked != versions.end()) {
            lines += std::string(manager.pin) + locked->second;
        }
    }
    lines += "\n" + std::string(manager.after);
    if (is_locked) {
        lines += "rm /etc/apt/preferences.d/cybelectl-lock\ncybelectl_lock=$(mktemp)\n" +
                 write_variable_file_lines("cybelectl_lock", locked_list(*lock)) +
                 std::string(kCompare) + "rm -f \"$cybelectl_lock\"\n";
    }
    return lines;
}

const ManagerRow* manager_of(const StageContext& context) {
    const std::string& named = context.fields->packages.manager;
    if (!named.empty()) {
        return find_manager(named);
    }
    return context.base.row != nullptr ? find_manager(context.base.row->manager) : nullptr;
}

std::string system_script(const StageContext& context, const std::vector<std::string>& more) {
    std::vector<std::string> packages = context.fields->packages.system;
    packages.insert(packages.end(), more.begin(), more.end());
    bool wants_repositories = false;
    const ManagerRow* known = manager_of(context);
    if (known == nullptr) {
        return {};
    }
    const std::string_view column =
        context.base.row != nullptr ? context.base.row->column : std::string_view{};
    for (const auto& wanted : wanted_needs(context)) {
        const NeedCell* cell = find_need(column, wanted.need);
        if (cell != nullptr) {
            const auto words = words_of(cell->packages);
            packages.insert(packages.end(), words.begin(), words.end());
            wants_repositories = wants_repositories || !cell->repositories.empty();
        }
    }
    if (packages.empty()) {
        return {};
    }
    std::string lines;
    const RepositoryRow* repository = find_repository(column);
    if (repository != nullptr && (wants_repositories || context.is_building())) {
        lines += repository->lines;
    }
    const auto& own = context.fields->packages.repositories;
    if (has_encrypted(own) && context.base.agent != "debootstrap") {
        lines += transaction(*known, {"ca-certificates"}); // which a bootstrapped base has
    }
    lines += repository_lines(*known, own);
    ManagerRow manager = *known;
    const std::string after = repository_end_lines(*known, own) + std::string(known->after);
    manager.after = after;
    std::string install(context.fields->packages.recommends ? manager.install_all
                                                            : manager.install);
    if (must_erase(context, packages)) {
        install += " --allowerasing";
    }
    manager.install = install;
    // What an image has beside is not locked: its package manager cannot be asked.
    const bool is_release = context.base.agent == "debootstrap";
    return lines + transaction(manager, std::move(packages), is_release ? context.lock : nullptr);
}

} // namespace cybele::recipes
