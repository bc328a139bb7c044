// SPDX-License-Identifier: Apache-2.0
#include "golden_case.hpp"
#include "schedulers/dialects/dialect.hpp"
#include "support/environment.hpp"
#include "support/file.hpp"
#include "support/message.hpp"
#include "support/process.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>

#include <doctest/doctest.h>

namespace cybele::schedulers {

namespace fs = std::filesystem;

fs::path golden_folder() {
    return fs::path(CYBELE_TESTS_DIR) / "golden" / "scripts";
}

launchers::Job job_of(const std::string& text) {
    auto job = launchers::read_job(text, "test.yaml");
    if (!job) {
        FAIL(format_text(job.error().faults()));
    }
    return std::move(*job);
}

GoldenCase golden_case(const std::string& name) {
    GoldenCase golden;
    golden.name = name;
    const fs::path folder = golden_folder();
    auto job =
        launchers::read_job(read_file(folder / (name + ".job.yaml")).value(), name + ".job.yaml");
    if (!job) {
        FAIL(format_text(job.error().faults()));
    }
    golden.job = std::move(*job);
    if (fs::exists(folder / (name + ".site.yaml"))) {
        golden.site =
            launchers::read_site(read_file(folder / (name + ".site.yaml")).value(), "site.yaml")
                .value();
    }
    if (fs::exists(folder / (name + ".facts"))) {
        const std::string text = read_file(folder / (name + ".facts")).value();
        golden.facts.emplace();
        for (std::size_t at = 0; at < text.size();) {
            const auto end = text.find('\n', at);
            const std::string line = text.substr(at, end - at);
            const auto blank = line.find(' ');
            auto& into =
                line.substr(0, blank) == "mpi" ? golden.facts->mpi : golden.facts->mpi_probe;
            into = line.substr(blank + 1);
            at = end + 1;
        }
    }
    return golden;
}

std::vector<GoldenCase> golden_cases() {
    std::vector<std::string> names;
    constexpr std::string_view kSuffix = ".job.yaml";
    for (const auto& entry : fs::directory_iterator(golden_folder())) {
        const std::string name = entry.path().filename().string();
        if (name.ends_with(kSuffix)) {
            names.push_back(name.substr(0, name.size() - kSuffix.size()));
        }
    }
    std::sort(names.begin(), names.end());
    std::vector<GoldenCase> cases;
    cases.reserve(names.size());
    for (const auto& name : names) {
        cases.push_back(golden_case(name));
    }
    return cases;
}

namespace {

void replace_after(std::string& text, std::string_view before, std::string_view old) {
    if (const auto at = text.find(before); at != std::string::npos) {
        CHECK(text.compare(at + before.size(), old.size(), old) == 0);
        text.replace(at + before.size(), old.size(), "VERSION");
    }
}

/// The version of the template set changes with every template, also those that a script has
/// nothing of: golden files have a word in its place, and in that of the program's version.
std::string without_version(std::string text, const std::string& dialect) {
    replace_after(text, ", templates ", find_dialect(dialect).value().templates.version());
    replace_after(text, " by cybelectl ", CYBELE_VERSION);
    return text;
}

/// Compares with a golden file, or writes it under CYBELE_ACCEPT=1 (never in CI).
void check_golden(const fs::path& path, const std::string& text) {
    const Environment environment = Environment::of_this_process();
    if (environment.get("CYBELE_ACCEPT")) {
        REQUIRE_MESSAGE(!environment.get("CI"), "golden files are not rewritten in CI");
        REQUIRE(write_file(path, text).has_value());
        MESSAGE("written: " << path.filename().string());
        return;
    }
    const auto expected = read_file(path);
    REQUIRE_MESSAGE(expected.has_value(),
                    path.string() << " is missing; CYBELE_ACCEPT=1 writes it");
    CHECK_MESSAGE(*expected == text, path.filename().string() << " differs:\n" << text);
}

} // namespace

TEST_CASE("each job renders for each dialect as its golden file says, or is refused so") {
    for (const GoldenCase& golden : golden_cases()) {
        for (const auto& dialect : dialect_names()) {
            CAPTURE(golden.name);
            CAPTURE(dialect);
            const auto script = render_script(golden.input(dialect));
            const fs::path stem = golden_folder() / (golden.name + "." + dialect);
            if (script) {
                CHECK(script->text == render_script(golden.input(dialect))->text);
                check_golden(stem.string() + ".sh", without_version(script->text, dialect));
                CHECK_FALSE(fs::exists(stem.string() + ".refused"));
            } else {
                check_golden(stem.string() + ".refused", format_text(script.error().faults()));
                CHECK_FALSE(fs::exists(stem.string() + ".sh"));
                CHECK(script.error().code() == ErrorCode::kInput);
            }
        }
    }
}

TEST_CASE("no line of a golden script is longer than 100 characters") {
    for (const auto& entry : fs::directory_iterator(golden_folder())) {
        if (entry.path().extension() != ".sh") {
            continue;
        }
        CAPTURE(entry.path().filename().native());
        std::istringstream lines(read_file(entry.path()).value());
        std::size_t longest = 0;
        for (std::string line; std::getline(lines, line);) {
            longest = std::max(longest, line.size());
        }
        CHECK(longest <= 100);
    }
}

TEST_CASE(
    "Slurm: a serial script has 90 lines, hybrid MPI 160, Spark 300; the launch is near the top") {
    struct Row {
        const char* name;
        std::size_t most;
        std::size_t most_bytes;
    };
    for (const Row& row :
         {Row{"serial", 90, 4200}, Row{"hybrid", 160, 8000}, Row{"spark", 300, 13300}}) {
        CAPTURE(row.name);
        const std::string text =
            read_file(golden_folder() / (std::string(row.name) + ".slurm.sh")).value();
        CHECK(text.size() <= row.most_bytes);
        std::istringstream lines(text);
        std::size_t count = 0;
        std::size_t directives = 0;
        std::size_t launch = 0;
        for (std::string line; std::getline(lines, line);) {
            ++count;
            directives = line.starts_with("#SBATCH") ? count : directives;
            launch = launch == 0 && line.starts_with("    launch ") ? count : launch;
        }
        CHECK(count <= row.most);
        CHECK(launch > directives);
        CHECK(launch <= directives + 45);
    }
}

TEST_CASE("a script says with which options of the command line it was rendered, on lines of 100") {
    const GoldenCase golden = golden_case("hybrid");
    RenderInput input = golden.input("slurm");
    CHECK(render_script(input)->text.find("# With the options") == std::string::npos);
    input.options = {"-N 2", "-A 'my project'"};
    CHECK(render_script(input)->text.find("\n# With the options -N 2 -A 'my project'\n") !=
          std::string::npos);
    input.options.assign(9, "--comment " + std::string(30, 'x'));
    std::istringstream lines(render_script(input)->text);
    std::size_t found = 0;
    for (std::string line; std::getline(lines, line);) {
        found += line.starts_with("# With the options --comment xxx") ? 1U : 0U;
        CHECK(line.size() <= 100);
    }
    CHECK(found == 5); // two of the nine fit on a line
}

TEST_CASE("plain scripts: at most 25 lines, or refused with what they cannot do") {
    const fs::path folder = golden_folder().parent_path() / "plain";
    for (const GoldenCase& golden : golden_cases()) {
        for (const auto& dialect : dialect_names()) {
            CAPTURE(golden.name);
            CAPTURE(dialect);
            RenderInput input = golden.input(dialect);
            if (!render_script(input)) {
                continue; // for the same reasons
            }
            input.is_plain = true;
            const auto script = render_script(input);
            const fs::path stem = folder / (golden.name + "." + dialect);
            if (script) {
                check_golden(stem.string() + ".sh", without_version(script->text, dialect));
                CHECK_FALSE(fs::exists(stem.string() + ".refused"));
                CHECK(std::count(script->text.begin(), script->text.end(), '\n') <= 25);
            } else {
                check_golden(stem.string() + ".refused", format_text(script.error().faults()));
                CHECK_FALSE(fs::exists(stem.string() + ".sh"));
            }
        }
    }
}

TEST_CASE("every golden script passes bash -n and shellcheck") {
    std::vector<std::string> words{"shellcheck", "-s", "bash"};
    std::vector<fs::directory_entry> entries;
    for (const auto& folder : {golden_folder(), golden_folder().parent_path() / "plain"}) {
        std::copy(fs::directory_iterator(folder), {}, std::back_inserter(entries));
    }
    for (const auto& entry : entries) {
        if (entry.path().extension() != ".sh") {
            continue;
        }
        words.push_back(entry.path().string());
        Command command;
        command.argv = {"/bin/bash", "-n", entry.path().string()};
        const auto outcome = run_process(command);
        REQUIRE(outcome.has_value());
        CHECK_MESSAGE(outcome->ok(), outcome->errors);
    }
    REQUIRE(words.size() > 15);
    Command command;
    command.argv = words;
    const auto outcome = run_process(command);
    REQUIRE(outcome.has_value());
    CHECK_MESSAGE(outcome->ok(), outcome->output << outcome->errors);
}

} // namespace cybele::schedulers
