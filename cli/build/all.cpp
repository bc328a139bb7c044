// SPDX-License-Identifier: Apache-2.0
#include "cli/build/options.hpp"
#include "cli/common/build_settings.hpp"
#include "pipeline/document_kind.hpp"
#include "pipeline/image_plan.hpp"
#include "pipeline/recipe_file.hpp"
#include "recipes/model/recipe.hpp"
#include "support/file.hpp"
#include "support/process.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {
namespace {

namespace fs = std::filesystem;

/// The command line that builds one variant alike.
std::vector<std::string>
command_of(const Session& session, const BuildOptions& options, const std::string& variant) {
    std::vector<std::string> argv{session.program};
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) {
            argv.insert(argv.end(), {name, value});
        }
    };
    const auto flag = [&](const char* name, bool is_set) {
        if (is_set) {
            argv.emplace_back(name);
        }
    };
    flag("--quiet", session.is_quiet);
    flag("--verbose", session.verbosity > 0);
    flag("--no-color", session.no_colour);
    argv.insert(argv.end(), {"build", options.source, "--format", "json"});
    add("--variant", variant);
    add("--output", options.output);
    add("--sign-key", options.sign_key);
    add("--passphrase-file", options.passphrase.file);
    add("--builder", options.build.builder);
    add("--mirror", options.build.mirror);
    add("--pip-index", options.build.pip_index);
    add("--ca-file", options.ca_file);
    add("--authfile", options.access.authfile);
    add("--library", options.access.library);
    flag("--plain-http", options.access.is_plain);
    add("--sbom", options.build.sbom);
    add("--compression", options.build.compression);
    for (const auto& argument : options.recipe_arguments) {
        add("--arg", argument);
    }
    flag("--force", options.build.force);
    flag("--notest", options.no_test);
    flag("--no-cache", options.no_cache);
    flag("--verify-reproducible", options.build.verifies_reproducible);
    add("--timeout", options.timeout);
    flag("--unlocked", options.build.ignores_lock);
    return argv;
}

/// The others were built; each failure was told when it happened.
void tell_failed(const Session& session, const std::vector<std::string>& failed, std::size_t all) {
    if (failed.empty()) {
        return;
    }
    Fault fault;
    fault.code = ErrorCode::kExecution;
    fault.set(problem(
        "variants-not-built",
        fmt::format(
            "{} of {} images were not built: {}", failed.size(), all, fmt::join(failed, ", "))));
    fault.help =
        "`--variant " + failed.front() + " -v` builds that one alone, with its complete output";
    session.note({fault});
}

/// What no two images can share.
Result<void> check_shared(const BuildOptions& options) {
    const std::string option = !options.output.empty()         ? "-o"
                               : !options.provenance.empty()   ? "--provenance"
                               : options.passphrase.descriptor ? "--passphrase-fd"
                                                               : "";
    if (option.empty()) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                problem("option-with-all", option + " with --all"),
                option == "--passphrase-fd" ? "each variant is signed by a program of its own"
                                            : "each variant has an image of its own",
                option == "-o" ? "leave -o out: the images are written next to the Recipe"
                : option == "--provenance"
                    ? "build the variants one by one, with --variant"
                    : "give the passphrase by --passphrase-file or $CYBELE_PASSPHRASE");
}

/// What became of one variant.
struct VariantBuild {
    int code = 0;
    nlohmann::json image; ///< what its program printed; null: nothing
};

/// Runs one variant's program, whose messages go where this program's go.
VariantBuild build_variant(std::vector<std::string> argv) {
    Command command;
    command.argv = std::move(argv);
    command.errors = Command::Stream::kInherit;
    const auto outcome = run_process(command);
    VariantBuild result;
    result.code = outcome ? outcome->shell_code() : static_cast<int>(outcome.error().code());
    if (result.code == 0) {
        result.image = nlohmann::json::parse(outcome->output, nullptr, false);
    }
    return result;
}

/// All variants, `count` at a time; `tell` is called for each as it ends, by one at a time.
std::vector<VariantBuild> run_all(const std::vector<std::vector<std::string>>& commands,
                                  std::size_t count,
                                  const std::function<void(const VariantBuild&)>& tell) {
    std::vector<VariantBuild> results(commands.size()); // each written by one thread
    std::atomic<std::size_t> next{0};
    std::mutex telling;
    const auto work = [&] {
        for (std::size_t i = next++; i < commands.size(); i = next++) {
            results[i] = build_variant(commands[i]);
            const std::lock_guard<std::mutex> one(telling);
            tell(results[i]);
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i) {
        threads.emplace_back(work);
    }
    for (auto& thread : threads) {
        thread.join();
    }
    return results;
}

/// Prints at once; gives back what could not be: a reader that went away ends no build that is
/// left.
std::string tell_now(std::string line) {
    const bool is_told =
        std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fflush(stdout) == 0;
    return is_told ? std::string() : std::move(line);
}

} // namespace

Result<int> build_all(Session& session, const BuildOptions& options) {
    CYBELE_TRY(const fs::path source, pipeline::find_source(options.source));
    const pipeline::SourceKind kind = pipeline::source_kind(source);
    CYBELE_CHECK(pipeline::check_source_options(options.build, kind));
    if (kind != pipeline::SourceKind::kRecipe) {
        return fail(
            ErrorCode::kUsage,
            problem("all-needs-recipe", "--all with " + std::string(pipeline::name_of(kind))),
            "it is for a Recipe with a matrix",
            "leave --all out");
    }
    CYBELE_TRY(std::string text, read_file(source).map_error(during("reading the Recipe")));
    CYBELE_TRY(const auto variants,
               pipeline::read_variants(std::move(text), source, options.build.recipe_arguments));
    if (variants.size() > 1) {
        CYBELE_CHECK(check_shared(options));
    }
    const std::size_t count = std::clamp<std::size_t>(options.jobs, 1, variants.size());
    const std::size_t share = std::max<std::size_t>(1, cores() / count);
    std::vector<std::vector<std::string>> commands;
    for (const auto& recipe : variants) {
        commands.push_back(command_of(session, options, recipe.variant));
        commands.back().push_back(fmt::format("--jobs={}", share));
    }
    std::string untold;
    const auto results = run_all(commands, count, [&](const VariantBuild& one) {
        if (one.image.is_object() && !session.is_json() && !session.is_quiet) {
            untold += tell_now(built_line(one.image.at("image").get<std::string>(),
                                          one.image.at("bytes").get<std::uint64_t>(),
                                          one.image.at("signed").get<bool>()));
        }
    });
    nlohmann::json document{
        {"format", 1}, {"images", nlohmann::json::array()}, {"failed", nlohmann::json::array()}};
    std::vector<std::string> failed;
    int worst = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
        worst = std::max(worst, results[i].code);
        if (results[i].code != 0) {
            failed.push_back(variants[i].variant);
            document["failed"].push_back(
                {{"variant", variants[i].variant}, {"code", results[i].code}});
        } else if (results[i].image.is_object()) {
            nlohmann::json image = results[i].image;
            image.erase("format");
            image["variant"] = variants[i].variant;
            document["images"].push_back(std::move(image));
        }
    }
    if (session.is_json()) {
        Session::print(document.dump(2) + "\n");
    }
    tell_failed(session, failed, results.size());
    Session::print(untold);
    return worst;
}

} // namespace cybele::cli
