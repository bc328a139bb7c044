// SPDX-License-Identifier: Apache-2.0
// Images to and from registries.
#include "cli/image/transfer.hpp"

#include "cli/common/cli11.hpp"
#include "cli/common/image_access.hpp"
#include "cli/common/image_store.hpp"
#include "cli/common/not_empty.hpp"
#include "cli/common/progress.hpp"
#include "images/sif/sif.hpp"
#include "registry/cache/trusted.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace fs = std::filesystem;

/// A registry names an image by its manifest, the store and `sha256sum` by its bytes.
std::string digests_text(const std::string& manifest, const std::string& image) {
    return manifest.empty() || manifest == image
               ? "image " + image
               : fmt::format("manifest {}, image {}", manifest, image);
}

void finish_transfer_verb(CLI::App& verb,
                          Session& session,
                          const std::shared_ptr<TransferOptions>& options,
                          TransferVerb what) {
    add_access(verb, *options);
    add_format(verb, session);
    verb.callback([&session, options, what] {
        session.action = [&session, options, what] { return what(session, *options); };
    });
}

namespace {

/// What came, and whose signatures it was verified by.
struct Pulled {
    registry::PullResult done;
    std::vector<std::string> signers; ///< empty: not verified
};

std::vector<std::string> signers_of(const images::Verification& verification) {
    std::vector<std::string> signers;
    for (const images::SignatureState& state : verification.signatures) {
        const std::string signer = state.is_valid ? images::signer_text(state) : "";
        if (!signer.empty() && !contains(signers, signer)) {
            signers.push_back(signer);
        }
    }
    return signers;
}

Result<registry::PullRequest> pull_request(const Session& session,
                                           const TransferOptions& options,
                                           const std::string& library,
                                           std::vector<std::string>& signers) {
    registry::PullRequest request;
    CYBELE_TRY(request.reference, registry::read_pull_reference(options.source, library));
    request.architecture =
        options.architecture.empty() ? images::host_architecture() : options.architecture;
    request.now = Session::clock();
    request.may_unsign = options.is_forced;
    if (!options.output.empty()) {
        request.output = registry::Output{options.output, options.is_link, options.is_forced};
    }
    if (!options.name.empty()) {
        CYBELE_TRY(request.name, registry::read_new_name(options.name));
    } else if (request.reference.digest.empty() || request.reference.has_tag) {
        request.name = registry::StoreName{request.reference.repository, request.reference.tag, ""};
    }
    if (!options.verify.empty()) {
        CYBELE_TRY(images::Trust trust,
                   registry::trust_from(options.verify, session.environment, Session::clock()));
        request.check = [shared = std::make_shared<images::Trust>(std::move(trust)),
                         name = request.reference.text(),
                         &signers](const fs::path& file) -> Result<void> {
            CYBELE_TRY(const images::Verification verification,
                       registry::verify_sif(file,
                                            *shared,
                                            printable(name) +
                                                " is not verified, and nothing of it is stored",
                                            "ask who pushed it for an image that this key "
                                            "verifies"));
            signers = signers_of(verification);
            return {};
        };
    }
    return request;
}

nlohmann::json pull_json(const TransferOptions& options, const Pulled& pulled) {
    const registry::PullResult& done = pulled.done;
    nlohmann::json document{{"reference", options.source},
                            {"digest", done.digest},
                            {"manifest", done.manifest},
                            {"image-digest", done.digest},
                            {"manifest-digest", done.manifest},
                            {"size", done.size},
                            {"downloaded", done.is_downloaded}};
    if (done.stored) {
        document["image"] = image_json(*done.stored);
    }
    if (!options.output.empty()) {
        document["output"] = options.output;
        document["way"] = done.way ? registry::copy_method_name(*done.way) : "download";
    }
    if (!options.verify.empty()) {
        document["verified-by"] = pulled.signers;
    }
    return document;
}

void tell_pulled(const Session& session, const TransferOptions& options, const Pulled& pulled) {
    const registry::PullResult& done = pulled.done;
    const std::string name = done.name.empty() ? done.digest : done.name;
    if (!session.is_quiet) {
        Session::print(
            fmt::format("{} {}{}{}\n",
                        options.output.empty() ? "store:" + name : printable(options.output),
                        digests_text(done.manifest, done.digest),
                        done.is_downloaded ? "" : " (it was in the store)",
                        pulled.signers.empty()
                            ? ""
                            : fmt::format(", verified by {}", fmt::join(pulled.signers, ", "))));
    }
}

Result<Pulled>
fetch(const Session& session, const TransferOptions& options, const std::string& shown) {
    if (options.has_no_store && (options.output.empty() || options.is_link)) {
        return fail(
            ErrorCode::kUsage,
            problem("no-store-needs-file", "--no-store needs a file of its own to pull into"),
            {},
            "name one by -o FILE, and leave --link out");
    }
    const HttpClient client = HttpClient::find(session.environment, session.program);
    CYBELE_TRY(const auto transport, make_transport(session, options, client, shown));
    Pulled pulled;
    CYBELE_TRY(const registry::PullRequest request,
               pull_request(session, options, transport.access.library, pulled.signers));
    if (options.has_no_store) {
        CYBELE_TRY(pulled.done, registry::pull_to_file(transport, request));
        return pulled;
    }
    CYBELE_TRY(const registry::Store store, open_store(session));
    CYBELE_TRY(pulled.done, registry::pull(transport, request, store));
    return pulled;
}

Result<int> pull(const Session& session, const TransferOptions& options) {
    CYBELE_TRY(const Pulled pulled, fetch(session, options, "pulling"));
    if (session.is_json()) {
        print_document(pull_json(options, pulled));
    } else {
        tell_pulled(session, options, pulled);
    }
    return 0;
}

/// A few at a time; what came and what did not is told in the order of the command line.
Result<int> pull_several(const Session& session, const std::vector<TransferOptions>& wanted) {
    constexpr std::size_t kAtOnce = 4;
    std::vector<std::optional<Result<Pulled>>> done(wanted.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < wanted.size(); i = next++) {
            done[i] = fetch(session, wanted[i], wanted[i].source); // each written by one thread
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < std::min(kAtOnce, wanted.size()); ++i) {
        threads.emplace_back(work);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    std::vector<Fault> faults;
    nlohmann::json pulled = nlohmann::json::array();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto& one = *done[i]; // NOLINT(bugprone-unchecked-optional-access): all were done
        if (one && session.is_json()) {
            pulled.push_back(pull_json(wanted[i], *one));
        } else if (one) {
            tell_pulled(session, wanted[i], *one);
        } else {
            const auto& own = one.error().faults();
            faults.insert(faults.end(), own.begin(), own.end());
        }
    }
    if (session.is_json()) {
        print_document({{"pulled", std::move(pulled)}});
    }
    if (!faults.empty()) {
        return fail(Error(std::move(faults)));
    }
    return 0;
}

/// NAME.sif in a folder, as `image push` calls the images of files.
Result<void> name_in_folder(const Session& session, TransferOptions& options) {
    CYBELE_TRY(const pipeline::Settings settings, session.settings());
    CYBELE_TRY(const auto reference,
               registry::read_pull_reference(options.source,
                                             options.library.empty() ? settings.get("library")
                                                                     : options.library));
    const std::string name = fs::path(reference.repository).filename().native();
    options.output = (fs::path(options.output) / (name + ".sif")).native();
    return {};
}

/// Two references that end alike would be one file.
Result<void> check_outputs(const std::vector<TransferOptions>& wanted) {
    std::map<std::string, std::string> known;
    for (const TransferOptions& one : wanted) {
        const auto [other, is_new] = known.emplace(one.output, one.source);
        if (!is_new) {
            return fail(ErrorCode::kUsage,
                        problem("several-images-one-file",
                                printable(other->second) + " and " + printable(one.source) +
                                    " would both be " + printable(one.output)),
                        "in a folder an image has the last word of its name",
                        "pull them one by one, each with -o FILE");
        }
    }
    return {};
}

/// Apptainer's order: the file, then the image.
Result<void> check_order(const std::vector<std::string>& words) {
    const auto is_reference = [](const std::string& word) {
        return word.find("://") != std::string::npos;
    };
    if (words.size() != 2 || is_reference(words[0]) || !is_reference(words[1])) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                problem("pull-order", printable(words[0]) + " names no image of a registry"),
                "the file of an image is an option",
                "write `cybelectl image pull " + shell_quote(words[1]) + " -o " +
                    shell_quote(words[0]) + "`");
}

Result<int> pull_all(const Session& session, const TransferOptions& options) {
    CYBELE_CHECK(check_order(options.sources));
    std::error_code error;
    const bool is_folder = options.output.ends_with('/') || fs::is_directory(options.output, error);
    const bool names_one = (!options.output.empty() && !is_folder) || !options.name.empty();
    if (options.sources.size() > 1 && names_one) {
        return fail(ErrorCode::kUsage,
                    problem("several-images-one-name", "several images cannot have one name"),
                    "-o FILE and --name are for one image, not for " +
                        printable(options.sources[0]) + " and " + printable(options.sources[1]),
                    "name a folder for all of them: -o DIR/, or pull the images one by one");
    }
    std::vector<TransferOptions> wanted(options.sources.size(), options);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        wanted[i].source = options.sources[i];
        if (is_folder) {
            CYBELE_CHECK(name_in_folder(session, wanted[i]));
        }
    }
    if (is_folder) {
        CYBELE_CHECK(check_outputs(wanted));
        CYBELE_CHECK(make_directories(options.output));
    }
    return wanted.size() == 1 ? pull(session, wanted.front()) : pull_several(session, wanted);
}

Result<int> tags(const Session& session, const TransferOptions& options) {
    CYBELE_TRY(const auto reference, registry::read_reference(options.source));
    const HttpClient client = HttpClient::find(session.environment, session.program);
    CYBELE_TRY(const auto transport, make_transport(session, options, client, "listing the tags"));
    registry::Registry asked(client, transport.access, session.environment, reference, "pull");
    CYBELE_TRY(const auto names, asked.tags());
    if (session.is_json()) {
        print_document({{"repository", reference.place()}, {"tags", names}});
        return 0;
    }
    for (const std::string& name : names) {
        Session::print(printable(name) + "\n");
    }
    return 0;
}

/// What --verify demands of an image that is copied without a network.
Result<void>
check_signed(const Session& session, const TransferOptions& options, const fs::path& file) {
    if (options.verify.empty()) {
        return {};
    }
    CYBELE_TRY(const images::Trust trust,
               registry::trust_from(options.verify, session.environment, Session::clock()));
    CYBELE_CHECK(registry::verify_sif(file,
                                      trust,
                                      printable(options.source) +
                                          " is not verified, and nothing of it is copied",
                                      "ask who made it for an image that this key verifies"));
    return {};
}

/// What is verified is the copy, before it has its name: others may write to the source meanwhile.
Result<void> copy_verified(const Session& session,
                           const TransferOptions& options,
                           const fs::path& source,
                           const registry::Output& output) {
    constexpr unsigned kCopiedImageMode = 0755;
    CYBELE_CHECK(registry::check_output(output));
    CYBELE_TRY(const UniqueFd from, open_for_reading(source));
    CYBELE_TRY(PendingFile copy, PendingFile::create(output.path, kCopiedImageMode));
    CYBELE_CHECK(registry::clone_or_copy(
        from.get(), source, copy.fd(), output.path, progress(session, "copying")));
    CYBELE_CHECK(check_signed(session, options, fmt::format("/proc/self/fd/{}", copy.fd())));
    if (output.is_forced) {
        return copy.commit();
    }
    CYBELE_TRY(const bool is_new, copy.commit_new());
    return is_new ? Result<void>() : registry::check_output(output);
}

/// Between files and the store, without a network.
Result<int> copy_locally(const Session& session, const TransferOptions& options) {
    CYBELE_TRY(const fs::path source, image_path(session, options.source));
    if (registry::is_store_reference(options.target)) {
        registry::Arrival arrival;
        CYBELE_TRY(arrival.name, registry::read_new_name(options.target));
        arrival.origin = options.source;
        arrival.is_link = options.is_link;
        arrival.may_unsign = options.is_forced;
        arrival.now = Session::clock();
        arrival.progress = progress(session, "adding");
        arrival.check = [&](const fs::path& file) { return check_signed(session, options, file); };
        CYBELE_TRY(const registry::Store store, open_store(session));
        CYBELE_CHECK(store.add(source, arrival));
        return 0;
    }
    const registry::Output output{options.target, options.is_link, options.is_forced};
    if (!options.verify.empty() && !options.is_link) {
        CYBELE_CHECK(copy_verified(session, options, source, output));
        return 0;
    }
    CYBELE_CHECK(check_signed(session, options, source));
    if (registry::is_store_reference(options.source)) {
        CYBELE_TRY(const registry::Store store, open_store_for_reading(session));
        CYBELE_TRY(const auto name, registry::read_store_argument(options.source));
        CYBELE_TRY(const auto image, store.find(name));
        CYBELE_CHECK(store.put_out(image, output, Session::clock(), progress(session, "copying")));
        return 0;
    }
    CYBELE_CHECK(images::Image::open(source));
    CYBELE_CHECK(registry::put_out(source, output, progress(session, "copying")));
    return 0;
}

Result<int> copy_between(const Session& session, const TransferOptions& options) {
    CYBELE_TRY(const auto source, registry::read_reference(options.source));
    CYBELE_TRY(const auto target, registry::read_reference(options.target));
    if (!target.digest.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("copy-to-digest", "an image is copied to a tag, not to a digest"),
                    "the digest follows from its bytes",
                    "write oras://HOST/NAME:TAG");
    }
    const HttpClient client = HttpClient::find(session.environment, session.program);
    CYBELE_TRY(const auto transport, make_transport(session, options, client, "copying"));
    CYBELE_TRY(const std::string digest, registry::copy(transport, transport, source, target));
    if (session.is_json()) {
        print_document(
            {{"reference", options.target}, {"manifest", digest}, {"manifest-digest", digest}});
    } else if (!session.is_quiet) {
        Session::print(fmt::format("{}@{}\n", printable("oras://" + target.place()), digest));
    }
    return 0;
}

Result<int> copy(const Session& session, const TransferOptions& given) {
    const bool is_from = registry::is_registry_reference(given.source);
    const bool is_to = registry::is_registry_reference(given.target);
    if (is_to && !given.verify.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("verify-into-registry", "--verify is not for a copy into a registry"),
                    "what is copied from registry to registry is not read",
                    is_from
                        ? "pull it with --verify first, then push it"
                        : "verify it first: `cybelectl verify " + shell_quote(given.source) + "`");
    }
    if (is_from && is_to) {
        return copy_between(session, given);
    }
    if (is_to) {
        return push(session, given);
    }
    if (!is_from) {
        return copy_locally(session, given);
    }
    TransferOptions options = given;
    if (registry::is_store_reference(options.target)) {
        options.name = options.target;
    } else {
        options.output = options.target;
    }
    return pull(session, options);
}

void add_output_flags(CLI::App& verb, TransferOptions& options) {
    add_library(verb, options);
    verb.add_flag("--link", options.is_link, "make the file a hard link into the store");
    verb.add_flag(
        "--force", options.is_forced, "replace an existing file, or the name of a signed image");
    verb.add_option(
            "--arch", options.architecture, "architecture of the image (default: this machine's)")
        ->type_name("ARCH");
    verb.add_option("--verify", options.verify, "public key or Policy that must have signed it")
        ->type_name("FILE")
        ->check(not_empty());
}

void install_pull(CLI::App& image, Session& session) {
    auto options = std::make_shared<TransferOptions>();
    CLI::App* verb =
        add_verb(image,
                 "pull",
                 "Pull a SIF image from a registry into the local store or a file.",
                 {"cybelectl image pull oras://registry.example/group/app:1.0",
                  "cybelectl image pull oras://registry.example/group/app:1.0 -o app.sif",
                  "cybelectl image pull oras://registry.example/app:1 --verify centre.pub",
                  "cybelectl image pull oras://registry.example/{a:1,b:2} -o images/",
                  "cybelectl image pull library://library.example/group/tools/app:1"});
    verb->add_option("reference", options->sources, "oras://… or library://…, [:TAG][@sha256:…]")
        ->required()
        ->type_name("REF");
    verb->add_option(
            "-o,--output", options->output, "also write to FILE, or to NAME.sif in the folder DIR/")
        ->type_name("FILE|DIR/");
    verb->add_option(
            "--name", options->name, "NAME[:TAG] in the store (default: as in the registry)")
        ->type_name("NAME");
    verb->add_flag("--no-store", options->has_no_store, "write to the file only");
    add_output_flags(*verb, *options);
    finish_transfer_verb(*verb, session, options, pull_all);
}

} // namespace

void install_image_transfers(CLI::App& image, Session& session) {
    install_pull(image, session);
    install_push(image, session);
    auto options = std::make_shared<TransferOptions>();
    CLI::App* verb =
        add_verb(image,
                 "tags",
                 "List the tags of an image in a registry.",
                 {"cybelectl image tags oras://registry.example/group/app",
                  "cybelectl image tags docker://registry.example/group/app --format json"});
    verb->add_option("reference", options->source, "oras://HOST/NAME")
        ->required()
        ->type_name("REF");
    finish_transfer_verb(*verb, session, options, tags);

    options = std::make_shared<TransferOptions>();
    verb = add_verb(image,
                    "copy",
                    "Copy an image between registries, the store and files.",
                    {"cybelectl image copy oras://a.example/app:1 oras://b.example/app:1",
                     "cybelectl image copy store:app:1 app.sif --link"});
    verb->add_option("from", options->source, "file, store:NAME, oras://… or library://…")
        ->required()
        ->type_name("FROM");
    verb->add_option("to", options->target, "file, store:NAME or oras://…")
        ->required()
        ->type_name("TO");
    add_output_flags(*verb, *options);
    finish_transfer_verb(*verb, session, options, copy);
    install_image_diff(image, session);
    install_image_tree(image, session);
    install_image_logins(image, session);
}

} // namespace cybele::cli
