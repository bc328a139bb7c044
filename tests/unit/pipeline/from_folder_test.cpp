// SPDX-License-Identifier: Apache-2.0
#include "pipeline/evidence.hpp"
#include "pipeline/native_build.hpp"
#include "pipeline/python_packages.hpp"
#include "pipeline/r_imports.hpp"
#include "pipeline/setup_files.hpp"

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

TEST_CASE("packages that a program in R loads, not those of comments, texts and variables") {
    const auto names = [](std::string_view text) {
        std::string list;
        for (const RUse& use : packages_loaded(text, "x.R")) {
            list += use.package + ":" + std::to_string(use.line) + " ";
        }
        return list;
    };
    CHECK(names("library(ggplot2)\nrequire( 'Matrix' )\nlibrary(package = dplyr)\n") ==
          "ggplot2:1 Matrix:2 dplyr:3 ");
    CHECK(names("a <- xx::f(1); yy:::g()\nxx::h\n") == "xx:1 yy:1 ");
    CHECK(names("if (!requireNamespace(\"aa\", quietly = TRUE)) loadNamespace('bb')") ==
          "aa:1 bb:1 ");
    CHECK(names("library(pkg, character.only = TRUE); requireNamespace(pkg); library(get(x))")
              .empty());
    CHECK(names("# library(no)\nx <- \"library(no) \\\" no::x\"; y <- 'a\nb'\nlibrary(yes)") ==
          "yes:4 ");
    CHECK(names("mylibrary(no); library; library(\n  late)\nf(2)[1]::x") == "late:2 ");
    CHECK(names("library(").empty());
    CHECK(names("library(package").empty());
    CHECK(names("'never closed").empty());
    CHECK(names("\"ends in \\").empty());
    CHECK(is_own_package("parallel"));
    CHECK_FALSE(is_own_package("Matrix"));
}

TEST_CASE("the fields of a DESCRIPTION have lines that continue, and conditions") {
    const RDescription own = read_description(
        "Package: heat\nDepends: R (>= 3.5), methods\nImports:\n    jsonlite (>= 1.7.1),\n\tR6\n"
        "Suggests: testthat\nLinkingTo: Rcpp");
    CHECK(own.package == "heat");
    std::string items;
    for (const auto& item : own.items) {
        items += item.package + "[" + item.condition + "] ";
    }
    CHECK(items == "R[>= 3.5] methods[] jsonlite[>= 1.7.1] R6[] Rcpp[] ");
    CHECK(read_description(" x\n:\nImports: a (\n").items.size() == 1);
    CHECK(read_description("").items.empty());
}

TEST_CASE("install_requires of a setup.py counts where it is a list of texts alone") {
    using Lines = std::vector<std::string>;
    CHECK(setup_py_requirements("setup(install_requires=['a>=1', \"b\"], x=1)") ==
          Lines{"a>=1", "b"});
    CHECK(setup_py_requirements("# install_requires=['no']\nsetup(\n  install_requires = (\n"
                                "    'a', # one\n  ),\n)") == Lines{"a"});
    CHECK(setup_py_requirements(
              "install_requires = ['a']\nsetup(install_requires=install_requires)\n") ==
          Lines{"a"});
    CHECK(setup_py_requirements("setup(install_requires=[])") == Lines{});
    for (const char* text : {"setup()",
                             "setup(install_requires=read())",
                             "setup(install_requires=['a'] + more)",
                             "setup(install_requires=['a' 'b'])",
                             "setup(install_requires=[f'a{x}'])",
                             "setup(install_requires=['a'",
                             "setup(install_requires=['a",
                             "setup(install_requires=['''a'''])",
                             "if install_requires == ['a']: pass",
                             "setup(extras_install_requires=['a'])",
                             "setup(install_requires="}) {
        CAPTURE(text);
        CHECK_FALSE(setup_py_requirements(text));
    }
}

TEST_CASE("install_requires of a setup.cfg counts below [options], unless it names a file") {
    using Lines = std::vector<std::string>;
    CHECK(setup_cfg_requirements("[metadata]\ninstall_requires = no\n[options]\n"
                                 "install_requires =\n    a>=1\n    # no\n\tb ; python_version > "
                                 "'3'\npackages = find:\n    no\n[options.x]\n"
                                 "install_requires = no\n") ==
          Lines{"a>=1", "b ; python_version > '3'"});
    CHECK(setup_cfg_requirements("[options]\ninstall_requires: a\n") == Lines{"a"});
    CHECK_FALSE(setup_cfg_requirements("[options]\ninstall_requires = file: requirements.txt\n"));
    CHECK(setup_cfg_requirements("")->empty());
}
