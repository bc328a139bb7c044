// SPDX-License-Identifier: Apache-2.0
#include "pipeline/image_build.hpp"

#include "builder/pack/builder.hpp"
#include "images/inspection/facts.hpp"
#include "images/sif/sif.hpp"
#include "images/signatures/sign.hpp"
#include "images/signatures/signed.hpp"
#include "pipeline/context_files.hpp"
#include "pipeline/document_kind.hpp"
#include "pipeline/image_plan.hpp"
#include "pipeline/provenance.hpp"
#include "pipeline/recipe_inputs.hpp"
#include "pipeline/reproducible.hpp"
#include "recipes/model/recipe.hpp"
#include "recipes/stage/base.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/yaml.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <vector>

#include <unistd.h>

namespace cybele::pipeline {

namespace fs = std::filesystem;

namespace {

/// The label that holds a Recipe's name.
constexpr const char* kTitle = "org.opencontainers.image.title";

/// An existing file is replaced without --force only if it is an image made from the same Recipe's
/// name.
bool is_own_image(const fs::path& path, const ImagePlan& plan) {
    const auto image = images::Image::open(path);
    if (!image) {
        return false;
    }
    const auto facts = images::read_facts(*image);
    const auto own = plan.labels.find(kTitle);
    if (!facts || own == plan.labels.end()) {
        return false;
    }
    const auto found = facts->labels.find(kTitle);
    return found != facts->labels.end() && found->second == own->second;
}

/// What an image can neither be written to nor take the place of.
Result<void> check_kind_of_output(const fs::path& output, const fs::path& source) {
    std::error_code error;
    if (output == "-") {
        return fail(
            ErrorCode::kUsage,
            problem("image-to-standard-output", "an image is not written to standard output"),
            "it is packed into its file, and signed there",
            "name a file: -o NAME.sif");
    }
    if (fs::is_directory(output, error)) {
        return fail(ErrorCode::kUsage,
                    problem("output-is-directory",
                            "the output " + printable(output.native()) + " is a directory"),
                    {},
                    "name a file: -o NAME.sif");
    }
    if (fs::equivalent(output, source, error)) {
        return fail(ErrorCode::kUsage,
                    problem("output-is-source",
                            "the output " + printable(output.native()) + " is the source itself"),
                    "the image would replace it",
                    "name another file: -o NAME.sif");
    }
    if (fs::exists(output, error) && !fs::is_regular_file(output, error)) {
        return fail(ErrorCode::kInput,
                    problem("output-not-regular-file",
                            "the output " + printable(output.native()) + " is not a regular file"),
                    "an image cannot be written to a device, a pipe or a socket",
                    "name a file: -o NAME.sif");
    }
    return {};
}

/// A signed image is not replaced by an unsigned one.
Result<void> check_signature(const fs::path& output) {
    const auto image = images::Image::open(output);
    if (!image || !images::is_signed(*image)) {
        return {};
    }
    return fail(ErrorCode::kInput,
                problem("signed-image-kept",
                        printable(output.native()) + " is signed, and this build does not sign"),
                "an unsigned image does not replace a signed one",
                "name a key with --sign-key or the setting `sign-key`, or replace the image with "
                "`cybelectl build --force`");
}

Result<void> check_output(const fs::path& output,
                          const fs::path& source,
                          const ImageBuild& request,
                          const ImagePlan& plan) {
    CYBELE_CHECK(check_kind_of_output(output, source));
    std::error_code error;
    if (!request.force && request.sign_key.empty()) {
        CYBELE_CHECK(check_signature(output));
    }
    if (fs::exists(output, error) && !request.force && !is_own_image(output, plan)) {
        return fail(
            ErrorCode::kInput,
            problem("output-of-other-source", printable(output.native()) + " exists already"),
            "it was not built from this Recipe, so it is not replaced",
            "choose another output with -o, or give --force");
    }
    const fs::path folder = output.has_parent_path() ? output.parent_path() : fs::path(".");
    if (!fs::exists(folder, error) && !error) {
        return fail(ErrorCode::kInput,
                    problem("output-folder-missing",
                            "the folder " + printable(folder.native()) + " does not exist"),
                    "the image is written there",
                    "make it: `mkdir -p " + shell_quote(folder.native()) + "`");
    }
    if (::access((folder / "").c_str(), W_OK | X_OK) != 0) {
        return fail(
            system_error("cannot write to the folder " + printable(folder.native()), errno));
    }
    return {};
}

/// By the name of Apptainer: steps have its umask and the variables of APPTAINERENV_X, and the help
/// text of a base stays unless the output is replaced.
void follow_reference(const ImageBuild& request, builder::BuildRequest& build) {
    constexpr mode_t kReferenceMask = 0002;
    build.step_umask = kReferenceMask;
    build.keeps_base_help = !request.force;
    build.replaces_labels = request.force;
    for (const std::string_view prefix : {"SINGULARITYENV_", "APPTAINERENV_"}) {
        for (const auto& [name, value] : request.environment.all()) {
            if (name.starts_with(prefix) && name.size() > prefix.size()) {
                build.step_variables[name.substr(prefix.size())] = value;
            }
        }
    }
}

builder::BuildRequest
builder_request(const ImageBuild& request, ImagePlan& plan, const fs::path& source) {
    builder::BuildRequest build;
    build.definition = std::move(plan.definition);
    build.definition_file = source;
    build.directory = plan.directory;
    build.output = plan.output;
    build.has_context_rules = plan.is_recipe;
    build.context = plan.files;
    build.force = true; // checked above, and the signed copy takes the place
    build.run_tests = request.run_tests;
    build.has_writable_test = request.has_writable_test;
    // A file of a kept layer is older than one that is made now, where no time is given.
    build.binds = request.binds;
    build.use_cache = request.use_cache && !request.verifies_reproducible && request.binds.empty();
    build.step_timeout = request.step_timeout;
    build.fixes_permissions = request.fixes_permissions;
    if (request.is_compatible) {
        follow_reference(request, build);
    }
    build.stages_at_once = request.stages_at_once;
    build.mirror = request.packages.mirror;
    build.pip_index = request.packages.pip_index;
    build.ca_file = request.packages.ca_file;
    // The Lock says when its packages were published: two builds of it are equal.
    const bool has_epoch = plan.epoch && !request.is_deterministic;
    build.now = has_epoch ? *plan.epoch : request.now;
    build.clock = request.now;
    build.is_deterministic = has_epoch || request.is_deterministic || request.verifies_reproducible;
    build.pack.compression = request.compression.empty() ? plan.compression : request.compression;
    build.labels = plan.labels;
    build.sbom = request.sbom.empty() ? plan.sbom : request.sbom;
    build.bases = request.bases;
    build.bases.digests = plan.digests;
    build.bases.keys = plan.keys;
    build.name = plan.name;
    build.version = plan.version;
    build.sources = plan.sources;
    build.is_verbose = request.is_verbose;
    build.on_step = request.on_step;
    return build;
}

/// The name under which an image of another builder lies until it is signed; removed if the build
/// ends before.
struct Unsigned {
    fs::path path;
    ~Unsigned() {
        std::error_code error;
        if (!path.empty()) {
            fs::remove(path, error);
        }
    }
};

/// Before the long build: the key is read, and its passphrase asked for.
Result<images::Signers> load_signers(const ImageBuild& request) {
    images::Signers signers;
    if (!request.sign_key.empty()) {
        CYBELE_TRY(images::PrivateKey key,
                   images::PrivateKey::read(request.sign_key, request.sign_passphrase));
        signers.keys.push_back({std::move(key), {}});
    }
    return signers;
}

Result<void>
judge_provenance(const ImageBuild& request, const fs::path& source, const fs::path& output) {
    if (request.provenance.empty()) {
        return {};
    }
    std::error_code error;
    const auto place_of = [&](const fs::path& path) {
        return fs::weakly_canonical(fs::absolute(path, error), error);
    };
    for (const fs::path& other : {source, output, request.sign_key}) {
        if (place_of(request.provenance) == place_of(other)) {
            return fail(ErrorCode::kUsage,
                        problem("provenance-file-conflict",
                                "--provenance " + printable(request.provenance.native()) +
                                    " is another file of this build"),
                        "it would replace it",
                        "name a file of its own");
        }
    }
    if (request.sign_key.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("provenance-without-key", "--provenance needs a key"),
                    "unsigned provenance proves nothing",
                    "name it with --sign-key FILE");
    }
    if (request.builder != "embedded") {
        return fail(ErrorCode::kUsage,
                    problem("provenance-with-other-builder",
                            "--provenance with --builder " + request.builder),
                    "only the embedded builder knows what an image was made from",
                    "leave --builder out");
    }
    return {};
}

Result<void> write_provenance(const ImageBuild& request,
                              const images::Signers& signers,
                              const builder::BuildResult& result,
                              BuildFacts facts) {
    if (request.provenance.empty()) {
        return {};
    }
    CYBELE_TRY(const Digest digest, sha256_file(result.image));
    facts.image = result.image.filename().native();
    facts.digest = hex(digest);
    facts.builder = request.builder;
    facts.arguments = request.recipe.arguments;
    facts.bases = result.bases;
    facts.started = request.now;
    facts.finished = request.clock && !request.is_deterministic ? request.clock() : request.now;
    CYBELE_TRY(const std::string text, signed_provenance(facts, signers));
    return write_file(request.provenance, text);
}

/// Options that only the embedded builder has.
Result<void> check_builder(const ImageBuild& request) {
    if (request.builder == "embedded") {
        return {};
    }
    const std::string option = request.step_timeout > 0        ? "--timeout"
                               : request.verifies_reproducible ? "--verify-reproducible"
                                                               : "";
    if (option.empty()) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                problem("option-with-other-builder", option + " with --builder " + request.builder),
                "only the embedded builder can do it",
                "leave one of the two out");
}

/// Builds once more, in a private folder, and compares.
Result<void>
build_again(builder::BuildRequest again, const fs::path& first, const Environment& environment) {
    CYBELE_TRY(const TempDirectory folder,
               TempDirectory::make(first.has_parent_path() ? first.parent_path() : fs::path("."),
                                   ".cybelectl-again"));
    again.output = folder.path() / first.filename();
    again.use_cache = false;
    again.finish = nullptr;
    if (again.on_step) {
        again.on_step("build it again, without the cache, to compare");
    }
    CYBELE_TRY(const builder::BuildResult result,
               builder::build(again, environment)
                   .map_error(during("building the image again, to compare")));
    return compare_builds(first, result.image);
}

} // namespace

Result<BuiltImage> build_image(const ImageBuild& request, const Environment& environment) {
    CYBELE_CHECK(check_builder(request));
    std::error_code error;
    CYBELE_TRY(const fs::path source, find_source(request.source));
    CYBELE_TRY(ImagePlan plan,
               plan_image(request, source, environment)
                   .map_error(during("reading what the image is built from")));
    if (!request.output.empty()) {
        plan.output = request.output;
    }
    CYBELE_CHECK(check_output(plan.output, source, request, plan));
    CYBELE_CHECK(judge_provenance(request, source, plan.output));
    CYBELE_TRY(const auto lines,
               look_at_context(plan, request.builder, environment)
                   .map_error(during("reading the files of the build context")));
    for (const std::string& line : lines) {
        if (request.on_step) {
            request.on_step(line);
        }
    }
    CYBELE_TRY(const images::Signers signers,
               load_signers(request).map_error(during("reading the keys to sign with")));
    images::SignOptions signing;
    signing.now = request.now;
    const bool is_signed = !signers.keys.empty();
    const fs::path output = plan.output;
    const bool is_own = request.builder == "embedded";
    const Unsigned unfinished{is_signed && !is_own ? output.native() + ".unsigned" : ""};
    if (!unfinished.path.empty()) {
        plan.output = unfinished.path;
    }
    BuildFacts facts;
    facts.source = plan.is_image ? source.native() : source.filename().native();
    facts.definition = hex(sha256(plan.definition.text));
    facts.recipe = plan.recipe;
    builder::BuildRequest build = builder_request(request, plan, source);
    build.tells_bases = !request.provenance.empty();
    if (is_signed && is_own) {
        for (const images::EnvelopeSigner& signer : signers.keys) {
            build.finish_name += "signed by " + signer.key.public_key().fingerprint() + "\n";
        }
        build.finish = [&](const images::Image& image) {
            images::SignReport done;
            return images::make_signatures(image, signers, signing, done);
        };
    }
    CYBELE_TRY(builder::BuildResult result,
               (is_own ? builder::build(build, environment)
                       : builder::build_with(request.builder, build, environment))
                   .map_error([&plan](const Error& failed) {
                       return plan.document ? at_recipe_packages(*plan.document, failed) : failed;
                   }));
    BuiltImage built{output, result.bytes, request.sign_key.native(), false};
    if (is_signed && !is_own) {
        CYBELE_CHECK(images::sign_image(unfinished.path, signers, signing)
                         .map_error(during("signing the image")));
        fs::rename(unfinished.path, output, error);
        if (error) {
            return fail(system_error("cannot put " + printable(output.native()) + " in place",
                                     error.value()));
        }
    }
    if (request.verifies_reproducible) {
        CYBELE_CHECK(build_again(build, output, environment));
        built.is_reproduced = true;
    }
    built.bytes = fs::file_size(output, error);
    CYBELE_CHECK(write_provenance(request, signers, result, std::move(facts)));
    return built;
}

} // namespace cybele::pipeline
