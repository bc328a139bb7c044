// SPDX-License-Identifier: Apache-2.0
#include "cli/build/options.hpp"

#include "cli/common/assignments.hpp"
#include "cli/common/cli11.hpp"
#include "cli/common/not_empty.hpp"

namespace cybele::cli {
namespace {

void add_output_options(CLI::App& verb, BuildOptions& options) {
    verb.add_option(
            "-o,--output", options.output, "image file (default: NAME.sif next to the source)")
        ->type_name("FILE");
    verb.add_option("--sign-key", options.signing.key, "sign with this private PEM key")
        ->type_name("FILE")
        ->check(not_empty());
    add_passphrase(verb, options.signing.passphrase);
    options.build.settings.builder.clear();
    verb.add_option("--builder",
                    options.build.settings.builder,
                    "program that builds (default: the setting, or embedded)")
        ->check(CLI::IsMember({"embedded", "apptainer", "singularity"}));
}

void add_network_options(CLI::App& verb, BuildOptions& options) {
    verb.add_option("--mirror",
                    options.build.settings.packages.mirror,
                    "package mirror (default: the machine's)")
        ->type_name("URL");
    verb.add_option("--pip-index",
                    options.build.settings.packages.pip_index,
                    "index of Python packages in build steps (default: the machine's)")
        ->type_name("URL");
    verb.add_option(
            "--ca-file", options.access.ca_file, "CA certificates for build steps and registries")
        ->type_name("FILE")
        ->check(not_empty());
    verb.add_option("--authfile", options.access.authfile, "registry credentials file")
        ->type_name("FILE")
        ->check(not_empty());
    add_library(verb, options.access);
    verb.add_flag("--plain-http,--no-https",
                  options.access.is_plain,
                  "use plain HTTP for registries: no encryption, no server authentication");
}

void add_list_options(CLI::App& verb, BuildOptions& options) {
    verb.add_option("--provenance",
                    options.signing.provenance,
                    "file for what the image was made from "
                    "and by, signed by --sign-key")
        ->type_name("FILE");
    verb.add_option("--sbom",
                    options.build.sbom,
                    "list of packages in the image (default: the Recipe's; none for a definition)")
        ->check(CLI::IsMember({"spdx", "none"}));
}

void add_recipe_options(CLI::App& verb, BuildOptions& options) {
    add_build_arguments(verb, options.arguments.definition);
    verb.add_flag("--warn-unused-build-args",
                  options.build.definition.warns_unused_arguments,
                  "warn of a --build-arg that nothing uses, instead of an error");
    add_assignments(verb, kRecipeArguments, options.arguments.recipe);
    auto* variant = verb.add_option(
        "--variant", options.build.recipe.variant, "variant of a Recipe with a matrix");
    variant->type_name("NAME");
    verb.add_flag("--all",
                  options.is_all,
                  "build every variant of the Recipe, or every Recipe of a folder")
        ->excludes(variant);
    verb.add_option("--jobs",
                    options.jobs,
                    "stages built at the same time (default: the number of cores); with --all: "
                    "images (default: 1)")
        ->check(CLI::Range(1, 64));
    verb.add_flag("--unlocked",
                  options.build.recipe.ignores_lock,
                  "ignore the Lock next to the Recipe; install packages without a checksum");
}

void add_step_options(CLI::App& verb, BuildOptions& options) {
    verb.add_option("--compression",
                    options.build.compression,
                    "compression of the file system (default: the Recipe's, or zstd)")
        ->check(CLI::IsMember({"zstd", "gzip"}));
    verb.add_flag("-F,--force", options.build.force, "replace an existing output");
    verb.add_flag(
        "--sandbox", options.sandbox.is_sandbox, "make a writable directory instead of an image");
    verb.add_option("--arch", options.sandbox.architecture, "")
        ->group(""); // by the name of Apptainer
    verb.add_flag("--update",
                  options.sandbox.is_update,
                  "with --sandbox: apply a definition file to the directory as it is");
    verb.add_option("--bind",
                    options.steps.binds,
                    "SRC[:DST[:ro]], made visible to %post and %test; DST must exist in the image")
        ->type_name("SPEC");
    verb.add_option("--mount",
                    options.steps.mounts,
                    "bind, written as type=bind,source=SRC,destination=DST[,ro]")
        ->type_name("SPEC");
    verb.add_flag("--fix-perms",
                  options.build.steps.fixes_permissions,
                  "let the owner read and write every file of the image");
    verb.add_flag("-T,--notest", options.steps.no_test, "do not run %test");
    verb.add_flag("--writable-tmpfs",
                  options.build.steps.has_writable_test,
                  "let %test change files of the image; the changes are lost");
    verb.add_option("--section",
                    options.build.definition.sections,
                    "only these sections of a definition file; %post always runs")
        ->type_name("NAMES")
        ->delimiter(',');
    verb.add_flag("--no-cache", options.steps.no_cache, "run every step again");
    CLI::Option* shell = verb.add_flag(
        "--shell",
        options.look.is_shell,
        "open a shell where the last build failed, with the step's variables and folder");
    shell->excludes("--all");
    verb.add_flag("--keep",
                  options.look.is_keeping,
                  "with --shell: print what was changed there, as a step")
        ->needs(shell);
    verb.add_flag("--verify-reproducible",
                  options.build.verifies_reproducible,
                  "build two times and report whether the images are equal, or which files differ");
    verb.add_option(
            "--timeout", options.steps.timeout, "time limit of one step, e.g. 30m (default: none)")
        ->type_name("TIME");
}

} // namespace

void add_build_options(CLI::App& verb, BuildOptions& options) {
    add_output_options(verb, options);
    add_network_options(verb, options);
    add_list_options(verb, options);
    add_recipe_options(verb, options);
    add_step_options(verb, options);
}

} // namespace cybele::cli
