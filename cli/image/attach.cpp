// SPDX-License-Identifier: Apache-2.0
// What lies beside images in registries: signatures, lists of packages, provenance.
#include "cli/common/cli11.hpp"
#include "cli/common/image_access.hpp"
#include "cli/common/image_store.hpp"
#include "registry/oci/attached.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

struct AttachOptions : AccessOptions {
    std::string reference;
    std::string file;
    std::string type;
    std::string output;
};

/// What a document is, by what is in it; the first text that is found decides.
struct Kind {
    std::string_view word; ///< of --type
    std::string_view type;
    std::string_view mark;
};
constexpr Kind kArtifactKinds[] = {
    {"spdx", "application/spdx+json", "\"spdxVersion\""},
    {"cyclonedx", "application/vnd.cyclonedx+json", "\"CycloneDX\""},
    {"dsse", "application/vnd.dsse.envelope.v1+json", "\"payloadType\""},
};

Result<std::string> type_of(const AttachOptions& options, const std::string& bytes) {
    for (const Kind& kind : kArtifactKinds) {
        if (options.type == kind.word ||
            (options.type.empty() && bytes.find(kind.mark) != std::string::npos)) {
            return std::string(kind.type);
        }
    }
    if (options.type.find('/') != std::string::npos) {
        return options.type;
    }
    return fail(ErrorCode::kUsage,
                options.type.empty()
                    ? "what " + printable(options.file) + " is cannot be told from its text"
                    : "'" + printable(options.type) + "' is no media type",
                "known are SPDX, CycloneDX and DSSE documents: --type spdx, cyclonedx, dsse",
                "name its media type: --type TYPE/SUBTYPE");
}

/// Of SIF artifacts by oras://, of OCI images by docker://.
Result<registry::Reference> reference_of(const std::string& text) {
    return text.starts_with("docker://") ? registry::read_docker_reference(text)
                                         : registry::read_reference(text);
}

Result<int> attach_artifact(const Session& session, const AttachOptions& options) {
    registry::AttachRequest request;
    CYBELE_TRY(request.reference, reference_of(options.reference));
    CYBELE_TRY(request.bytes, read_file(options.file));
    CYBELE_TRY(request.type, type_of(options, request.bytes));
    request.title = fs::path(options.file).filename().native();
    const HttpClient client = HttpClient::find(session.environment, session.program);
    CYBELE_TRY(const auto transport, make_transport(session, options, client, "attaching"));
    CYBELE_TRY(const registry::Attached done, registry::attach(transport, request));
    if (session.is_json()) {
        print_document({{"reference", options.reference},
                        {"subject", done.subject},
                        {"manifest", done.manifest},
                        {"type", request.type},
                        {"listed-by-registry", done.is_listed}});
    } else if (!session.is_quiet) {
        Session::print(fmt::format("{} {} is attached to {}\n",
                                   request.type,
                                   done.manifest,
                                   request.reference.text_of_place() + "@" + done.subject));
    }
    return 0;
}

/// The one document that was asked for, into a file or to standard output.
Result<int> write_document(const AttachOptions& options,
                           const registry::Transport& transport,
                           const registry::Reference& reference,
                           const std::vector<registry::Referrer>& found) {
    if (found.size() != 1) {
        return fail(ErrorCode::kInput,
                    fmt::format("{} documents are attached to {}",
                                found.empty() ? "no" : std::to_string(found.size()),
                                reference.text()),
                    options.type.empty() ? "" : "of type " + printable(options.type),
                    found.empty() ? "`cybelectl image referrers REF` lists what is there"
                                  : "name one type: --type TYPE");
    }
    CYBELE_TRY(const std::string bytes,
               registry::attached_document(transport, reference, found.front()));
    CYBELE_CHECK(write_file(options.output, bytes));
    return 0;
}

Result<int> referrers(const Session& session, const AttachOptions& options) {
    CYBELE_TRY(const auto reference, reference_of(options.reference));
    std::string type = options.type;
    for (const Kind& kind : kArtifactKinds) {
        type = type == kind.word ? std::string(kind.type) : type;
    }
    const HttpClient client = HttpClient::find(session.environment, session.program);
    CYBELE_TRY(const auto transport, make_transport(session, options, client, ""));
    CYBELE_TRY(const auto found, registry::referrers(transport, reference, type));
    if (!options.output.empty()) {
        return write_document(options, transport, reference, found);
    }
    if (session.is_json()) {
        nlohmann::json document{{"reference", options.reference},
                                {"referrers", nlohmann::json::array()}};
        for (const registry::Referrer& one : found) {
            document["referrers"].push_back(
                {{"digest", one.digest}, {"type", one.type}, {"size", one.size}});
        }
        print_document(std::move(document));
        return 0;
    }
    for (const registry::Referrer& one : found) {
        Session::print(fmt::format("{}  {}\n", one.digest, printable(one.type)));
    }
    if (found.empty()) {
        session.say("nothing is attached to " + reference.text());
    }
    return 0;
}

using AttachVerb = Result<int> (*)(const Session&, const AttachOptions&);

void finish_attach_verb(CLI::App& verb,
                        Session& session,
                        const std::shared_ptr<AttachOptions>& options,
                        AttachVerb what) {
    verb.add_option("--type", options->type, "spdx, cyclonedx, dsse, or a media type")
        ->type_name("TYPE");
    add_access(verb, *options);
    add_format(verb, session);
    verb.callback([&session, options, what] {
        session.action = [&session, options, what] { return what(session, *options); };
    });
}

} // namespace

void install_image_attachments(CLI::App& image, Session& session) {
    auto options = std::make_shared<AttachOptions>();
    CLI::App* verb =
        add_verb(image,
                 "attach",
                 "Attach a document to an image in its registry.",
                 {"cybelectl image attach oras://registry.example/app:1 app.spdx.json",
                  "cybelectl image attach docker://registry.example/base:2 statement.dsse.json"});
    verb->add_option("reference", options->reference, "oras://… or docker://…")
        ->required()
        ->type_name("REF");
    verb->add_option("file", options->file, "SBOM, provenance or another document")
        ->required()
        ->type_name("FILE");
    finish_attach_verb(*verb, session, options, attach_artifact);

    options = std::make_shared<AttachOptions>();
    verb = add_verb(image,
                    "referrers",
                    "List or download the documents attached to an image in its registry.",
                    {"cybelectl image referrers oras://registry.example/app:1",
                     "cybelectl image referrers oras://registry.example/app:1 --type spdx -o -"});
    verb->add_option("reference", options->reference, "oras://… or docker://…")
        ->required()
        ->type_name("REF");
    verb->add_option("-o,--output",
                     options->output,
                     "file for the one document; - is "
                     "standard output")
        ->type_name("FILE");
    finish_attach_verb(*verb, session, options, referrers);
}

} // namespace cybele::cli
