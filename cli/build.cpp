// SPDX-License-Identifier: Apache-2.0
#include "cli/session.hpp"
#include "project/image_build.hpp"
#include "support/quote.hpp"

#include <chrono>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

struct Options {
    project::ImageBuild build;
    std::string source;
    std::string output;
    std::string sign_key;
    std::string ca_file;
    std::vector<std::string> arguments;
    bool no_test = false;
    bool no_cache = false;
};

Result<void> take_arguments(Options& options) {
    for (const std::string& argument : options.arguments) {
        const std::size_t equals = argument.find('=');
        if (equals == std::string::npos || equals == 0) {
            return fail(ErrorCode::kUsage,
                        "--build-arg takes NAME=VALUE, not '" + printable(argument) + "'");
        }
        options.build.arguments[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
    return {};
}

Result<int> build(Session& session, Options& options) {
    CYBELE_CHECK(take_arguments(options));
    CYBELE_TRY(const project::Settings settings, session.settings());
    const auto choose = [&](const std::string& flag, const char* setting) {
        return flag.empty() ? settings.get(setting) : flag;
    };
    project::ImageBuild& request = options.build;
    request.source = options.source;
    request.output = options.output;
    request.sign_key = choose(options.sign_key, "sign-key");
    request.builder = choose(request.builder, "builder");
    request.mirror = choose(request.mirror, "mirror");
    request.ca_file = choose(options.ca_file, "ca-file");
    request.run_tests = !options.no_test;
    request.use_cache = !options.no_cache;
    request.now = session.now();
    request.is_deterministic = session.is_deterministic();
    request.is_verbose = session.verbosity > 0;
    const auto begin = std::chrono::steady_clock::now();
    request.on_step = [&session, begin](const std::string& line) {
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        session.say(fmt::format("{:6.1f} s  {}", seconds.count(), line));
    };
    Environment environment = session.environment;
    for (const char* name : {"cache-dir", "tmpdir"}) {
        if (!settings.get(name).empty()) {
            environment.set(name == std::string_view("tmpdir") ? "CYBELE_TMPDIR"
                                                               : "CYBELE_CACHE_DIR",
                            settings.get(name));
        }
    }
    CYBELE_TRY(const project::BuiltImage built, project::build_image(request, environment));
    if (session.is_json()) {
        const nlohmann::json document{{"format", 1},
                                      {"image", built.image.native()},
                                      {"bytes", built.bytes},
                                      {"signed", !built.signed_by.empty()}};
        Session::print(document.dump(2) + "\n");
    } else if (!session.is_quiet) {
        Session::print(fmt::format("built {} ({:.1f} MB{})\n",
                                   built.image.native(),
                                   static_cast<double>(built.bytes) / 1e6,
                                   built.signed_by.empty() ? "" : ", signed"));
    }
    return 0;
}

} // namespace

void install_build(CLI::App& app, Session& session) {
    auto options = std::make_shared<Options>();
    CLI::App* verb = add_verb(app,
                              "build",
                              "Build an image from a Recipe or a definition file.",
                              {"cybelectl build demo",
                               "cybelectl build recipe.yaml -o app.sif --sign-key centre.pem",
                               "cybelectl build app.def -o app.sif --builder apptainer"});
    verb->add_option(
            "source", options->source, "Recipe, definition file, or a folder with a Recipe")
        ->required()
        ->type_name("RECIPE|DEF|DIR");
    verb->add_option("-o,--output", options->output, "the image's file; NAME.sif beside the source")
        ->type_name("FILE");
    verb->add_option("--sign-key", options->sign_key, "sign with this private PEM key")
        ->type_name("FILE");
    options->build.builder.clear();
    verb->add_option("--builder", options->build.builder, "embedded, apptainer or singularity")
        ->check(CLI::IsMember({"embedded", "apptainer", "singularity"}));
    verb->add_option(
            "--mirror", options->build.mirror, "package mirror; the machine's own without it")
        ->type_name("URL");
    verb->add_option("--ca-file", options->ca_file, "certificates that build steps trust")
        ->type_name("FILE");
    verb->add_option(
            "--build-arg", options->arguments, "value of a {{ NAME }} in a definition file")
        ->type_name("NAME=VALUE")
        ->take_all();
    verb->add_option("--compression", options->build.compression, "of the file system")
        ->check(CLI::IsMember({"zstd", "gzip"}));
    verb->add_flag("-F,--force", options->build.force, "replace an existing output");
    verb->add_flag("-T,--notest", options->no_test, "do not run %test");
    verb->add_flag("--no-cache", options->no_cache, "run every step again");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] { return build(session, *options); };
    });
}

} // namespace cybele::cli
