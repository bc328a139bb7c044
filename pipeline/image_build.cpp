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
#include "pipeline/plan_json.hpp"
#include "pipeline/provenance.hpp"
#include "pipeline/recipe_inputs.hpp"
#include "pipeline/reproducible.hpp"
#include "recipes/model/recipe.hpp"
#include "recipes/stage/base.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/output.hpp"
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
    const auto own = plan.image.labels.find(kTitle);
    if (!facts || own == plan.image.labels.end()) {
        return false;
    }
    const auto found = facts->labels.find(kTitle);
    return found != facts->labels.end() && found->second == own->second;
}

/// What an image can neither be written to nor take the place of.
/// `replaces_source`: the source is read before the output takes its name.
Result<void>
check_kind_of_output(const fs::path& output, const fs::path& source, bool replaces_source) {
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
    if (!replaces_source && fs::equivalent(output, source, error)) {
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

Result<void> check_output(const ImageBuild& request, const ImagePlan& plan) {
    const fs::path& output = plan.output;
    CYBELE_CHECK(check_kind_of_output(
        output, plan.source, request.force && request.definition.follows_apptainer));
    std::error_code error;
    if (!request.force && request.settings.sign_key.empty()) {
        CYBELE_CHECK(check_signature(output));
    }
    // A dangling link, too, but for Apptainer's name: it is replaced.
    const bool is_taken = request.definition.follows_apptainer
                              ? fs::exists(output, error)
                              : fs::exists(fs::symlink_status(output, error));
    if (is_taken && !request.force && !is_own_image(output, plan)) {
        return fail(
            ErrorCode::kInput,
            problem("output-of-other-source", printable(output.native()) + " exists already"),
            plan.is_recipe ? "it was not built from this Recipe, so it is not replaced"
                           : "only a build of a Recipe replaces its own image unasked",
            "choose another output with -o, or give --force");
    }
    const fs::path folder = output.has_parent_path() ? output.parent_path() : fs::path(".");
    if (!fs::exists(folder, error) && !error) {
        return fail(ErrorCode::kInput,
                    problem("output-folder-missing",
                            "the folder " + printable(folder.native()) + " does not exist")
                        .about(folder.native()),
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
void follow_apptainer(const ImageBuild& request, builder::StepRules& steps) {
    constexpr mode_t kApptainerMask = 0002;
    steps.umask = kApptainerMask;
    steps.keeps_base_help = !request.force;
    steps.follows_apptainer = true;
    for (const std::string_view prefix : {"SINGULARITYENV_", "APPTAINERENV_"}) {
        for (const auto& [name, value] : request.settings.environment.all()) {
            if (name.starts_with(prefix) && name.size() > prefix.size()) {
                steps.variables[name.substr(prefix.size())] = value;
            }
        }
    }
}

/// Signs the image before it has its name.
builder::BuildSigning signing_by(const images::Signers& signers, std::int64_t now) {
    builder::BuildSigning signing;
    if (signers.keys.empty()) {
        return signing;
    }
    for (const images::EnvelopeSigner& signer : signers.keys) {
        signing.signers += "signed by " + signer.key.public_key().fingerprint() + "\n";
    }
    signing.sign = [&signers, now](const images::Image& image) {
        images::SignReport done;
        images::SignOptions options;
        options.now = now;
        return images::make_signatures(image, signers, options, done);
    };
    return signing;
}

builder::BuildRequest builder_request(const ImageBuild& request, ImagePlan plan) {
    const BuildSettings& settings = request.settings;
    builder::BuildRequest build;
    build.source = {std::move(plan.definition),
                    std::move(plan.source),
                    std::move(plan.directory),
                    plan.is_recipe,
                    std::move(plan.files)};
    build.output = std::move(plan.output);
    build.force = true; // checked before, and the signed copy takes the place
    // A file of a kept layer is older than one that is made now, where no time is given.
    build.use_cache =
        request.use_cache && !request.verifies_reproducible && request.steps.binds.empty();
    build.stages_at_once = settings.stages_at_once;
    build.steps = request.steps;
    // A Recipe says what its image is, whatever the image below it was.
    const bool is_update = !request.definition.update.empty(); // which is forced here
    build.steps.replaces_labels =
        (request.force && !(is_update && request.definition.follows_apptainer)) || plan.is_recipe;
    if (request.definition.follows_apptainer) {
        follow_apptainer(request, build.steps);
    }
    build.packages = settings.packages;
    build.time = settings.time;
    build.time.clock = settings.time.now;
    // The Lock says when its packages were published: two builds of it are equal.
    if (plan.epoch && !settings.time.is_deterministic) {
        build.time.now = *plan.epoch;
        build.time.is_deterministic = true;
    }
    build.time.is_deterministic = build.time.is_deterministic || request.verifies_reproducible;
    build.bases = settings.bases;
    build.bases.digests = std::move(plan.digests);
    build.bases.keys = std::move(plan.keys);
    build.bases.tells_digests = !request.provenance.file.empty();
    build.image = std::move(plan.image);
    if (!request.compression.empty()) {
        build.image.compression = request.compression;
    }
    if (!request.sbom.empty()) {
        build.image.sbom = request.sbom;
    }
    build.reporter = settings.reporter;
    return build;
}

/// Before the long build: the key is read, and its passphrase asked for.
Result<images::Signers> load_signers(const ImageBuild& request) {
    images::Signers signers;
    if (!request.settings.sign_key.empty()) {
        CYBELE_TRY(
            images::PrivateKey key,
            images::PrivateKey::read(request.settings.sign_key, request.settings.sign_passphrase));
        signers.keys.push_back({std::move(key), {}});
    }
    return signers;
}

Result<void> check_provenance(const ImageBuild& request, const ImagePlan& plan) {
    const fs::path& file = request.provenance.file;
    if (file.empty()) {
        return {};
    }
    std::error_code error;
    const auto place_of = [&](const fs::path& path) {
        return fs::weakly_canonical(fs::absolute(path, error), error);
    };
    for (const fs::path& other : {plan.source, plan.output, request.settings.sign_key}) {
        if (place_of(file) == place_of(other)) {
            return fail(ErrorCode::kUsage,
                        problem("provenance-file-conflict",
                                "--provenance " + printable(file.native()) +
                                    " is another file of this build"),
                        "it would replace it",
                        "name a file of its own");
        }
    }
    if (request.settings.sign_key.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("provenance-without-key", "--provenance needs a key"),
                    "unsigned provenance proves nothing",
                    "name it with --sign-key FILE");
    }
    if (request.settings.builder != "embedded") {
        return fail(ErrorCode::kUsage,
                    problem("provenance-with-other-builder",
                            "--provenance with --builder " + request.settings.builder),
                    "only the embedded builder knows what an image was made from",
                    "leave --builder out");
    }
    return {};
}

/// What is known before the build of what the image is made from.
BuildFacts facts_before(const ImageBuild& request, const ImagePlan& plan) {
    BuildFacts facts;
    facts.source = plan.is_image ? plan.source.native() : plan.source.filename().native();
    facts.definition = hex(sha256(plan.definition.text));
    facts.recipe = plan.recipe;
    facts.builder = request.settings.builder;
    facts.arguments = request.recipe.arguments;
    facts.started = request.settings.time.now;
    return facts;
}

Result<void> write_provenance(const ImageBuild& request,
                              const images::Signers& signers,
                              const builder::BuildResult& result,
                              BuildFacts facts) {
    if (request.provenance.file.empty()) {
        return {};
    }
    CYBELE_TRY(const Digest digest, sha256_file(result.image));
    facts.image = result.image.filename().native();
    facts.digest = hex(digest);
    facts.bases = result.bases;
    const builder::BuildTime& time = request.settings.time;
    facts.finished =
        request.provenance.clock && !time.is_deterministic ? request.provenance.clock() : time.now;
    CYBELE_TRY(const std::string text, signed_provenance(facts, signers));
    return write_file(request.provenance.file, text);
}

/// Options that only the embedded builder has.
Result<void> check_builder(const ImageBuild& request) {
    if (request.settings.builder == "embedded") {
        return {};
    }
    const std::string option = request.steps.timeout > 0       ? "--timeout"
                               : request.verifies_reproducible ? "--verify-reproducible"
                                                               : "";
    if (option.empty()) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                problem("option-with-other-builder",
                        option + " with --builder " + request.settings.builder),
                "only the embedded builder can do it",
                "leave one of the two out");
}

/// A private folder next to the file.
Result<TempDirectory> folder_beside(const fs::path& file, std::string_view prefix) {
    return TempDirectory::make(file.has_parent_path() ? file.parent_path() : fs::path("."), prefix);
}

/// Builds once more, in a private folder, and compares.
Result<void>
build_again(builder::BuildRequest again, const fs::path& first, const Environment& environment) {
    CYBELE_TRY(const TempDirectory folder, folder_beside(first, ".cybelectl-again"));
    again.output = folder.path() / first.filename();
    again.use_cache = false;
    again.signing = {};
    again.reporter.tell("build it again, without the cache, to compare");
    CYBELE_TRY(const builder::BuildResult result,
               builder::build(again, environment)
                   .map_error(during("building the image again, to compare")));
    return compare_builds(first, result.image);
}

/// By apptainer or singularity: in a private folder until it is signed.
Result<builder::BuildResult> build_elsewhere(const ImageBuild& request,
                                             builder::BuildRequest build,
                                             const images::Signers& signers) {
    if (signers.keys.empty()) {
        return builder::build_with(request.settings.builder, build, request.settings.environment);
    }
    const fs::path output = build.output;
    CYBELE_TRY(const TempDirectory folder, folder_beside(output, ".cybelectl-unsigned"));
    build.output = folder.path() / output.filename();
    CYBELE_TRY(builder::BuildResult result,
               builder::build_with(request.settings.builder, build, request.settings.environment));
    images::SignOptions signing;
    signing.now = request.settings.time.now;
    CYBELE_CHECK(
        images::sign_image(build.output, signers, signing).map_error(during("signing the image")));
    std::error_code error;
    fs::rename(build.output, output, error);
    if (error) {
        return fail(
            system_error("cannot put " + printable(output.native()) + " in place", error.value()));
    }
    result.image = output;
    return result;
}

} // namespace

Result<ImagePlan> read_source(const ImageBuild& request) {
    const Environment& environment = request.settings.environment;
    CYBELE_CHECK(check_builder(request));
    CYBELE_TRY(const fs::path source, find_source(request.source));
    CYBELE_TRY(ImagePlan plan,
               plan_image(request, source, environment)
                   .map_error(during("reading what the image is built from")));
    if (!request.output.empty()) {
        plan.output = request.output;
    }
    CYBELE_CHECK(check_output(request, plan));
    if (request.definition.follows_apptainer && !fs::exists(plan.output)) {
        std::error_code error;
        fs::remove(plan.output, error); // a link that leads nowhere
    }
    CYBELE_TRY(plan.output, resolve_output_path(plan.output)); // a link stays
    CYBELE_CHECK(check_provenance(request, plan));
    CYBELE_TRY(const auto lines,
               look_at_context(plan, request.settings.builder, environment)
                   .map_error(during("reading the files of the build context")));
    for (const std::string& line : lines) {
        request.settings.reporter.tell(line);
    }
    return plan;
}

Result<BuiltImage> build_image(const ImageBuild& request) {
    const Environment& environment = request.settings.environment;
    CYBELE_TRY(ImagePlan plan, read_source(request));
    if (request.settings.reporter.on_phase) {
        request.settings.reporter.on_phase("read", print_json(plan));
    }
    CYBELE_TRY(const images::Signers signers,
               load_signers(request).map_error(during("reading the keys to sign with")));
    BuildFacts facts = facts_before(request, plan);
    const auto document = plan.document;
    const bool is_locked = plan.epoch.has_value();
    const bool is_own = request.settings.builder == "embedded";
    builder::BuildRequest build = builder_request(request, std::move(plan));
    if (is_own) {
        build.signing = signing_by(signers, request.settings.time.now);
    }
    CYBELE_TRY(
        const builder::BuildResult result,
        (is_own ? builder::build(build, environment) : build_elsewhere(request, build, signers))
            .map_error([&document, is_locked](const Error& failed) {
                const Error own =
                    document && is_locked ? with_lock_remedy(*document, failed) : failed;
                return document ? at_recipe_packages(*document, own) : own;
            }));
    BuiltImage built{build.output, result.bytes, request.settings.sign_key.native(), false};
    if (request.verifies_reproducible) {
        CYBELE_CHECK(build_again(build, build.output, environment));
        built.is_reproduced = true;
    }
    std::error_code error;
    built.bytes = fs::file_size(build.output, error);
    CYBELE_CHECK(write_provenance(request, signers, result, std::move(facts)));
    return built;
}

} // namespace cybele::pipeline
