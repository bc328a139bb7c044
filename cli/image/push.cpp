// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/common/each_image.hpp"
#include "cli/common/image_store.hpp"
#include "cli/image/transfer.hpp"
#include "images/inspection/sbom.hpp"
#include "images/signatures/signed.hpp"
#include "registry/oci/attached.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

std::string base_name(const std::string& name) {
    return fs::path(name).filename().native();
}

/// Attaches the SBOMs of the image to it in the registry, so that clients need not pull the image.
Result<std::size_t> attach_sboms(const TransferOptions& options,
                                 const registry::Transport& transport,
                                 const registry::PushRequest& pushed,
                                 const std::string& manifest) {
    struct Form {
        images::SbomFormat format;
        const char* type;
        const char* ending;
    };
    constexpr Form kForms[] = {
        {images::SbomFormat::kSpdxJson, "application/spdx+json", ".spdx.json"},
        {images::SbomFormat::kCycloneDxJson, "application/vnd.cyclonedx+json", ".cdx.json"}};
    if (options.attaches_nothing) {
        return std::size_t{0};
    }
    CYBELE_TRY(const images::Image image, images::Image::open(pushed.file));
    CYBELE_TRY(const auto sboms, images::read_sboms(image));
    std::size_t count = 0;
    for (const images::Sbom& sbom : sboms) {
        for (const Form& form : kForms) {
            if (form.format != sbom.format) {
                continue;
            }
            registry::AttachRequest request;
            request.reference = pushed.reference;
            request.reference.digest = manifest; // another push may have moved the tag
            request.type = form.type;
            request.title = fs::path(pushed.title).stem().native() + form.ending;
            request.bytes = sbom.bytes;
            CYBELE_CHECK(registry::attach(transport, request)
                             .map_error(during("attaching the SBOM to the image in the registry")));
            ++count;
        }
    }
    return count;
}

/// Refuses an image that no key could verify after a pull.
Result<void> check_signatures(const TransferOptions& options, const fs::path& file) {
    const auto image = images::Image::open(file);
    if (!image || options.is_forced) {
        return {}; // the push reports what no image is
    }
    CYBELE_TRY(const std::string broken,
               images::broken_signature(*image).map_error(
                   during("comparing the image with its signatures")));
    if (broken.empty()) {
        return {};
    }
    return fail(ErrorCode::kVerification,
                problem("pushed-signature-broken",
                        printable(options.source) + " was changed after it was signed"),
                broken,
                "sign it again: `cybelectl sign --force --key KEY " + shell_quote(options.source) +
                    "`, or push it as it is with --force");
}

/// What became of an image.
struct Pushed {
    std::string place; ///< oras://HOST/NAME:TAG
    registry::PushResult done;
    std::size_t attached = 0;
};

/// Where an image goes. A Docker image is what a build begins with, never what an image becomes.
Result<registry::Reference> push_target(const std::string& text) {
    constexpr std::string_view kDocker = "docker://";
    if (!text.starts_with(kDocker)) {
        return registry::read_reference(text);
    }
    return fail(ErrorCode::kInput,
                problem("push-target-docker", "'" + printable(text) + "' cannot be pushed to"),
                "images are pushed as SIF files, which Docker's registries hold as oras://",
                "write `oras://" + printable(text.substr(kDocker.size())) + "`");
}

/// A pull of the tag that verifies fails from now on, and one that does not gets bytes that are not
/// signed.
Fault unsigned_note(const registry::Reference& reference, const std::string& before) {
    return warning(ErrorCode::kInternal,
                   problem("pushed-over-signed",
                           printable(reference.text()) + " was signed, and is not signed any more"),
                   "the image that had this tag carries a signature, and this one does not; it is "
                   "still there as " +
                       printable("oras://" + reference.place() + "@" + before),
                   "sign this one and push it again: `cybelectl sign --key KEY IMAGE`");
}

Result<Pushed> push_one(const Session& session, const TransferOptions& options) {
    registry::PushRequest request;
    CYBELE_TRY(request.reference, push_target(options.target));
    request.file = options.source;
    request.title = base_name(options.source);
    CYBELE_TRY(const registry::StoreFolder root, store_root(session));
    if (registry::is_store_reference(options.source)) {
        CYBELE_TRY(const auto name, registry::read_store_argument(options.source));
        CYBELE_TRY(const auto store,
                   registry::Store::open_for_reading(root).map_error(
                       during("opening the local store of images")));
        CYBELE_TRY(const auto image, store.find(name));
        CYBELE_TRY(request.file, store.use(image, Session::clock()));
        request.digest = image.record.digest;
        request.repositories = image.record.repositories;
        request.title = base_name(request.reference.repository) + ".sif";
    }
    CYBELE_CHECK(check_signatures(options, request.file));
    const HttpClient client = HttpClient::find(session.environment, session.program);
    auto access = static_cast<const AccessOptions&>(options);
    access.may_be_plain = session.is_apptainer();
    CYBELE_TRY(const auto transport, make_transport(session, access, client, "pushing"));
    CYBELE_TRY(const registry::PushResult done,
               registry::push(transport, request).map_error(during("pushing the image", "push")));
    if (!done.signed_before.empty()) {
        session.note({unsigned_note(request.reference, done.signed_before)});
    }
    if (!request.digest.empty()) {
        CYBELE_TRY(
            const auto store,
            registry::Store::open(root).map_error(during("opening the local store of images")));
        CYBELE_CHECK(store.note_repository(done.digest, request.reference.place()));
    }
    CYBELE_TRY(const std::size_t attached,
               attach_sboms(options, transport, request, done.manifest));
    return Pushed{request.reference.text(), done, attached};
}

nlohmann::json pushed_json(const TransferOptions& options, const Pushed& pushed) {
    return {{"reference", options.target},
            {"attached", pushed.attached},
            {"digest", pushed.done.digest},
            {"manifest", pushed.done.manifest},
            {"image-digest", pushed.done.digest},
            {"manifest-digest", pushed.done.manifest},
            {"size", pushed.done.size},
            {"image", pushed.done.how}};
}

std::string pushed_line(const Pushed& pushed) {
    return fmt::format("{} {} ({})",
                       printable(pushed.place),
                       digests_text(pushed.done.manifest, pushed.done.digest),
                       pushed.done.how);
}

/// `oras://HOST/GROUP/` for `path/app.sif` and `store:app:1`: oras://HOST/GROUP/app:TAG.
std::string place_in_folder(const TransferOptions& options, const std::string& image) {
    std::string name = image;
    if (registry::is_store_reference(image)) {
        name.erase(0, name.find(':') + 1);
        name.resize(std::min(name.find_first_of(":@"), name.size()));
    }
    fs::path last = base_name(name);
    if (last.extension() == ".sif") {
        last = last.stem();
    }
    return options.target + last.native() + ":" + (options.tag.empty() ? "latest" : options.tag);
}

} // namespace

Result<int> push(const Session& session, const TransferOptions& options) {
    CYBELE_TRY(const Pushed pushed, push_one(session, options));
    if (session.is_json()) {
        print_document(pushed_json(options, pushed));
    } else if (!session.is_quiet) {
        Session::print(pushed_line(pushed) + "\n");
    }
    session.inform_as_apptainer("Upload complete");
    return 0;
}

namespace {

/// Whether no other image could be pushed either.
bool is_of_registry(const Error& error) {
    constexpr std::array<std::string_view, 7> kIds{"server-unreachable",
                                                   "server-timeout",
                                                   "server-untrusted",
                                                   "client-certificate",
                                                   "registry-without-https",
                                                   "registry-login-missing",
                                                   "registry-login-refused"};
    return contains(kIds, error.faults().front().id);
}

/// Several images into a folder of a registry, each by the name of its file.
Result<int> push_each(const Session& session, const std::vector<TransferOptions>& wanted) {
    EachImage each(session);
    bool is_reached = true;
    for (const TransferOptions& options : wanted) {
        if (!is_reached) { // each would wait for it as long
            each.skip(options.source);
            continue;
        }
        const auto pushed = push_one(session, options);
        if (!pushed) {
            each.fail(options.source, pushed.error());
            is_reached = !is_of_registry(pushed.error());
            continue;
        }
        nlohmann::json entry = pushed_json(options, *pushed);
        entry["image"] = options.source; // like that of an image which is refused
        entry["how"] = pushed->done.how;
        each.add(std::move(entry));
        each.print(pushed_line(*pushed));
    }
    return each.end("pushed");
}

Result<int> push_all(const Session& session, const TransferOptions& given) {
    TransferOptions options = given;
    if (options.sources.size() < 2) {
        return fail(ErrorCode::kUsage,
                    problem("push-without-target", "image push needs an image and a reference"),
                    "one word is given: " + printable(options.sources.front()),
                    "write cybelectl image push app.sif oras://HOST/NAME:TAG");
    }
    options.target = options.sources.back();
    options.sources.pop_back();
    const bool is_folder = options.target.ends_with('/');
    if (!is_folder && options.sources.size() > 1) {
        return fail(ErrorCode::kUsage,
                    problem("several-images-one-reference",
                            fmt::format("{} images cannot have the one name {}",
                                        options.sources.size(),
                                        printable(options.target))),
                    "a reference that ends with `/` is a folder, where each image has the name of "
                    "its file",
                    "write oras://HOST/GROUP/, and --tag TAG for their tag");
    }
    if (!is_folder && !options.tag.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("tag-without-folder", "--tag is for a reference that ends with `/`"),
                    "another reference has its own tag",
                    "write oras://HOST/NAME:" + printable(options.tag));
    }
    std::vector<TransferOptions> wanted(options.sources.size(), options);
    std::map<std::string, std::string> known;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        wanted[i].source = options.sources[i];
        wanted[i].target =
            is_folder ? place_in_folder(options, options.sources[i]) : options.target;
        CYBELE_CHECK(push_target(wanted[i].target)); // before the first is sent
        const auto [other, is_new] = known.emplace(wanted[i].target, wanted[i].source);
        if (!is_new) {
            return fail(ErrorCode::kUsage,
                        problem("several-images-one-reference",
                                printable(other->second) + " and " + printable(wanted[i].source) +
                                    " would both be " + printable(wanted[i].target)),
                        "in a group an image has the name of its file",
                        "push them one by one, each to oras://HOST/NAME:TAG");
        }
    }
    return wanted.size() == 1 ? push(session, wanted.front()) : push_each(session, wanted);
}

} // namespace

void install_push(CLI::App& image, Session& session) {
    auto options = std::make_shared<TransferOptions>();
    CLI::App* verb = add_verb(image,
                              "push",
                              "Push a SIF image to a registry; existing parts are not sent again.",
                              {"cybelectl image push app.sif oras://registry.example/group/app:1.0",
                               "cybelectl image push a.sif b.sif oras://registry.example/group/ "
                               "--tag 1.0",
                               "cybelectl image push store:app oras://localhost:5000/app:1 "
                               "--plain-http"});
    verb->add_option("image",
                     options->sources,
                     "SIF files or store:NAME, then oras://HOST/NAME[:TAG], or oras://HOST/GROUP/ "
                     "for each by its name")
        ->required()
        ->type_name("IMAGE… REF");
    verb->add_option(
            "--tag", options->tag, "tag of images that are pushed into a group (default: latest)")
        ->type_name("TAG");
    verb->add_flag(
        "--force", options->is_forced, "push an image that was changed after it was signed, too");
    verb->add_flag(
        "--no-attach", options->attaches_nothing, "do not attach the image's lists of packages");
    finish_transfer_verb(*verb, session, options, push_all);
}

} // namespace cybele::cli
