// SPDX-License-Identifier: Apache-2.0
// Changes of a layer as commands.
#include "builder/layers/changes.hpp"
#include "temporary.hpp"

#include <filesystem>

#include <doctest/doctest.h>

using namespace cybele;
namespace fs = std::filesystem;

TEST_CASE("packages of apt become one command, and their files are not told again") {
    const TempDirectory folder = temporary();
    const fs::path lower = folder.path() / "0";
    const fs::path upper = folder.path() / "1";
    const std::string base = "Package: base\nStatus: install ok installed\nVersion: 1\n\n";
    const std::string old = "Package: old\nStatus: install ok installed\nVersion: 1\n\n";
    put(lower / "var/lib/dpkg/status", base + old);
    put(lower / "etc/same", "same\n");
    put(lower / "etc/more", "a\n");
    put(upper / "var/lib/dpkg/status",
        base + "Package: tool\nStatus: install ok installed\nVersion: 2-1\n\n" +
            "Package: libtool\nStatus: install ok installed\nVersion: 2-1\n\n");
    put(upper / "var/lib/apt/extended_states",
        "Package: libtool\nArchitecture: amd64\nAuto-Installed: 1\n\n");
    put(upper / "var/lib/dpkg/info/tool.list", "/.\n/usr\n/usr/bin\n/usr/bin/tool\n");
    put(upper / "var/lib/dpkg/info/libtool:amd64.list", "/usr/lib\n/usr/lib/libtool.so\n");
    put(upper / "usr/bin/tool", "#!/bin/sh\n");
    put(upper / "usr/lib/libtool.so", "x");
    put(upper / "usr/bin/own", "own\n");
    put(upper / "etc/same", "same\n");
    put(upper / "etc/more", "a\nEND\n");
    put(upper / "var/log/dpkg.log", "x\n");
    put(upper / "tmp/x", "x\n");
    CHECK(builder::changes_as_commands(upper, {lower}) ==
          "apt-get update && apt-get install -y --no-install-recommends tool=2-1\n"
          "apt-get purge -y old\n"
          "cat >> /etc/more <<'END_'\nEND\nEND_\n"
          "cat > /usr/bin/own <<'END'\nown\nEND\n");
}

TEST_CASE("modes, links, new folders, and files that no text can hold") {
    const TempDirectory folder = temporary();
    const fs::path lower = folder.path() / "0";
    const fs::path upper = folder.path() / "1";
    put(lower / "bin/x", "x\n");
    fs::create_directories(upper / "opt/a b");
    put(upper / "bin/x", "x\n");
    fs::permissions(upper / "bin/x", fs::perms(0755));
    put(upper / "opt/binary", std::string("a\0b", 3));
    put(upper / "opt/section", "%post\n");
    fs::create_symlink("/bin/x", upper / "opt/link");
    CHECK(builder::changes_as_commands(upper, {lower}) ==
          "chmod 0755 /bin/x\nmkdir -p /opt\nmkdir -p '/opt/a b'\n"
          "# /opt/binary is new: 3 bytes, to be copied by `files`\n"
          "ln -sfn /bin/x /opt/link\n"
          "# /opt/section is new: 6 bytes, to be copied by `files`\n");
}
