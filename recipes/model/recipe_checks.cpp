// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/recipe_checks.hpp"

#include "recipes/forms/requirements.hpp"
#include "recipes/tables/tables.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

namespace cybele::recipes {
namespace {

using document::Reading;

std::string at(std::string_view prefix, std::string_view field) {
    return prefix.empty() ? std::string(field) : std::string(prefix) + "." + std::string(field);
}

std::string item(const std::string& list, std::size_t index) {
    return list + "[" + std::to_string(index) + "]";
}

/// The stages before one, and all of them.
struct StageNames : std::set<std::string, std::less<>> {
    const std::set<std::string, std::less<>>* all = nullptr;
};

/// `numpy` for `numpy-scipy`, else the name with the fewest other letters.
template <class Names>
std::string nearest_need(const std::string& need, const Names& known) {
    const auto has_word = [&](std::string_view name) {
        return ("-" + std::string(name) + "-").find("-" + need + "-") != std::string::npos;
    };
    const auto found = std::ranges::find_if(known, has_word);
    return found == known.end() ? nearest(need, known) : std::string(*found);
}

void check_needs(Reading& reading, const StageFields& fields, std::string_view prefix) {
    const std::string list = at(prefix, "packages.needs");
    const auto known = need_names();
    for (std::size_t i = 0; i < fields.packages.needs.size(); ++i) {
        const std::string& need = fields.packages.needs[i];
        if (contains(known, need) || !reading.is_good(item(list, i))) {
            continue;
        }
        const std::string near = nearest_need(need, known);
        reading.complain(item(list, i),
                         problem("need-unknown", "no generic name '" + printable(need) + "'"),
                         "`cybelectl recipe list --needs` lists the names that are known",
                         near.empty() ? "move `" + printable(need) + "` to `system`"
                                      : "did you mean `" + near + "`?");
    }
}

void check_requirements(Reading& reading, const StageFields& fields, std::string_view prefix) {
    const std::string list = at(prefix, "packages.pip");
    for (std::size_t i = 0; i < fields.packages.pip.size(); ++i) {
        const std::string path = item(list, i);
        auto fault = requirement_fault(fields.packages.pip[i]);
        if (fault && reading.is_good(path)) {
            reading.complain(
                path, problem("requirement-malformed", fault->what), fault->because, fault->help);
        }
    }
}

void check_sources(Reading& reading, const StageFields& fields, std::string_view prefix) {
    const std::string list = at(prefix, "packages.source");
    for (std::size_t i = 0; i < fields.packages.source.size(); ++i) {
        const SourcePackage& source = fields.packages.source[i];
        const std::string path = item(list, i);
        if (!reading.is_good(path)) {
            continue;
        }
        if (source.url.empty() != source.sha256.empty()) {
            reading.complain(path,
                             problem("url-without-sha256", "'url' and 'sha256' belong together"),
                             "what is downloaded must be known",
                             source.url.empty() ? "add `url: …`, the address of the archive"
                                                : "add `sha256: …`, as `sha256sum FILE` prints it");
        } else if (source.git.empty() != source.commit.empty()) {
            reading.complain(path,
                             problem("git-without-commit", "'git' and 'commit' belong together"),
                             "a branch moves",
                             source.git.empty()
                                 ? "add `git: …`, the address of the repository"
                                 : "add `commit: …`, as `git rev-parse HEAD` prints it");
        } else if ((source.build == "script") == source.script.empty()) {
            reading.complain(path,
                             problem("script-build-mismatch", "'script' goes with `build: script`"),
                             "the other ways of building have their own commands",
                             source.script.empty() ? "add `script: make install`"
                                                   : "write `build: script`");
        }
    }
}

/// Where a file goes to.
void check_target(Reading& reading, const std::string& path, const std::string& to) {
    if (!to.starts_with('/')) {
        reading.complain(path,
                         problem("file-target-not-absolute", "'to' is not an absolute path"),
                         "it names a place in the image",
                         to.starts_with('~') ? "choose a place that every user sees, below /opt"
                                             : "write `/" + printable(to) + "`");
    } else if ((to + "/").find("/../") != std::string::npos) {
        reading.complain(
            path,
            problem("file-target-goes-up", "'to' goes up with `..`"),
            "a place in the image has one name",
            "write `" + printable(std::filesystem::path(to).lexically_normal().native()) + "`");
    }
    for (const auto hidden : {"/tmp/", "/proc/", "/sys/", "/dev/", "/var/tmp/"}) {
        if (to.starts_with(hidden)) {
            reading.complain(
                path,
                problem("file-target-hidden",
                        "files in " + std::string(hidden) + " are not seen at run time"),
                "the runtime mounts over it",
                "put it below /opt");
        }
    }
}

/// A search path whose parts begin in the working directory finds what happens to lie there.
void check_environment(Reading& reading,
                       const std::vector<std::pair<std::string, EnvironmentValue>>& environment,
                       std::string_view prefix) {
    for (const auto& [name, value] : environment) {
        const std::string path = at(prefix, "environment." + name);
        if ((name != "PATH" && name != "LD_LIBRARY_PATH") || !reading.is_good(path)) {
            continue;
        }
        std::string_view rest = value.value;
        for (bool is_more = true; is_more;) {
            const std::size_t colon = rest.find(':');
            const std::string_view part = rest.substr(0, colon);
            is_more = colon != std::string_view::npos;
            rest.remove_prefix(is_more ? colon + 1 : rest.size());
            if (part.starts_with('$')) {
                reading.complain(
                    path,
                    problem("path-dollar-literal",
                            "'" + printable(part) + "' in '" + name + "' stands for itself"),
                    "a value is a value; no shell evaluates it",
                    "write `" + name + ": {prepend: /…}`, or `append`");
            } else if (!part.starts_with('/')) {
                reading.complain(path,
                                 problem("path-part-unusable",
                                         part.empty() ? "'" + name + "' has an empty part"
                                                      : "'" + printable(part) + "' in '" + name +
                                                            "' is not an absolute path"),
                                 "programs would be looked for in the working directory",
                                 part.empty() ? "remove the colon"
                                              : "write the complete path, beginning with `/`");
            }
        }
    }
}

void check_files(Reading& reading,
                 const StageFields& fields,
                 std::string_view prefix,
                 const StageNames& earlier) {
    const std::string list = at(prefix, "files");
    for (std::size_t i = 0; i < fields.files.size(); ++i) {
        const FileCopy& file = fields.files[i];
        const std::string path = item(list, i);
        if (!reading.is_good(path)) {
            continue;
        }
        check_target(reading, path + ".to", file.to);
        if (earlier.all->contains(file.stage) && !earlier.contains(file.stage)) {
            reading.complain(
                path + ".stage",
                problem("stage-order",
                        "stage '" + printable(file.stage) + "' does not come before this one"),
                "a stage copies files from earlier stages only, so that no two wait for each other",
                "move it up in `stages`");
        } else if (!file.stage.empty() && !earlier.contains(file.stage)) {
            std::vector<std::string_view> names(earlier.begin(), earlier.end());
            const std::string near = nearest(file.stage, names);
            reading.complain(
                path + ".stage",
                problem("stage-unknown", "no earlier stage '" + printable(file.stage) + "'"),
                "a stage copies files from earlier stages only",
                near.empty() ? "add it to `stages`" : "did you mean `" + near + "`?");
        }
        if (!file.stage.empty() && !file.from.starts_with('/')) {
            reading.complain(path + ".from",
                             problem("file-source-not-absolute", "'from' is not an absolute path"),
                             "it names a place in the stage",
                             "write `/" + printable(file.from) + "`");
        }
    }
}

void check_steps(Reading& reading, const StageFields& fields, std::string_view prefix) {
    for (std::size_t i = 0; i < fields.steps.size(); ++i) {
        const std::string path = item(at(prefix, "steps"), i);
        if (!fields.steps[i].workdir.empty() && !fields.steps[i].workdir.starts_with('/') &&
            reading.is_good(path)) {
            reading.complain(path + ".workdir",
                             problem("workdir-not-absolute", "'workdir' is not an absolute path"),
                             "it names a place in the image",
                             "begin it with `/`");
        }
    }
}

void check_stage(Reading& reading,
                 const StageFields& fields,
                 const std::string& prefix,
                 const StageNames& earlier) {
    check_needs(reading, fields, prefix);
    check_requirements(reading, fields, prefix);
    check_sources(reading, fields, prefix);
    check_files(reading, fields, prefix, earlier);
    check_environment(reading, fields.environment, prefix);
    check_steps(reading, fields, prefix);
}

} // namespace

void check_recipe(Reading& reading, const Recipe& recipe) {
    std::set<std::string, std::less<>> all;
    for (const auto& stage : recipe.stages) {
        all.insert(stage.name);
    }
    StageNames names;
    names.all = &all;
    for (std::size_t i = 0; i < recipe.stages.size(); ++i) {
        const std::string prefix = item("stages", i);
        check_stage(reading, recipe.stages[i], prefix, names);
        if (!names.insert(recipe.stages[i].name).second && reading.is_good(prefix + ".name")) {
            reading.complain(
                prefix + ".name",
                problem("stage-duplicate", "duplicate stage '" + recipe.stages[i].name + "'"),
                "`files` could not distinguish them",
                "write for example `" + recipe.stages[i].name + "-" + std::to_string(i + 1) + "`");
        }
        if (recipe.stages[i].name == kFinalStage || recipe.stages[i].name == kProbeStage) {
            reading.complain(prefix + ".name",
                             problem("stage-name-reserved",
                                     "the name '" + recipe.stages[i].name + "' is reserved"),
                             "generated stages use it",
                             "rename the stage");
        }
    }
    check_stage(reading, recipe, {}, names);
    for (const auto& [name, app] : recipe.apps) {
        check_environment(reading, app.environment, "apps." + name);
    }
    const bool has_empty_program = !recipe.run_argv.empty() && recipe.run_argv.front().empty();
    const bool has_no_word = reading.tree().find("run") != nullptr && recipe.run_argv.empty() &&
                             recipe.run_script.empty();
    if ((has_empty_program || has_no_word) && reading.is_good("run")) {
        reading.complain("run",
                         problem("run-without-program", "'run' names no program"),
                         "it is the runscript",
                         "name a program");
    }
}

} // namespace cybele::recipes
