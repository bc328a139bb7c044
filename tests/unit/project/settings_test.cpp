// SPDX-License-Identifier: Apache-2.0
#include "project/settings.hpp"
#include "support/file.hpp"

#include <doctest/doctest.h>

using namespace cybele;

TEST_CASE("variable before project before user before machine before default, with origins") {
    const auto directory = TempDirectory::make("/tmp", "cybele-test").value();
    const auto& root = directory.path();
    REQUIRE(make_directories(root / "user").has_value());
    REQUIRE(make_directories(root / "project/sub").has_value());
    REQUIRE(
        write_file(root / "machine.yaml", "mirror: m\nscheduler: slurm\nsite: s\n").has_value());
    REQUIRE(write_file(root / "user/config.yaml", "mirror: u\nscheduler: torque\n").has_value());
    REQUIRE(write_file(root / "project/.cybelectl.yaml", "mirror: p\n").has_value());
    Environment environment(EnvironmentMap{{"CYBELE_CONFIG_DIR", (root / "user").native()}});
    const auto load = [&] {
        return project::Settings::load(environment, root / "project/sub", root / "machine.yaml")
            .value();
    };
    CHECK(load().get("mirror") == "p");
    CHECK(load().get("scheduler") == "torque");
    CHECK(load().get("site") == "s");
    CHECK(load().get("builder") == "embedded");
    CHECK(load().all()[0].origin == (root / "user/config.yaml").native() + ":2");
    environment.set("CYBELE_MIRROR", "v");
    CHECK(load().get("mirror") == "v");
}

TEST_CASE("unknown settings are refused with their place, all at once") {
    const auto directory = TempDirectory::make("/tmp", "cybele-test").value();
    const auto file = directory.path() / "config.yaml";
    REQUIRE(write_file(file, "mirorr: x\nsite: [a]\n").has_value());
    const Environment environment(EnvironmentMap{{"CYBELE_CONFIG_DIR", directory.path().native()}});
    const auto settings = project::Settings::load(environment, directory.path(), "/nonexistent");
    REQUIRE_FALSE(settings.has_value());
    REQUIRE(settings.error().faults().size() == 2);
    CHECK(settings.error().faults()[0].help == "did you mean 'mirror'?");
    CHECK(settings.error().faults()[0].where->line == 1);
    CHECK(settings.error().faults()[1].where->column == 7);
}

TEST_CASE("every setting has a variable of its own") {
    for (const auto& row : project::setting_rows()) {
        CHECK(row.variable.substr(0, 7) == "CYBELE_");
        CHECK_FALSE(row.meaning.empty());
    }
}
