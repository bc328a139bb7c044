// SPDX-License-Identifier: Apache-2.0
#include "cli/build/options.hpp"
#include "cli/common/build_settings.hpp"
#include "pipeline/document_kind.hpp"
#include "pipeline/image_plan.hpp"
#include "pipeline/image_source.hpp"
#include "pipeline/project_file.hpp"
#include "pipeline/recipe_file.hpp"
#include "recipes/model/recipe.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {
namespace {

namespace fs = std::filesystem;

/// One image of several: a Recipe, or a variant of one.
struct ImageToBuild {
    fs::path source;
    std::string variant; ///< empty: the Recipe has no matrix

    [[nodiscard]] std::string name() const {
        return variant.empty() ? source.native() : variant;
    }
};

/// The command line that builds one of them alike.
std::vector<std::string>
command_of(const Session& session, const BuildOptions& options, const ImageToBuild& image) {
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
    argv.insert(argv.end(), static_cast<std::size_t>(session.verbosity), "--verbose");
    flag("--no-color", session.no_colour);
    argv.insert(argv.end(), {"build", image.source.native(), "--format", "json"});
    add("--variant", image.variant);
    add("--output", options.output);
    add("--sign-key", options.signing.key);
    add("--passphrase-file", options.signing.passphrase.file);
    add("--builder", options.build.settings.builder);
    add("--mirror", options.build.settings.packages.mirror);
    add("--pip-index", options.build.settings.packages.pip_index);
    add("--ca-file", options.access.ca_file);
    add("--authfile", options.access.authfile);
    add("--library", options.access.library);
    flag("--plain-http", options.access.is_plain);
    add("--sbom", options.build.sbom);
    add("--compression", options.build.compression);
    for (const auto& argument : options.arguments.recipe) {
        add("--arg", argument);
    }
    flag("--force", options.build.force);
    flag("--notest", options.steps.no_test);
    flag("--writable-tmpfs", options.build.steps.has_writable_test);
    for (const auto& bind : options.steps.binds) {
        add("--bind", bind);
    }
    for (const auto& mount : options.steps.mounts) {
        add("--mount", mount);
    }
    flag("--no-cache", options.steps.no_cache);
    flag("--verify-reproducible", options.build.verifies_reproducible);
    add("--timeout", options.steps.timeout);
    flag("--unlocked", options.build.recipe.ignores_lock);
    return argv;
}

/// The others were built; each failure was told when it happened.
void tell_failed(const Session& session, const std::vector<ImageToBuild>& failed, std::size_t all) {
    if (failed.empty()) {
        return;
    }
    std::vector<std::string> names;
    names.reserve(failed.size());
    for (const ImageToBuild& image : failed) {
        names.push_back(image.name());
    }
    Fault fault;
    fault.code = ErrorCode::kExecution;
    fault.set(problem(
        "variants-not-built",
        fmt::format(
            "{} of {} images were not built: {}", failed.size(), all, fmt::join(names, ", "))));
    const ImageToBuild& first = failed.front();
    fault.help = std::string(failed.size() > 1 ? "build one" : "build that one") +
                 " alone, with its complete output: `cybelectl build " +
                 shell_quote(first.source.native()) +
                 (first.variant.empty() ? "" : " --variant " + first.variant) + " -v`";
    session.note({fault});
}

/// What no two images can share.
Result<void> check_shared(const BuildOptions& options) {
    const std::string option = !options.output.empty()                 ? "-o"
                               : !options.signing.provenance.empty()   ? "--provenance"
                               : options.signing.passphrase.descriptor ? "--passphrase-fd"
                                                                       : "";
    if (option.empty()) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                problem("option-with-all", option + " with --all"),
                option == "--passphrase-fd" ? "each image is signed by a program of its own"
                                            : "each image has a file of its own",
                option == "-o" ? "leave -o out: the images are written next to their Recipes"
                : option == "--provenance"
                    ? "build the images one by one"
                    : "give the passphrase by --passphrase-file or $CYBELE_PASSPHRASE");
}

/// What became of one variant.
struct VariantBuild {
    int code = 0;
    nlohmann::json image; ///< what its program printed; null: nothing
};

/// Runs one variant's program, whose messages go where this program's go.
VariantBuild build_variant(std::vector<std::string> argv, const EnvironmentMap& environment) {
    Command command;
    command.environment = environment;
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

/// All variants, `count` at a time; `begin` is called with the number of each that starts, `tell`
/// with the number of each that ended: by one at a time.
std::vector<VariantBuild>
run_all(const std::vector<std::vector<std::string>>& commands,
        const EnvironmentMap& environment,
        std::size_t count,
        const std::function<void(std::size_t)>& begin,
        const std::function<void(std::size_t, const VariantBuild&)>& tell) {
    std::vector<VariantBuild> results(commands.size()); // each written by one thread
    std::atomic<std::size_t> next{0};
    std::mutex telling;
    const auto work = [&] {
        for (std::size_t i = next++; i < commands.size(); i = next++) {
            {
                const std::lock_guard<std::mutex> one(telling);
                begin(i);
            }
            results[i] = build_variant(commands[i], environment);
            const std::lock_guard<std::mutex> one(telling);
            tell(i, results[i]);
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

/// The Recipes of a folder, each with all its variants; or those of one Recipe.
Result<std::vector<ImageToBuild>> images_to_build(const BuildOptions& options) {
    std::error_code error;
    const bool is_folder =
        fs::is_directory(options.source, error) && !pipeline::image_source(options.source);
    std::vector<fs::path> sources{options.source};
    if (is_folder) {
        CYBELE_TRY(sources, pipeline::recipe_files(options.source));
    }
    std::vector<ImageToBuild> images;
    for (const fs::path& source : sources) {
        const pipeline::SourceKind kind = pipeline::source_kind(source);
        CYBELE_CHECK(pipeline::check_source_options(options.build, kind));
        if (kind != pipeline::SourceKind::kRecipe) {
            return fail(
                ErrorCode::kUsage,
                problem("all-needs-recipe", "--all with " + std::string(pipeline::name_of(kind))),
                "it is for a Recipe with a matrix, or a folder of Recipes",
                "leave --all out");
        }
        CYBELE_TRY(std::string text, read_file(source).map_error(during("reading the Recipe")));
        CYBELE_TRY(
            const auto variants,
            pipeline::read_variants(std::move(text), source, options.build.recipe.arguments));
        for (const auto& recipe : variants) {
            images.push_back({source, recipe.variant});
        }
    }
    return images;
}

/// What is said while images are built.
class AllProgress {
public:
    AllProgress(const Session& session, const std::vector<ImageToBuild>& images)
        : session_(session), images_(images) {}

    void begin(std::size_t i) {
        at_work_.insert(images_[i].name());
        tell();
    }
    void end(std::size_t i, const VariantBuild& one) {
        ++ended_;
        at_work_.erase(images_[i].name());
        tell();
        if (one.image.is_object() && !session_.is_json() && !session_.is_quiet) {
            untold_ += tell_now(built_line(one.image.at("image").get<std::string>(),
                                           one.image.at("bytes").get<std::uint64_t>(),
                                           one.image.at("signed").get<bool>()));
        }
    }
    /// Lines for standard output that were kept back.
    [[nodiscard]] const std::string& untold() const {
        return untold_;
    }

private:
    void tell() const {
        session_.doing(fmt::format("building images: {} of {} done; now {}",
                                   ended_,
                                   images_.size(),
                                   printable(fmt::format("{}", fmt::join(at_work_, ", ")))));
    }

    const Session& session_;
    const std::vector<ImageToBuild>& images_;
    std::size_t ended_ = 0;
    std::set<std::string> at_work_;
    std::string untold_;
};

} // namespace

Result<int> build_all(Session& session, const BuildOptions& options) {
    CYBELE_TRY(const auto images, images_to_build(options));
    if (images.size() > 1) {
        CYBELE_CHECK(check_shared(options));
    }
    const std::size_t count = std::clamp<std::size_t>(options.jobs, 1, images.size());
    const std::size_t share = std::max<std::size_t>(1, cores() / count);
    std::vector<std::vector<std::string>> commands;
    for (const ImageToBuild& image : images) {
        commands.push_back(command_of(session, options, image));
        commands.back().push_back(fmt::format("--jobs={}", share));
    }
    EnvironmentMap environment = session.environment.all();
    if (!session.is_json()) {
        environment[std::string(kMessagesVariable)] = "text"; // of their faults; the image is JSON
    }
    AllProgress progress(session, images);
    const auto results = run_all(
        commands,
        environment,
        count,
        [&](std::size_t i) { progress.begin(i); },
        [&](std::size_t i, const VariantBuild& one) { progress.end(i, one); });
    session.doing({});
    nlohmann::json document{
        {"format", 1}, {"images", nlohmann::json::array()}, {"failed", nlohmann::json::array()}};
    std::vector<ImageToBuild> failed;
    int worst = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
        worst = std::max(worst, results[i].code);
        if (results[i].code != 0) {
            failed.push_back(images[i]);
            document["failed"].push_back(
                {{"variant", images[i].name()}, {"code", results[i].code}});
        } else if (results[i].image.is_object()) {
            nlohmann::json image = results[i].image;
            image.erase("format");
            image["variant"] = images[i].name();
            document["images"].push_back(std::move(image));
        }
    }
    if (session.is_json()) {
        Session::print(json_text(document) + "\n");
    }
    if (!document["images"].empty()) {
        tell_git(session, document["images"][0]["image"].get<std::string>());
    }
    tell_failed(session, failed, results.size());
    Session::print(progress.untold());
    return worst;
}

} // namespace cybele::cli
