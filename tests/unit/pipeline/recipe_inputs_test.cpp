// SPDX-License-Identifier: Apache-2.0
#include "pipeline/recipe_inputs.hpp"

#include <doctest/doctest.h>

using namespace cybele;

TEST_CASE("a package that a step did not find is reported at its line, whatever its stage") {
    const auto recipe = recipes::read_recipe("kind: Recipe\n"
                                             "name: a\n"
                                             "base: debian:12\n"
                                             "packages: {system: [jq, curll=1]}\n"
                                             "stages: [{name: b, packages: {system: [gccc]}}]\n",
                                             "a.yaml");
    REQUIRE(recipe.has_value());
    const auto place_of = [&](const char* package, const char* id) {
        Fault fault;
        fault.code = ErrorCode::kExecution;
        fault.set(problem(id, "%post 1 of 2: a package was not found"));
        fault.subject = package;
        const Error error = pipeline::at_recipe_packages(*recipe, Error(fault));
        REQUIRE(error.faults().size() == 1);
        CHECK(error.code() == ErrorCode::kExecution);
        const auto& where = error.faults().front().where;
        return where ? std::to_string(where->line) + ":" + std::to_string(where->column) : "";
    };
    CHECK(place_of("curll", "step-package-missing") == "4:25");
    CHECK(place_of("gccc", "step-package-missing") == "5:40");
    CHECK(place_of("gccc", "step-version-missing") == "5:40");
    CHECK(place_of("other", "step-package-missing").empty());
    CHECK(place_of("jq", "step-failed").empty());
}

TEST_CASE("a repository that a step refuses is found in the Recipe") {
    const auto line_of = [](const std::string& repositories, const char* subject) {
        const auto recipe =
            recipes::read_recipe("kind: Recipe\nname: a\nbase: debian:12\npackages:\n"
                                 "  system: [jq]\n  repositories:\n" +
                                     repositories,
                                 "a.yaml");
        REQUIRE(recipe.has_value());
        Fault fault;
        fault.code = ErrorCode::kVerification;
        fault.set(problem("step-repository-refused", "a repository was refused"));
        fault.subject = subject;
        const Error error = pipeline::at_recipe_packages(*recipe, Error(fault));
        CHECK(error.code() == ErrorCode::kVerification);
        const auto& where = error.faults().front().where;
        return where ? where->line : 0;
    };
    const std::string rest =
        ", suites: [s], components: [c], key: k.asc, fingerprint: " + std::string(40, 'A') + "}\n";
    const std::string one = "    - {url: http://one.example/a" + rest;
    const std::string two = one + "    - {url: http://two.example/b" + rest;
    CHECK(line_of(one, "Error: GPG check FAILED") == 7);
    CHECK(line_of(two, "The repository 'http://two.example/b s' is not signed.") == 8);
    CHECK(line_of(two, "Error: GPG check FAILED") == 0);
}

TEST_CASE("a version that a Lock names and the mirror lacks asks for a new Lock") {
    const auto recipe = recipes::read_recipe("kind: Recipe\n"
                                             "name: a\n"
                                             "base: debian:12\n"
                                             "packages: {system: [jq]}\n",
                                             "my app/a.yaml");
    REQUIRE(recipe.has_value());
    const auto help_of = [&](const char* id, const char* message) {
        Fault fault;
        fault.code = ErrorCode::kExecution;
        fault.set(problem(id, message));
        fault.help = "as before";
        const Error error = pipeline::with_lock_remedy(*recipe, Error(fault));
        CHECK(error.code() == ErrorCode::kExecution);
        return error.faults().front().help;
    };
    const std::string again = "write the Lock again: `cybelectl recipe lock 'my app/a.yaml'`, or "
                              "name a mirror that keeps old versions with --mirror";
    CHECK(help_of("step-version-missing",
                  "%post: the version that is asked for of package 'jq' was not found") == again);
    CHECK(help_of("step-version-differs", "%post: a package differs from the Lock") == again);
    CHECK(help_of("step-package-missing", "%post: package 'jq' was not found") == "as before");
    CHECK(help_of("step-failed", "%post failed with exit code 1") == "as before");
}
