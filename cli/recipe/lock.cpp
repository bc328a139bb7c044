// SPDX-License-Identifier: Apache-2.0
#include "cli/common/assignments.hpp"
#include "cli/common/build_settings.hpp"
#include "cli/common/cli11.hpp"
#include "cli/common/image_access.hpp"
#include "cli/common/image_store.hpp"
#include "cli/common/output.hpp"
#include "cli/common/session.hpp"
#include "cli/recipe/text.hpp"
#include "pipeline/project_file.hpp"
#include "pipeline/recipe_file.hpp"
#include "pipeline/recipe_inputs.hpp"
#include "pipeline/recipe_lock.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {
namespace {

namespace fs = std::filesystem;

struct LockOptions {
    std::vector<std::string> files;
    std::string output;
    std::string mirror;
    std::string pip_index;
    AccessOptions access;
    std::vector<std::string> arguments;
    bool is_check = false;
};

/// A Recipe that is locked, and where its Lock is.
struct LockPair {
    std::string recipe;
    fs::path lock;
};

/// A folder stands for the Recipes of its Project, or for the only one in it.
Result<std::vector<LockPair>> find_pairs(const LockOptions& options) {
    std::vector<LockPair> pairs;
    for (const std::string& given : options.files) {
        CYBELE_TRY(const auto files, pipeline::recipe_files(given));
        for (const fs::path& file : files) {
            pairs.push_back({file.native(), pipeline::lock_path(file)});
        }
    }
    if (options.output.empty()) {
        return pairs;
    }
    if (pairs.size() != 1) {
        return fail(
            ErrorCode::kUsage,
            problem("several-recipes-one-lock",
                    fmt::format("-o names one Lock, but there are {} Recipes", pairs.size())),
            "the Lock of a Recipe is NAME.lock.yaml next to it",
            "leave out -o, or lock one Recipe");
    }
    pairs.front().lock = options.output;
    return pairs;
}

Result<std::vector<recipes::Recipe>> read_pair(const LockPair& pair, const LockOptions& options) {
    CYBELE_TRY(std::string text, recipe_text(pair.recipe));
    CYBELE_TRY(const auto arguments, read_assignments(kRecipeArguments, options.arguments));
    return pipeline::read_variants(std::move(text), pair.recipe, arguments);
}

Result<void> check_lock(const LockPair& pair, const LockOptions& options) {
    CYBELE_TRY(const auto variants, read_pair(pair, options));
    for (const auto& recipe : variants) {
        CYBELE_TRY(const auto lock, pipeline::find_lock(recipe, pair.recipe));
        if (!lock) {
            return fail(
                ErrorCode::kInput,
                problem("lock-missing", "there is no Lock " + printable(pair.lock.native())),
                "--check compares it with the Recipe",
                "make it with `cybelectl recipe lock " + shell_quote(pair.recipe) + "`");
        }
    }
    return {};
}

/// All Locks, and all faults at once.
Result<int> check_locks(const Session& session,
                        const std::vector<LockPair>& pairs,
                        const LockOptions& options) {
    Faults faults;
    for (const LockPair& pair : pairs) {
        const auto checked = check_lock(pair, options);
        if (!checked) {
            faults.add(checked.error());
        } else if (!session.is_quiet) {
            Session::print(printable(pair.lock.native()) + ": fits the Recipe\n");
        }
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return 0;
}

Result<std::size_t>
write_lock(const Session& session, const LockPair& pair, const LockOptions& options) {
    CYBELE_TRY(const auto variants, read_pair(pair, options));
    for (const recipes::Recipe& recipe : variants) {
        if (auto wrong = pipeline::wrong_inputs(recipe); !wrong.empty()) {
            return fail(Error(std::move(wrong)));
        }
    }
    pipeline::LockRequest request;
    BuildFlags flags;
    flags.mirror = options.mirror;
    flags.pip_index = options.pip_index;
    flags.access = options.access;
    CYBELE_TRY(request.settings, build_settings(session, flags));
    request.directory = fs::path(pair.recipe).parent_path();
    session.work("asking for versions and digests of " + printable(pair.recipe));
    CYBELE_TRY(const pipeline::MadeLock made,
               pipeline::make_lock(variants, request, request.settings.environment));
    session.note(made.notes);
    CYBELE_CHECK(write_result(pair.lock, made.text, pair.recipe));
    return made.packages;
}

/// What stops all Recipes alike, as a mirror that is not reached, is reported once.
void add_once(Faults& faults, const Error& error) {
    for (const Fault& fault : error.faults()) {
        const auto is_same = [&fault](const Fault& known) {
            return !known.where && !fault.where && known.message == fault.message &&
                   known.because == fault.because;
        };
        if (std::ranges::none_of(faults.all(), is_same)) {
            faults.add(fault);
        }
    }
}

Result<int> lock(Session& session, const LockOptions& options) {
    CYBELE_TRY(const std::vector<LockPair> pairs, find_pairs(options));
    if (options.is_check) {
        return check_locks(session, pairs, options);
    }
    Faults faults;
    std::size_t failed = 0;
    auto locks = nlohmann::json::array();
    for (const LockPair& pair : pairs) {
        const auto packages = write_lock(session, pair, options);
        if (!packages) { // the others are locked all the same
            add_once(faults, packages.error());
            ++failed;
            continue;
        }
        locks.push_back({{"lock", pair.lock.native()}, {"packages", *packages}});
        if (!session.is_json() && !session.is_quiet && pair.lock != "-") {
            Session::print(fmt::format(
                "locked {} packages in {}\n", *packages, printable(pair.lock.native())));
        }
    }
    if (failed != 0 && pairs.size() > 1 && !session.is_json() && !session.is_quiet) {
        Session::print(
            fmt::format("{} of {} Recipes locked\n", pairs.size() - failed, pairs.size()));
    }
    if (session.is_json() && (failed == 0 || pairs.size() > 1)) {
        nlohmann::json document =
            pairs.size() == 1 ? locks.front() : nlohmann::json{{"locks", locks}};
        document["format"] = 1;
        Session::print(json_text(document) + "\n");
    }
    return faults.has_errors() ? Result<int>(fail(faults.take())) : Result<int>(0);
}

} // namespace

void install_recipe_lock(CLI::App& recipe, Session& session) {
    const auto options = std::make_shared<LockOptions>();
    CLI::App* verb =
        add_verb(recipe,
                 "lock",
                 "Write the exact versions and digests of a Recipe's packages next to it.",
                 {"cybelectl recipe lock app.yaml",
                  "cybelectl recipe lock recipes/*.yaml",
                  "cybelectl recipe lock .            # all Recipes of a Project",
                  "cybelectl recipe lock app.yaml --check"});
    verb->add_option(
            "file", options->files, "Recipes, or the folder of a Project; - is standard input")
        ->required()
        ->type_name("RECIPE|DIR");
    add_assignments(*verb, kRecipeArguments, options->arguments);
    verb->add_flag("--check",
                   options->is_check,
                   "only report whether the Lock fits; exit with 3 if it does not");
    verb->add_option("-o,--output",
                     options->output,
                     "output file (default: NAME.lock.yaml next to the Recipe)")
        ->type_name("FILE");
    verb->add_option("--mirror", options->mirror, "package mirror (default: the machine's)")
        ->type_name("URL");
    add_access(*verb, options->access);
    add_library(*verb, options->access);
    verb->add_option(
            "--pip-index", options->pip_index, "index of Python packages (default: the machine's)")
        ->type_name("URL");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return lock(session, *options).map_error(during("locking the packages of the Recipe"));
        };
    });
}

} // namespace cybele::cli
