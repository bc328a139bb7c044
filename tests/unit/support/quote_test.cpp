// SPDX-License-Identifier: Apache-2.0
#include "support/process.hpp"
#include "support/quote.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace cybele;

TEST_CASE("plain words stay as they are, others come back from a real shell") {
    CHECK(shell_quote("a/b-c.d") == "a/b-c.d");
    CHECK(shell_quote("") == "''");
    CHECK(shell_quote("it's $HOME") == "'it'\\''s $HOME'");
    CHECK(shell_quote("~") == "'~'");
    const bool holds = rc::check("sh gives back what was quoted", [] {
        const auto word = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
        Command command;
        command.argv = {"/bin/sh", "-c", "printf %s " + shell_quote(word)};
        const auto outcome = run_process(command);
        RC_ASSERT(outcome.has_value());
        RC_ASSERT(outcome->output == word);
    });
    CHECK(holds);
}

TEST_CASE("printable text cannot move the cursor") {
    CHECK(printable("a\x1b[2Jb\n\t\x7f\xff") == "a\\x1b[2Jb\\n\\t\\x7f\\xff");
    CHECK(printable("gr\xc3\xbc\xc3\x9f") == "gr\xc3\xbc\xc3\x9f");
    CHECK_FALSE(is_utf8("\xed\xa0\x80"));
    CHECK_FALSE(is_utf8("\xc0\xaf"));
    CHECK(is_utf8("\xf0\x9f\x90\xae"));
}

TEST_CASE("a typing error finds the word that was meant") {
    const std::string_view words[] = {"resources", "launch", "environment", "tasks"};
    CHECK(nearest("resuorces", words) == "resources");
    CHECK(nearest("tsks", words) == "tasks");
    CHECK(nearest("luanch", words) == "launch");
    CHECK(nearest("xyz", words).empty());
}
