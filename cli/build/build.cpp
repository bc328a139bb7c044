// SPDX-License-Identifier: Apache-2.0
#include "cli/build/options.hpp"
#include "cli/build/sandbox.hpp"
#include "cli/common/apptainer_build.hpp"
#include "cli/common/apptainer_errors.hpp"
#include "cli/common/apptainer_folders.hpp"
#include "cli/common/assignments.hpp"
#include "cli/common/build_settings.hpp"
#include "cli/common/cli11.hpp"
#include "cli/common/git_tree.hpp"
#include "cli/common/image_store.hpp"
#include "cli/common/output.hpp"
#include "pipeline/document_kind.hpp"
#include "runtime/containers/bind_option.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

/// "90", "90s", "30m", "2h".
Result<unsigned> parse_timeout(const std::string& text) {
    if (text.empty()) {
        return 0U;
    }
    constexpr unsigned kMost = 30 * 86400;
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::string unit = text.substr(digits);
    const unsigned times = unit.empty() || unit == "s" ? 1
                           : unit == "m"               ? 60
                           : unit == "h"               ? 3600
                                                       : 0;
    const unsigned number =
        digits == 0 || digits > 7 ? 0 : static_cast<unsigned>(std::stoul(text.substr(0, digits)));
    if (times == 0 || number == 0 || number > kMost / times) {
        return fail(
            ErrorCode::kUsage,
            problem("step-timeout-value", "--timeout: invalid duration '" + printable(text) + "'"),
            "it limits each step; at most 30 days",
            "write --timeout 90s, 30m or 2h");
    }
    return number * times;
}

Result<void> take_arguments(const Session& session, BuildOptions& options) {
    const auto warn = [&session](const std::string& line) {
        if (session.is_apptainer()) {
            const std::string shown = printable(line);
            session.warn_as_apptainer(fmt::format(
                "Skipping \"{0}\" in build arg file: {1}",
                shown,
                line.find('=') == std::string::npos ? "\"" + shown + "\" is not a key=value pair"
                                                    : "missing key portion in \"" + shown + "\""));
        }
    };
    CYBELE_TRY(options.build.definition.arguments,
               read_build_arguments(options.arguments.definition, warn));
    CYBELE_TRY(options.build.recipe.arguments,
               read_assignments(kRecipeArguments, options.arguments.recipe));
    return {};
}

/// Whether the file is there and is what images are built from.
bool is_document(const std::string& name) {
    std::error_code error;
    const std::string extension = std::filesystem::path(name).extension();
    return std::filesystem::is_regular_file(name, error) &&
           (extension == ".yaml" || extension == ".yml" || extension == ".def");
}

/// Whether the name is that of a file or an address that images are built from.
bool is_named_as_source(const std::string& name) {
    const std::string extension = std::filesystem::path(name).extension();
    return name.find("://") != std::string::npos || extension == ".yaml" || extension == ".yml" ||
           extension == ".def";
}

/// Other builders take the image first. Names tell which it is; where they do not, the place does.
Result<void> check_source(const BuildOptions& options) {
    if (options.more.empty()) {
        return {};
    }
    std::string image = options.source;
    std::string source = options.more.back();
    const bool is_image_last = source.ends_with(".sif") && !image.ends_with(".sif");
    const bool is_source_first = is_named_as_source(image) && !is_named_as_source(source);
    if (source.find("://") == std::string::npos && (is_image_last || is_source_first)) {
        std::swap(image, source);
    }
    const bool are_sources = is_named_as_source(image) && is_named_as_source(source);
    return fail(ErrorCode::kUsage,
                problem("several-sources",
                        "one source is built at a time, not '" + printable(options.source) +
                            "' and '" + printable(options.more.front()) + "'"),
                "the image is named by -o, not by its place",
                are_sources
                    ? "call it for each of them, or for their folder: `cybelectl build DIR --all`"
                    : "write `cybelectl build " + printable(source) + " -o " + printable(image) +
                          "`");
}

Result<void> check_sandbox_options(const BuildOptions& options) {
    if (!options.output.empty() && options.signing.key.empty() &&
        options.signing.provenance.empty()) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                problem("sandbox-options",
                        options.output.empty() ? "--sandbox needs a directory to make"
                                               : "a sandbox is not signed"),
                options.output.empty() ? "" : "a signature is of the bytes of an image",
                options.output.empty() ? "name one: -o DIR"
                                       : "leave --sign-key and --provenance out");
}

/// Without a source: the one Recipe of this folder.
Result<void> find_own_source(BuildOptions& options) {
    if (!options.source.empty()) {
        return {};
    }
    if (options.is_all) {
        options.source = ".";
        return {};
    }
    const auto found = pipeline::find_source(".");
    if (!found) {
        const Fault& why = found.error().faults().front();
        return fail(ErrorCode::kUsage,
                    problem("source-not-named",
                            "no Recipe is named, and this folder does not have "
                            "exactly one"),
                    why.because.empty() ? why.message : why.because,
                    "write `cybelectl build RECIPE`, or `cybelectl build . --all` for all of them");
    }
    options.source = found->lexically_normal().native();
    return {};
}

/// --update: of a sandbox that exists, by a definition file.
Result<void> check_update(const BuildOptions& options) {
    std::error_code failed;
    const bool is_there = std::filesystem::is_directory(
        std::filesystem::path(options.output) / ".singularity.d", failed);
    const bool is_image =
        options.build.definition.follows_apptainer; // as there, which adds nothing
    if (options.sandbox.is_sandbox && is_there && (is_image || is_document(options.source))) {
        return {};
    }
    return fail(ErrorCode::kInput,
                problem("update-without-sandbox",
                        options.sandbox.is_sandbox && !is_there
                            ? "'" + printable(options.output) + "' is not a sandbox"
                            : "--update needs --sandbox and a definition file"),
                "it applies the sections of a definition file to an existing sandbox",
                "cybelectl build --sandbox --update app.def -o DIR");
}

Result<void> take_binds(BuildOptions& options) {
    std::vector<runtime::BindOption> binds;
    std::error_code unknown; // where the folder is gone, a relative path is not found
    const std::filesystem::path here = std::filesystem::current_path(unknown);
    for (const std::string& text : options.steps.binds) {
        CYBELE_TRY(const auto read, runtime::read_binds(text, here));
        binds.insert(binds.end(), read.begin(), read.end());
    }
    for (const std::string& text : options.steps.mounts) {
        CYBELE_TRY(runtime::BindOption read, runtime::read_mount(text, here));
        binds.push_back(std::move(read));
    }
    for (const runtime::BindOption& bind : binds) {
        if (!bind.image_source.empty() || bind.image_id != 0) {
            return fail(ErrorCode::kUsage,
                        problem("build-bind-of-image", "--bind: an image is not bound in a build"),
                        "steps see directories and files of this machine",
                        "unpack it, or copy what is needed by %files");
        }
        options.build.steps.binds.push_back({bind.source, bind.target, bind.is_read_only});
    }
    return {};
}

/// With -vv, the value of each phase of the build.
void show_phases(const Session& session, pipeline::ImageBuild& request) {
    constexpr int kAll = 2;
    if (session.verbosity >= kAll) {
        request.settings.reporter.on_phase =
            [&session, before = request.settings.reporter.on_phase](const std::string& phase,
                                                                    const std::string& value) {
                session.say(fmt::format("cybelectl: {}: {}", phase, value));
                if (before) {
                    before(phase, value);
                }
            };
    }
}

/// Called as apptainer, --force replaces the sandbox, and --update does not count.
bool is_updated(const Session& session, const BuildOptions& options) {
    return options.sandbox.is_update && !(session.is_apptainer() && options.build.force);
}

/// The request of the library, from the words of the command line.
Result<void> prepare_request(Session& session, BuildOptions& options) {
    pipeline::ImageBuild& request = options.build;
    options.access.may_be_plain = session.is_apptainer();
    CYBELE_TRY(request.settings,
               build_settings(session,
                              {request.settings.builder,
                               request.settings.packages.mirror,
                               request.settings.packages.pip_index,
                               options.signing.key,
                               options.access,
                               options.jobs,
                               options.sandbox.is_sandbox,
                               is_updated(session, options)
                                   ? std::filesystem::absolute(options.output).native()
                                   : std::string(),
                               request.steps.fixes_permissions}));
    request.source = options.source;
    request.output = options.output;
    request.definition.follows_apptainer = session.is_apptainer();
    request.settings.bases.architecture = options.sandbox.architecture;
    CYBELE_CHECK(take_binds(options));
    if (is_updated(session, options)) {
        CYBELE_CHECK(check_update(options));
        request.definition.update = std::filesystem::absolute(options.output);
        request.force = true;
    }
    if (options.sandbox.is_sandbox) {
        CYBELE_CHECK(check_sandbox_options(options));
        CYBELE_CHECK(
            check_sandbox(options.output, request.force, request.definition.follows_apptainer));
    }
    request.settings.sign_passphrase = passphrase_source(session, options.signing.passphrase);
    request.steps.runs_tests = !options.steps.no_test;
    request.use_cache = !options.steps.no_cache;
    CYBELE_TRY(request.steps.timeout, parse_timeout(options.steps.timeout));
    show_phases(session, request);
    request.provenance.file = options.signing.provenance;
    request.provenance.clock = [] { return Session::clock(); };
    return {};
}

void print_built(const Session& session, const pipeline::BuiltImage& built) {
    if (session.is_json()) {
        nlohmann::json document{{"format", 1},
                                {"image", built.image.native()},
                                {"bytes", built.bytes},
                                {"signed", !built.signed_by.empty()}};
        if (built.is_reproduced) {
            document["reproducible"] = true;
        }
        Session::print(json_text(document) + "\n");
    } else if (!session.is_quiet) {
        Session::print(built_line(built.image.native(), built.bytes, !built.signed_by.empty()));
        if (built.is_reproduced) {
            Session::print(
                "reproducible: a second build, without the cache, made the same image\n");
        }
    }
}

/// By the name of Apptainer, --force puts an image in the place of a link or a directory.
bool request_replaces_target(const Session& session, const BuildOptions& options) {
    return session.is_apptainer() && options.build.force && !options.sandbox.is_sandbox &&
           is_replaceable(options.output);
}

/// Of an error that Apptainer has while it builds: that the build has begun.
void inform_of_begin(const Session& session, const Error& failed) {
    const auto error = apptainer_error_of(failed.faults().front(), Verbs::kAny);
    if (error && error->is_of_build) {
        tell_build_starts(session);
    }
}

Result<int> build(Session& session, BuildOptions& options) {
    CYBELE_CHECK(find_own_source(options));
    CYBELE_CHECK(check_source(options));
    CYBELE_CHECK(take_arguments(session, options));
    if (options.is_all) {
        return build_all(session, options);
    }
    CYBELE_CHECK(
        check_output(options.output, {options.signing.key, options.signing.passphrase.file}));
    CYBELE_TRY(const std::optional<TempDirectory> cache,
               use_temporary_cache(session, options.steps.no_cache));
    CYBELE_CHECK(prepare_request(session, options));
    CYBELE_CHECK(take_dockerfile(session, options));
    if (options.look.is_shell) {
        return open_failure_shell(session, options);
    }
    const bool replaces_target = request_replaces_target(session, options);
    std::optional<builder::Workspace> work;
    if (options.sandbox.is_sandbox || replaces_target) {
        CYBELE_TRY(builder::Workspace made, workspace_beside(options.output));
        options.build.output = made.path() / "image.sif";
        work.emplace(std::move(made));
    }
    if (options.build.settings.sign_key.empty()) { // nothing will be asked for
        session.doing("preparing the build");
    }
    CYBELE_TRY(pipeline::BuiltImage built,
               pipeline::build_image(options.build).map_error([&session](const Error& failed) {
                   inform_of_begin(session, failed);
                   return failed;
               }));
    if (replaces_target) {
        CYBELE_CHECK(replace_target(built.image, options.output));
        built.image = options.output;
    }
    if (!options.sandbox.is_sandbox) {
        print_built(session, built);
        tell_git(session, built.image.native());
        session.inform_as_apptainer("Build complete: " + printable(options.output));
        return 0;
    }
    CYBELE_CHECK(make_sandbox_of(built.image, options.output));
    session.inform_as_apptainer("Build complete: " + printable(options.output));
    if (!session.is_quiet) {
        Session::print("built " + printable(options.output) + "\n");
    }
    return 0;
}

} // namespace

std::string built_line(const std::string& image, std::uint64_t bytes, bool is_signed) {
    return fmt::format("built {} ({:.1f} MB{})\n",
                       image,
                       static_cast<double>(bytes) / 1e6,
                       is_signed ? ", signed" : "");
}

void tell_git(const Session& session, const std::string& image) {
    if (session.is_json() || session.is_apptainer()) {
        return;
    }
    const auto line = line_against_git(session.environment, image);
    if (line && !line->line.empty()) { // else a line of a .gitignore includes it
        const std::string ignored = image.ends_with(".sif") ? "*.sif" : line->line;
        session.say("warning: the next `git add` may add " + printable(image) +
                    "; to leave images out of git: `echo " + shell_quote(ignored) + " >>" +
                    shell_quote(line->ignore_file.native()) + "`");
    }
}

void install_build(CLI::App& app, Session& session) {
    auto options = std::make_shared<BuildOptions>();
    CLI::App* verb = add_verb(app,
                              "build",
                              "Build an image from a Recipe, a definition file or another image.",
                              {"cybelectl build demo",
                               "cybelectl build recipe.yaml -o app.sif --sign-key centre.pem",
                               "cybelectl build matrix.yaml --all --jobs 2",
                               "cybelectl build . --all",
                               "cybelectl build app.def --shell --keep",
                               "cybelectl build app.def -o app.sif --builder apptainer",
                               "cybelectl build docker://debian:12 -o debian.sif"});
    verb->add_option("source",
                     options->source,
                     "Recipe, definition file, folder with a Recipe, or image: docker://…, a SIF "
                     "(default: the one Recipe of this folder)")
        ->type_name("RECIPE|DEF|DIR|IMAGE");
    verb->add_option("more", options->more)->group(""); // for a word of its own on them
    add_build_options(*verb, *options);
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return build(session, *options)
                .map_error(during("building '" + options->build.source.native() + "'"));
        };
    });
}

} // namespace cybele::cli
