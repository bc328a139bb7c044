// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kubeconfig.hpp"

#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/presence.hpp"
#include "support/quote.hpp"

namespace cybele::apiserver {

namespace {

namespace fs = std::filesystem;
using yaml::Node;

constexpr std::size_t kLongestKubeconfig = std::size_t{4} << 20U;

std::string text_of(const Node& map, std::string_view key) {
    const Node* const found = map.find(key);
    return found != nullptr && found->kind == Node::Kind::kScalar ? found->scalar : std::string();
}

bool is_true(const Node& map, std::string_view key) {
    return text_of(map, key) == "true";
}

/// What kubectl accepts no longer, or this program does not do.
struct NotSupported {
    const char* field;
    const char* because;
    const char* help;
};
constexpr NotSupported kNotSupported[] = {
    {"auth-provider",
     "auth providers were removed from Kubernetes 1.26",
     "use the `exec` program of the cloud, as its command for kubeconfigs writes it"},
    {"username",
     "passwords were removed from Kubernetes 1.19",
     "use a token or a client certificate"},
    {"as",
     "impersonation is not supported",
     "use the credentials of that user, or a service account with its rights"},
};

} // namespace

Error KubeconfigReader::fault(const Part& part,
                              const Node& node,
                              Problem problem,
                              std::string help) const {
    return Error(Fault(ErrorCode::kInput,
                       std::move(problem),
                       {},
                       std::move(help),
                       part.file->document.source.place(node.mark)));
}

Result<void> KubeconfigReader::open(const std::string& files) {
    for (std::size_t from = 0; from <= files.size();) {
        const std::size_t end = std::min(files.find(':', from), files.size());
        const fs::path path = files.substr(from, end - from);
        from = end + 1;
        std::error_code error;
        if (path.empty()) {
            continue;
        }
        CYBELE_TRY(const bool is_there, is_present(path, "a kubeconfig"));
        if (!is_there) {
            continue; // as kubectl: one of several may be missing
        }
        CYBELE_TRY(std::string text, read_file(path, kLongestKubeconfig));
        CYBELE_TRY(yaml::Document document, yaml::parse(std::move(text), path.native()));
        files_.push_back({std::move(document), fs::absolute(path, error).parent_path()});
    }
    if (files_.empty()) {
        return cybele::fail(
            ErrorCode::kInput,
            problem("kubeconfig-missing", "no kubeconfig: " + printable(files) + " does not exist"),
            {},
            "name an existing file: KUBECONFIG=FILE");
    }
    return {};
}

Result<std::string> KubeconfigReader::current_context() const {
    for (const File& file : files_) {
        if (std::string name = text_of(file.document.root, "current-context"); !name.empty()) {
            return name;
        }
    }
    return cybele::fail(ErrorCode::kInput,
                        problem("kubeconfig-without-context",
                                "the kubeconfig " +
                                    printable(files_.front().document.source.file()) +
                                    " has no current-context"),
                        {},
                        "choose one: kubectl config use-context NAME");
}

Result<KubeconfigReader::Part> KubeconfigReader::find(Names names, const std::string& name) const {
    for (const File& file : files_) {
        const Node* const list = file.document.root.find(names.list);
        if (list == nullptr) {
            continue;
        }
        for (const Node& entry : list->items) {
            const Node* const node = entry.find(names.part);
            if (text_of(entry, "name") == name && node != nullptr) {
                return Part{node, &file};
            }
        }
    }
    return cybele::fail(ErrorCode::kInput,
                        problem("kubeconfig-part-missing",
                                "the kubeconfig " +
                                    printable(files_.front().document.source.file()) + " has no " +
                                    names.part + " '" + printable(name) + "'"),
                        {},
                        "add it to `" + std::string(names.list) +
                            "`, or choose another context: "
                            "kubectl config get-contexts");
}

Result<Access::Source> KubeconfigReader::read_source(const Part& part,
                                                     const char* path_field,
                                                     const char* data_field) const {
    Access::Source source;
    const Node* const data = part.node->find(data_field);
    if (data != nullptr && !data->scalar.empty()) { // it wins over the file, as with kubectl
        auto decoded = base64_decode(data->scalar);
        if (!decoded) {
            return cybele::fail(
                fault(part,
                      *data,
                      problem("kubeconfig-not-base64", std::string(data_field) + " is not base64"),
                      "write the file's base64, or name the file: " + std::string(path_field)));
        }
        source.data = std::move(*decoded);
    } else if (const std::string path = text_of(*part.node, path_field); !path.empty()) {
        source.path = part.file->folder / path;
    }
    return source;
}

Result<void> KubeconfigReader::read_cluster(const Part& part, bool allows_insecure) {
    access_.server_ = text_of(*part.node, "server");
    while (access_.server_.ends_with('/')) {
        access_.server_.pop_back();
    }
    if (!access_.server_.starts_with("https://")) {
        return cybele::fail(fault(part,
                                  *part.node,
                                  problem("kubeconfig-server-not-https",
                                          "the cluster's `server` is not an https: address"),
                                  "write `server: https://HOST:PORT`"));
    }
    access_.tls_server_name_ = text_of(*part.node, "tls-server-name");
    access_.proxy_ = text_of(*part.node, "proxy-url");
    access_.is_insecure_ = is_true(*part.node, "insecure-skip-tls-verify");
    if (access_.is_insecure_ && !allows_insecure) {
        return cybele::fail(
            fault(part,
                  *part.node->find("insecure-skip-tls-verify"),
                  problem("kubeconfig-insecure", "the server's certificate would not be verified"),
                  "name its authority: `certificate-authority: FILE.pem`"));
    }
    CYBELE_TRY(access_.ca_,
               read_source(part, "certificate-authority", "certificate-authority-data"));
    return {};
}

Result<void> KubeconfigReader::read_program(const Part& part, const Node& node) {
    CredentialProgram program;
    program.version = text_of(node, "apiVersion");
    if (program.version != "client.authentication.k8s.io/v1" &&
        program.version != "client.authentication.k8s.io/v1beta1") {
        return cybele::fail(fault(
            part,
            node,
            problem("kubeconfig-exec-version", "`exec` has an apiVersion that is not supported"),
            "use client.authentication.k8s.io/v1 or v1beta1"));
    }
    std::string name = text_of(node, "command");
    if (name.empty() || text_of(node, "interactiveMode") == "Always") {
        return cybele::fail(
            fault(part,
                  node,
                  problem("kubeconfig-exec-unusable",
                          name.empty() ? "`exec` has no command" : "`exec` asks for a terminal"),
                  "use a token or a client certificate"));
    }
    // With a slash it is relative to the file; a plain name is looked up in PATH.
    if (name.find('/') != std::string::npos) {
        name = (part.file->folder / name).native();
    }
    program.argv.push_back(std::move(name));
    if (const Node* const words = node.find("args"); words != nullptr) {
        for (const Node& word : words->items) {
            program.argv.push_back(word.scalar);
        }
    }
    if (const Node* const variables = node.find("env"); variables != nullptr) {
        for (const Node& variable : variables->items) {
            program.variables[text_of(variable, "name")] = text_of(variable, "value");
        }
    }
    program.install_hint = text_of(node, "installHint");
    access_.program_ = std::move(program);
    return {};
}

Result<void> KubeconfigReader::read_user(const Part& part) {
    for (const NotSupported& known : kNotSupported) {
        if (const Node* const node = part.node->find(known.field)) {
            Error error =
                fault(part,
                      *node,
                      problem("kubeconfig-user-field",
                              "`" + std::string(known.field) + "` of a user is not supported"),
                      known.help);
            Fault described = error.faults().front();
            described.because = known.because;
            return cybele::fail(std::move(described));
        }
    }
    CYBELE_TRY(access_.certificate_,
               read_source(part, "client-certificate", "client-certificate-data"));
    CYBELE_TRY(access_.key_, read_source(part, "client-key", "client-key-data"));
    if (const std::string path = text_of(*part.node, "tokenFile"); !path.empty()) {
        access_.token_.path = part.file->folder / path; // it wins over the token, as with kubectl
    } else {
        access_.token_.data = text_of(*part.node, "token");
    }
    const Node* const program = part.node->find("exec");
    return program == nullptr ? Result<void>() : read_program(part, *program);
}

Result<Access> KubeconfigReader::read(const std::string& files, const AccessOptions& options) {
    KubeconfigReader reader;
    CYBELE_CHECK(reader.open(files));
    std::string context = options.context;
    if (context.empty()) {
        CYBELE_TRY(context, reader.current_context());
    }
    CYBELE_TRY(const Part chosen, reader.find({"contexts", "context"}, context));
    CYBELE_TRY(const Part cluster,
               reader.find({"clusters", "cluster"}, text_of(*chosen.node, "cluster")));
    CYBELE_TRY(const Part user, reader.find({"users", "user"}, text_of(*chosen.node, "user")));
    if (std::string name = text_of(*chosen.node, "namespace"); !name.empty()) {
        reader.access_.namespace_ = std::move(name);
    }
    CYBELE_CHECK(reader.read_cluster(cluster, options.allows_insecure));
    CYBELE_CHECK(reader.read_user(user));
    return std::move(reader.access_);
}

} // namespace cybele::apiserver
