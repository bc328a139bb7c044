// SPDX-License-Identifier: Apache-2.0
// Environment files that are read without a shell: what comes out is what /bin/sh makes of them;
// all else is left to it.
#include "runtime/containers/known_environment.hpp"
#include "support/file.hpp"

#include <fstream>
#include <string>

#include <doctest/doctest.h>

using namespace cybele;
using namespace cybele::runtime;
namespace fs = std::filesystem;

namespace {

const EnvironmentMap kBefore = {{"PATH", "/usr/bin:/bin"}, {"EMPTY", ""}, {"WORD", "a b*"}};

/// The variables after a real shell read the files.
EnvironmentMap by_shell(const fs::path& folder, const EnvironmentMap& before) {
    Command command;
    command.argv = {"/bin/sh",
                    "-c",
                    "for file in \"$0\"/*.sh; do . \"$file\"; done; exec /usr/bin/env -0",
                    folder.native()};
    command.environment = before;
    const auto outcome = run_process(command);
    REQUIRE(outcome);
    REQUIRE_MESSAGE(outcome->ok(), outcome->errors);
    EnvironmentMap after;
    std::string_view rest = outcome->output;
    while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find('\0'));
        const std::size_t equals = one.find('=');
        after[std::string(one.substr(0, equals))] = one.substr(equals + 1);
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    }
    for (const char* own : {"PWD", "OLDPWD", "_", "SHLVL"}) {
        after.erase(own);
    }
    return after;
}

TempDirectory folder_with(const std::string& text) {
    auto folder = TempDirectory::make(fs::temp_directory_path(), "known-environment");
    REQUIRE(folder);
    std::ofstream(folder->path() / "90-environment.sh") << text;
    return std::move(*folder);
}

} // namespace

TEST_CASE("lines that set plain values are read as a shell reads them") {
    for (const char* text : {
             "#!/bin/sh\n# only comments\n\n   # more\n",
             "export A=plain\nexport B='single $HOME \"quoted\"'\n",
             "export C=\"double 'quoted' # x\"\n",
             "export PATH=/opt/bin\"${PATH:+:$PATH}\"\n",
             "export PATH=\"${PATH:+$PATH:}\"/opt/bin\n",
             "export EMPTY=/x\"${EMPTY:+:$EMPTY}\"\nexport NEW=\"${NONE:+$NONE:}\"/y\n",
             "export A=\"$WORD-${WORD}-$NONE\"\nexport B=\"$A\"\n",
             "export A=\n  export B=x\t \nexport C=''\nexport D=\"\"a'b'c",
             "export A=a=b:c,d/e@f%g+h-i_j.k\n",
             "export A=a b\n",
             "A=a\n",
             "export A\n",
             "export A=a B=b\n",
             "unset A EMPTY\n",
             "export A=\"${B:-c}\"\n",
             "export A=${B}\n",
             "A=1\nB=$A/x\nC=$WORD\nexport A B C\n",
             "PATH=$PATH:/opt/bin\n",
             "export B\nB=later\n",
             "export A=\"${A:-\"a b\"}\"\nexport EMPTY=\"${EMPTY:-\"x\"}\"\n",
             "if [ -z \"${NONE:-}\" ]; then\n  A=1\nelse\n  A=2\nfi\nexport A\n",
             R"(if [ -n "$EMPTY" ]; then
export A=1
elif test -d /none; then
export A=2
elif test -d /; then
export A=3
else
export A=4
fi
)",
             "if test -f /bin/sh\nthen\n\texport A=1\nfi\n",
             R"(if [ -n "$NONE" ]; then
id
if true; then
id
else
id
fi
else
export A=1
fi
)",
             "unset EMPTY \\\n    WORD\n",
         }) {
        CAPTURE(text);
        const auto folder = folder_with(text);
        const auto known = read_known_files(folder.path(), kBefore);
        REQUIRE(known);
        CHECK(*known == by_shell(folder.path(), kBefore));
    }
}

TEST_CASE("what a shell would do more with is left to it") {
    for (const char* text : {
             "export A=$(id)\n",
             "export A=`id`\n",
             "export A=\"$(id)\"\n",
             "export A=\"`id`\"\n",
             "export A=\"a\\\"b\"\n",
             "export A=a\\ b\n",
             "export A=$WORD\n",
             "export A=~/x\n",
             "export A=a; id\n",
             "export A=a # b\n",
             "export -n A=a\n",
             "if true; then\n",
             "if [ -n \"$WORD\" ] && true; then\nexport A=1\nfi\n",
             "if [ -n \"$WORD\" ]; then\nexport A=1\n",
             "if [ -n \"$NONE\" ]; then\ncat <<E\nfi\nE\nfi\n",
             "if [ -n $WORD ]; then\nexport A=1\nfi\n",
             "if [ -n $EMPTY ]; then\nexport A=1\nfi\n",
             "if [ -d $EMPTY ]; then\nexport A=1\nfi\n",
             "fi\n",
             "else\n",
             "IFS=:\n",
             "A=b id\n",
             "case x in\nesac\n",
             "export A='two\nlines'\n",
             "export A=\"${B%c}\"\n",
             "export A=\"${B:+${C}}\"\n",
             "export A=\"$1\"\n",
             "export A=\"$\"\n",
             "export A=\"${B\"\n",
             "export A=\"open\n",
             "export A='open\n",
             "export 1A=b\n",
             "export A=*\n",
             "export A=a|b\n",
             "set -e\n",
             "export A=\"${B:+c d}\"\n",
             "export A=\"${#B}\"\n",
             ". /other\n",
             "export A=\"$?\"\n",
             "export A=a&b\n",
             "export A=b\r\n",
             "export A=\xc3\xa4\n",
             "export A+=b\n",
         }) {
        CAPTURE(text);
        CHECK_FALSE(read_known_file("90-environment.sh", text, kBefore));
    }
}

TEST_CASE("the files of our own images, and only these, are known by their bytes") {
    const fs::path own = fs::path(CYBELE_SOURCE_DIR) / "images/container/data/env";
    for (const EnvironmentMap& before :
         {kBefore,
          EnvironmentMap{{"PATH", "/bin"}, {"LD_LIBRARY_PATH", "/a:/b"}, {"PS1", "mine "}},
          EnvironmentMap{{"PATH", "/bin"}, {"LD_LIBRARY_PATH", "/a:/.singularity.d/libs:/b"}}}) {
        auto known = read_known_files(own, before);
        REQUIRE(known);
        auto shell = by_shell(own, before);
        if (before.count("PS1") == 0) { // dash has a prompt of its own
            CHECK((*known)["PS1"] == "Apptainer> ");
            shell["PS1"] = (*known)["PS1"];
        }
        CHECK(*known == shell);
    }
    for (const char* name : {"95-apps.sh", "99-base.sh", "99-runtimevars.sh"}) {
        CAPTURE(name);
        const auto text = read_file(own / name);
        REQUIRE(text);
        CHECK_FALSE(read_known_file(name, *text + "id\n", kBefore));
        const auto other = read_known_file("98-other.sh", *text, kBefore); // read like any file
        CHECK((!other || *other == *read_known_file(name, *text, kBefore)));
    }
    EnvironmentMap application = kBefore;
    application["APPTAINER_APPNAME"] = "one";
    CHECK_FALSE(read_known_files(own, application));
    EnvironmentMap user = kBefore;
    user["SING_USER_DEFINED_PATH"] = "/x";
    CHECK_FALSE(read_known_files(own, user));
}

TEST_CASE("the PATH of an OCI image is completed behind its file") {
    const auto known = read_known_file(
        "10-docker2singularity.sh", "#!/bin/sh\nexport PATH=\"/opt/x:/usr/bin\"\n", kBefore);
    REQUIRE(known);
    CHECK(known->at("PATH") ==
          "/opt/x:/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin");
}

TEST_CASE("a folder that is no plain folder of files is left to a shell") {
    const auto folder = folder_with("export A=a\n");
    fs::create_directory(folder.path() / "91-folder.sh");
    CHECK_FALSE(read_known_files(folder.path(), kBefore));
    const auto missing = read_known_files(folder.path() / "none", kBefore);
    REQUIRE(missing);
    CHECK(*missing == kBefore);
}
