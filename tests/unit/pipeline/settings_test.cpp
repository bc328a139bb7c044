// SPDX-License-Identifier: Apache-2.0
#include "pipeline/settings.hpp"
#include "support/file.hpp"
#include "support/trusted_folders.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace cybele;

namespace {

/// `project/sub` below a folder of its own, with settings at each place.
struct SettingsPlace {
    TempDirectory directory = TempDirectory::make("/var/tmp", "cybele-test").value();
    std::filesystem::path root = directory.path();
    std::filesystem::path project_file = root / "project/.cybelectl.yaml";
    Environment environment{EnvironmentMap{{"CYBELE_CONFIG_DIR", (root / "user").native()}}};

    SettingsPlace() {
        REQUIRE(make_directories(root / "user", 0700));
        REQUIRE(make_directories(root / "project/sub", 0700));
        REQUIRE(write_file(root / "machine.yaml", "mirror: m\nscheduler: slurm\nsite: s\n"));
        REQUIRE(write_file(root / "user/config.yaml", "mirror: u\nscheduler: torque\n"));
        REQUIRE(write_file(project_file, "mirror: p\nstall-limit: 9 s\n"));
    }
    [[nodiscard]] Result<pipeline::Settings> load() const {
        return pipeline::Settings::load(environment, root / "project/sub", root / "machine.yaml");
    }
    [[nodiscard]] std::string note() const {
        const auto settings = load().value();
        return settings.notes().empty() ? std::string() : settings.notes().front().message;
    }
    void trust() const {
        REQUIRE(TrustedFolders::add(environment, root / "project"));
    }
};

} // namespace

TEST_CASE("variable before project before user before machine before default, with origins") {
    SettingsPlace place;
    place.trust();
    CHECK(place.load()->get("mirror") == "p");
    CHECK(place.load()->get("scheduler") == "torque");
    CHECK(place.load()->get("site") == (place.root / "s").native());
    CHECK(place.load()->get("builder") == "embedded");
    CHECK(place.load()->all()[0].origin == (place.root / "user/config.yaml").native() + ":2");
    CHECK(place.load()->files() ==
          std::vector<std::filesystem::path>{
              place.root / "machine.yaml", place.root / "user/config.yaml", place.project_file});
    CHECK(place.load()->notes().empty());
    place.environment.set("CYBELE_MIRROR", "v");
    CHECK(place.load()->get("mirror") == "v");
}

TEST_CASE("a file of settings with blank lines and comments alone sets nothing") {
    SettingsPlace place;
    for (const std::string text : {"", "\n", "# mirror: none\r\n \t\n", "#"}) {
        CAPTURE(text);
        REQUIRE(write_file(place.root / "user/config.yaml", text));
        REQUIRE(place.load());
        CHECK(place.load()->get("mirror") == "m");
    }
}

TEST_CASE("a settings file whose name ends with .yml is told") {
    const SettingsPlace place;
    place.trust(); // else its file has a note, too
    for (const char* const name : {"machine", "user/config", "project/sub/.cybelectl"}) {
        CAPTURE(name);
        const auto right = place.root / (std::string(name) + ".yaml");
        const auto wrong = place.root / (std::string(name) + ".yml");
        REQUIRE(write_file(wrong, "mirror: m\n"));
        const auto before = read_file(right);
        if (before) {
            CHECK(place.load()->notes().empty()); // a file of the right name is read
            std::filesystem::remove(right);
        }
        CHECK(place.note() ==
              wrong.native() + " is ignored (its name must end with .yaml); to use it, run: mv " +
                  wrong.native() + " " + right.native());
        std::filesystem::remove(wrong);
        if (before) {
            REQUIRE(write_file(right, *before));
        }
    }
}

TEST_CASE("a project file that the user has not allowed decides nothing that needs trust") {
    const SettingsPlace place;
    CHECK(place.load()->get("mirror") == "u");
    CHECK(place.load()->get("stall-limit") == "9 s");
    CHECK(place.note() == place.project_file.native() +
                              " is ignored (mirror: the folder is not trusted); to use it, run: "
                              "cybelectl config trust " +
                              place.project_file.parent_path().native());
    // Each setting is in the one class or in the other.
    for (const auto& row : pipeline::setting_rows()) {
        const bool is_harmless = row.name == "scheduler" || row.name == "stall-limit";
        CHECK(row.needs_trust == !is_harmless);
        REQUIRE(write_file(place.project_file, std::string(row.name) + ": given\n"));
        CHECK((place.load()->get(row.name) == "given") == is_harmless);
        CHECK(place.note().empty() == is_harmless);
    }
    REQUIRE(write_file(place.project_file, "mirorr: x\n"));
    CHECK(place.note().find("(line 1: unknown setting 'mirorr')") != std::string::npos);
    REQUIRE(write_file(place.project_file, "[\n"));
    CHECK(place.load()->get("mirror") == "u");
    CHECK(place.load()->notes().size() == 1);
}

TEST_CASE("a relative path of a settings file begins at the file's folder") {
    const SettingsPlace place;
    REQUIRE(write_file(place.root / "user/config.yaml", "site: sites/hall.yaml\nstore: /s\n"));
    CHECK(place.load()->get("site") == (place.root / "user/sites/hall.yaml").native());
    CHECK(place.load()->get("store") == "/s");
}

TEST_CASE("an allowed project file rules below a nearer one that is not") {
    const SettingsPlace place;
    place.trust();
    REQUIRE(write_file(place.root / "project/sub/.cybelectl.yaml", "mirror: near\n"));
    CHECK(place.load()->get("mirror") == "p");
    CHECK(place.load()->notes().size() == 1);
    REQUIRE(write_file(place.project_file, "mirorr: x\n"));
    CHECK(place.load().error().code() == ErrorCode::kInput);
}

TEST_CASE("settings that others can write do not count") {
    const SettingsPlace place;
    place.trust();
    const auto open_to_all = [](const std::filesystem::path& path) {
        std::filesystem::permissions(path, std::filesystem::perms(0666));
    };
    open_to_all(place.project_file);
    CHECK(place.load()->get("mirror") == "u");
    CHECK(place.load()->get("stall-limit") == "30 s");
    CHECK(place.note().find("other users can write " + place.project_file.native()) !=
          std::string::npos);
    std::filesystem::permissions(place.project_file, std::filesystem::perms(0600));
    std::filesystem::permissions(place.root / "project", std::filesystem::perms(0777));
    CHECK(place.load()->get("mirror") == "u");
    open_to_all(place.root / "machine.yaml");
    open_to_all(place.root / "user/config.yaml");
    const auto refused = place.load();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kEnvironment);
    CHECK(refused.error().faults().size() == 2);
}

TEST_CASE("settings that cannot be looked for are an error, not an absence") {
    SettingsPlace place;
    std::filesystem::create_symlink("loop", place.root / "loop");
    const auto refused = [](const Result<pipeline::Settings>& settings) {
        return !settings && settings.error().code() == ErrorCode::kEnvironment &&
               settings.error().faults().front().id == "settings-not-visible";
    };
    const auto sub = place.root / "project/sub";
    const auto machine_file = place.root / "machine.yaml";
    CHECK(pipeline::Settings::load(place.environment, sub, place.root / "none/config.yaml"));
    CHECK(
        refused(pipeline::Settings::load(place.environment, sub, place.root / "loop/config.yaml")));
    place.environment.set("CYBELE_CONFIG_DIR", (place.root / "none").native());
    CHECK(pipeline::Settings::load(place.environment, sub, machine_file));
    place.environment.set("CYBELE_CONFIG_DIR", (place.root / "loop").native());
    CHECK(refused(pipeline::Settings::load(place.environment, sub, machine_file)));
    CHECK(pipeline::Settings::load(place.environment, sub, machine_file)
              .error()
              .faults()
              .front()
              .because.ends_with("; your settings may be there"));
    CHECK_FALSE(TrustedFolders::load(place.environment));
}

TEST_CASE("unknown settings are refused with their place, all at once") {
    const auto directory = TempDirectory::make("/var/tmp", "cybele-test").value();
    const auto file = directory.path() / "config.yaml";
    REQUIRE(write_file(file, "mirorr: x\nsite: [a]\n").has_value());
    const Environment environment(EnvironmentMap{{"CYBELE_CONFIG_DIR", directory.path().native()}});
    const auto settings =
        pipeline::Settings::load(environment, directory.path(), directory.path() / "missing");
    REQUIRE_FALSE(settings.has_value());
    REQUIRE(settings.error().faults().size() == 2);
    CHECK(settings.error().faults()[0].help == "did you mean 'mirror'?");
    CHECK(settings.error().faults()[0].where->line == 1);
    CHECK(settings.error().faults()[1].where->column == 7);
}

TEST_CASE("every setting has a variable of its own") {
    for (const auto& row : pipeline::setting_rows()) {
        CHECK(row.variable.substr(0, 7) == "CYBELE_");
        CHECK_FALSE(row.meaning.empty());
    }
}
