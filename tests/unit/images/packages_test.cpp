// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/contents.hpp"
#include "images/inspection/packages.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "tree_sample.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace fs = std::filesystem;
using namespace cybele;
using namespace cybele::images;

namespace {

PackageList packages_of(const fs::path& root) {
    const auto contents = open_contents(root);
    REQUIRE(contents);
    const auto survey = survey_files(contents->root);
    REQUIRE(survey);
    auto list = read_packages(contents->root, *survey);
    REQUIRE(list);
    return *list;
}

} // namespace

TEST_CASE("dpkg: what is installed, and not what is only configured") {
    const auto packages = parse_dpkg_status("Package: bash\nStatus: install ok installed\n"
                                            "Architecture: amd64\nVersion: 5.2.15-2+b2\n"
                                            "Description: shell\n Version: 9 is not it\n\n"
                                            "Package: gone\nStatus: deinstall ok config-files\n"
                                            "Version: 1\n\n"
                                            "Package: held\nVersion: 1:2~rc1\n"
                                            "Status: hold ok installed\n\nPackage: half\n");
    REQUIRE(packages.size() == 2);
    CHECK(packages[0] == Package{"dpkg", "bash", "5.2.15-2+b2", "amd64"});
    CHECK(packages[1] == Package{"dpkg", "held", "1:2~rc1", ""});
}

TEST_CASE("dpkg: this machine's own list is what dpkg-query says") {
    const auto text = read_file("/var/lib/dpkg/status");
    REQUIRE(text);
    std::string ours;
    for (const auto& package : parse_dpkg_status(*text)) {
        ours += package.name + " " + package.version + " " + package.architecture + "\n";
    }
    CHECK(ours == shell("dpkg-query -W -f '${db:Status-Status} ${Package} ${Version} "
                        "${Architecture}\\n' | sed -n 's/^installed //p'"));
}

TEST_CASE("apk, pip and conda") {
    const auto apk = parse_apk_installed("C:Q1abc=\nP:musl\nV:1.2.4-r2\nA:x86_64\nF:lib\n\n"
                                         "P:busybox\nV:1.36.1-r5\n");
    REQUIRE(apk.size() == 2);
    CHECK(apk[0] == Package{"apk", "musl", "1.2.4-r2", "x86_64"});
    CHECK(parse_python_metadata(
              "Metadata-Version: 2.1\nName: numpy\r\nVersion: 1.26.4\n\nName: x\n") ==
          std::vector{Package{"pip", "numpy", "1.26.4", ""}});
    CHECK(parse_python_metadata("Name: only\n").empty());
    CHECK(parse_conda_record(R"({"name":"zlib","version":"1.3","subdir":"linux-64"})") ==
          std::vector{Package{"conda", "zlib", "1.3", "linux-64"}});
    const auto forge = parse_conda_record(
        R"({"name":"zlib","version":"1.3","build":"h2_0","subdir":"linux-64",)"
        R"("channel":"https://conda.example/conda-forge/linux-64","fn":"zlib-1.3-h2_0.conda"})");
    REQUIRE(forge.size() == 1);
    CHECK(forge.front().qualifiers == std::map<std::string, std::string>{{"build", "h2_0"},
                                                                         {"channel", "conda-forge"},
                                                                         {"type", "conda"}});
    for (const auto& [channel, name] :
         {std::pair{"defaults", "defaults"},
          {"https://conda.example/t/group/label/dev/linux-64", "t/group/label/dev"},
          {"file:///home/someone/channel/linux-64", ""}}) {
        const auto record = parse_conda_record(fmt::format(
            R"({{"name":"a","version":"1","subdir":"linux-64","channel":"{}"}})", channel));
        REQUIRE(record.size() == 1);
        const auto found = record.front().qualifiers.find("channel");
        CHECK((found == record.front().qualifiers.end() ? "" : found->second) == name);
    }
    for (const auto* odd : {"", "[]", "{", R"({"name":1})"}) {
        CHECK(parse_conda_record(odd).empty());
    }
}

TEST_CASE("rpm: packages that the real rpm installed, with its own query as the judge") {
    const auto dir = scratch();
    const auto root = dir.path() / "root";
    fs::create_directories(root);
    put(dir.path() / "a.spec",
        "Name: cybele-sample\nVersion: 1.2\nRelease: 3\nEpoch: 4\nSummary: sample\nLicense: none\n"
        "BuildArch: noarch\n%description\nsample\n%install\nmkdir -p %{buildroot}/opt\n"
        "echo 1 >%{buildroot}/opt/sample\n%files\n/opt/sample\n"
        "%package more\nSummary: more\n%description more\nmore\n%files more\n");
    shell(fmt::format("cd {0} && rpmbuild --quiet -bb --define '_topdir {0}/build' a.spec "
                      "2>build.log || {{ cat build.log; exit 1; }}; "
                      "rpm --root {0}/root --dbpath /var/lib/rpm --initdb && "
                      "rpm --root {0}/root --dbpath /var/lib/rpm -i --nodeps --noscripts "
                      "build/RPMS/noarch/*.rpm",
                      dir.path().string()));
    const auto list = packages_of(root);
    std::string ours;
    for (const auto& package : list.packages) {
        ours += package.manager + " " + package.name + " " + package.version + " " +
                package.architecture + "\n";
    }
    CHECK(ours == "rpm cybele-sample 4:1.2-3 noarch\nrpm cybele-sample-more 4:1.2-3 noarch\n");
    CHECK(list.notes.empty());

    auto bytes = *read_file(root / "var/lib/rpm/rpmdb.sqlite");
    for (std::size_t at = 0; at < bytes.size(); at += 331) {
        bytes[at] = static_cast<char>(~bytes[at]);
    }
    CHECK_FALSE(parse_rpm_sqlite(bytes).has_value());
    CHECK_FALSE(parse_rpm_sqlite("no database").has_value());
}

TEST_CASE("rpm: a header that says more than there is") {
    for (const std::string& bytes :
         {std::string(), std::string(7, '\0'), std::string(64, '\xff')}) {
        CHECK(parse_rpm_header(bytes).empty());
    }
    // One entry, whose text lies outside.
    std::string header("\0\0\0\1\0\0\0\4", 8);
    header += std::string("\0\0\x03\xe8\0\0\0\6\0\0\0\x50\0\0\0\1", 16) + "abc";
    CHECK(parse_rpm_header(header + std::string(1, '\0')).empty());
    header[19] = 0;
    CHECK(parse_rpm_header(header + std::string(1, '\0')).front().name == "abc");
}

TEST_CASE("databases of old kinds are told, and a damaged record does not hide the others") {
    const auto dir = scratch();
    put(dir.path() / "var/lib/rpm/Packages", "bdb");
    put(dir.path() / "var/lib/rpm/Packages.db", "ndb");
    put(dir.path() / "var/lib/rpm/rpmdb.sqlite", "damaged");
    put(dir.path() / "var/lib/dpkg/status.d/base",
        "Package: base\nVersion: 12\nStatus: x ok installed\n");
    put(dir.path() / "opt/python/site-packages/a-1.dist-info/METADATA", "Name: a\nVersion: 1\n");
    put(dir.path() / "usr/lib/python3/dist-packages/b.egg-info/PKG-INFO", "Name: b\nVersion: 2\n");
    put(dir.path() / "usr/lib/os-release", "ID=debian\nVERSION_ID=\"12\"\nPRETTY_NAME='D 12'\n");
    fs::create_symlink("../usr/lib/os-release", dir.path() / "etc");
    const auto list = packages_of(dir.path());
    CHECK(list.distribution == "debian");
    CHECK(list.release == "12");
    CHECK(list.packages == std::vector{Package{"dpkg", "base", "12", ""},
                                       Package{"pip", "a", "1", ""},
                                       Package{"pip", "b", "2", ""}});
    REQUIRE(list.notes.size() == 3);
    CHECK(list.notes[0] == "/var/lib/rpm/rpmdb.sqlite is not read: it is not an SQLite file");
    CHECK(list.notes[1].find("Berkeley DB") != std::string::npos);
    CHECK(list.notes[2].find("ndb") != std::string::npos);
}
