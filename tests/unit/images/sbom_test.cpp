// SPDX-License-Identifier: Apache-2.0
// Lists of what is inside, against the fields that SPDX 2.3 (clauses 6, 7 and 11) requires.
#include "images/container/container.hpp"
#include "images/container/metadata.hpp"
#include "images/inspection/sbom.hpp"
#include "support/file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace fs = std::filesystem;
using namespace cybele;
using namespace cybele::images;
using nlohmann::json;

namespace {

PackageList sample_packages() {
    PackageList list;
    list.distribution = "debian";
    list.release = "12";
    list.packages = {{"dpkg", "libstdc++6", "12.2.0-14+deb12u1", "amd64"},
                     {"dpkg", "zlib1g", "1:1.2.13.dfsg-1", "amd64"},
                     {"pip", "Py_Yaml", "6.0", ""}};
    return list;
}

const SbomSubject kSubject{"app", "1.2", 1762600000, "3fa802cc-358b-45e3-bcc0-69dc7a45f9f8"};

json made(const SbomSubject& subject = kSubject) {
    return json::parse(make_sbom(subject, sample_packages()));
}

void has_all(const json& object, const std::set<std::string>& fields) {
    for (const auto& field : fields) {
        CHECK_MESSAGE((object.contains(field) && !object[field].is_null()), field);
    }
}

} // namespace

TEST_CASE("package URLs") {
    const auto list = sample_packages();
    CHECK(package_url(list.packages[0], list) ==
          "pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64&distro=debian-12");
    CHECK(package_url(list.packages[1], list) ==
          "pkg:deb/debian/zlib1g@1:1.2.13.dfsg-1?arch=amd64&distro=debian-12");
    CHECK(package_url(list.packages[2], list) == "pkg:pypi/py-yaml@6.0");
    CHECK(package_url({"rpm", "bash", "5.2-1", "x86_64"}, {}) == "pkg:rpm/bash@5.2-1?arch=x86_64");
    // The epoch of rpm is no part of the version, and everything behind `?` is sorted.
    CHECK(package_url({"rpm", "bind", "32:9.16-1", "x86_64"}, {"rocky", "9.3", "", {}, {}}) ==
          "pkg:rpm/rocky/bind@9.16-1?arch=x86_64&distro=rocky-9.3&epoch=32");
    CHECK(package_url({"apk", "musl", "1.2.4-r2", "x86_64"}, {"alpine", "3.19.1", "", {}, {}}) ==
          "pkg:apk/alpine/musl@1.2.4-r2?arch=x86_64&distro=alpine-3.19.1");
    CHECK(package_url({"conda", "zlib", "1.3", "linux-64"}, {}) ==
          "pkg:conda/zlib@1.3?subdir=linux-64");
    const Package conda{"conda",
                        "zlib",
                        "1.3",
                        "linux-64",
                        {{"type", "conda"}, {"build", "h2_0"}, {"channel", "conda-forge"}}};
    CHECK(package_url(conda, {}) == "pkg:conda/zlib@1.3?build=h2_0&channel=conda-forge&subdir="
                                    "linux-64&type=conda");
}

TEST_CASE("SPDX 2.3: the required fields, and references that exist") {
    const auto document = made();
    has_all(document,
            {"spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"});
    CHECK(document["spdxVersion"] == "SPDX-2.3");
    CHECK(document["dataLicense"] == "CC0-1.0");
    CHECK(document["SPDXID"] == "SPDXRef-DOCUMENT");
    CHECK(document["documentNamespace"] ==
          "https://spdx.org/spdxdocs/app-3fa802cc-358b-45e3-bcc0-69dc7a45f9f8");
    CHECK(document["creationInfo"]["created"] == "2025-11-08T11:06:40Z");
    CHECK(document["creationInfo"]["creators"][0].get<std::string>().starts_with("Tool: "));
    std::set<std::string> ids{"SPDXRef-DOCUMENT"};
    for (const auto& package : document["packages"]) {
        has_all(package, {"SPDXID", "name", "downloadLocation"});
        const auto id = package["SPDXID"].get<std::string>();
        CHECK(id.starts_with("SPDXRef-"));
        CHECK(std::all_of(id.begin(), id.end(), [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
        }));
        CHECK_MESSAGE(ids.insert(id).second, id);
    }
    CHECK(document["packages"].size() == 4);
    std::size_t described = 0;
    for (const auto& relation : document["relationships"]) {
        CHECK(ids.contains(relation["spdxElementId"].get<std::string>()));
        CHECK(ids.contains(relation["relatedSpdxElement"].get<std::string>()));
        described += relation["relationshipType"] == "DESCRIBES" ? 1U : 0U;
    }
    CHECK(described == 1);
}

TEST_CASE("the same input gives the same bytes; another input another name space") {
    auto subject = kSubject;
    subject.unique.clear();
    CHECK(make_sbom(subject, sample_packages()) == make_sbom(subject, sample_packages()));
    const auto space = made(subject)["documentNamespace"].get<std::string>();
    CHECK(space.substr(space.size() - 22, 1) == "8"); // a UUID of version 8
    auto other = subject;
    other.time += 1;
    CHECK(made(other)["documentNamespace"] != space);
}

TEST_CASE("a container carries its list, and it is read again") {
    const auto dir = TempDirectory::make("/var/tmp", "cybele-sbom-");
    REQUIRE(dir);
    const auto root = dir->path() / "root";
    fs::create_directories(root / "var/lib/dpkg");
    std::ofstream(root / "var/lib/dpkg/status")
        << "Package: base\nVersion: 12\nStatus: install ok installed\n";
    Metadata metadata;
    metadata.definition = "Bootstrap: scratch\n";
    REQUIRE(write_metadata(root, metadata));
    NewContainer container;
    container.root = root;
    container.definition = metadata.definition;
    container.is_deterministic = true;
    container.build_time = 1762600000;
    container.name = "app";
    for (const auto* word : {"spdx", "none"}) {
        container.sbom = word;
        const auto path = dir->path() / (std::string(word) + ".sif");
        REQUIRE(write_container(path, container));
        const auto image = Image::open(path);
        REQUIRE(image);
        const auto sboms = read_sboms(*image);
        REQUIRE(sboms);
        if (container.sbom == "none") {
            CHECK(sboms->empty());
            continue;
        }
        REQUIRE(sboms->size() == 1);
        CHECK(sboms->front().object == 4);
        CHECK(sbom_format_name(sboms->front().format) == container.sbom + "-json");
        CHECK(sboms->front().bytes.find("base") != std::string::npos);
        CHECK(json::accept(sboms->front().bytes));
    }
    container.sbom = "cyclonedx";
    CHECK_FALSE(write_container(dir->path() / "other.sif", container).has_value());
}
