// SPDX-License-Identifier: Apache-2.0
#include "cli/cli11.hpp"
#include "cli/image_access.hpp"
#include "cli/image_store.hpp"
#include "cli/passphrase.hpp"
#include "cli/session.hpp"
#include "project/image_build.hpp"
#include "project/recipe_file.hpp"
#include "recipes/recipe.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

struct Options {
    project::ImageBuild build;
    std::string source;
    std::string output;
    std::string sign_key;
    PassphraseOptions passphrase;
    std::string ca_file;
    AccessOptions access;
    std::string provenance;
    std::vector<std::string> arguments;
    std::vector<std::string> recipe_arguments;
    bool is_all = false;
    unsigned jobs = 0; ///< 0: the default
    bool no_test = false;
    bool no_cache = false;
    std::string timeout;
};

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
        return fail(ErrorCode::kUsage,
                    "--timeout takes a time, not '" + printable(text) + "'",
                    "it is the longest that one step may take, at most 30 days",
                    "write --timeout 90s, 30m or 2h");
    }
    return number * times;
}

Result<void> take_arguments(Options& options) {
    for (const std::string& argument : options.arguments) {
        const std::size_t equals = argument.find('=');
        if (equals == std::string::npos || equals == 0) {
            return fail(ErrorCode::kUsage,
                        "--build-arg takes NAME=VALUE, not '" + printable(argument) + "'");
        }
        options.build.arguments[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
    for (const std::string& argument : options.recipe_arguments) {
        const std::size_t equals = argument.find('=');
        if (equals == std::string::npos || equals == 0) {
            return fail(ErrorCode::kUsage,
                        "--arg takes NAME=VALUE, not '" + printable(argument) + "'",
                        "it gives a value to one of the Recipe's `args`",
                        "write --arg NAME=VALUE");
        }
        options.build.recipe_arguments[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
    return {};
}

/// The command line that builds one variant alike.
std::vector<std::string>
command_of(const Session& session, const Options& options, const std::string& variant) {
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
    argv.insert(argv.end(), {"build", options.source});
    add("--variant", variant);
    add("--output", options.output);
    add("--sign-key", options.sign_key);
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
    flag("--delta", options.build.is_delta);
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
    fault.message = fmt::format(
        "{} of {} images were not built: {}", failed.size(), all, fmt::join(failed, ", "));
    fault.help =
        "`--variant " + failed.front() + " -v` builds that one alone, with its whole output";
    session.note({fault});
}

/// The processors that this process may use.
unsigned cores() {
    return std::max(1U, std::thread::hardware_concurrency());
}

/// Builds each variant by a program of its own, `jobs` at a time; each has its own messages.
Result<int> build_all(Session& session, const Options& options) {
    CYBELE_TRY(std::string text, read_file(options.source));
    CYBELE_TRY(
        const auto variants,
        project::read_variants(std::move(text), options.source, options.build.recipe_arguments));
    if (!options.output.empty() && variants.size() > 1) {
        return fail(ErrorCode::kUsage,
                    "-o with --all",
                    "each variant has an image of its own",
                    "leave -o out: the images lie beside the Recipe");
    }
    std::vector<std::vector<std::string>> commands;
    const std::size_t count = std::clamp<std::size_t>(options.jobs, 1, variants.size());
    const std::size_t share = std::max<std::size_t>(1, cores() / count);
    for (const auto& recipe : variants) {
        commands.push_back(command_of(session, options, recipe.variant));
        commands.back().push_back(fmt::format("--jobs={}", share));
    }
    std::atomic<std::size_t> next{0};
    std::vector<int> codes(commands.size(), 0); // each written by one thread
    const auto work = [&] {
        for (std::size_t i = next++; i < commands.size(); i = next++) {
            Command command;
            command.argv = commands[i];
            command.output = command.errors = Command::Stream::kInherit;
            const auto outcome = run_process(command);
            codes[i] = outcome ? outcome->shell_code() : 1;
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i) {
        threads.emplace_back(work);
    }
    for (auto& thread : threads) {
        thread.join();
    }
    std::vector<std::string> failed;
    for (std::size_t i = 0; i < codes.size(); ++i) {
        if (codes[i] != 0) {
            failed.push_back(variants[i].variant);
        }
    }
    tell_failed(session, failed, codes.size());
    return *std::max_element(codes.begin(), codes.end());
}

/// How the images that stages begin with are reached.
Result<void> choose_bases(const Session& session, Options& options) {
    builder::BaseImages& bases = options.build.bases;
    AccessOptions access = options.access;
    access.ca_file = options.ca_file;
    const HttpClient client = HttpClient::find(session.environment, session.program);
    CYBELE_TRY(const registry::Transport transport, make_transport(session, access, client, ""));
    bases.access = transport.access;
    bases.program = session.program;
    CYBELE_TRY(bases.store, store_root(session));
    return {};
}

Result<int> build(Session& session, Options& options) {
    CYBELE_CHECK(take_arguments(options));
    if (options.is_all) {
        return build_all(session, options);
    }
    CYBELE_TRY(const project::Settings settings, session.settings());
    const auto choose = [&](const std::string& flag, const char* setting) {
        return flag.empty() ? settings.get(setting) : flag;
    };
    project::ImageBuild& request = options.build;
    request.source = options.source;
    request.output = options.output;
    request.sign_key = choose(options.sign_key, "sign-key");
    request.sign_passphrase = passphrase_source(session, options.passphrase);
    request.builder = choose(request.builder, "builder");
    request.mirror = choose(request.mirror, "mirror");
    request.ca_file = choose(options.ca_file, "ca-file");
    request.run_tests = !options.no_test;
    request.use_cache = !options.no_cache;
    CYBELE_TRY(request.step_timeout, parse_timeout(options.timeout));
    request.now = session.now();
    request.is_deterministic = session.is_deterministic();
    request.is_verbose = session.verbosity > 0;
    // Outputs of stages that run at once would be mixed.
    request.stages_at_once = request.is_verbose ? 1 : options.jobs == 0 ? cores() : options.jobs;
    CYBELE_CHECK(choose_bases(session, options));
    request.provenance = options.provenance;
    request.clock = [] { return Session::clock(); };
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

void add_output_options(CLI::App& verb, Options& options) {
    verb.add_option("-o,--output", options.output, "the image's file; NAME.sif beside the source")
        ->type_name("FILE");
    verb.add_option("--sign-key", options.sign_key, "sign with this private PEM key")
        ->type_name("FILE");
    add_passphrase(verb, options.passphrase);
    options.build.builder.clear();
    verb.add_option("--builder", options.build.builder, "embedded, apptainer or singularity")
        ->check(CLI::IsMember({"embedded", "apptainer", "singularity"}));
}

void add_network_options(CLI::App& verb, Options& options) {
    verb.add_option(
            "--mirror", options.build.mirror, "package mirror; the machine's own without it")
        ->type_name("URL");
    verb.add_option("--pip-index",
                    options.build.pip_index,
                    "where pip asks in build steps; else where the machine's own does")
        ->type_name("URL");
    verb.add_option("--ca-file",
                    options.ca_file,
                    "certificates that build steps and registries are "
                    "trusted by")
        ->type_name("FILE");
    verb.add_option("--authfile", options.access.authfile, "file of logins to registries")
        ->type_name("FILE");
    add_library(verb, options.access);
    verb.add_flag("--plain-http,--no-https",
                  options.access.is_plain,
                  "registries of bases by http:, where nobody proves who answers");
}

void add_list_options(CLI::App& verb, Options& options) {
    verb.add_option("--provenance",
                    options.provenance,
                    "file for what the image was made from "
                    "and by, signed by --sign-key")
        ->type_name("FILE");
    verb.add_option("--sbom",
                    options.build.sbom,
                    "list of packages in the image; the Recipe's "
                    "without it, of a definition none")
        ->check(CLI::IsMember({"spdx", "cyclonedx", "none"}));
}

void add_recipe_options(CLI::App& verb, Options& options) {
    verb.add_option("--build-arg", options.arguments, "value of a {{ NAME }} in a definition file")
        ->type_name("NAME=VALUE")
        ->take_all();
    verb.add_option("--arg", options.recipe_arguments, "value of an argument of the Recipe")
        ->type_name("NAME=VALUE")
        ->take_all();
    auto* variant = verb.add_option(
        "--variant", options.build.variant, "which image of a Recipe with a matrix");
    variant->type_name("NAME");
    verb.add_flag("--all", options.is_all, "build every variant of the Recipe")->excludes(variant);
    verb.add_option("--jobs",
                    options.jobs,
                    "how many stages at a time (the cores), with --all: how many images (1)")
        ->check(CLI::Range(1, 64));
    verb.add_flag("--unlocked",
                  options.build.ignores_lock,
                  "ignore the Lock beside the Recipe; take packages without a checksum");
}

void add_step_options(CLI::App& verb, Options& options) {
    verb.add_option("--compression", options.build.compression, "of the file system")
        ->check(CLI::IsMember({"zstd", "gzip"}));
    verb.add_flag("-F,--force", options.build.force, "replace an existing output");
    verb.add_flag("-T,--notest", options.no_test, "do not run %test");
    verb.add_flag("--no-cache", options.no_cache, "run every step again");
    verb.add_flag("--delta",
                  options.build.is_delta,
                  "append what changed since the last flat image as an overlay partition");
    verb.add_flag("--verify-reproducible",
                  options.build.verifies_reproducible,
                  "build twice, and say which file differs");
    verb.add_option("--timeout", options.timeout, "the longest that one step may take")
        ->type_name("TIME");
}

} // namespace

void install_build(CLI::App& app, Session& session) {
    auto options = std::make_shared<Options>();
    CLI::App* verb = add_verb(app,
                              "build",
                              "Build an image from a Recipe or a definition file.",
                              {"cybelectl build demo",
                               "cybelectl build recipe.yaml -o app.sif --sign-key centre.pem",
                               "cybelectl build matrix.yaml --all --jobs 2",
                               "cybelectl build app.def -o app.sif --builder apptainer"});
    verb->add_option(
            "source", options->source, "Recipe, definition file, or a folder with a Recipe")
        ->required()
        ->type_name("RECIPE|DEF|DIR");
    add_output_options(*verb, *options);
    add_network_options(*verb, *options);
    add_list_options(*verb, *options);
    add_recipe_options(*verb, *options);
    add_step_options(*verb, *options);
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] { return build(session, *options); };
    });
}

} // namespace cybele::cli
