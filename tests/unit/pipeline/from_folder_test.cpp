// SPDX-License-Identifier: Apache-2.0
#include "pipeline/evidence.hpp"
#include "pipeline/native_build.hpp"
#include "pipeline/python_packages.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace cybele;
using namespace cybele::pipeline;

TEST_CASE("a version fulfils conditions as pip reads them") {
    struct Row {
        const char* version;
        const char* conditions;
        bool fits;
    };
    const Row rows[] = {
        {"1.24.2", "", true},
        {"1.24.2", ">=1.20", true},
        {"1.24.2", ">= 1.24.2", true},
        {"1.24.2", ">1.24.2", false},
        {"1.24.2", "==1.24.2", true},
        {"1.24.2", "==1.24", false},
        {"1.24.2", "==1.24.*", true},
        {"1.24.2", "==1.2.*", false},
        {"1.24.0", "==1.24", true},
        {"1.24.2", "~=1.20", true},
        {"1.24.2", "~=1.20.1", false},
        {"1.24.2", "~=2.0", false},
        {"1.24.2", "!=1.24.2", false},
        {"1.24.2", "!=1.24.3,<2,>1", true},
        {"1.24.2", "<1.9", false},
        {"9.4.0", "<10", true},
        {"1.24.2", "===1.24.2", false},
        {"1.24.2", ">=1.20; python_version < \"3.8\"", false},
        {"1.24.2", "[extra]", false},
        {"1.24.2", "@ https://files.example/x.whl", false},
        {"1.24.2", "==1.24.2rc1", false},
        {"1.24.2", ">=", false},
        {"1.24.2", "1.24.2", false},
    };
    for (const Row& row : rows) {
        CAPTURE(row.conditions);
        CHECK(fulfils(row.version, row.conditions) == row.fits);
    }
}

TEST_CASE("requirements of a pyproject.toml are those of its project alone") {
    using Lines = std::vector<std::string>;
    CHECK(pyproject_requirements("[project]\ndependencies = [\"a>=1\", 'b']\nname = \"x\"\n") ==
          Lines{"a>=1", "b"});
    CHECK(pyproject_requirements("[project]\ndependencies = [ # two\n  \"a[x]>=1\",\n # \"no\"\n"
                                 "  \"b\" ]\n[tool.y]\ndependencies = [\"c\"]\n") ==
          Lines{"a[x]>=1", "b"});
    CHECK(pyproject_requirements("[tool.z]\ndependencies = [\"c\"]\n").empty());
    CHECK(pyproject_requirements("[project]\ndependencies = [\"never closed\n").empty());
    CHECK(pyproject_requirements("").empty());
}

TEST_CASE("programs of CMake by their variables, not by comments") {
    using Names = std::vector<std::string>;
    CHECK(cmake_programs("project(heat CXX)\nadd_executable(${PROJECT_NAME} a.cpp)\n") ==
          Names{"heat"});
    CHECK(cmake_programs(
              "set(APP wave)\nADD_EXECUTABLE (\n  ${APP} a.c)\nadd_executable(two b.c)\n") ==
          Names{"wave", "two"});
    CHECK(cmake_programs("# add_executable(no a.c)\nmy_add_executable(no a.c)\n").empty());
    CHECK(cmake_programs("add_executable(${UNKNOWN} a.c)\nadd_executable(").empty());
}

TEST_CASE("the program of a Makefile by its variable, else by the goal of make") {
    using Names = std::vector<std::string>;
    CHECK(make_programs("TARGET=wave\nall: other\n") == Names{"wave"});
    CHECK(make_programs("EXE := run.x\nCC = cc\n$(EXE): a.o\n") == Names{"run.x"});
    CHECK(make_programs(".PHONY: all\nall: solve tests\nsolve: a.o\n") == Names{"solve"});
    CHECK(make_programs("a.o: a.c\n\tcc -c $<\nprog: a.o\n") == Names{"prog"});
    CHECK(make_programs("all:\n\ttrue\nclean:\n").empty());
    CHECK(make_programs("").empty());
}

TEST_CASE("patterns of names have a star at their start, end or middle") {
    CHECK(is_named_like("x.py", "*.c *.py"));
    CHECK(is_named_like("requirements-dev.txt", "requirements*.txt"));
    CHECK(is_named_like("Dockerfile.gpu", "Dockerfile Dockerfile.*"));
    CHECK_FALSE(is_named_like("x.pyc", "*.py"));
    CHECK_FALSE(is_named_like("requirement.txt", "requirements*.txt"));
    CHECK_FALSE(is_named_like("", "*.py Makefile"));
}
