// SPDX-License-Identifier: Apache-2.0
#include "pipeline/project_file.hpp"
#include "tests/unit/support/document_fields.hpp"
#include "tests/unit/support/document_golden.hpp"

using namespace cybele;
using namespace cybele::pipeline;

TEST_CASE("project: every field, the schema, the page and its example") {
    const std::string example = test::example_of("project");
    test::check_every_field(project_kind(), {example});
    test::compare_generated(project_kind(), "project");
    const auto read = read_project(example, "folder/cybelectl.yaml");
    REQUIRE_MESSAGE(read.has_value(), test::told(read));
    CHECK(read->folder == "folder");
}

TEST_CASE("project: the page's example is the defaults") {
    const auto written = read_project(test::example_of("project"), "cybelectl.yaml");
    const auto absent = read_project("kind: Project\n", "cybelectl.yaml");
    REQUIRE(absent.has_value());
    CHECK(absent->recipes == written->recipes);
    CHECK(absent->jobs == written->jobs);
    CHECK(absent->sites == written->sites);
    CHECK(absent->output == written->output);
    CHECK(absent->recipes == ProjectFile{}.recipes);
    CHECK(absent->output == ProjectFile{}.output);
}

TEST_CASE("project: files lie in its folder") {
    for (const char* path : {"/etc", "../x", "a/../../x", "~/x", ".."}) {
        CAPTURE(path);
        const auto read =
            read_project("kind: Project\noutput: \"" + std::string(path) + "\"\n", "p.yaml");
        REQUIRE_FALSE(read.has_value());
        CHECK(read.error().faults().front().where->line == 2);
        CHECK(read.error().faults().front().where->column == 9);
        CHECK(read.error().faults().front().help == "write a path below it");
    }
}
