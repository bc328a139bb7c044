// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/packages.hpp"

#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::images {
namespace {

constexpr std::size_t kLargestRecord = std::size_t{256} << 20U; // rpm's database is one file

using Parser = Result<std::vector<Package>> (*)(std::string bytes);

template <std::vector<Package> (*Parse)(std::string_view)>
Result<std::vector<Package>> parse_text(std::string bytes) { // NOLINT: as every Parser
    return Parse(bytes);
}

// A manager's record at a place of its own.
struct Record {
    std::string_view path;
    Parser parse; ///< null: see because
    const char* because;
};
constexpr std::array kRecords = {
    Record{"/var/lib/dpkg/status", parse_text<parse_dpkg_status>, nullptr},
    Record{"/lib/apk/db/installed", parse_text<parse_apk_installed>, nullptr},
    Record{"/usr/lib/apk/db/installed", parse_text<parse_apk_installed>, nullptr},
    Record{"/var/lib/rpm/rpmdb.sqlite", parse_rpm_sqlite, nullptr},
    Record{"/usr/lib/sysimage/rpm/rpmdb.sqlite", parse_rpm_sqlite, nullptr},
    Record{"/var/lib/rpm/Packages", nullptr, "it is a Berkeley DB, as rpm before 4.16 keeps it"},
    Record{"/var/lib/rpm/Packages.db", nullptr, "it is rpm's ndb format"},
    Record{"/usr/lib/sysimage/rpm/Packages.db", nullptr, "it is rpm's ndb format"},
};
constexpr std::string_view kDistroless = "/var/lib/dpkg/status.d"; // a stanza a file

// A record that can be found anywhere, by the survey.
struct Scattered {
    Evidence clue;
    std::vector<Package> (*parse)(std::string_view text);
};
constexpr std::array kScattered = {
    Scattered{Evidence::kPipPackage, parse_python_metadata},
    Scattered{Evidence::kCondaPackage, parse_conda_record},
};

class Collector {
public:
    explicit Collector(PackageList& list) : list_(list) {}

    void take(std::vector<Package> packages) {
        std::move(packages.begin(), packages.end(), std::back_inserter(list_.packages));
    }
    void note(std::string_view path, std::string_view because) {
        list_.notes.push_back(fmt::format("{} is not read: {}", printable(path), because));
    }
    // Damage of one record does not hide the others.
    void take(std::string_view path, const Result<std::vector<Package>>& packages) {
        if (packages) {
            take(*packages);
        } else {
            const auto& fault = packages.error().faults().front();
            note(path, fault.because.empty() ? fault.message : fault.because);
        }
    }
    void take_record(const FilePointer& root, const Record& record) {
        const auto node = find_file(root, record.path);
        if (!node || !*node || !(*node)->status().is_regular()) {
            return;
        }
        if (record.parse == nullptr) {
            note(record.path, record.because);
            return;
        }
        auto bytes = read_node(**node, kLargestRecord);
        take(record.path,
             bytes ? record.parse(std::move(*bytes))
                   : Result<std::vector<Package>>(tl::unexpected(bytes.error())));
    }

private:
    PackageList& list_;
};

std::string unquoted(std::string_view value) {
    const bool is_quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
                           value.back() == value.front();
    return std::string(is_quoted ? value.substr(1, value.size() - 2) : value);
}

void read_distribution(const FilePointer& root, PackageList& list) {
    for (const char* path : {"/etc/os-release", "/usr/lib/os-release"}) {
        const auto text = read_file_at(root, path).value_or(std::nullopt);
        if (text) {
            static_cast<Release&>(list) = parse_release(*text);
            return;
        }
    }
}

} // namespace

Release parse_release(std::string_view text) {
    Release release;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        const auto line = text.substr(at, end - at);
        const auto equals = line.find('=');
        const auto key = line.substr(0, equals);
        if (equals != std::string_view::npos) {
            const auto value = unquoted(line.substr(equals + 1));
            if (key == "ID") {
                release.distribution = value;
            } else if (key == "VERSION_ID") {
                release.release = value;
            } else if (key == "PRETTY_NAME") {
                release.name = value;
            }
        }
        at = end + 1;
    }
    return release;
}

Result<PackageList> read_packages(const FilePointer& root, const Survey& survey) {
    PackageList list;
    Collector collector(list);
    read_distribution(root, list);
    for (const auto& record : kRecords) {
        collector.take_record(root, record);
    }
    CYBELE_TRY(const auto distroless, find_file(root, kDistroless));
    if (distroless) {
        CYBELE_TRY(const auto files, distroless->children());
        for (const auto& file : files) {
            if (file->status().is_regular() && !file->name().ends_with(".md5sums")) {
                const auto path = fmt::format("{}/{}", kDistroless, file->name());
                collector.take_record(root, {path, parse_text<parse_dpkg_status>, nullptr});
            }
        }
    }
    for (const auto& scattered : kScattered) {
        const auto found = survey.find(scattered.clue);
        if (found == survey.end()) {
            continue;
        }
        for (const auto& file : found->second) {
            auto text = read_node(*file.node);
            collector.take(file.path, text.map([&](const std::string& bytes) {
                return scattered.parse(bytes);
            }));
        }
    }
    auto& packages = list.packages;
    std::sort(packages.begin(), packages.end());
    packages.erase(std::unique(packages.begin(), packages.end()), packages.end());
    return list;
}

} // namespace cybele::images
