// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/doctor.hpp"
#include "diagnostics/examine.hpp"
#include "support/file.hpp"

#include <algorithm>

#include <doctest/doctest.h>
#include <sys/stat.h>

using namespace cybele;
using State = diagnostics::Finding::State;

namespace {

diagnostics::DoctorInput input(EnvironmentMap variables) {
    return {Environment(std::move(variables)), "/nonexistent/bin/cybelectl", {}, {}};
}

const diagnostics::Finding& about(const std::vector<diagnostics::Finding>& findings,
                                  std::string_view subject) {
    const auto found =
        std::find_if(findings.begin(), findings.end(), [&](const diagnostics::Finding& finding) {
            return finding.subject == subject;
        });
    REQUIRE(found != findings.end());
    return *found;
}

std::vector<diagnostics::Finding> places(EnvironmentMap variables) {
    std::vector<diagnostics::Finding> findings;
    diagnostics::examine_places(input(std::move(variables)), findings);
    return findings;
}

std::vector<diagnostics::Finding> network(EnvironmentMap variables) {
    std::vector<diagnostics::Finding> findings;
    diagnostics::examine_network(input(std::move(variables)), findings);
    return findings;
}

} // namespace

TEST_CASE("doctor tells each subject once, and what follows with a remedy for what is missing") {
    const auto findings =
        diagnostics::examine_host(input({{"TMPDIR", "/tmp"}, {"HOME", "/nonexistent"}}));
    std::vector<std::string> subjects;
    for (const auto& finding : findings) {
        CAPTURE(finding.subject);
        CHECK_FALSE(finding.what.empty());
        if (finding.state != State::kOk) {
            CHECK_FALSE(finding.follows.empty());
            CHECK_FALSE(finding.help.empty());
        }
        CHECK(finding.what.find('\n') == std::string::npos);
        subjects.push_back(finding.subject);
    }
    std::sort(subjects.begin(), subjects.end());
    CHECK(std::adjacent_find(subjects.begin(), subjects.end()) == subjects.end());
    for (const char* subject : {"kernel",
                                "user namespaces",
                                "subordinate ids",
                                "FUSE",
                                "loop devices",
                                "images",
                                "mmdebstrap",
                                "apptainer",
                                "mpirun",
                                "PMI",
                                "PMIx",
                                "scheduler",
                                "network helper",
                                "package mirror",
                                "registry logins",
                                "temporary space",
                                "home",
                                "cache",
                                "locale",
                                "certificates"}) {
        CAPTURE(subject);
        CHECK(std::binary_search(subjects.begin(), subjects.end(), subject));
    }
}

TEST_CASE("a needed thing that is missing means that the main job cannot work") {
    diagnostics::Finding finding;
    finding.is_needed = true;
    CHECK(diagnostics::can_do_main_job({finding}));
    finding.state = State::kMissing;
    CHECK_FALSE(diagnostics::can_do_main_job({finding}));
    finding.is_needed = false;
    CHECK(diagnostics::can_do_main_job({finding}));
}

TEST_CASE("folders that are not there, and cannot be made") {
    const auto findings = places({{"HOME", "/proc/none"}, {"TMPDIR", "/proc/none"}});
    CHECK(about(findings, "home").what == "/proc/none is not a folder");
    CHECK(about(findings, "temporary space").state == State::kMissing);
    CHECK(about(findings, "temporary space").what == "/proc/none cannot be made");
    CHECK(about(findings, "cache").state == State::kMissing);
    CHECK(about(findings, "cache").help == "name another: CYBELE_CACHE_DIR=DIR");
    CHECK_FALSE(diagnostics::can_do_main_job(findings));
    CHECK(about(places({}), "home").what.starts_with("HOME is not set"));
}

TEST_CASE("what a file system is, is told") {
    CHECK(diagnostics::file_system_of("/dev/shm").is_memory);
    CHECK(diagnostics::file_system_of("/dev/shm/not/there").name == "tmpfs");
    CHECK(diagnostics::nearest_folder("/usr/none/at/all") == "/usr");
    CHECK(diagnostics::size_text(std::uint64_t{5} << 29U) == "2.5 GiB");
    CHECK(diagnostics::size_text(std::uint64_t{3} << 19U) == "1.5 MiB");
}

TEST_CASE("a locale that is not installed") {
    const auto missing = [](const char* variable, const char* wanted) {
        return diagnostics::missing_locale(Environment(EnvironmentMap{{variable, wanted}}),
                                           "C\nC.utf8\nPOSIX\nen_US.utf8\n");
    };
    CHECK(missing("LC_ALL", "de_DE.UTF-8") == "de_DE.UTF-8");
    CHECK(missing("LANG", "xx_XX") == "xx_XX");
    CHECK(missing("LANG", "en_US.UTF-8").empty());
    CHECK(missing("LC_ALL", "C.UTF-8").empty());
    CHECK(missing("LC_ALL", "POSIX").empty());
    CHECK(missing("OTHER", "xx_XX").empty());
    CHECK(diagnostics::missing_locale(Environment(EnvironmentMap{{"LANG", "xx"}}), "").empty());
}

TEST_CASE("files of logins: none, good, readable by others, no JSON, a program that is missing") {
    const auto folder = TempDirectory::make("/var/tmp", "doctor-test");
    REQUIRE(folder);
    const auto file = folder->path() / "auth.json";
    const EnvironmentMap variables{{"HOME", folder->path()}, {"REGISTRY_AUTH_FILE", file}};
    const auto logins = [&] { return about(network(variables), "registry logins"); };
    CHECK(logins().what.starts_with("none in "));
    REQUIRE(write_file(file, R"({"auths": {"r.example": {"auth": "YTpi"}}})", 0600));
    CHECK(logins().what.starts_with("1 in "));
    REQUIRE(::chmod(file.c_str(), 0644) == 0);
    CHECK(logins().help.starts_with("chmod 600 "));
    REQUIRE(write_file(file, R"({"credsStore": "nowhere"})", 0600));
    CHECK(logins().what.find("docker-credential-nowhere") != std::string::npos);
    REQUIRE(write_file(file, "{", 0600));
    CHECK(logins().what.ends_with("is not a JSON object"));
}

TEST_CASE("a mirror that the settings name counts, and the helper is missed") {
    diagnostics::DoctorInput told = input({{"CYBELE_LIBEXEC", "/nowhere"}});
    told.mirror = "http://mirror.invalid/debian";
    std::vector<diagnostics::Finding> findings;
    diagnostics::examine_network(told, findings);
    CHECK(about(findings, "package mirror").what == "http://mirror.invalid/debian");
    CHECK(about(findings, "network helper").state == State::kNote);
    CHECK(about(findings, "network helper").what.find("/nowhere") != std::string::npos);
}
