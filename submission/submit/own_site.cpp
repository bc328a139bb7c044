// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/own_site.hpp"

#include "images/signatures/trust.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace cybele::submission {

namespace fs = std::filesystem;

namespace {

/// The files of a Policy, as far as it can be read.
void add_policy_files(const fs::path& file, std::vector<fs::path>& files) {
    auto text = read_file(file);
    const auto policy = text ? images::read_policy(std::move(*text), file)
                             : Result<images::Policy>(fail(text.error()));
    if (!policy) {
        return;
    }
    images::TrustRequest request;
    (void)images::add_policy(*policy, request); // missing ones are for who reads them
    for (const auto* list :
         {&request.keys, &request.authorities.roots, &request.authorities.intermediates}) {
        files.insert(files.end(), list->begin(), list->end());
    }
}

} // namespace

fs::path verification_place(const std::string& path, const fs::path& folder, const fs::path& home) {
    return path.starts_with("~/") ? home / path.substr(2) : folder / path;
}

std::vector<fs::path> files_of_site(const launchers::Site& site, const fs::path& home) {
    const auto place = [&](const std::string& path) {
        return verification_place(path, site.folder, home);
    };
    std::vector<fs::path> files{site.source.file()};
    for (const launchers::SiteTemplate& one : site.templates) {
        files.emplace_back(one.file);
    }
    for (const std::string& key : site.verify_keys) {
        files.push_back(place(key));
    }
    if (!site.verify_policy.empty()) {
        files.push_back(place(site.verify_policy));
        add_policy_files(files.back(), files);
    }
    return files;
}

bool is_open_to_all(const fs::path& file) {
    std::error_code error;
    const auto has = [&error](const fs::path& path, fs::perms perms) {
        return (fs::status(path, error).permissions() & perms) != fs::perms::none && !error;
    };
    const fs::path folder = fs::absolute(file, error).parent_path();
    return has(file, fs::perms::others_write) ||
           (has(folder, fs::perms::others_write) && !has(folder, fs::perms::sticky_bit));
}

Faults find_foreign_files(const std::vector<fs::path>& files, const OwnPathRules& rules) {
    Faults faults;
    for (const fs::path& file : files) {
        const auto opened = open_own(file, rules);
        if (!opened && opened.error().code() == ErrorCode::kEnvironment) {
            faults.add(opened.error());
        }
    }
    return faults;
}

Result<void>
check_site_of_settings(const launchers::Site& site, const fs::path& home, const Place& place) {
    const Faults found = find_foreign_files(files_of_site(site, home), {});
    Faults faults("reading the Site");
    for (Fault fault : found.all()) {
        fault.where = place;
        if (fault.id == "path-not-trusted") {
            fault.help = "ask its owner to remove that permission, or the administrator to own it; "
                         "or name another Site: --site FILE";
        }
        faults.add(std::move(fault));
    }
    return faults.has_errors() ? Result<void>(fail(faults.take())) : Result<void>();
}

} // namespace cybele::submission
