// SPDX-License-Identifier: Apache-2.0
#include "pipeline/python_packages.hpp"

#include "recipes/forms/requirements.hpp"
#include "recipes/forms/words.hpp"
#include "recipes/tables/r_packages.hpp"
#include "support/characters.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace cybele::pipeline {
namespace {

/// What Debian 12 has of PyPI's packages.
struct DebianRow {
    std::string_view package; ///< on PyPI
    std::string_view debian;
    std::string_view version;
};
constexpr DebianRow kDebian[] = {
    {"click", "python3-click", "8.1.3"},
    {"dask", "python3-dask", "2022.12.1"},
    {"h5py", "python3-h5py", "3.7.0"},
    {"jinja2", "python3-jinja2", "3.1.2"},
    {"matplotlib", "python3-matplotlib", "3.6.3"},
    {"mpi4py", "python3-mpi4py", "3.1.4"},
    {"netcdf4", "python3-netcdf4", "1.6.2"},
    {"networkx", "python3-networkx", "2.8.8"},
    {"numba", "python3-numba", "0.56.4"},
    {"numpy", "python3-numpy", "1.24.2"},
    {"pandas", "python3-pandas", "1.5.3"},
    {"pillow", "python3-pil", "9.4.0"},
    {"psutil", "python3-psutil", "5.9.4"},
    {"pyyaml", "python3-yaml", "6.0"},
    {"requests", "python3-requests", "2.28.1"},
    {"scikit-learn", "python3-sklearn", "1.2.1"},
    {"scipy", "python3-scipy", "1.10.1"},
    {"setuptools", "python3-setuptools", "66.1.1"},
    {"sympy", "python3-sympy", "1.11.1"},
    {"torch", "python3-torch", "1.13.1"},
    {"tqdm", "python3-tqdm", "4.64.1"},
    {"xarray", "python3-xarray", "2023.1.0"},
    {"zarr", "python3-zarr", "2.13.6"},
};

/// What else a package of pip requires in the image.
struct CompanyRow {
    std::string_view package;
    std::string_view needs; ///< blanks between
    std::string_view because;
};
constexpr CompanyRow kCompany[] = {
    {"mpi4py", "openmpi-devel python-devel toolchain-c++", "pip may have to compile it"},
    {"pyspark", "java-headless ps", "Spark runs in Java"},
};

const DebianRow* debian_row(std::string_view package) {
    return find_row(kDebian, package, &DebianRow::package);
}

void add_once(std::vector<std::string>& list, std::string_view item) {
    if (!contains(list, item)) {
        list.emplace_back(item);
    }
}

std::string_view without_blanks(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// The numbers of a version, or nothing where it is more than numbers.
std::vector<unsigned long> numbers_of(std::string_view version) {
    std::vector<unsigned long> numbers;
    for (const std::string_view part : text::split_terminated(version, '.')) {
        const bool is_number = !part.empty() && part.size() <= 9 &&
                               std::ranges::all_of(part, [](char c) { return is_digit(c); });
        if (!is_number) {
            return {};
        }
        numbers.push_back(std::stoul(std::string(part)));
    }
    return numbers;
}

/// Below 0, 0, above 0; missing numbers are 0.
int compare(std::vector<unsigned long> left, std::vector<unsigned long> right) {
    const std::size_t size = std::max(left.size(), right.size());
    left.resize(size);
    right.resize(size);
    return left < right ? -1 : left == right ? 0 : 1;
}

bool has_prefix(const std::vector<unsigned long>& version,
                const std::vector<unsigned long>& prefix) {
    return prefix.size() <= version.size() &&
           std::equal(prefix.begin(), prefix.end(), version.begin());
}

bool fulfils_one(const std::vector<unsigned long>& version, std::string_view condition) {
    condition = without_blanks(condition);
    const std::size_t length = condition.find_first_not_of("=<>!~");
    if (length == 0 || length == std::string_view::npos) {
        return false;
    }
    const std::string_view sign = condition.substr(0, length);
    std::string_view wanted = without_blanks(condition.substr(length));
    const bool is_prefix = wanted.ends_with(".*");
    wanted.remove_suffix(is_prefix ? 2 : 0);
    const auto numbers = numbers_of(wanted);
    if (numbers.empty()) {
        return false;
    }
    const int order = compare(version, numbers);
    const bool is_equal = is_prefix ? has_prefix(version, numbers) : order == 0;
    if (sign == "==") {
        return is_equal;
    }
    if (sign == "!=") {
        return !is_equal;
    }
    if (sign == "~=") {
        const std::vector<unsigned long> series(numbers.begin(), numbers.end() - 1);
        return numbers.size() > 1 && order >= 0 && has_prefix(version, series);
    }
    return sign == ">="   ? order >= 0
           : sign == "<=" ? order <= 0
           : sign == ">"  ? order > 0
                          : sign == "<" && order < 0;
}

/// What follows the name: conditions alone, or something that only pip understands.
std::string_view conditions_of(std::string_view requirement) {
    const std::size_t end = requirement.find_first_of(" =<>!~[;@");
    return end == std::string_view::npos ? std::string_view()
                                         : without_blanks(requirement.substr(end));
}

/// A requirement for a message: without its checksums.
std::string shown(const std::string& requirement) {
    return printable(requirement.substr(0, requirement.find(" --hash=")));
}

} // namespace

bool fulfils(std::string_view version, std::string_view conditions) {
    if (conditions.find_first_of("[;@#") != std::string_view::npos ||
        conditions.find("--") != std::string_view::npos) {
        return false;
    }
    const auto numbers = numbers_of(version);
    const auto parts = text::split_terminated(conditions, ',');
    return std::ranges::all_of(parts,
                               [&](std::string_view part) { return fulfils_one(numbers, part); });
}

void PythonPackages::take_debian(std::string_view package, const std::string& requirement) {
    const DebianRow& row = *debian_row(package);
    add_once(draft_.packages.system, row.debian);
    const bool is_plain = requirement == package;
    assumed_.push_back(shown(requirement) + ": Debian 12's " + std::string(row.debian) + " " +
                       std::string(row.version) +
                       (is_plain ? ", since no version is asked for" : ", which fits"));
}

void PythonPackages::take_pip(const std::string& requirement) {
    draft_.packages.pip.push_back(recipes::literal(requirement));
    const std::string package = recipes::requirement_name(requirement);
    for (const CompanyRow& row : kCompany) {
        if (row.package == package) {
            for (const std::string_view need : text::split_terminated(row.needs, ' ')) {
                add_once(draft_.packages.needs, need);
            }
            assumed_.push_back(package + ": " + std::string(row.needs) + " in the image, since " +
                               std::string(row.because));
        }
    }
}

void PythonPackages::add(const std::string& requirement, const std::string& origin) {
    const std::string package = recipes::requirement_name(requirement);
    const auto [known, is_new] = known_.emplace(package, requirement);
    if (!is_new) {
        if (known->second != requirement && !conditions_of(requirement).empty()) {
            assumed_.push_back(shown(requirement) + " (" + printable(origin) +
                               ") is not used: " + shown(known->second) + " is listed before it");
        }
        return;
    }
    const DebianRow* row = debian_row(package);
    if (row != nullptr && fulfils(row->version, conditions_of(requirement))) {
        take_debian(package, requirement);
        return;
    }
    take_pip(requirement);
    assumed_.push_back(shown(requirement) + " (" + printable(origin) + "): from PyPI, " +
                       (row == nullptr ? "since Debian 12 does not have it as a known package"
                                       : "since Debian 12 has " + std::string(row->version)));
}

void PythonPackages::add_import(const std::string& package, const std::string& origin) {
    if (!has(package)) {
        add(package, origin);
    }
}

void PythonPackages::add_r(const std::string& name,
                           const std::string& conditions,
                           const std::string& origin) {
    const auto row = name == "r-base" ? recipes::DebianRPackage{"r-base-core", "4.2.2"}
                                      : recipes::find_r_package(name.substr(name.find('-') + 1))
                                            .value_or(recipes::DebianRPackage());
    std::string version(row.version);
    std::replace(version.begin(), version.end(), '-', '.');
    if (row.package.empty() || !fulfils(version, conditions)) {
        assumed_.push_back(printable(name + conditions) + " (" + printable(origin) +
                           ") is not in the image, since " +
                           (row.package.empty() ? "Debian 12 does not have it"
                                                : "Debian 12 has " + std::string(row.version)) +
                           "; install it in a step");
        return;
    }
    add_once(draft_.packages.system, "r-base-core");
    add_once(draft_.packages.system, row.package);
    assumed_.push_back(printable(name + conditions) + ": Debian 12's " + std::string(row.package) +
                       " " + std::string(row.version));
}

bool PythonPackages::has(std::string_view package) const {
    return known_.contains(package);
}

std::vector<std::string> pyproject_requirements(std::string_view text) {
    std::vector<std::string> list;
    bool is_project = false;
    bool is_list = false;
    for (const std::string_view row : text::split_terminated(text, '\n')) {
        std::string_view line = without_blanks(row);
        if (!is_list && line.starts_with('[')) {
            is_project = line.starts_with("[project]");
            continue;
        }
        if (!is_list) {
            const std::size_t equals = line.find('=');
            is_list = is_project && equals != std::string_view::npos &&
                      without_blanks(line.substr(0, equals)) == "dependencies";
            line = is_list ? without_blanks(line.substr(equals + 1)) : std::string_view();
            line.remove_prefix(line.starts_with('[') ? 1 : 0);
        }
        while (is_list && !line.empty() && line.front() != '#') {
            if (line.front() == ']') {
                is_list = false;
            } else if (line.front() == '"' || line.front() == '\'') {
                const std::size_t end = line.find(line.front(), 1);
                if (end == std::string_view::npos) {
                    break;
                }
                list.emplace_back(line.substr(1, end - 1));
                line.remove_prefix(end);
            }
            line.remove_prefix(1);
        }
    }
    return list;
}

} // namespace cybele::pipeline
