// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/first_line.hpp"

#include <doctest/doctest.h>

using namespace cybele::launchers;

TEST_CASE("the words of a first line are those of the kernel") {
    using Words = std::vector<std::string>;
    CHECK(words_of_first_line("#!/bin/sh\nhostname\n") == Words{"/bin/sh"});
    CHECK(words_of_first_line("#! /bin/bash -l -x \n") == Words{"/bin/bash", "-l -x"});
    CHECK(words_of_first_line("#!\t/usr/bin/env\tpython3") == Words{"/usr/bin/env", "python3"});
    CHECK(words_of_first_line("# /bin/sh\n").empty());
    CHECK(words_of_first_line("\n#!/bin/sh\n").empty());
    CHECK(words_of_first_line("").empty());
}

TEST_CASE("the program of a first line is found through env, its options and variables") {
    struct Row {
        const char* line;
        const char* program;
    };
    for (const auto& [line, program] : {Row{"#!/bin/bash", "bash"},
                                        Row{"#!bash", "bash"},
                                        Row{"#!/usr/bin/env bash", "bash"},
                                        Row{"#!/usr/bin/env -S bash -l", "bash"},
                                        Row{"#!/usr/bin/env -Sbash -l", "bash"},
                                        Row{"#!/bin/env -S -i LANG=C /opt/bin/zsh -f", "zsh"},
                                        Row{"#!/usr/bin/env", "env"},
                                        Row{"#!/opt/environment sh", "environment"},
                                        Row{"#!", ""},
                                        Row{"echo", ""}}) {
        CAPTURE(line);
        CHECK(program_of_words(words_of_first_line(line)) == program);
    }
    CHECK(program_of_words({"/usr/bin/env", "-S", "python3", "-u"}) == "python3");
}
