// SPDX-License-Identifier: Apache-2.0
// What depends on the version of a batch system, and the forms that a dialect lacks.
#include "golden_case.hpp"
#include "schedulers/dialects/needs.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

constexpr const char* kVersionHead = "kind: Job\nname: versions\nimage: a.sif\ncommand: [app]\n";

launchers::Site site_of(const std::string& dialect, const std::string& version) {
    const std::string with = version.empty() ? "" : ", version: '" + version + "'";
    return launchers::read_site(
               fmt::format("kind: Site\nname: hall\nscheduler: {{dialect: {}{}}}\n", dialect, with),
               "hall.yaml")
        .value();
}

/// The messages of all faults, a line each; warnings begin with `note: `.
std::string
verdict(const std::string& fields, const std::string& dialect, const std::string& version) {
    const launchers::Job job = job_of(kVersionHead + fields);
    const launchers::Site site = site_of(dialect, version);
    RenderInput input;
    input.job = &job;
    input.site = &site;
    input.dialect = dialect;
    input.image = "a.sif";
    const auto script = render_script(input);
    std::string text;
    for (const Fault& fault : script ? script->notes : script.error().faults()) {
        text += (fault.is_warning ? "note: " : "") + fault.message + "\n";
    }
    return text;
}

struct VersionRow {
    const char* fields;
    const char* dialect;
    const char* version;
    const char* verdict; ///< empty: taken without a word
};

constexpr const char* kLong = "name: a-name-of-more-than-fifteen\n";

} // namespace

TEST_CASE("what a version cannot express is refused for it, and a note where none is known") {
    constexpr std::array kRows{
        VersionRow{"resources: {exclusive: true}\n", "torque", "6.1.2", ""},
        VersionRow{"resources: {exclusive: true}\n",
                   "torque",
                   "5.1.3",
                   "`exclusive` cannot be expressed in torque before 6\n"},
        VersionRow{"resources: {exclusive: true}\n",
                   "torque",
                   "4.2.10",
                   "`exclusive` cannot be expressed in torque before 6\n"},
        VersionRow{"resources: {exclusive: true}\n",
                   "torque",
                   "",
                   "note: `exclusive` cannot be expressed in torque before 6\n"},
        VersionRow{"array: 0-9%2\n", "pbspro", "23.06", ""},
        VersionRow{"array: 0-9%2\n", "pbspro", "2020.1.4", ""},
        VersionRow{"array: 0-9%2\n",
                   "pbspro",
                   "19.2.4",
                   "'0-9%2' cannot be expressed in pbspro before 20\n"},
        VersionRow{"array: 0-9%2\n",
                   "pbspro",
                   "",
                   "note: '0-9%2' cannot be expressed in pbspro before 20\n"},
        VersionRow{"array: 0-9%2\n", "torque", "4.2", ""},
        VersionRow{"", "slurm", "19.05.8", ""},
        VersionRow{"", "slurm", "25.11.1", ""},
        VersionRow{"", "slurm", "18.08.1", "slurm 18.08.1 is not known\n"},
        VersionRow{"", "torque", "2.5.13", "torque 2.5.13 is not known\n"},
        VersionRow{"", "slurm-torque", "17.02", "slurm-torque 17.02 is not known\n"},
        VersionRow{"", "pbspro", "12.2", "pbspro 12.2 is not known\n"},
    };
    for (const VersionRow& row : kRows) {
        CAPTURE(row.dialect);
        CAPTURE(row.version);
        CHECK(verdict(row.fields, row.dialect, row.version) == row.verdict);
    }
}

TEST_CASE("a name that an old server has no room for is cut, so that two do not become one") {
    launchers::Job job = job_of(std::string("kind: Job\n") + kLong + "command: [app]\n");
    auto old = find_dialect("torque", "4.2.10");
    REQUIRE(old.has_value());
    const std::string cut = name_for(job, *old);
    CHECK(cut.size() == 15);
    CHECK(cut.starts_with("a-name-of--"));
    job.name += "-b";
    CHECK(name_for(job, *old) != cut);
    CHECK(name_for(job, *find_dialect("torque", "6.1")) == job.name);
    CHECK(name_for(job, *find_dialect("pbspro", "13.1")).size() == 15);
    CHECK(name_for(job, *find_dialect("slurm", "19.05")) == job.name);
    const launchers::Site site = site_of("torque", "4.2");
    RenderInput input;
    input.job = &job;
    input.site = &site;
    input.dialect = "torque";
    const auto script = render_script(input);
    REQUIRE(script.has_value());
    CHECK(script->text.find("#PBS -N " + name_for(job, *old) + "\n") != std::string::npos);
    REQUIRE(script->notes.size() == 1);
    CHECK(script->notes[0].message == "the name is cut to '" + name_for(job, *old) + "'");
}

TEST_CASE(
    "a name of each length: cut where the server has less room, with a warning, and only there") {
    constexpr std::size_t kOfOldPbs = 15;
    for (const auto& [dialect, version, most] : {std::tuple("torque", "4.2.10", kOfOldPbs),
                                                 std::tuple("torque", "6.1.2", std::size_t{50}),
                                                 std::tuple("pbspro", "13.1", kOfOldPbs),
                                                 std::tuple("slurm", "19.05", std::size_t{50})}) {
        const launchers::Site site = site_of(dialect, version);
        launchers::Job job = job_of(kVersionHead);
        RenderInput input;
        input.job = &job;
        input.site = &site;
        input.dialect = dialect;
        input.image = "a.sif";
        for (const std::size_t size : {1U, 14U, 15U, 16U, 49U, 50U}) {
            CAPTURE(dialect);
            CAPTURE(size);
            job.name = std::string(size, 'n');
            const std::string given = name_for(job, *find_dialect(dialect, version));
            CHECK((given == job.name) == (size <= most));
            CHECK(given.size() == std::min(size, most));
            const auto script = render_script(input);
            REQUIRE(script);
            CHECK(std::ranges::any_of(script->notes, [](const Fault& note) {
                      return note.id == "job-name-cut";
                  }) == (size > most));
        }
    }
}

TEST_CASE("each form of an array is taken or refused by each dialect") {
    struct Row {
        const char* array;
        std::array<bool, 4> taken; ///< slurm, torque, pbspro, slurm-torque
    };
    constexpr std::array kDialects{"slurm", "torque", "pbspro", "slurm-torque"};
    // torque.md, 2.4: what the products themselves take.
    constexpr std::array kRows{Row{"0-3", {true, true, true, true}},
                               Row{"0-3%2", {true, true, true, true}},
                               Row{"1,3", {true, true, false, true}},
                               Row{"1-2,5", {true, true, false, true}},
                               Row{"5", {true, true, false, true}},
                               Row{"0-0", {true, true, false, true}},
                               Row{"0-6:2", {true, false, true, true}},
                               Row{"0-10000", {true, true, false, true}}};
    for (const Row& row : kRows) {
        for (std::size_t index = 0; index < kDialects.size(); ++index) {
            CAPTURE(row.array);
            CAPTURE(kDialects[index]);
            const auto said =
                verdict(fmt::format("array: {}\n", row.array), kDialects[index], "23.02");
            CHECK(said.empty() == row.taken[index]);
        }
    }
    CHECK(verdict("array: 0-10000\n", "pbspro", "23") == "'0-10000' has 10001 elements\n");
}

TEST_CASE("ids are those of the dialect") {
    struct Row {
        const char* id;
        const char* form;
    };
    constexpr std::array kRows{Row{"12", "number"},
                               Row{"12_3", "element"},
                               Row{"12.head", "server"},
                               Row{"12.head.hall.example", "server"},
                               Row{"12[].head", "bracket"},
                               Row{"12[3]", "bracket"},
                               Row{"12_", ""},
                               Row{"12[a]", ""},
                               Row{"12[3", ""},
                               Row{"12.", ""},
                               Row{"12:13", ""},
                               Row{"job", ""},
                               Row{"", ""}};
    for (const Row& row : kRows) {
        CAPTURE(row.id);
        CHECK(id_form(row.id) == row.form);
    }
    CHECK(verdict("after: [{job: '12_3'}]\n", "slurm", "23.11").empty());
    CHECK(verdict("after: [{job: '12_3'}]\n", "torque", "6.1") ==
          "'12_3' cannot be expressed in torque\n");
    CHECK(verdict("after: [{job: 12.head}]\n", "slurm", "23.11") ==
          "'12.head' cannot be expressed in slurm\n");
    CHECK(verdict("after: [{job: '12[].head'}]\n", "pbspro", "23").empty());
}

TEST_CASE("more hosts than nodes are refused, but not for a Slurm that accepts them") {
    const std::string fields = "resources: {nodes: 1, hosts: [a, b]}\n";
    const std::string refused = "`hosts` names 2 nodes, and the job has 1\n";
    CHECK(verdict(fields, "slurm", "") == refused);
    CHECK(verdict(fields, "slurm", "22.05") == refused);
    CHECK(verdict(fields, "slurm", "23.02").empty());
    CHECK(verdict(fields, "slurm", "24.11").empty());
}

TEST_CASE("a name that one batch system would change is refused") {
    for (const char* name : {"a/b", "1abc", "-abc", "a b", "a$b", "ä", ""}) {
        CAPTURE(name);
        launchers::Job job = job_of(kVersionHead);
        job.name = name; // an override of the command line: the reader takes none of these
        RenderInput input;
        input.job = &job;
        input.dialect = "slurm";
        input.image = "a.sif";
        const auto script = render_script(input);
        REQUIRE_FALSE(script.has_value());
        CHECK(script.error().message().find("is not the name of a job") != std::string::npos);
    }
}

TEST_CASE("versions are compared by number, years with and without their century") {
    CHECK(is_older("5.1.3", "6"));
    CHECK(is_older("19.2.4", "20"));
    CHECK_FALSE(is_older("2020.1", "20"));
    CHECK_FALSE(is_older("10.0", "6"));
    CHECK_FALSE(is_older("", "6"));
    CHECK_FALSE(is_older("abc", "6"));
    CHECK(is_older("19.05", "22.05"));
}

} // namespace cybele::schedulers
