// SPDX-License-Identifier: Apache-2.0
// Real builds: a tree with a static busybox, as root and as a user with subordinate ids.
#include "bench.hpp"
#include "builder/steps/inside.hpp"
#include "images/inspection/inspect.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "tests/unit/namespaces/old_kernel.hpp"

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

namespace {

const std::string kWhole = kBase + kInstall +
                           "%post\n"
                           "test \"$(id -u)\" = 0\n"
                           "test \"$(umask)\" = 0022\n"
                           "test -c /dev/null\n"
                           "test \"$PWD\" = /\n"
                           "test -z \"$CYBELE_TMPDIR\"\n"
                           "echo hello > /made\n"
                           "chown 33:44 /made\n"
                           "echo 'export FROM_POST=yes' >> $APPTAINER_ENVIRONMENT\n"
                           "echo 'post-label yes' >> $APPTAINER_LABELS\n"
                           "%environment\nexport GREETING='good day'\n"
                           "%labels\nOwner me\n"
                           "%runscript\necho \"$GREETING\"\n"
                           "%test\n"
                           "test \"$GREETING\" = 'good day'\n"
                           "test \"$FROM_POST\" = yes\n"
                           "test \"$(stat -c %u:%g /made)\" = 33:44\n"
                           "! touch /read-only 2> /dev/null\n"
                           "touch /tmp/writable\n";

/// Builds kWhole and an image from it; 0 when all is as it should be.
int build_twice(Bench& bench) {
    const auto built = build(bench.request(kWhole), bench.environment);
    if (!built) {
        MESSAGE(built.error().message(), built.error().faults().front().because);
        return 1;
    }
    const std::string second = "Bootstrap: localimage\nFrom: out.sif\n"
                               "%test\ntest \"$(stat -c %u:%g /made)\" = 33:44\ntest -x /bin/ls\n";
    const auto again = build(bench.request(second, "second.sif"), bench.environment);
    if (!again) {
        MESSAGE(again.error().message(), again.error().faults().front().because);
        return 2;
    }
    const auto image = images::Image::open(built->image);
    if (!image || !image->primary_partition()) {
        return 3;
    }
    const auto facts = images::inspect_image(*image);
    const bool is_right =
        facts && facts->labels.at("Owner") == "me" && facts->labels.at("post-label") == "yes" &&
        facts->runscript.find("GREETING") != std::string::npos && facts->definition == kWhole;
    return is_right ? 0 : 4;
}

} // namespace

TEST_CASE("a whole image, and an image from it, with nothing left behind") {
    Bench bench;
    CHECK(build_twice(bench) == 0);
    bench.check_clean();
}

TEST_CASE("the same as an ordinary user, byte for byte") {
    Bench bench;
    CHECK(as_user(bench.here, [&] { return build_twice(bench); }) == 0);
    bench.check_clean();
    Bench own;
    REQUIRE(build_twice(own) == 0);
    const auto one = sha256_file(bench.here / "out.sif");
    const auto other = sha256_file(own.here / "out.sif");
    REQUIRE((one && other));
    CHECK(hex(*one) == hex(*other));
}

TEST_CASE("builds need no system call that is newer than Linux 4.18") {
    if (::geteuid() != 0) {
        return; // the filter takes newuidmap's privilege
    }
    Bench bench;
    const pid_t child = ::fork();
    if (child == 0) {
        tiny::forget_new_calls(ENOSYS);
        const int code = build_twice(bench);
        const auto steps = static_cast<int>(bench.steps.size());
        bench.steps.clear();
        auto again = bench.request(kWhole);
        again.force = true;
        const auto tells = [&](const char* word) {
            return build(again, bench.environment).has_value() &&
                   bench.steps.back().find(word) != std::string::npos;
        };
        bool is_reused = tells("in place");
        fs::remove(again.output);
        is_reused = is_reused && tells("reused");
        ::_exit(code != 0 ? code : (steps > 0 && is_reused ? 0 : 9));
    }
    CHECK(wait_for(child) == 0);
    bench.check_clean();
}

TEST_CASE("a step that fails: section, line, code, the end of its output; nothing left") {
    Bench bench;
    auto request =
        bench.request(kBase + kInstall + "%test\ntrue\n%post\nseq 100\nsh -c 'exit 7'\n");
    for (auto& section : request.source.definition.stages[0].sections) {
        section.is_self_contained = true;
    }
    const auto built = build(request, bench.environment);
    REQUIRE_FALSE(built);
    const Fault& fault = built.error().faults().front();
    CHECK(fault.code == ErrorCode::kExecution);
    CHECK(fault.message == "%post 2 of 2 failed with exit code 7");
    CHECK(fault.where.value_or(Place{}).line == 9);
    CHECK(fault.because.find("  100\n") != std::string::npos);
    CHECK(fault.because.find("  81\n") == std::string::npos);
    CHECK_FALSE(fs::exists(request.output));
    bench.check_clean();
    const auto tested =
        build(bench.request(kBase + kInstall + "%test\nexit 3\n"), bench.environment);
    REQUIRE_FALSE(tested);
    CHECK(tested.error().message() == "%test failed with exit code 3");
    auto untested = bench.request(kBase + kInstall + "%test\nexit 3\n");
    untested.steps.runs_tests = false;
    CHECK(build(untested, bench.environment));
}

TEST_CASE("stages: files are taken from an earlier one, only the last is kept") {
    Bench bench;
    const std::string text =
        "Bootstrap: scratch\nStage: make\n" + kBase.substr(kBase.find("%files")) + kInstall +
        "%post\nmkdir /out; echo x > /out/x; chown 5:6 /out/x; ln -s x /out/l\n" + kBase +
        "%files from make\n/out /opt\n%test\n"
        "/bin/busybox test -L /opt/l\n/bin/busybox test ! -e /out\n"
        "test \"$(/bin/busybox stat -c %u:%g /opt/x)\" = 5:6\n";
    const auto built = build(bench.request(text), bench.environment);
    CHECK_MESSAGE(built,
                  (built ? "" : built.error().message() + built.error().faults().front().because));
}

TEST_CASE("stages: a stage copies files of its own, and none of a later one") {
    Bench bench;
    const std::string make = "Bootstrap: scratch\nStage: make\n";
    const auto own = build(bench.request(make + kBase.substr(kBase.find("%files")) +
                                         "%files from make\n/.singularity.d/env /own\n" + kInstall +
                                         "%test\n/bin/busybox test -d /own\n"),
                           bench.environment);
    CHECK_MESSAGE(own, (own ? "" : own.error().message()));
    auto request =
        bench.request("Bootstrap: scratch\nStage: one\n%files from make\n/out /opt\n" + make);
    request.force = true;
    const auto later = build(request, bench.environment);
    REQUIRE_FALSE(later);
    CHECK(later.error().faults().front().id == "files-from-later-stage");
    CHECK(later.error().faults().front().where.value_or(Place{}).line == 3);
    bench.check_clean();
}

TEST_CASE("certificates and proxies are seen by %post, and are not in the image") {
    Bench bench;
    put(bench.here / "ca.pem", "certificates of this place");
    bench.environment.set("SSL_CERT_FILE", (bench.here / "ca.pem").native());
    bench.environment.set("https_proxy", "http://proxy.example:1");
    const std::string text = kBase + kInstall +
                             "%post\ngrep 'of this place' $CURL_CA_BUNDLE\n"
                             "test \"$https_proxy\" = http://proxy.example:1\n"
                             "test -s /etc/hosts\n"
                             "%test\ntest ! -e /.cybelectl-build\ntest -z \"$https_proxy\"\n"
                             "test -z \"$SSL_CERT_FILE\"\n";
    const auto built = build(bench.request(text), bench.environment);
    REQUIRE_MESSAGE(
        built, (built ? "" : built.error().message() + built.error().faults().front().because));
    auto missing = bench.request(kBase);
    missing.force = true;
    missing.packages.ca_file = bench.here / "none.pem";
    const auto refused = build(missing, bench.environment);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kInput);
}

TEST_CASE("what cannot be built is refused before anything is done") {
    Bench bench;
    const auto refused = [&](const std::string& text) {
        const auto built = build(bench.request(text), bench.environment);
        REQUIRE_FALSE(built);
        CHECK(built.error().code() == ErrorCode::kInput);
        CHECK_FALSE(fs::exists(bench.here / "tmp"));
        return built.error().message();
    };
    CHECK(refused("Bootstrap: arch\n") == "the bootstrap agent 'arch' is not supported yet");
    CHECK(refused("Bootstrap: localimage\nFrom: none.sif\n").find("does not exist") !=
          std::string::npos);
    CHECK(refused("Bootstrap: localimage\n") == "the header names no image");
    CHECK(refused(kBase + "%appinstall ../x\ntrue\n") == "'../x' is not a valid application name");
    CHECK(refused(kBase + "none /x\n").find("does not exist") != std::string::npos);
    put(bench.here / "out.sif", "mine");
    CHECK(refused(kBase).ends_with("exists already"));
    CHECK(content(bench.here / "out.sif") == "mine");
    fs::remove(bench.here / "out.sif");
    put(bench.here / "bad.sif", "no image");
    const auto bad =
        build(bench.request("Bootstrap: localimage\nFrom: bad.sif\n"), bench.environment);
    REQUIRE_FALSE(bad);
    CHECK(bad.error().code() == ErrorCode::kInput);
}

TEST_CASE("%setup of an ordinary user runs, and its failure is the build's") {
    Bench bench;
    CHECK(as_user(bench.here, [&] {
              const auto built = build(bench.request(kBase + "%pre\n\n%setup\necho said\nexit 7\n"),
                                       bench.environment);
              const std::string what = built ? "built" : built.error().message();
              if (what.find("%setup failed with exit code 7") == std::string::npos) {
                  MESSAGE(what);
                  return 1;
              }
              return 0;
          }) == 0);
}

TEST_CASE("the arguments of a section line") {
    using Words = std::vector<std::string>;
    CHECK(*script_command("", "/f") == Words{"/bin/sh", "-ex", "/f"});
    CHECK(*script_command("-u", "/f") == Words{"/bin/sh", "-ex", "-u", "/f"});
    CHECK(*script_command("-c /bin/bash -eu", "/f") ==
          Words{"/bin/sh", "-ex", "-c", "/bin/bash -eu /f"});
    CHECK(*script_command("# note", "/f") == Words{"/bin/sh", "-ex", "/f"});
    CHECK_FALSE(script_command("-c", "/f"));
}

TEST_CASE("another program builds: its failure is told, its image put in place") {
    Bench bench;
    put(bench.here / "bin/apptainer",
        "#!/bin/sh\nset -e\nfor last; do :; done\ngrep -q '^Bootstrap' \"$last\" || exit 9\n"
        "eval \"image=\\${$(($# - 1))}\"\necho built > \"$image\"\n");
    put(bench.here / "bin/singularity", "#!/bin/sh\necho progress\necho FATAL: no >&2\nexit 255\n");
    for (const char* name : {"bin/apptainer", "bin/singularity"}) {
        fs::permissions(bench.here / name, fs::perms::owner_all);
    }
    bench.environment.set("PATH", (bench.here / "bin").native() + ":/usr/bin:/bin");
    const auto built = build_with("apptainer", bench.request(kBase), bench.environment);
    REQUIRE(built);
    CHECK(content(built->image) == "built\n");
    const auto failed = build_with("singularity", bench.request(kBase, "b.sif"), bench.environment);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kExecution);
    CHECK(failed.error().faults().front().because.find("FATAL: no") != std::string::npos);
    CHECK(build_with("docker", bench.request(kBase, "b.sif"), bench.environment).error().code() ==
          ErrorCode::kUsage);
    bench.environment.set("PATH", "/nowhere");
    CHECK(
        build_with("apptainer", bench.request(kBase, "b.sif"), bench.environment).error().code() ==
        ErrorCode::kEnvironment);
    bench.check_clean();
}
