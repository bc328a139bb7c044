// SPDX-License-Identifier: Apache-2.0
// What the shell of a failed step knew.
#include "builder/steps/shell_state.hpp"

#include <doctest/doctest.h>

using namespace cybele;

TEST_CASE("a script of a shell records its variables in its first line, another stays as it is") {
    const std::string script = builder::recording_script("", "\n  cd /opt\n  false\n");
    CHECK(script.ends_with("; \n  cd /opt\n  false\n"));
    CHECK(script.find('\n') > script.find(builder::kStatePath));
    CHECK(builder::recording_script("-c /bin/bash -eu", "x\n") != "x\n");
    CHECK(builder::recording_script("-c /usr/bin/python3", "x\n") == "x\n");
    CHECK(builder::recording_script("-c /usr/bin/env python3 # bash", "x\n") == "x\n");
    // A Recipe's step: brackets have traps of their own, and so has the script inside them.
    const std::string step = builder::recording_script(
        "", "(\nset -eu\ncat > \"$cybelectl_step\" <<'CYBELECTL_END'\ncd /x\nCYBELECTL_END\n)\n");
    CHECK(step.starts_with("( {"));
    CHECK(step.find("'CYBELECTL_END'\n{ trap") != std::string::npos);
    CHECK(step.find("; cd /x\nCYBELECTL_END\n") != std::string::npos);
}

TEST_CASE("variables that shells set themselves are left out of the state") {
    const std::string state =
        builder::readable_state("A='1'\nEUID=0\nPPID='3'\nSHELLOPTS=x\nUID=0\nBASH_VERSION="
                                "5\nexport A\nexport SHLVL=1\n_=x\n");
    CHECK(state == ": BASH_VERSION=\nA='1'\nexport A\n");
    CHECK(builder::readable_state("A='1'\nB='2'\n") == "A='1'\nB='2'\n");
    CHECK(builder::readable_state("").empty());
}

TEST_CASE("the shell is that of the script, at a terminal or for standard input") {
    const builder::ShellInside plain{"A='1'\n", ""};
    CHECK(builder::shell_command(plain, "/f") == std::vector<std::string>{"sh", "/f"});
    CHECK(builder::shell_file(plain).starts_with("A='1'\ncd \"${PWD:-/}\"\n"));
    CHECK(builder::shell_file(plain).ends_with("eval \"$cybelectl_commands\"\n"));
    const builder::ShellInside bash{": BASH_VERSION=\n", "xterm"};
    CHECK(builder::shell_command(bash, "/f") ==
          std::vector<std::string>{"bash", "--noprofile", "--rcfile", "/f", "-i"});
    CHECK(builder::shell_file(bash).ends_with("unset ENV\nexport TERM=xterm\n"));
}
