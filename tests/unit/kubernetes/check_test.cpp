// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/check/check.hpp"
#include "kubernetes/check/rules.hpp"
#include "support/file.hpp"
#include "support/linter.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

namespace cybele::kubernetes {
namespace {

namespace fs = std::filesystem;

const lint::Finding* find(const CheckReport& report, std::string_view rule) {
    const auto found = std::find_if(report.findings.begin(),
                                    report.findings.end(),
                                    [&](const lint::Finding& one) { return one.rule == rule; });
    return found == report.findings.end() ? nullptr : &*found;
}

CheckReport check_file(const std::string& name) {
    const fs::path path = fs::path(CYBELE_TESTS_DIR) / "cases/kubernetes" / name;
    auto text = read_file(path);
    REQUIRE_MESSAGE(text.has_value(), path.native());
    return check_objects(std::move(*text), name);
}

std::string told(const CheckReport& report) {
    return lint::text_of(report.findings, find_check_rule, false);
}

CheckReport check_script(const std::string& lines) {
    return check_objects(
        "apiVersion: wlm.sylabs.io/v1alpha1\nkind: SlurmJob\nmetadata:\n  name: a\n"
        "spec:\n  batch: |\n    #!/bin/bash\n" +
            lines,
        "a.yaml");
}

} // namespace

TEST_CASE("each rule has a file that trips it and a near miss that does not") {
    for (const lint::Rule* rule : check_rules()) {
        if (rule->id == "K17") {
            continue; // of size: in a case of its own
        }
        const std::string id(rule->id);
        CAPTURE(id);
        const auto trip = check_file(id + ".trip.yaml");
        const auto* finding = find(trip, id);
        CHECK_MESSAGE(finding != nullptr, told(trip));
        if (finding != nullptr) {
            CHECK(finding->fault.where->line > 0);
            CHECK_FALSE(finding->fault.message.empty());
            CHECK_FALSE(finding->fault.because.empty());
            CHECK_FALSE(finding->fault.help.empty());
            CHECK(finding->fault.is_warning == (rule->severity != lint::Severity::kError));
        }
        const auto near = check_file(id + ".near.yaml");
        CHECK_MESSAGE(find(near, id) == nullptr, told(near));
        CHECK_MESSAGE(near.count(lint::Severity::kError) == 0, told(near));
    }
}

TEST_CASE("K17 counts what the server counts") {
    const std::string map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: \"";
    const std::string full = map + std::string((1U << 20U) + 1, 'x') + "\"\n";
    CHECK(find(check_objects(full, "a.yaml"), "K17") != nullptr);
    CHECK(find(check_objects(map + std::string(200U << 10U, 'x') + "\"\n", "a.yaml"), "K17") ==
          nullptr);
    std::string script;
    while (script.size() < (270U << 10U)) {
        script += "    echo " + std::string(200, 'x') + "\n";
    }
    CHECK(find(check_script("    #SBATCH --nodes=1\n" + script), "K17") != nullptr);
}

TEST_CASE("a finding in a script stands at the file's line") {
    const auto report = check_script("    #SBATCH --nodes=1\n    #SBATCH --mem=4G\n    true\n");
    REQUIRE(find(report, "K32") != nullptr);
    CHECK(find(report, "K32")->fault.where->line == 9);
    CHECK(find(report, "K32")->fault.where->text == "    #SBATCH --mem=4G");
    const auto second = check_objects(
        "kind: x\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: A_b\n", "a.yaml");
    REQUIRE(find(second, "K11") != nullptr);
    CHECK(find(second, "K11")->fault.where->line == 6);
    CHECK(find(second, "K11")->fault.help == "write `a-b`");
}

TEST_CASE("comments pass rules over") {
    const std::string object = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\nspec:\n";
    const std::string rest = "  template:\n    spec:\n      restartPolicy: Never\n";
    const auto text = [&](const std::string& comment, const std::string& behind) {
        return object + comment + "  backoffLimit: 3" + behind + "\n" + rest;
    };
    CHECK(find(check_objects(text("", ""), "a"), "K19") != nullptr);
    CHECK(find(check_objects(text("", " # cybelectl: ignore K19"), "a"), "K19") == nullptr);
    CHECK(find(check_objects(text("  # cybelectl: ignore k19\n", ""), "a"), "K19") == nullptr);
    CHECK(find(check_objects(text("  # cybelectl: ignore K20\n", ""), "a"), "K19") != nullptr);
    CHECK(find(check_objects("# cybelectl: ignore-file K19\n" + text("", ""), "a"), "K19") ==
          nullptr);
}

TEST_CASE("words that yaml 1.1 reads otherwise are found, others are left alone") {
    const auto is_found = [](const std::string& word) {
        return find(check_objects(
                        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: " +
                            word + "\n",
                        "a.yaml"),
                    "K3") != nullptr;
    };
    for (const char* word :
         {"yes",  "No",   "on",    "OFF",   "y",   "N",    "true",    "017", "0o17",
          "08",   "0x1F", "0b101", "1_000", "1e3", "3.10", "1234e56", "10",  "99999999999999999999",
          "null", "~",    "",      "-1",    ".5",  ".inf", "1E3",     "+7"}) {
        CAPTURE(word);
        CHECK(is_found(word));
    }
    for (const char* word : {"yess",
                             "nope",
                             "a1",
                             "0x",
                             "1.2.3",
                             "e3",
                             "v1",
                             "12:30:45",
                             "4G",
                             "\"10\"",
                             "'yes'",
                             "a_1",
                             "1a",
                             "-",
                             "_1"}) {
        CAPTURE(word);
        if (std::string(word) != "-") {
            CHECK_FALSE(is_found(word));
        }
    }
}

TEST_CASE("the page of rules is the table") {
    const fs::path page = fs::path(CYBELE_SOURCE_DIR) / "docs/reference/kube-rules.md";
    if (std::getenv("CYBELE_ACCEPT") != nullptr && std::getenv("CI") == nullptr) { // NOLINT
        REQUIRE(write_file(page, check_rules_page()).has_value());
    }
    CHECK(read_file(page).value_or("") == check_rules_page());
    CHECK(find_check_rule("k19") == find_check_rule("K19"));
    CHECK(find_check_rule("K99") == nullptr);
    CHECK(lint::explain(*find_check_rule("K19")).find("backoffLimit") != std::string::npos);
}

} // namespace cybele::kubernetes
