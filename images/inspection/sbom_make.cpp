// SPDX-License-Identifier: Apache-2.0
// SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3/).
#include "images/inspection/inspect_json.hpp"
#include "images/inspection/sbom.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/json.hpp"

#include <array>
#include <cctype>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace cybele::images {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kNoAssertion = "NOASSERTION";

struct UrlType {
    std::string_view manager;
    std::string_view type;
    bool has_distribution; ///< as name space, and in a qualifier
};
constexpr std::array kUrlTypes = {
    UrlType{"dpkg", "deb", true},
    UrlType{"rpm", "rpm", true},
    UrlType{"apk", "apk", true},
    UrlType{"pip", "pypi", false},
    UrlType{"conda", "conda", false},
};

/// Package URLs leave the colon as it is, too.
std::string url_part(std::string_view text) {
    return percent_encoded(text, "-._~:");
}

// PyPI's names: lower case, `_` is `-`.
std::string pypi_name(std::string name) {
    for (auto& c : name) {
        c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return name;
}

// SPDXRef- takes letters, digits, `.` and `-` only; the number keeps them apart.
std::string reference(std::size_t number, const Package& package) {
    std::string name;
    for (const char c : package.name) {
        name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' ? c : '-';
    }
    return fmt::format("{}-{}-{}", number, package.manager, name);
}

// A UUID of the free form (version 8) from what the list says.
std::string derived_uuid(const SbomSubject& subject, const PackageList& list) {
    auto text = fmt::format("{}\n{}\n{}\n", subject.name, subject.version, subject.time);
    for (const auto& package : list.packages) {
        text += package_url(package, list) + "\n";
    }
    auto bytes = sha256(text);
    bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0FU) | 0x80U);
    bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3FU) | 0x80U);
    const auto digits = hex(bytes);
    return fmt::format("{}-{}-{}-{}-{}",
                       digits.substr(0, 8),
                       digits.substr(8, 4),
                       digits.substr(12, 4),
                       digits.substr(16, 4),
                       digits.substr(20, 12));
}

std::string iso_time(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    return ::gmtime_r(&time, &parts) == nullptr ? "1970-01-01T00:00:00Z"
                                                : fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", parts);
}

OrderedJson spdx_package(std::string id, const std::string& name, const std::string& version) {
    OrderedJson json;
    json["SPDXID"] = "SPDXRef-" + std::move(id);
    json["name"] = name;
    if (!version.empty()) {
        json["versionInfo"] = version;
    }
    json["downloadLocation"] = kNoAssertion;
    json["filesAnalyzed"] = false;
    json["licenseConcluded"] = kNoAssertion;
    json["licenseDeclared"] = kNoAssertion;
    json["copyrightText"] = kNoAssertion;
    return json;
}

OrderedJson spdx_relation(const std::string& from, const char* type, const std::string& to) {
    return {{"spdxElementId", from}, {"relationshipType", type}, {"relatedSpdxElement", to}};
}

OrderedJson spdx(const SbomSubject& subject, const PackageList& list, const std::string& unique) {
    const std::string image = "SPDXRef-image";
    OrderedJson json;
    json["spdxVersion"] = "SPDX-2.3";
    json["dataLicense"] = "CC0-1.0";
    json["SPDXID"] = "SPDXRef-DOCUMENT";
    json["name"] = subject.name;
    json["documentNamespace"] =
        fmt::format("https://spdx.org/spdxdocs/{}-{}", url_part(subject.name), unique);
    json["creationInfo"]["created"] = iso_time(subject.time);
    json["creationInfo"]["creators"] = {"Tool: cybelectl-" CYBELE_VERSION};
    json["packages"] = OrderedJson::array({spdx_package("image", subject.name, subject.version)});
    json["packages"][0]["primaryPackagePurpose"] = "CONTAINER";
    json["relationships"] =
        OrderedJson::array({spdx_relation("SPDXRef-DOCUMENT", "DESCRIBES", image)});
    std::size_t number = 0;
    for (const auto& package : list.packages) {
        auto one = spdx_package(reference(++number, package), package.name, package.version);
        one["externalRefs"] =
            OrderedJson::array({{{"referenceCategory", "PACKAGE-MANAGER"},
                                 {"referenceType", "purl"},
                                 {"referenceLocator", package_url(package, list)}}});
        json["relationships"].push_back(
            spdx_relation(image, "CONTAINS", one["SPDXID"].get<std::string>()));
        json["packages"].push_back(std::move(one));
    }
    return json;
}

} // namespace

std::string package_url(const Package& package, const PackageList& list) {
    const UrlType* type = &kUrlTypes.front();
    for (const auto& one : kUrlTypes) {
        type = one.manager == package.manager ? &one : type;
    }
    auto qualifiers = package.qualifiers; // written in their order
    std::string version = package.version;
    const auto colon = version.find(':');
    if (type->manager == "rpm" && colon != std::string::npos) {
        qualifiers["epoch"] = version.substr(0, colon);
        version.erase(0, colon + 1);
    }
    if (!package.architecture.empty()) {
        qualifiers[type->manager == "conda" ? "subdir" : "arch"] = package.architecture;
    }
    auto url = fmt::format("pkg:{}/", type->type);
    if (type->has_distribution && !list.distribution.empty()) {
        url += url_part(list.distribution) + "/";
        if (!list.release.empty()) {
            qualifiers["distro"] = list.distribution + "-" + list.release;
        }
    }
    url += url_part(type->type == "pypi" ? pypi_name(package.name) : package.name);
    url += "@" + url_part(version);
    std::string separator = "?";
    for (const auto& [name, value] : qualifiers) {
        url += separator + name + "=" + url_part(value);
        separator = "&";
    }
    return url;
}

std::string make_sbom(const SbomSubject& subject, const PackageList& packages) {
    const auto unique = subject.unique.empty() ? derived_uuid(subject, packages) : subject.unique;
    return json_text(spdx(subject, packages, unique)) + "\n";
}

} // namespace cybele::images
