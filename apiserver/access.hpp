// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/exchange.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cybele::apiserver {

struct AccessOptions {
    /// Colon-separated, as $KUBECONFIG. Empty: $KUBECONFIG, else ~/.kube/config where it exists,
    /// else the pod's service account.
    std::string kubeconfig;
    std::string context; ///< empty: current-context
    /// Accepts insecure-skip-tls-verify: nothing proves who answers.
    bool allows_insecure = false;
    std::filesystem::path service_account = "/var/run/secrets/kubernetes.io/serviceaccount";
};

/// What is sent, as it is now.
struct Credentials {
    std::string ca;          ///< PEM text; empty: the system's certificates
    std::string certificate; ///< PEM text; empty: none
    std::string key;
    std::string token; ///< empty: none

    bool operator==(const Credentials&) const = default;
};

/// A program that gives credentials (`exec` of a kubeconfig).
struct CredentialProgram {
    std::vector<std::string> argv;
    EnvironmentMap variables; ///< further ones
    std::string version;      ///< of client.authentication.k8s.io
    std::string install_hint;
};

/// How a server is reached, and where its credentials come from. They are read again, since tokens
/// and certificates are replaced while a program runs.
class Access {
public:
    /// Reads the configuration and the credentials. kInput with file and line where a kubeconfig
    /// is not usable, kEnvironment where there is none, or a file or program of it fails.
    [[nodiscard]] static Result<Access> read(const Environment& environment,
                                             const AccessOptions& options);

    [[nodiscard]] const std::string& server() const {
        return server_;
    }
    [[nodiscard]] const Credentials& credentials() const {
        return credentials_;
    }
    /// The namespace that the configuration names; "default" without one.
    [[nodiscard]] const std::string& name_space() const {
        return namespace_;
    }
    /// The name in the server's certificate where it is not the URL's; empty: the URL's.
    [[nodiscard]] const std::string& tls_server_name() const {
        return tls_server_name_;
    }
    [[nodiscard]] const std::string& proxy() const {
        return proxy_;
    }
    [[nodiscard]] bool is_insecure() const {
        return is_insecure_;
    }

    /// Reads the files again; true where something changed. What cannot be read, or is incomplete
    /// at this moment, leaves the credentials as they are.
    [[nodiscard]] Result<bool> refresh();
    /// The same, after the server refused the credentials (401): a program is asked too.
    [[nodiscard]] Result<bool> renew();

private:
    friend class KubeconfigReader;

    struct Source {
        std::string data;           ///< decoded
        std::filesystem::path path; ///< read where it is set
    };

    Access() = default;
    [[nodiscard]] static Result<Access> in_cluster(const Environment& environment,
                                                   const AccessOptions& options);
    enum class TokenProgram { kRun, kSkip };
    [[nodiscard]] Result<Credentials> load(TokenProgram program) const;
    [[nodiscard]] Result<void> run_program(const CredentialProgram& program,
                                           Credentials& credentials) const;
    [[nodiscard]] Result<bool> take(Result<Credentials> loaded);

    std::string server_;
    std::string namespace_ = "default";
    std::string tls_server_name_;
    std::string proxy_;
    bool is_insecure_ = false;
    Source ca_;
    Source certificate_;
    Source key_;
    Source token_;
    std::optional<CredentialProgram> program_;
    Environment environment_;
    Credentials credentials_;
};

} // namespace cybele::apiserver
