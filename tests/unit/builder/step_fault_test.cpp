// SPDX-License-Identifier: Apache-2.0
// What a person reads of a step that failed, by the end of its output.
#include "builder/pack/step_fault.hpp"
#include "builder/request/request.hpp"
#include "builder/steps/step_log.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "support/file.hpp"
#include "temporary.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

namespace {

struct Failed {
    TempDirectory folder = temporary();
    BuildRequest request;
    definitions::Section section;
    std::string name = "%post 2 of 3";
    ScriptEnd end;
    bool is_cached = false;
    fs::path certificates;

    Failed() {
        request.source.file = folder.path() / "app.def";
        section.name = "post";
        section.line = 7;
        end.code = 3;
    }
    [[nodiscard]] Fault fault() const {
        return step_fault(request, {section, name, end, folder.path(), is_cached, certificates})
            .faults()
            .front();
    }
    [[nodiscard]] std::string id(const std::string& lines) {
        end.last_lines = lines;
        return fault().id;
    }
};

} // namespace

TEST_CASE("a failed step: its code or signal, its section and its line") {
    Failed at;
    CHECK(at.fault().message == "%post 2 of 3 failed with exit code 3");
    CHECK(at.fault().code == ErrorCode::kExecution);
    REQUIRE(at.fault().where);
    CHECK(at.fault().where->line == 7);
    CHECK(at.fault().where->text == "%post");
    at.section.arguments = "-c /bin/bash";
    CHECK(at.fault().where->text == "%post -c /bin/bash");
    at.end.code = 128;
    CHECK(at.fault().message == "%post 2 of 3 failed with exit code 128");
    at.end.code = 129;
    CHECK(at.fault().message == "%post 2 of 3 was killed by signal 1");
    at.end.code = namespaces::kTimeIsUp;
    at.request.steps.timeout = 60;
    CHECK(at.fault().id == "step-too-slow");
    CHECK(at.fault().message == "%post 2 of 3 did not end within 60 s");
    CHECK(at.fault().help == "give it more with --timeout");
    at.section.line = 0; // made by a program
    CHECK_FALSE(at.fault().where);
}

TEST_CASE("a failed step of a Recipe is named by the words of the Recipe") {
    Failed at;
    REQUIRE(write_file(at.request.source.file, "one\ntwo\n  three: 3\nfour"));
    at.request.source.has_context_rules = true;
    at.section.line = 3;
    CHECK(at.fault().message == "the step failed with exit code 3");
    CHECK(at.fault().where->text == "  three: 3");
    at.section.line = 1;
    CHECK(at.fault().where->text == "one");
    at.section.line = 4;
    CHECK(at.fault().where->text == "four");
    at.section.line = 9;
    CHECK(at.fault().where->text.empty());
    at.section.name = "test";
    CHECK(at.fault().message == "`test` failed with exit code 3");
    at.section.line = 0;
    CHECK(at.fault().message == "%post 2 of 3 failed with exit code 3");
}

TEST_CASE("the end of a step's output says what helps") {
    Failed at;
    CHECK(at.id("  gcc: error: x") == "step-failed");
    CHECK(at.fault().because == "the end of its output:\n  gcc: error: x");
    CHECK(at.id("  E: Unable to locate package nosuch") == "step-package-missing");
    CHECK(at.fault().subject == "nosuch");
    CHECK(at.id("  E: Version '9' for 'bc' was not found") == "step-version-missing");
    CHECK(at.fault().subject == "bc");
    CHECK(at.id("  numpy: locked 1.0, got 1.1") == "step-version-differs");
    CHECK(at.id("  E: The repository 'http://x' is not signed.") == "step-repository-refused");
    CHECK(at.fault().code == ErrorCode::kVerification);
    for (const char* words : {"Temporary failure resolving 'x'",
                              "Temporary failure in name resolution",
                              "Could not resolve host: x",
                              "Couldn't resolve host",
                              "wget: unable to resolve host address 'a.example'",
                              "Could not connect to x",
                              "Couldn't connect to server",
                              "Unable to connect to x",
                              "Failed to connect to x",
                              "Failed to establish a new connection",
                              "Network is unreachable",
                              "Connection timed out"}) {
        CHECK_MESSAGE(at.id(words) == "step-without-network", words);
        CHECK(at.fault().because.starts_with("the network was not reached; "));
        CHECK(at.fault().help.starts_with("build where the network is reached"));
    }
    for (const char* words : {"CERTIFICATE_VERIFY_FAILED",
                              "certificate verify failed",
                              "unable to get local issuer certificate",
                              "self-signed certificate in certificate chain",
                              "server certificate verification failed",
                              "Certificate verification failed",
                              "unable to find valid certification path"}) {
        CHECK_MESSAGE(at.id(words) == "step-certificate-unknown", words);
    }
    CHECK(at.fault().help.ends_with("`--ca-file FILE`"));
    at.certificates = "/etc/ssl/own.pem";
    CHECK(at.fault().help.ends_with("`--ca-file /etc/ssl/own.pem` has those of this machine"));
    CHECK(at.id("cp: write error: No space left on device") == "step-without-space");
    at.end.code = namespaces::kTimeIsUp; // a time limit has its own remedy
    CHECK(at.id("Connection timed out") == "step-without-network");
    CHECK(at.fault().help == "give it more with --timeout");
}

TEST_CASE("a step that printed nothing, or whose output the user saw, is not quoted") {
    Failed at;
    CHECK(at.fault().because == "it printed nothing");
    CHECK(at.fault().help.starts_with("add `set -x`"));
    at.end.last_lines = "  x";
    CHECK(at.fault().help == "-v shows the complete output");
    at.request.reporter.output = StepOutput::kErrors;
    CHECK(at.fault().because.empty());
    CHECK(at.fault().help.empty());
    at.end.last_lines = "Network is unreachable";
    CHECK(at.fault().because == "the network was not reached");
    at.end.last_lines.clear();
    CHECK(at.fault().because.empty());
    at.is_cached = true;
    CHECK(at.fault().help.ends_with("app.def --shell"));
    CHECK(at.fault().help.starts_with("cybelectl build "));
    at.end.last_lines = "E: Unable to locate package a";
    CHECK(at.fault().help.starts_with("correct its name"));
    CHECK(at.fault().help.find("; to look at the step: `cybelectl build ") != std::string::npos);
}

TEST_CASE("the last lines of an output, as a terminal showed them") {
    CHECK(last_lines("a\nb\nc\n", 2) == "  b\n  c");
    CHECK(last_lines("a\nb\nc", 3) == "  a\n  b\n  c");
    CHECK(last_lines("", 3).empty());
    CHECK(last_lines(" \n\t\r\n\n", 3).empty());
    CHECK(last_lines("10%\r50%\r100%\r\n", 3) == "  100%");
    CHECK(last_lines("\ta\tb \n", 3) == "   a b");
    CHECK(missing_package("W: Unable to locate package a").empty());
    CHECK(missing_package("E: Package 'a' has no installation candidate") == "a");
    CHECK(missing_package("E: was not found").empty());
    CHECK(missing_package("E: it's was not found").empty());
    CHECK_FALSE(differs_from_lock("a b: locked 1, got 2"));
    CHECK_FALSE(differs_from_lock("a: locked 1"));
    CHECK_FALSE(is_version_missing("E: Version '1' for 'a' was not found, or"));
    for (const char* refused : {"W: x is not signed.",
                                "E: x is expired (invalid since 1d)",
                                "E: x is not valid yet",
                                "x no longer signed.",
                                "repomd.xml GPG signature verification error",
                                "a but GPG signature is not available",
                                "GPG check FAILED",
                                "a-1.rpm is not signed"}) {
        const std::string found = refused_repository("ok\n  " + std::string(refused) + "\n");
        CHECK_MESSAGE(!found.empty(), refused);
        CHECK_FALSE(found.starts_with("E: "));
        CHECK_FALSE(found.starts_with("W: "));
    }
    CHECK(refused_repository("x is signed").empty());
}
