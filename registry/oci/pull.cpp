// SPDX-License-Identifier: Apache-2.0
#include "images/sif/sif.hpp"
#include "registry/oci/images.hpp"
#include "registry/oci/library.hpp"
#include "registry/store/partial.hpp"
#include "support/file.hpp"
#include "support/name_beside.hpp"
#include "support/output.hpp"
#include "support/quote.hpp"
#include "support/umask.hpp"

#include <cerrno>
#include <functional>
#include <memory>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::registry {

namespace fs = std::filesystem;

namespace {

constexpr unsigned kPulledBlobMode = 0444;
constexpr unsigned kPulledImageMode = 0755;
constexpr std::size_t kPulledDigestStart = 7; ///< "sha256:"
constexpr std::size_t kShownDigits = 12;

struct FoundLayer {
    ContentDescriptor layer;
    std::string manifest; ///< its digest; of a library, the image's
};

/// Where an image comes from.
struct Source {
    std::function<Result<FoundLayer>()> find;
    std::function<Result<void>(const ContentDescriptor&, const fs::path&)> get;
};

Result<FoundLayer> find_layer(Registry& registry, const PullRequest& request) {
    const std::string what = request.reference.text();
    CYBELE_TRY(Manifest manifest, registry.manifest(request.reference.version()));
    const std::string digest = manifest.digest;
    if (manifest.is_index()) {
        CYBELE_TRY(const ContentDescriptor entry,
                   choose_entry(manifest, request.architecture, what));
        CYBELE_TRY(manifest, registry.manifest(entry.digest));
    }
    CYBELE_TRY(const ContentDescriptor layer, sif_layer(manifest, what));
    return FoundLayer{layer, digest};
}

bool is_of_library(const PullRequest& request) {
    return request.reference.scheme == kLibraryScheme;
}

Source source_of(const Transport& transport, const PullRequest& request) {
    if (is_of_library(request)) {
        auto library = std::make_shared<Library>(
            *transport.client, transport.access, transport.environment, request.reference);
        return {[library, &request]() -> Result<FoundLayer> {
                    CYBELE_TRY(const auto image, library->image(request.architecture));
                    return FoundLayer{image, image.digest};
                },
                [library, &request, &transport](const auto& image, const fs::path& file) {
                    return library->get(image, request.architecture, file, transport.progress);
                }};
    }
    auto registry = std::make_shared<Registry>(
        *transport.client, transport.access, transport.environment, request.reference, "pull");
    return {[registry, &request] { return find_layer(*registry, request); },
            [registry, &transport](const auto& image, const fs::path& file) {
                return registry->get_blob(image, file, transport.progress);
            }};
}

/// Right bytes can still be the wrong image.
Result<void> check_pulled_image(const fs::path& file, const PullRequest& request) {
    const std::string what = request.reference.text();
    const auto image = images::Image::open(file);
    if (!image) {
        return fail(ErrorCode::kInput,
                    problem("pulled-file-not-sif", what + " is not a SIF"),
                    image.error().message() + " " + image.error().faults().front().because,
                    "check the reference; SIF files are pushed by `cybelectl image push`, "
                    "Apptainer and oras");
    }
    const auto partition = image->primary_partition();
    const std::string found = partition ? partition->arch() : std::string();
    if (!found.empty() && found != "unknown" && found != request.architecture) {
        return fail(
            ErrorCode::kInput,
            problem("image-other-architecture", fmt::format("{} is an image for {}", what, found)),
            fmt::format("an image for {} was asked for", request.architecture),
            fmt::format("name another tag, or accept this one: --arch {}", found));
    }
    return request.check ? request.check(file) : Result<void>();
}

Result<void> put_pulled(const PullRequest& request,
                        const Store& store,
                        const Transport& transport,
                        PullResult& result) {
    if (request.output && result.stored) {
        CYBELE_TRY(result.way,
                   store.put_out(*result.stored, *request.output, request.now, transport.progress));
    }
    return {};
}

/// An image that the store has: is it whole, and what this pull asks for?
Result<bool> take_stored(const PullRequest& request,
                         const FoundLayer& found,
                         const Store& store,
                         PullResult& result) {
    CYBELE_TRY(const auto known, store.find_digest(found.layer.digest));
    if (!known || !store.use(*known, request.now)) {
        return false;
    }
    CYBELE_CHECK(check_pulled_image(known->path, request));
    if (request.name) {
        CYBELE_CHECK(store.tag(*known, *request.name, request.may_unsign));
    }
    if (!is_of_library(request)) {
        CYBELE_CHECK(store.note_repository(found.layer.digest, request.reference.place()));
    }
    CYBELE_TRY(result.stored, store.find_digest(found.layer.digest));
    return result.stored.has_value();
}

/// Of a download that did not begin nothing is left to continue.
void drop_empty(const Partial& partial) {
    struct stat status {};
    if (::stat(partial.path().c_str(), &status) == 0 && status.st_size == 0) {
        partial.remove();
    }
}

/// The store has no part in a pull into a file.
Error into_file(const Error& error) {
    std::vector<Fault> faults = error.faults();
    for (Fault& fault : faults) {
        if (fault.id == "pull-space") {
            fault.help = "free some space there, or name a file elsewhere: -o FILE";
        }
    }
    return Error(std::move(faults));
}

} // namespace

Result<PullResult>
pull(const Transport& transport, const PullRequest& request, const Store& store) {
    if (request.output) {
        CYBELE_CHECK(check_output(*request.output));
    }
    const Source source = source_of(transport, request);
    CYBELE_TRY(const FoundLayer found, source.find());
    const std::string& digest = found.layer.digest;
    PullResult result{digest, found.manifest, found.layer.size, false, {}, {}};
    CYBELE_TRY(bool is_there, take_stored(request, found, store, result));
    if (!is_there) {
        CYBELE_TRY(Partial partial,
                   Partial::open(store.place().temporary() /
                                 ("pull-" + digest.substr(kPulledDigestStart))));
        CYBELE_TRY(is_there, take_stored(request, found, store, result));
        if (!is_there) { // the partial file is named anew before the index knows it
            CYBELE_TRY(const bool is_coming, store.is_coming(digest));
            if (is_coming) {
                CYBELE_TRY(is_there, take_stored(request, found, store, result));
            }
        }
        if (is_there) {
            partial.remove();
        } else {
            if (auto got = source.get(found.layer, partial.path()); !got) {
                drop_empty(partial);
                return fail(std::move(got).error());
            }
            Arrival arrival;
            arrival.name = request.name;
            arrival.may_unsign = request.may_unsign;
            arrival.origin = request.reference.text();
            arrival.repository = is_of_library(request) ? "" : request.reference.place();
            arrival.now = request.now;
            if (auto judged = check_pulled_image(partial.path(), request); !judged) {
                partial.remove();
                return fail(std::move(judged).error());
            }
            CYBELE_CHECK(partial.finish(kPulledBlobMode));
            CYBELE_TRY(result.stored, store.adopt(partial.path(), digest, arrival));
            result.is_downloaded = true;
        }
    }
    result.name = request.name ? request.name->text() : "";
    CYBELE_CHECK(put_pulled(request, store, transport, result));
    return result;
}

Result<PullResult> pull_to_file(const Transport& transport, const PullRequest& request) {
    Output output = request.output.value_or(Output());
    CYBELE_CHECK(check_output(output));
    CYBELE_TRY(output.path, resolve_output_path(output.path));
    const Source source = source_of(transport, request);
    CYBELE_TRY(const FoundLayer found, source.find());
    const fs::path folder =
        output.path.has_parent_path() ? output.path.parent_path() : fs::path(".");
    const fs::path hidden = "." + output.path.filename().native();
    const std::string ending =
        fmt::format(".{}.part", found.layer.digest.substr(kPulledDigestStart, kShownDigits));
    CYBELE_TRY(Partial partial, Partial::open(name_beside(fs::absolute(folder) / hidden, ending)));
    if (auto got = source.get(found.layer, partial.path()); !got) {
        drop_empty(partial);
        return fail(into_file(std::move(got).error()));
    }
    if (auto judged = check_pulled_image(partial.path(), request); !judged) {
        partial.remove();
        return fail(std::move(judged).error());
    }
    CYBELE_CHECK(partial.finish(kPulledImageMode & ~own_umask()));
    if (auto moved = move_out(partial.path(), output); !moved) { // somebody may have been quicker
        partial.remove();
        return fail(std::move(moved).error());
    }
    sync_folder_of(output.path);
    return PullResult{found.layer.digest, found.manifest, found.layer.size, true, {}, {}};
}

} // namespace cybele::registry
