// SPDX-License-Identifier: Apache-2.0
// `setup` and `teardown`: what runs before and after the program, and where.
#include "batch_parts.hpp"

#include <string>

#include <fmt/format.h>

namespace cybele::schedulers {

TEST_CASE("set-up comes before the program, teardown after it") {
    const Bench bench;
    const auto outcome = bench.run(
        "command: [sh, -c, 'echo $SET; exit 3']\nsetup: |\n  false\n  export SET=\"a b\"\n"
        "teardown:\n  - {run: 'echo failed $CYBELE_CODE', when: failure}\n"
        "  - {run: 'echo fine', when: success}\n  - {run: 'echo always; exit 9'}\n");
    CHECK(outcome.output == "a b\nfailed 3\nalways\n");
    CHECK(outcome.code == 3);
    CHECK(bench.run(batch("setup: cd /\n", "pwd\n")).output == "/\n");
}

TEST_CASE("steps of a set-up run in their order, on each node in a process of its own") {
    const Bench bench;
    const std::string steps = "setup:\n  - {run: 'cd /; export SET=one'}\n"
                              "  - {run: 'echo \"$SET in $PWD\"; SET=two', on: each-node}\n"
                              "  - {run: 'export SET=\"$SET, three\"', on: first-node}\n";
    const std::string here = bench.work.native();
    CHECK(bench.run(steps + "command: [sh, -c, 'echo \"$SET\"']\n").output ==
          "one in " + here + "\none, three\n");
    CHECK(bench.run(batch(steps, "echo \"$SET in $PWD\"\n")).output ==
          "one in " + here + "\none, three in /\n");
}

TEST_CASE("a step that fails on a node ends the job before the program starts") {
    const Bench bench;
    const auto outcome = bench.run("setup: [{run: 'false; echo on', on: each-node}]\n"
                                   "command: [echo, started]\n");
    CHECK(outcome.code == 1);
    CHECK(outcome.output.empty());
    CHECK(outcome.errors.find("ended with code 1\nerror: the set-up failed on a node\n") !=
          std::string::npos);
}

TEST_CASE("a step on each node costs nothing where there is none") {
    const Bench bench;
    for (const char* const dialect : {"slurm", "torque", "pbspro", "local"}) {
        CHECK(bench.script("command: [echo]\nsetup: echo\n", dialect).find("set_up_node") ==
              std::string::npos);
    }
}

TEST_CASE("a set-up that bash cannot read to its end starts no program; one that fails does") {
    const Bench bench;
    const auto outcome = bench.run("command: [echo, started]\nsetup: |\n  A=1\n  B=<NAME>\n");
    CHECK(outcome.code == 1);
    CHECK(outcome.output.empty());
    CHECK(outcome.errors.find("error: the set-up has a syntax error\n") != std::string::npos);
    for (const char* setup : {"false", "(exit 2)", "return 1", "return", "no-such-program"}) {
        CAPTURE(std::string(setup));
        CHECK(bench.run(fmt::format("command: [echo, started]\nsetup: {}\n", setup)).output ==
              "started\n");
    }
}

} // namespace cybele::schedulers
