// SPDX-License-Identifier: Apache-2.0
#include "pipeline/config_files.hpp"

#include "pipeline/evidence.hpp"
#include "recipes/forms/words.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::pipeline {
namespace {

/// Files by which repo2docker chooses how it builds, or which it runs.
constexpr std::string_view kConfigNames =
    "Dockerfile Project.toml JuliaProject.toml REQUIRE default.nix environment.yml "
    "environment.yaml Pipfile Pipfile.lock requirements.txt requirements3.txt apt.txt install.R "
    "postBuild start runtime.txt";
/// Files that it reads at the top alone, and only where no other folder counts.
constexpr std::string_view kTopNames = "DESCRIPTION setup.py setup.cfg pyproject.toml";

bool has_config(const SourceFolder& folder, const std::string& prefix) {
    return std::ranges::any_of(folder.files, [&](const std::string& file) {
        return file.starts_with(prefix) && is_named_like(file.substr(prefix.size()), kConfigNames);
    });
}

/// Files that repo2docker reads and this program does not, with what to do instead.
struct UnusedRow {
    std::string_view name;
    std::string_view instead;
};
constexpr UnusedRow kUnused[] = {
    {"Project.toml",
     "Debian 12 has no Julia; write the installation of Julia and its packages into `steps`"},
    {"JuliaProject.toml",
     "Debian 12 has no Julia; write the installation of Julia and its packages into `steps`"},
    {"REQUIRE",
     "repo2docker does not support it any more; write the installation of Julia into `steps`"},
    {"default.nix", "write the packages of Debian into `packages.system`"},
    {"requirements3.txt", "the image has Python 3 alone; write its packages into requirements.txt"},
    {"start", "write its commands into `setup` of the Job"},
};

void name_unused(const SourceFolder& folder,
                 const ConfigUse& use,
                 std::vector<std::string>& assumed) {
    for (const UnusedRow& row : kUnused) {
        const std::string file = folder.config + std::string(row.name);
        if (folder.has(file)) {
            assumed.push_back(file + " is not used: " + std::string(row.instead));
        }
    }
    if (use.is_r) {
        return;
    }
    if (folder.has("DESCRIPTION") && folder.config.empty()) {
        assumed.emplace_back("DESCRIPTION is not used: the program is not in R; write the "
                             "installation of the R package into `steps`");
    }
    if (folder.has("renv.lock")) {
        assumed.emplace_back("renv.lock is not used: the program is not in R; make a Recipe of it "
                             "with `cybelectl recipe import renv.lock`");
    }
}

/// Adds packages that the list does not have yet.
void add_system(recipes::Draft& draft, std::initializer_list<std::string_view> names) {
    auto& list = draft.packages.system;
    for (const std::string_view name : names) {
        if (!contains(list, name)) {
            list.emplace_back(name);
        }
    }
}

/// One command that repo2docker runs in the folder at the end of its build.
struct RunRow {
    std::string file;
    std::string command;
    std::string instead; ///< where it cannot run
    std::string comment;
    bool is_r = false;
};

std::vector<RunRow> run_rows(const SourceFolder& folder, const ConfigUse& use) {
    const std::string install = folder.config + "install.R";
    const std::string build = folder.config + "postBuild";
    std::vector<RunRow> rows;
    if (folder.has(install)) {
        rows.push_back({install,
                        "Rscript " + install,
                        "write its installations into `steps`",
                        "As repo2docker runs " + install + ".",
                        true});
    }
    if (use.installs_own_r) {
        rows.push_back({"DESCRIPTION",
                        "R CMD INSTALL .",
                        "",
                        "This folder's own package, as repo2docker installs it.",
                        true});
    }
    if (folder.has(build)) {
        rows.push_back({build,
                        fmt::format("chmod +x {0} && ./{0}", build),
                        "write its commands into `steps`",
                        "As repo2docker runs " + build + "."});
    }
    return rows;
}

/// Steps in a copy of the folder, which they may read any file of. The sources of a compiled
/// program are in a stage that the image does not have.
void plan_run_files(const SourceFolder& folder,
                    const std::string& folder_from,
                    const ConfigUse& use,
                    recipes::Draft& draft,
                    std::vector<std::string>& assumed) {
    const std::string to = "/opt/" + draft.name;
    bool has_step = false;
    for (const RunRow& row : run_rows(folder, use)) {
        if (!draft.stages.empty()) {
            assumed.push_back(row.file + " is not used: " + row.instead);
            continue;
        }
        if (row.is_r && use.has_debian) {
            add_system(draft, {"r-base-core", "r-base-dev"});
        }
        recipes::DraftStep step;
        step.workdir = to;
        step.comments = {row.comment};
        step.run = row.command;
        draft.steps.push_back(std::move(step));
        assumed.push_back(row.file + ": a step at the end of the build");
        has_step = true;
    }
    if (has_step) {
        std::erase_if(draft.files,
                      [&](const recipes::FileCopy& one) { return one.to.starts_with(to + "/"); });
        recipes::FileCopy all;
        all.from = recipes::literal(folder_from);
        all.to = to;
        draft.files.push_back(std::move(all));
        assumed.emplace_back("the complete folder is copied into the image for these steps; list "
                             "what does not belong there in .dockerignore");
    }
}

void plan_runtime(const SourceFolder& folder,
                  const ConfigUse& use,
                  std::vector<std::string>& assumed) {
    const RuntimeFile runtime = read_runtime(folder);
    const std::string file = folder.config + "runtime.txt";
    if (runtime.name.empty()) {
        return;
    }
    const std::string_view version = runtime.version;
    const bool is_r = runtime.name == "r" &&
                      (version.empty() || version == "4.2" || version == "4.2.2" || version == "4");
    if (!use.has_debian) {
        assumed.push_back(file + " is not used: renv.lock names the version of R");
    } else if (runtime.name == "python" && (version == "3.11" || version == "3")) {
        assumed.push_back(file + ": Python 3.11, which Debian 12 has");
    } else if (is_r) {
        assumed.push_back(file + ": R 4.2.2, which Debian 12 has" +
                          (runtime.date.empty() ? ""
                                                : "; its packages are those of Debian 12, not of " +
                                                      printable(runtime.date)));
    } else {
        assumed.push_back(file +
                          " is not used: the image has Python 3.11 and R 4.2 of Debian 12; for "
                          "another version write the image that has it as `base`");
    }
}

/// The packages of Debian that apt.txt names, without those that they recommend.
void take_apt(const SourceFolder& folder,
              recipes::Draft& draft,
              std::vector<std::string>& assumed) {
    const std::string file = folder.config + "apt.txt";
    if (!folder.has(file)) {
        return;
    }
    const std::string text = read_source_text(folder, file).value_or("");
    assumed.push_back(printable(file) + ": packages of Debian 12");
    for (const std::string_view line : text::split_terminated(text, '\n')) {
        const std::string name(text::trimmed(line.substr(0, line.find('#'))));
        constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789+-.=:~";
        if (name.empty()) {
            continue;
        }
        if (name.find_first_not_of(kCharacters) != std::string::npos || name.front() == '-') {
            assumed.push_back(printable(file) + ": '" + printable(name) +
                              "' is left out: it is not the name of a package");
            continue;
        }
        add_system(draft, {name});
    }
}

/// Files at the top that another folder hides.
void name_hidden_files(const SourceFolder& folder, std::vector<std::string>& assumed) {
    if (folder.config.empty()) {
        return;
    }
    for (const std::string& file : folder.files) {
        if (is_named_like(file, kConfigNames) || is_named_like(file, kTopNames)) {
            assumed.push_back(printable(file) + " is not used: " + folder.config +
                              " counts alone, as in repo2docker");
        }
    }
}

} // namespace

Result<std::string> config_folder(const SourceFolder& folder) {
    const bool has_binder = has_config(folder, "binder/");
    const bool has_hidden = has_config(folder, ".binder/");
    if (has_binder && has_hidden) {
        return fail(ErrorCode::kInput,
                    problem("folder-two-configs",
                            printable(folder.root.native()) +
                                " has files of repo2docker in binder/ and in .binder/"),
                    "only one of these folders counts, and repo2docker refuses both",
                    "keep the files in one of them");
    }
    return std::string(has_binder ? "binder/" : has_hidden ? ".binder/" : "");
}

RuntimeFile read_runtime(const SourceFolder& folder) {
    const std::string file = folder.config + "runtime.txt";
    if (!folder.has(file)) {
        return {};
    }
    const std::string text = read_source_text(folder, file).value_or("");
    const auto parts = text::split(text::trimmed(text), '-');
    RuntimeFile runtime;
    runtime.name = parts.front().empty() ? "unknown" : std::string(parts.front());
    if (parts.size() == 2 || parts.size() == 5) { // r-4.2, r-2023-01-31, r-4.2-2023-01-31
        runtime.version = parts[1];
    }
    for (std::size_t i = parts.size() > 3 ? parts.size() - 3 : parts.size(); i < parts.size();
         ++i) {
        runtime.date += (runtime.date.empty() ? "" : "-") + std::string(parts[i]);
    }
    return runtime;
}

void plan_config_files(const SourceFolder& folder,
                       const std::string& folder_from,
                       const ConfigUse& use,
                       recipes::Draft& draft,
                       std::vector<std::string>& assumed) {
    name_hidden_files(folder, assumed);
    take_apt(folder, draft, assumed);
    name_unused(folder, use, assumed);
    plan_runtime(folder, use, assumed);
    plan_run_files(folder, folder_from, use, draft, assumed);
}

} // namespace cybele::pipeline
