// SPDX-License-Identifier: Apache-2.0
#include "definitions/lint/lint.hpp"
#include "support/file.hpp"
#include "support/process.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/types.h>
#include <unistd.h>

using namespace cybele;
using namespace cybele::definitions;

namespace {

/// What the linter says with shellcheck.
LintReport report_of(const std::string& text) {
    LintOptions options;
    options.shellcheck = find_program("shellcheck");
    REQUIRE(options.shellcheck);
    return lint_definition(text, "x.def", options);
}

/// The findings of shellcheck on a definition: "CD107 SC2086" for a warning, "CD110 …" for a note.
std::vector<std::string> shellcheck_of(const std::string& text) {
    std::vector<std::string> found;
    for (const Finding& finding : report_of(text).findings) {
        if (finding.rule == "CD107" || finding.rule == "CD110") {
            found.push_back(std::string(finding.rule) + " " + finding.fault.message.substr(0, 6));
        }
    }
    return found;
}

std::string on(const std::string& base, const std::string& rest) {
    return "Bootstrap: docker\nFrom: " + base + "\n" + rest;
}

/// The errors of a %post that no shell reads: "LINE MESSAGE".
std::vector<std::string> syntax_errors_of(const std::string& script) {
    std::vector<std::string> found;
    const std::string text = "Bootstrap: docker\nFrom: debian:12\n%post\n" + script;
    for (const Finding& finding : report_of(text).findings) {
        if (finding.rule == "CD112") {
            found.push_back(std::to_string(finding.fault.where->line) + " " +
                            finding.fault.message);
        }
    }
    return found;
}

using Expected = std::vector<std::string>;

/// What checks a script and ends well, although this process is told to end meanwhile or soon.
std::filesystem::path
stand_in(const std::filesystem::path& folder, bool handles, const std::string& delay) {
    std::filesystem::path file = folder / "shellcheck";
    const std::string kill =
        delay.empty() ? "kill -TERM $PPID" : "(sleep " + delay + "; kill -TERM $PPID) &";
    std::ofstream(file) << "#!/bin/sh\n"
                        << (handles ? "trap '' TERM\n" : "") << kill
                        << "\necho '{\"comments\":[]}'\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
}

/// The code of a process that checks five scripts: 128 + TERM where the signal ends it or the check
/// says that it was stopped by it.
int end_of_check(const std::filesystem::path& shellcheck) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        static_cast<void>(std::signal(SIGTERM, SIG_DFL)); // not the handler of doctest
        static_cast<void>(std::signal(SIGPIPE, SIG_IGN)); // as in the program
        LintOptions options;
        options.shellcheck = shellcheck;
        std::string text;
        for (const std::string stage : {"a", "b", "c", "d", "e"}) {
            text += on("debian:12", "Stage: " + stage + "\n%post\ntrue\n");
        }
        const int by = lint_definition(text, "x.def", options).stopped_by;
        if (by == 0) {
            std::this_thread::sleep_for(
                std::chrono::seconds(20)); // the signal may come after the last script
        }
        ::_exit(128 + by);
    }
    return wait_for(pid);
}

} // namespace

TEST_CASE("a check that is told to end as shellcheck ends never goes on") {
    const auto folder = TempDirectory::make(std::filesystem::temp_directory_path(), "stand-in-");
    REQUIRE(folder);
    for (int i = 0; i < 200; ++i) {
        const std::string delay = i % 4 == 0 ? "" : "0.00" + std::to_string(i % 8);
        CAPTURE(i);
        REQUIRE(end_of_check(stand_in(folder->path(), i % 3 == 0, delay)) == 128 + SIGTERM);
    }
}

TEST_CASE("words of bash are wrong only where /bin/sh is another shell") {
    const std::string script = "%post\npushd /opt\nsource /x\n";
    CHECK(shellcheck_of(on("ubuntu:22.04", script)) == Expected{"CD107 SC3044", "CD107 SC3046"});
    CHECK(shellcheck_of(on("rockylinux:9", script)).empty());
    CHECK(shellcheck_of(on("nvidia/cuda:10.0-runtime-centos7", script)).empty());
    CHECK(shellcheck_of(on("alpine:3.20", script)) == Expected{"CD107 SC3044"});
    CHECK(shellcheck_of("Bootstrap: yum\nInclude: yum\n" + script).empty());
    CHECK(shellcheck_of(on("own/image:1", script)) == Expected{"CD110 SC3044"});
    CHECK(shellcheck_of(on("own/image:1", script + "yum install -y a\n")).empty());
    CHECK(shellcheck_of(on("own/image:1", script + "apt-get update\n")) ==
          Expected{"CD107 SC3044", "CD107 SC3046"});
}

TEST_CASE("what the runtime sets and reads is not reported") {
    const std::vector<std::string> right = {
        "%post\nexport PATH=/x:$PATH LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/x\ncd $HOME\n",
        "%post\nwget https://a.example/b-$(uname)-$(uname -m).sh\n",
        "%post\necho A=1 >>$SINGULARITY_ENVIRONMENT\necho B=2 >>${APPTAINER_ENVIRONMENT}\n",
        "%runscript\n\t#!/bin/bash\n\tsource /x\n",
        "%environment\nexport A=/tmp/$(id -u)/x\n",
        "%runscript\nexport A=/tmp/$(id -u)/x\n",
    };
    for (const std::string& text : right) {
        CAPTURE(text);
        CHECK(shellcheck_of(on("debian:12", text)).empty());
    }
    CHECK(shellcheck_of(on("debian:12", "%runscript\ncd $HOME\n")) == Expected{"CD110 SC2086"});
    CHECK(shellcheck_of(on("debian:12", "%post\ncd $PREFIX\n")) == Expected{"CD110 SC2086"});
    CHECK(shellcheck_of(on("debian:12", "%post\nexport A=$(x)\n")).front() == "CD107 SC2155");
}

TEST_CASE(
    "words that a user passes are warned of, those of the build are shellcheck's own advice") {
    CHECK(shellcheck_of(on("debian:12", "%runscript\ncp $1 /x\nexec a ${2}\n")) ==
          Expected{"CD107 SC2086", "CD107 SC2086"});
    CHECK(shellcheck_of(on("debian:12", "%runscript\nexec a $*\n")) == Expected{"CD107 SC2048"});
    CHECK(shellcheck_of(on("debian:12", "%runscript\nexport A=$1\n")) == Expected{"CD110 SC2086"});
    CHECK(shellcheck_of(on("debian:12", "%post\nfor i in $(seq 2); do mkdir /g$i; done\n")) ==
          Expected{"CD110 SC2086"});
    CHECK(shellcheck_of(on("debian:12", "%runscript\nexec a \"/b/$@\"\n")) ==
          Expected{"CD110 SC2145"});
    CHECK(shellcheck_of(on("debian:12", "%environment\nexport A=$(grep -c a /b)\n")).empty());
}

TEST_CASE("splitting that is meant is not reported") {
    CHECK(shellcheck_of(on("debian:12", "%post\nP=\"a b\"\napt-get install -y $P\n")).empty());
    CHECK(shellcheck_of(on("debian:12", "%post\nP=\"a b\"\nrm $P\n")) == Expected{"CD110 SC2086"});
    CHECK(shellcheck_of(on("debian:12", "%post\nP=\"$(a b)\"\napt-get install -y $P\n")) ==
          Expected{"CD110 SC2086"});
    CHECK(shellcheck_of(on("debian:12", "%post\nP=\"\"\nconda create -yn a b ${P}\n")).empty());
    CHECK(shellcheck_of(on("debian:12", "%post\necho \"a: \"$(b)\n")) == Expected{"CD110 SC2046"});
    CHECK(shellcheck_of(on("debian:12", "%arguments\nA=\"b\"\n%post\nwget \"{{ A }}\"\n")).empty());
    const std::string quotes = "%post\nP='f(\"a\")\nx'\n"; // a text of another language
    CHECK(shellcheck_of(on("debian:12", quotes + "echo $P | R\n")) == Expected{"CD110 SC2086"});
    CHECK(shellcheck_of(on("debian:12", quotes + "a && echo b $P | R\nexport P\n")) ==
          Expected{"CD110 SC2086"});
    CHECK(shellcheck_of(on("debian:12", quotes + "f $P\n")) ==
          Expected{"CD107 SC2090", "CD110 SC2086"});
    CHECK(shellcheck_of(on("debian:12", "%runscript\n\n#!/bin/sh\na\n")).empty());
    CHECK(shellcheck_of(on("debian:12", "%post\nmake -j$(nproc)\n")).empty());
    CHECK(shellcheck_of(on("debian:12", "%post\napt-get install -y $(cat /list)\n")) ==
          Expected{"CD110 SC2046"});
    CHECK(shellcheck_of(on("debian:12", "%post\n./configure --prefix=$(pwd)\n")) ==
          Expected{"CD107 SC2046"});
    CHECK(shellcheck_of(on("debian:12", "%post\n/bin/echo -e a\n")).empty());
    CHECK(shellcheck_of(on("debian:12", "%post\nsudo a >/b\nexport $(cat c)\\\n&& d\n")) ==
          Expected{"CD110 SC2046"});
    CHECK(shellcheck_of(on("debian:12", "%post\nA= B= c\n")) == Expected{"CD110 SC1007"});
    CHECK(shellcheck_of(on("debian:12", "%post\na && \\\necho done\n")).empty());
    CHECK(shellcheck_of(on("debian:12", "%post\nfor p in in done x\ndo\n    a \"$p\"\ndone\n"))
              .empty());
    CHECK(shellcheck_of(on("debian:12", "%post\nif [ -d \"/a\"]; then b; fi\n")) ==
          Expected{"CD110 SC1009", "CD107 SC1020"});
    CHECK(
        shellcheck_of(on("rockylinux:9", "%post\ndnf install -y a-$(rpm -E %rhel).rpm\n")).empty());
    CHECK(shellcheck_of(on("debian:12", "%post\necho -e a\n")) == Expected{"CD107 SC3037"});
    CHECK(shellcheck_of(on("debian:12", "%post\nU=https://a.example/?b=1\necho \"$U\"\n")).empty());
}

TEST_CASE("a script that no shell reads is an error at its place, in the shell's words") {
    const std::string said = "the shell cannot read this: ";
    CHECK(syntax_errors_of("make\necho \"abc\nmake install\n") ==
          Expected{"5 " + said + "unexpected EOF while looking for matching `\"'"});
    CHECK(syntax_errors_of("if [ -e a ; then\n  b\nfi\n").empty()); // a test that fails
    CHECK(syntax_errors_of("if true; then\n  b\n").size() == 1);
    CHECK(syntax_errors_of("for i in 1 2; do\n  b\n").size() == 1);
    CHECK(syntax_errors_of("f() {\n  b\n").size() == 1);
    CHECK(syntax_errors_of("a\n&& b\n").size() == 1);
    CHECK(syntax_errors_of("a )\n").size() == 1);
    CHECK(syntax_errors_of("case $a in\n  b|c) d;;\nesac\n(a; b) && { c; d; }\n").empty());
}

TEST_CASE("shellcheck's findings have the place in the definition") {
    const LintReport report =
        report_of(on("debian:12", "%post\ntrue\n  rm $1\ncd /x\n%post\nsource /y\n"));
    std::set<std::pair<std::size_t, std::string>> told;
    for (const Finding& finding : report.findings) {
        if (finding.rule == "CD107") {
            told.emplace(finding.fault.where->line, finding.fault.message.substr(0, 6));
        }
    }
    CHECK(told.contains({5, "SC2086"}));
    CHECK(told.contains({8, "SC3046"}));
    CHECK(told.size() == 2);
}

TEST_CASE("what shellcheck calls style is one note per file") {
    const LintReport report = report_of(
        on("debian:12", "%post\na=`date`\nb=`date`\necho 'cost: $X' >>/env\nrm \"$a\" \"$b\"\n"));
    std::vector<std::string> told;
    for (const Finding& finding : report.findings) {
        CHECK(finding.rule != "CD107");
        if (finding.rule == "CD110") {
            told.push_back(finding.fault.message);
        }
    }
    REQUIRE(told.size() == 1);
    CHECK(told[0].starts_with("SC2006: "));
    CHECK(told[0].ends_with("; also SC2016"));
}
