// SPDX-License-Identifier: Apache-2.0
#include "builder/bases/image_base.hpp"

#include "builder/bases/header.hpp"
#include "builder/bases/oci_config.hpp"
#include "builder/files/output.hpp"
#include "builder/files/workspace.hpp"
#include "builder/layers/layer_tree.hpp"
#include "definitions/grammar/scan.hpp"
#include "images/inspection/container_architecture.hpp"
#include "images/sif/copy.hpp"
#include "images/sif/start.hpp"
#include "images/signatures/trust.hpp"
#include "registry/cache/trusted.hpp"
#include "registry/oci/attached.hpp"
#include "registry/oci/library.hpp"
#include "registry/store/lease.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/http.hpp"
#include "support/own_folder.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

/// A compressed layer becomes its tree and is packed again.
constexpr std::uint64_t kUnpackedPerImageByte = 4;

/// Agents whose images are named HOST/NAME, not by a path.
bool is_remote(std::string_view agent) {
    return agent == "docker" || agent == "oras" || agent == "library";
}

class Bringing {
public:
    Bringing(BuildPlan& plan, const BuildRequest& request, const Environment& environment)
        : plan_(plan), request_(request), environment_(environment),
          client_(HttpClient::find(environment, request.bases.program)) {
        transport_.client = &client_;
        transport_.access = request.bases.access;
        transport_.environment = environment;
    }

    Result<void> bring(StagePlan& stage) {
        const std::string from = base_image(*stage.stage);
        const bool is_oci = registry::is_oci_transport(stage.agent);
        if (is_oci) {
            CYBELE_CHECK(bring_oci(stage, from));
        } else if (stage.agent == "oras" || stage.agent == "library") {
            CYBELE_CHECK(pull_sif(stage, from));
        } else if (registry::is_store_reference(from)) {
            CYBELE_CHECK(take_stored(stage, from));
        }
        if (!is_oci) {
            CYBELE_CHECK(hold(stage, from));
            CYBELE_CHECK(judge_sif(stage, from));
            CYBELE_CHECK(note_overlays(stage, from));
        }
        return {};
    }

    [[nodiscard]] Result<std::string> resolve(const std::string& agent,
                                              const std::string& from) const {
        if (registry::is_oci_transport(agent)) {
            return registry::resolve_oci(transport_, oci_request(agent, from));
        }
        if (agent == "library") {
            CYBELE_TRY(const auto reference, sif_reference(agent, from, ""));
            registry::Library asked(client_, transport_.access, environment_, reference);
            CYBELE_TRY(const auto image, asked.image(architecture()));
            return image.digest;
        }
        if (agent == "oras") {
            CYBELE_TRY(const auto reference, sif_reference(agent, from, ""));
            registry::Registry asked(client_, transport_.access, environment_, reference, "pull");
            CYBELE_TRY(const registry::Manifest manifest, asked.manifest(reference.version()));
            return manifest.digest;
        }
        if (registry::is_store_reference(from)) {
            CYBELE_TRY(const auto store, registry::Store::open_for_reading(store_root()));
            CYBELE_TRY(const auto name, registry::read_store_argument(from));
            CYBELE_TRY(const auto image, store.find(name));
            return image.record.digest;
        }
        CYBELE_TRY(const Digest digest,
                   sha256_file(absolute_path(request_.source.directory) / from));
        return "sha256:" + hex(digest);
    }

private:
    void tell(const std::string& line) const {
        request_.reporter.tell(line);
    }

    [[nodiscard]] std::int64_t clock() const {
        return request_.time.clock == 0 ? request_.time.now : request_.time.clock;
    }
    [[nodiscard]] std::string architecture() const {
        return request_.bases.architecture.empty() ? images::host_architecture()
                                                   : request_.bases.architecture;
    }
    [[nodiscard]] registry::StoreFolder store_root() const {
        return request_.bases.store.path.empty() ? registry::store_directory(environment_)
                                                 : request_.bases.store;
    }
    [[nodiscard]] Result<registry::Store> open_store() const {
        return registry::Store::open(store_root());
    }

    [[nodiscard]] registry::OciRequest oci_request(const std::string& agent,
                                                   const std::string& from) const {
        registry::OciRequest asked;
        asked.transport = agent;
        asked.from = from;
        asked.directory = absolute_path(request_.source.directory);
        asked.architecture = architecture();
        asked.digest = locked(from);
        asked.now = clock();
        asked.say = request_.reporter.on_step;
        return asked;
    }

    [[nodiscard]] std::string locked(const std::string& from) const {
        const auto found = request_.bases.digests.find(from);
        return found == request_.bases.digests.end() ? std::string() : found->second;
    }

    /// Each of them must hold.
    [[nodiscard]] Result<std::vector<images::Trust>> trust_for(const std::string& from) const {
        std::vector<images::Trust> all;
        const auto found = request_.bases.keys.find(from);
        if (found == request_.bases.keys.end()) {
            return all;
        }
        for (const fs::path& key : found->second) {
            CYBELE_TRY(images::Trust trust,
                       registry::trust_from(
                           absolute_path(request_.source.directory) / key, environment_, clock()));
            all.push_back(std::move(trust));
        }
        return all;
    }

    Result<void> bring_oci(StagePlan& stage, const std::string& from) {
        const registry::OciRequest asked = oci_request(stage.agent, from);
        CYBELE_TRY(const auto trust, trust_for(from));
        CYBELE_TRY(const registry::Store store, open_store());
        CYBELE_TRY(registry::OciImage image, registry::fetch_oci(transport_, asked, store));
        tell(image.name + " is " + image.digest);
        for (const images::Trust& one : trust) {
            CYBELE_CHECK(registry::verify_attached(transport_, asked, image.digest, one));
        }
        plan_.needed_bytes += kUnpackedPerImageByte * image.packed_bytes();
        stage.base_key = "oci " + image.image;
        stage.base_digest = image.digest;
        stage.oci = std::make_shared<const registry::OciImage>(std::move(image));
        return {};
    }

    /// `library`: the header's; empty: the one that is set.
    [[nodiscard]] Result<registry::Reference> sif_reference(const std::string& agent,
                                                            const std::string& from,
                                                            const std::string& library) const {
        std::string_view name = from; // definition files also write `From: //HOST/NAME`
        name.remove_prefix(name.starts_with("//") ? 2 : 0);
        return registry::read_pull_reference(agent + "://" + std::string(name),
                                             library.empty() ? transport_.access.library : library);
    }

    Result<void> pull_sif(StagePlan& stage, const std::string& from) {
        registry::PullRequest asked;
        CYBELE_TRY(asked.reference,
                   sif_reference(stage.agent, from, stage.stage->header_value("library")));
        if (const std::string digest = locked(from); !digest.empty()) {
            asked.reference.digest = digest;
        }
        asked.architecture = architecture();
        asked.now = clock();
        CYBELE_TRY(const registry::Store store, open_store());
        CYBELE_TRY(const registry::PullResult done, registry::pull(transport_, asked, store));
        if (!done.stored) {
            return fail(
                ErrorCode::kInternal,
                problem("pulled-image-missing", "the image that was pulled is not in the store"));
        }
        tell(asked.reference.text() + " is " + done.manifest +
             (done.is_downloaded ? "" : ", in the store"));
        return take(stage, store, *done.stored, done.manifest);
    }

    Result<void> take_stored(StagePlan& stage, const std::string& from) {
        CYBELE_TRY(const auto store, registry::Store::open_for_reading(store_root()));
        CYBELE_TRY(const auto name, registry::read_store_argument(from));
        CYBELE_TRY(const auto image, store.find(name));
        if (const std::string digest = locked(from);
            !digest.empty() && digest != image.record.digest) {
            return fail(
                ErrorCode::kVerification,
                problem("base-not-locked-image", from + " is not the image that the Lock names"),
                "its digest is " + image.record.digest + ", not " + digest,
                "restore the locked image, or write the Lock again: cybelectl recipe lock");
        }
        return take(stage, store, image, image.record.digest);
    }

    /// From now on it is a local image, which gc leaves alone while this process lives.
    Result<void> take(StagePlan& stage,
                      const registry::Store& store,
                      const registry::StoredImage& image,
                      const std::string& digest) {
        CYBELE_CHECK(registry::lease_for_process(store.place(), image.record.digest));
        CYBELE_TRY(stage.source, store.use(image, clock()));
        stage.agent = "localimage";
        stage.base_digest = digest;
        plan_.needed_bytes += kUnpackedPerImageByte * image.record.size;
        return {};
    }

    /// From here on the base is one open file, whatever gets its name. Of one that is verified,
    /// and that others could write to or exchange, it is a private copy without a name.
    [[nodiscard]] Result<void> hold(StagePlan& stage, const std::string& from) const {
        std::error_code error;
        if (!fs::is_regular_file(stage.source, error)) {
            return {};
        }
        CYBELE_TRY(UniqueFd file, open_for_reading(stage.source));
        const bool is_verified = !locked(from).empty() || request_.bases.keys.contains(from) ||
                                 !stage.stage->header_value("fingerprints").empty();
        if (is_verified && !open_own(stage.source)) {
            CYBELE_TRY(file, private_copy(file, stage.source));
        }
        stage.stamp = stamp_of(file.get());
        stage.file = std::make_shared<const UniqueFd>(std::move(file));
        return {};
    }

    [[nodiscard]] Result<UniqueFd> private_copy(const UniqueFd& file, const fs::path& path) const {
        CYBELE_TRY(const std::uint64_t size, file_size(file.get(), path));
        const fs::path folder = building_directory(environment_, size);
        CYBELE_CHECK(make_own_folder(
            {folder, "the copy of the base", "CYBELE_TMPDIR", OwnFolder::kScratch}));
        CYBELE_CHECK(need_space(folder, size));
        CYBELE_TRY(const PendingFile copy, PendingFile::create(folder / "cybelectl-base", 0600));
        CYBELE_CHECK(images::copy_whole_file(file.get(), copy.fd(), size, path));
        return copy.reopen();
    }

    /// A local base has the digest that the Lock gives. A folder has none, so it never fits.
    [[nodiscard]] Result<void> check_locked(const StagePlan& stage, const std::string& from) const {
        const std::string digest = locked(from);
        if (digest.empty() || !stage.base_digest.empty()) {
            return {};
        }
        std::string because = "it is not a file, and the Lock has the digest of one";
        if (stage.file) {
            CYBELE_TRY(const std::uint64_t size, file_size(stage.file->get(), stage.source));
            CYBELE_TRY(const Digest found, sha256_range(stage.file->get(), 0, size, stage.source));
            if (digest == "sha256:" + hex(found)) {
                return {};
            }
            because = "its digest is sha256:" + hex(found) + ", not " + digest;
        }
        return fail(ErrorCode::kVerification,
                    problem("base-not-locked-image",
                            printable(from) + " is not the image that the Lock names"),
                    because,
                    "restore the locked image, or write the Lock again: cybelectl recipe lock");
    }

    [[nodiscard]] Result<void> judge_sif(const StagePlan& stage, const std::string& from) const {
        CYBELE_CHECK(check_locked(stage, from));
        CYBELE_TRY(auto trust, trust_for(from));
        CYBELE_CHECK(add_signers(stage, from, trust));
        for (const images::Trust& one : trust) {
            CYBELE_TRY(const images::Image image, open_base_image(stage));
            CYBELE_CHECK(registry::verify_sif(image,
                                              one,
                                              "the base " + printable(from) +
                                                  " is not verified, and nothing is built from it",
                                              "ask who made it to sign it; is it the right key?"));
        }
        return {};
    }

    /// What a start lays over the base, and a build does not read.
    [[nodiscard]] Result<void> note_overlays(const StagePlan& stage,
                                             const std::string& from) const {
        if (!stage.file ||
            images::image_start(stage.file->get()).kind != images::ImageStart::Kind::kSif) {
            return {};
        }
        CYBELE_TRY(const images::Image image, open_base_image(stage));
        const auto root = image.root_squashfs();
        for (const images::Descriptor& over :
             root ? image.overlays_of(*root) : std::vector<images::Descriptor>()) {
            if (over.fs_type() != images::FsType::kSquashfs) {
                tell(fmt::format("warning: the overlay partition {} of {} is left out: only a "
                                 "squashfs is unpacked, and starts alone mount others",
                                 over.id,
                                 printable(from)));
            }
        }
        return {}; // a root that cannot be unpacked is refused where it is
    }

    /// Fingerprints: the base must be signed by each of these keys, which the keyrings have.
    Result<void> add_signers(const StagePlan& stage,
                             const std::string& from,
                             std::vector<images::Trust>& trust) const {
        images::TrustRequest asked;
        CYBELE_TRY(asked.pgp, base_signers(*stage.stage, request_.source.file.native()));
        if (asked.pgp.empty()) {
            return {};
        }
        if (!stage.file ||
            images::image_start(stage.file->get()).kind != images::ImageStart::Kind::kSif) {
            return fail(ErrorCode::kInput,
                        problem("base-not-verifiable",
                                "the base " + printable(from) + " cannot be verified"),
                        "'Fingerprints' names who signed it, and only a SIF carries signatures",
                        "use a SIF as the base, or remove the line");
        }
        asked.use_default_keyrings = true;
        asked.require = "all";
        asked.now = clock();
        CYBELE_TRY(images::Trust one, images::load_trust(asked, environment_));
        trust.push_back(std::move(one));
        return {};
    }

    BuildPlan& plan_;
    const BuildRequest& request_;
    const Environment& environment_;
    HttpClient client_;
    registry::Transport transport_;
};

/// With the place in the definition file.
Error at_stage(const Error& error, const StagePlan& stage, const BuildRequest& request) {
    Fault fault = error.faults().front();
    if (!fault.where && stage.stage->line > 0) {
        fault.where = stage.stage->fault_at_header(request.source.file.native(), "from").where;
    }
    return Error(std::move(fault));
}

} // namespace

Result<std::uint64_t> plan_image_base(StagePlan& plan, const BuildRequest& request) {
    if (!plan.stage->header_value("from").empty()) {
        return std::uint64_t{0};
    }
    return fail(Fault(ErrorCode::kInput,
                      problem("header-without-image", "the header names no image", plan.agent),
                      "the agent '" + plan.agent + "' needs one",
                      is_remote(plan.agent) ? "give it as 'From: HOST/NAME:TAG'"
                                            : "give its path as 'From: PATH[:TAG]'",
                      plan.stage->fault_at_header(request.source.file.native(), "from").where));
}

Result<std::string> key_of_image_base(const StagePlan& plan, const AgentContext& /*context*/) {
    return plan.base_key;
}

std::optional<Fault> refused_agent(std::string_view agent) {
    Fault fault;
    fault.code = ErrorCode::kInput;
    if (agent == "docker-daemon") {
        fault.set(problem("docker-daemon-unsupported",
                          "the bootstrap agent 'docker-daemon' asks a daemon that runs as root"));
        fault.because = "whoever may ask it is root on that machine; cybelectl needs no daemon";
        fault.help = "save the image: docker save NAME -o image.tar, then 'Bootstrap: "
                     "docker-archive' and 'From: image.tar'";
        return fault;
    }
    if (agent == "shub") {
        fault.set(problem("shub-unsupported", "the bootstrap agent 'shub' cannot work any more"));
        fault.because = "Singularity Hub was closed in April 2021";
        fault.help = "look for the image in another registry, or build it from its definition file";
        return fault;
    }
    return std::nullopt;
}

Result<images::Image> open_base_image(const StagePlan& plan) {
    if (!plan.file) {
        return images::Image::open(plan.source); // refuses a folder
    }
    UniqueFd same(::fcntl(plan.file->get(), F_DUPFD_CLOEXEC, 0));
    if (!same.valid()) {
        return fail(system_error("cannot open " + printable(plan.source.native()), errno));
    }
    return images::Image::open_shared(std::move(same), plan.source);
}

bool is_image_agent(std::string_view agent) {
    return registry::is_oci_transport(agent) || is_remote(agent);
}

Result<std::string> resolve_base(const std::string& agent,
                                 const std::string& from,
                                 const BuildRequest& request,
                                 const Environment& environment) {
    BuildPlan plan;
    return Bringing(plan, request, environment).resolve(agent, from);
}

Result<void>
bring_images(BuildPlan& plan, const BuildRequest& request, const Environment& environment) {
    Bringing bringing(plan, request, environment);
    for (StagePlan& stage : plan.stages) {
        if (!is_image_agent(stage.agent) && stage.agent != "localimage") {
            continue;
        }
        if (auto brought = bringing.bring(stage); !brought) {
            return fail(at_stage(std::move(brought).error(), stage, request));
        }
    }
    return {};
}

std::vector<UsedBase> used_bases(const BuildPlan& plan) {
    constexpr std::string_view kBootstrapped = "debootstrap ";
    std::vector<UsedBase> bases;
    for (const StagePlan& stage : plan.stages) {
        const std::string agent = stage.stage->header_value("bootstrap");
        const std::string from = base_image(*stage.stage);
        UsedBase base{from, stage.base_digest};
        if (is_image_agent(agent)) {
            base.uri = agent;
            base.uri += is_remote(agent) ? "://" : ":";
            base.uri += from;
        } else if (stage.base_key.starts_with(kBootstrapped)) {
            const std::string digest = stage.base_key.substr(kBootstrapped.size());
            base = {"debian:" + stage.stage->header_value("osversion"),
                    "sha256:" + digest.substr(0, digest.find_first_of(" \n"))};
        } else if (base.digest.empty() && !stage.source.empty()) {
            const std::string held =
                stage.file ? fmt::format("/proc/self/fd/{}", stage.file->get()) : "";
            const auto digest = sha256_file(stage.file ? fs::path(held) : stage.source);
            base.digest = digest ? "sha256:" + hex(*digest) : "";
        }
        const bool is_new = std::ranges::none_of(bases, [&](const UsedBase& other) {
            return other.uri == base.uri && other.digest == base.digest;
        });
        if (!base.digest.empty() && is_new) {
            bases.push_back(std::move(base));
        }
    }
    return bases;
}

Result<void>
unpack_oci(const registry::OciImage& image, const fs::path& root, const Report& report) {
    CYBELE_TRY(const OciConfig config, read_oci_config(image.config));
    CYBELE_TRY(LayerTree tree, LayerTree::open(root));
    for (std::size_t i = 0; i < image.layers.size(); ++i) {
        report({StepEvent::Kind::kUnpack,
                fmt::format("unpack layer {} of {}", i + 1, image.layers.size())});
        if (auto applied = tree.apply(image.layers[i]); !applied) {
            if (applied.error().code() == ErrorCode::kVerification && image.layers[i].file.is_own) {
                (void)::unlink(image.layers[i].file.path.c_str()); // fetched anew next time
            }
            return applied;
        }
    }
    for (const auto& lines : {tree.notes().lines(), config.notes}) {
        for (const std::string& line : lines) {
            report("note: " + line);
        }
    }
    return write_oci_config(root, config);
}

} // namespace cybele::builder
