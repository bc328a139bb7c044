// SPDX-License-Identifier: Apache-2.0
#include "cli/image/start_image.hpp"

#include "cli/common/apptainer_folders.hpp"
#include "cli/common/image_access.hpp"
#include "cli/common/image_store.hpp"
#include "cli/common/progress.hpp"
#include "cli/image/apptainer_cache.hpp"
#include "cli/image/cache_entries.hpp"
#include "cli/image/unreadable_source.hpp"
#include "cli/image/web_image.hpp"
#include "images/sif/sif.hpp"
#include "registry/oci/images.hpp"
#include "registry/oci/layout.hpp"
#include "registry/oci/oci_image.hpp"
#include "registry/store/lease.hpp"
#include "registry/store/record.hpp"
#include "support/characters.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

/// How the image of a URI comes.
enum class Kind { kFile, kArtifact, kOci, kWeb, kRefused };

struct SchemeRow {
    std::string_view scheme;
    Kind kind;
    std::string_view reason; ///< of a refused one
};
constexpr SchemeRow kSchemes[] = {
    {"docker://", Kind::kOci, ""},
    {"oci:", Kind::kOci, ""},
    {"oci-archive:", Kind::kOci, ""},
    {"docker-archive:", Kind::kOci, ""},
    {"oras://", Kind::kArtifact, ""},
    {"library://", Kind::kArtifact, ""},
    {"http://", Kind::kWeb, ""},
    {"https://", Kind::kWeb, ""},
    {"docker-daemon:",
     Kind::kRefused,
     "no Docker daemon is asked; save the image by `docker save`"},
    {"shub://", Kind::kRefused, "Singularity Hub has ended; pull the image from another registry"},
};

const SchemeRow* scheme_of(std::string_view image) {
    return find_row(kSchemes, [&](const SchemeRow& one) { return image.starts_with(one.scheme); });
}

std::string short_hash(std::string_view text) {
    constexpr std::size_t kShown = 16;
    return hex(sha256(text)).substr(0, kShown);
}

/// A name of the store that a URI has: its letters, digits and dots.
std::string name_of(std::string_view uri) {
    std::string name;
    for (const char c : uri) {
        if (is_alphanumeric(c) || c == '.') {
            name += to_lower(c);
        } else if (!name.empty() && name.back() != '-') {
            name += '-';
        }
    }
    while (!name.empty() && (name.back() == '-' || name.back() == '.')) {
        name.pop_back();
    }
    return "uri/" + name;
}

/// By the name of Apptainer, a name and password of variables or flags win over a file of logins.
std::string authfile_of(const Session& session, const StartOptions& options) {
    const Environment environment = environment_of_pull(session, options);
    for (const std::string prefix : {"APPTAINER_", "SINGULARITY_", ""}) {
        if (session.is_apptainer() && environment.get(prefix + "DOCKER_USERNAME") &&
            environment.get(prefix + "DOCKER_PASSWORD")) {
            return {};
        }
    }
    return options.authfile;
}

AccessOptions access_of(const Session& session, const StartOptions& options) {
    AccessOptions access;
    access.ca_file = options.ca_file;
    access.authfile = authfile_of(session, options);
    access.is_plain = options.has_plain_http;
    access.words.plain_http = session.is_apptainer() ? "`--no-https` before the image"
                                                     : "`--plain-http` before the image";
    access.words.ca_file = "`--ca-file FILE`, before the image";
    access.may_be_plain = session.is_apptainer() && options.image.starts_with("oras://");
    return access;
}

std::string architecture_of(const StartOptions& options) {
    return options.architecture.empty() ? images::host_architecture() : options.architecture;
}

/// `build URI -o FILE` by this program: the conversion is a build without steps.
Result<void> convert(const Session& session,
                     const StartOptions& options,
                     const std::string& uri,
                     const fs::path& file) {
    for (const char* const line :
         {"Converting OCI blobs to SIF format", "Starting build...", "Fetching OCI image..."}) {
        session.inform_as_apptainer(line);
    }
    Command command;
    command.argv = {session.program,
                    "build",
                    uri,
                    "--output=" + file.native(),
                    "--force",
                    "--notest",
                    "--sbom=none"};
    if (options.has_plain_http) {
        command.argv.emplace_back("--plain-http");
    }
    if (!options.architecture.empty()) {
        command.argv.push_back("--arch=" + options.architecture);
    }
    if (const std::string logins = authfile_of(session, options); !logins.empty()) {
        command.argv.push_back("--authfile=" + logins);
    }
    if (!options.ca_file.empty()) {
        command.argv.push_back("--ca-file=" + options.ca_file);
    }
    Environment environment = environment_of_pull(session, options);
    std::optional<TempDirectory> only;
    if (options.has_no_cache) { // what the conversion would keep goes with it
        CYBELE_TRY(TempDirectory made,
                   TempDirectory::make(environment.temporary_directory(), "cybelectl-convert"));
        environment.set("CYBELE_CACHE_DIR", (made.path() / "cache").native());
        environment.set("CYBELE_STORE", (made.path() / "store").native());
        only.emplace(std::move(made));
    }
    command.environment = environment.all();
    command.environment->erase("SOURCE_DATE_EPOCH");
    command.output = Command::Stream::kDiscard;
    command.errors = Command::Stream::kCapture;
    CYBELE_TRY(const Outcome outcome, run_process(command));
    if (outcome.ok()) {
        for (const char* const line : {"Extracting OCI image...",
                                       "Inserting Apptainer configuration...",
                                       "Creating SIF file..."}) {
            session.inform_as_apptainer(line);
        }
        return {};
    }
    std::string because = outcome.errors;
    std::replace(because.begin(), because.end(), '\n', ' ');
    const bool is_wrong = outcome.code == static_cast<int>(ErrorCode::kVerification);
    return fail(is_wrong ? ErrorCode::kVerification : ErrorCode::kEnvironment,
                problem("image-not-converted", "cannot make an image of " + printable(uri)),
                because,
                "check the name of the image and the login for its registry");
}

/// What the URI stands for now; equal for equal contents.
Result<std::string>
state_of(const Session& session, const StartOptions& options, const std::string& uri) {
    const HttpClient client = HttpClient::find(session.environment, session.program);
    CYBELE_TRY(auto transport, make_transport(session, access_of(session, options), client, ""));
    transport.environment = environment_of_pull(session, options);
    registry::OciRequest request;
    const std::size_t colon = uri.find(':');
    request.transport = uri.substr(0, colon);
    request.from = uri.substr(colon + 1);
    std::error_code failed;
    request.directory = fs::current_path(failed);
    request.architecture = architecture_of(options);
    request.now = Session::clock();
    if (request.transport == "docker" || request.transport == "oci") {
        return registry::resolve_oci(transport, request);
    }
    // An archive of this machine: its bytes are looked at by whoever converts it.
    const fs::path path = registry::read_local_reference(request).path;
    struct stat status = {};
    if (stat(path.c_str(), &status) != 0) {
        return fail(unreadable_source(request.transport, path, uri, errno));
    }
    return fmt::format("{} {} {} {} {}",
                       uri, // the image in it, whose name may differ in capitals alone
                       fs::absolute(path, failed).native(),
                       status.st_ino,
                       status.st_size,
                       status.st_mtim.tv_sec * 1000000000LL + status.st_mtim.tv_nsec);
}

using Maker = std::function<Result<void>(const fs::path& file)>;

/// The image of `--disable-cache`: `make` makes it in a folder of this user alone, and then it has
/// no name and ends with this process.
Result<std::string>
only_for_this_start(const Session& session, const StartOptions& options, const Maker& make) {
    CYBELE_TRY(const TempDirectory folder,
               TempDirectory::make(environment_of_pull(session, options).temporary_directory(),
                                   "cybelectl-pull"));
    const fs::path file = folder.path() / "image.sif";
    CYBELE_CHECK(make(file));
    const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return fail(system_error("cannot open the pulled image", errno));
    }
    return fmt::format("/proc/self/fd/{}", fd);
}

Result<std::string> use_stored(const registry::Store& store, const registry::StoredImage& image) {
    CYBELE_CHECK(registry::lease_for_process(store.place(), image.record.digest));
    CYBELE_TRY(const fs::path path, store.use(image, Session::clock()));
    return path.native();
}

/// Makes `file`, which lies among the store's temporary ones, and moves it into the store.
Result<registry::StoredImage> take_in(const registry::Store& store,
                                      const registry::StoreName& name,
                                      const std::string& origin,
                                      const Maker& make,
                                      const fs::path& file) {
    CYBELE_CHECK(make(file));
    CYBELE_TRY(const std::string digest, registry::digest_of_file(file));
    registry::Arrival arrival;
    arrival.name = name;
    arrival.origin = origin;
    arrival.now = Session::clock();
    return store.adopt(file, digest, arrival);
}

/// The image of this name in the store; where there is none, `make` makes it, under a lock.
Result<std::string> once(const Session& session,
                         const registry::StoreName& name,
                         const std::string& origin,
                         const Maker& make) {
    CYBELE_TRY(const registry::Store store, open_store(session));
    if (const auto found = store.find(name)) {
        if (!origin.starts_with("http")) { // of those nothing is said, as there
            session.inform_as_apptainer("Using cached SIF image");
        }
        return use_stored(store, *found);
    }
    const fs::path folder = store.place().temporary();
    const std::string mark = short_hash(name.text());
    CYBELE_TRY(
        const UniqueFd lock,
        registry::lock_file(folder / (mark + ".lock"), registry::LockKind::kExclusive, 0644));
    if (const auto found = store.find(name)) {
        return use_stored(store, *found);
    }
    // One name for all who make it: what one that was killed left is overwritten by the next.
    const fs::path file = folder / (mark + ".sif");
    const auto added = take_in(store, name, origin, make, file);
    (void)::unlink(file.c_str()); // where it did not get as far as the store
    if (!added) {
        return fail(added.error());
    }
    return use_stored(store, *added);
}

/// Of an image with a digest: the same for all its URIs, as Apptainer calls it in its cache.
registry::StoreName
name_of_contents(const std::string& uri, const std::string& state, const StartOptions& options) {
    constexpr std::string_view kDigest = "sha256:";
    return state.starts_with(kDigest)
               ? registry::StoreName{"uri/oci-tmp",
                                     hex(sha256(state.substr(kDigest.size()) +
                                                architecture_of(options))),
                                     ""}
               : registry::StoreName{name_of(uri), short_hash(state + options.architecture), ""};
}

Result<std::string> start_oci(const Session& session, const StartOptions& options) {
    const std::string& uri = options.image;
    if (options.has_no_cache) {
        return only_for_this_start(session, options, [&](const fs::path& file) {
            return convert(session, options, uri, file);
        });
    }
    CYBELE_TRY(const std::string state, state_of(session, options, uri));
    const registry::StoreName name = name_of_contents(uri, state, options);
    return once(session, name, uri, [&](const fs::path& file) {
        session.work("converting " + printable(uri));
        return convert(session, options, uri, file);
    });
}

Result<std::string> start_artifact(const Session& session, const StartOptions& options) {
    const HttpClient client = HttpClient::find(session.environment, session.program);
    CYBELE_TRY(auto transport,
               make_transport(session, access_of(session, options), client, "pulling"));
    transport.environment = environment_of_pull(session, options);
    const std::string scheme = options.image.substr(0, options.image.find(':'));
    registry::PullRequest request;
    CYBELE_TRY(request.reference,
               registry::read_pull_reference(options.image, transport.access.library));
    request.architecture = architecture_of(options);
    request.now = Session::clock();
    if (options.has_no_cache) {
        return only_for_this_start(session, options, [&](const fs::path& file) -> Result<void> {
            request.output = registry::Output{.path = file, .is_forced = true};
            session.inform_as_apptainer("Downloading " + scheme + " image");
            CYBELE_CHECK(registry::pull_to_file(transport, request));
            return {};
        });
    }
    request.name =
        !session.is_apptainer()
            ? registry::StoreName{request.reference.repository, request.reference.tag, ""}
            : registry::StoreName{name_of(options.image), short_hash(options.image), ""};
    request.may_unsign = session.is_apptainer(); // the name is of the URI, not of an image
    CYBELE_TRY(const registry::Store store, open_store(session));
    CYBELE_TRY(const registry::PullResult done,
               registry::pull(transport, request, store)
                   .map_error(during("pulling the image that is started")));
    session.inform_as_apptainer(done.is_downloaded ? "Downloading " + scheme + " image"
                                                   : std::string("Using cached SIF image"));
    CYBELE_TRY(const auto found, store.find_digest(done.digest));
    if (!found) {
        return fail(ErrorCode::kEnvironment,
                    problem("pulled-image-gone", "the pulled image is not in the store"),
                    "another process removed it meanwhile",
                    "pull it again");
    }
    return use_stored(store, *found);
}

Result<std::string> start_web(const Session& session, const StartOptions& options) {
    const std::string& uri = options.image;
    const Maker make = [&](const fs::path& file) {
        session.inform_as_apptainer("Downloading network image");
        return download_image(session, access_of(session, options), uri, file);
    };
    if (options.has_no_cache) {
        return only_for_this_start(session, options, make);
    }
    CYBELE_TRY(const std::string state,
               state_of_web_image(session, access_of(session, options), uri));
    if (state.empty()) {
        return only_for_this_start(session, options, make);
    }
    const registry::StoreName name{name_of(uri), short_hash(uri + " " + state), ""};
    return once(session, name, uri, make);
}

} // namespace

namespace {

/// A project is not an image, but its folder often contains one.
Result<void> refuse_project(const std::string& image) {
    std::error_code error;
    const fs::path folder(image);
    const auto has = [&](const char* name) { return fs::exists(folder / name, error); };
    if (!fs::is_directory(folder, error) || has("bin") || has("usr") || has(".singularity.d") ||
        !(has("job.yaml") || has("cybelectl.yaml"))) {
        return {};
    }
    fs::path first;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        if (entry.path().extension() == ".sif" && (first.empty() || entry.path() < first)) {
            first = entry.path();
        }
    }
    return fail(ErrorCode::kInput,
                problem("project-for-image", printable(image) + " is a project, not an image"),
                "it has a Job or a cybelectl.yaml, and no programs",
                first.empty()
                    ? "build its image first: `cybelectl build " + shell_quote(image) + "`"
                    : "name its image: " + shell_quote(first.lexically_normal().native()));
}

Result<std::string> find_start_image(const Session& session, const StartOptions& options) {
    const SchemeRow* const row = scheme_of(options.image);
    if (row != nullptr || registry::is_store_reference(options.image)) {
        session.doing("looking for " + printable(options.image));
    }
    switch (row == nullptr ? Kind::kFile : row->kind) {
    case Kind::kFile:
        CYBELE_CHECK(refuse_project(options.image));
        return image_path(session, options.image);
    case Kind::kOci:
        return start_oci(session, options);
    case Kind::kArtifact:
        return start_artifact(session, options);
    case Kind::kWeb:
        return start_web(session, options);
    case Kind::kRefused:
        break;
    }
    return fail(ErrorCode::kEnvironment,
                problem("image-uri-not-supported", "cannot start " + printable(options.image)),
                std::string(row->reason));
}

/// As Apptainer: where nothing can be stored, the image is for this start only.
bool can_store(const Session& session) {
    const auto tell = [&](const Error& error) {
        Fault fault = error.faults().front();
        fault.message.insert(0, "Cache disabled - ");
        fault.help.clear();
        fault.is_warning = true;
        session.note({fault});
    };
    if (const auto store = open_store(session); !store) {
        tell(store.error());
        return false;
    }
    if (const auto cache = open_cache(session); !cache) {
        tell(cache.error());
        return false;
    }
    return true;
}

} // namespace

bool has_scheme(std::string_view image) {
    return scheme_of(image) != nullptr;
}

Environment environment_of_pull(const Session& session, const StartOptions& options) {
    Environment environment = session.environment;
    const auto set = [&](const char* name, const std::string& value) {
        if (!value.empty()) {
            environment.set(name, value);
        }
    };
    set("APPTAINER_DOCKER_USERNAME", options.user);
    set("APPTAINER_DOCKER_PASSWORD", options.password);
    const std::string temporary =
        options.temporary.empty()
            ? environment.get_or("APPTAINER_TMPDIR", environment.get_or("SINGULARITY_TMPDIR", ""))
            : options.temporary;
    set("CYBELE_TMPDIR", temporary);
    return environment;
}

Result<std::string> start_image(const Session& caller, const StartOptions& wish) {
    Session session = caller;
    use_apptainer_cache(session);
    StartOptions options = wish;
    const SchemeRow* const row = scheme_of(options.image);
    const bool is_stored = row != nullptr && row->kind != Kind::kRefused;
    if (session.is_apptainer() && is_stored && !options.has_no_cache) {
        CYBELE_TRY(const bool has_cache, has_apptainer_cache(caller));
        options.has_no_cache = !has_cache || !can_store(session);
    }
    std::error_code failed;
    if (session.is_apptainer() && !std::filesystem::exists(options.authfile, failed)) {
        options.authfile.clear(); // like there, a missing file of logins has none
    }
    auto found = find_start_image(session, options);
    if (found && options.request.image.writable) { // an overlay in the image would be written
        found = changeable_image_path(session, *found);
    }
    session.doing({}); // a start needs a process with one thread
    return found;
}

} // namespace cybele::cli
