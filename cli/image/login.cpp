// SPDX-License-Identifier: Apache-2.0
// How registries are reached, and logging in.
#include "cli/common/cli11.hpp"
#include "cli/common/image_access.hpp"
#include "cli/common/image_store.hpp"
#include "cli/common/not_empty.hpp"
#include "cli/common/progress.hpp"
#include "support/duration.hpp"
#include "support/file.hpp"
#include "support/passphrase.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <filesystem>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace cybele::cli {

namespace {

constexpr const char* kVariable = "CYBELE_REGISTRY_PASSWORD";

struct LoginOptions : AccessOptions {
    std::string host;
    std::string user;
    std::string token_server;
    bool from_stdin = false;
};

/// What a registry asks for is a password, whatever it is read by.
Error without_password(const Error& error, const LoginOptions& options) {
    const Fault& fault = error.faults().front();
    if (fault.id != "passphrase-source-missing") {
        return error;
    }
    return {ErrorCode::kUsage,
            problem("password-source-missing",
                    fmt::format("no password for {} at {}",
                                printable(options.user),
                                printable(options.host))),
            fault.because,
            fault.help};
}

Result<registry::Login> read_login(const Session& session, const LoginOptions& options) {
    if (options.user.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("login-user-missing", "no user to log in"),
                    {},
                    "name one: cybelectl image login HOST --username USER");
    }
    if (options.user.find(':') != std::string::npos) {
        return fail(ErrorCode::kUsage,
                    problem("login-user-colon",
                            "'" + printable(options.user) + "' is not a valid user name"),
                    "a colon ends the user name in what a registry is sent",
                    "name the user alone; the password is asked for");
    }
    PassphraseSource source;
    source.file = options.from_stdin ? "-" : "";
    source.variable = kVariable;
    source.file_option = "--password-stdin <FILE";
    source.value = session.environment.get(kVariable);
    source.may_ask = true;
    if (session.is_terminal && !source.value && source.file.empty()) {
        session.doing({}); // its line would be written over the question
    }
    CYBELE_TRY(
        const Secret password,
        read_passphrase(
            source, fmt::format("{} at {}", options.user, options.host), PassphraseUse::kOpen)
            .map_error([&](const Error& error) { return without_password(error, options); }));
    return registry::Login{options.user, std::string(password.view()), {}, "this login"};
}

Result<int> login(const Session& session, const LoginOptions& options) {
    CYBELE_TRY(const std::string host, registry::read_host(options.host));
    if (options.authfile == "-") { // it would print the password
        return fail(
            ErrorCode::kUsage,
            problem("login-to-standard-output", "a login is not written to standard output"),
            "its file holds the password",
            "name a file: --authfile FILE");
    }
    CYBELE_TRY(const registry::Login login, read_login(session, options));
    const HttpClient client = HttpClient::find(session.environment, session.program);
    auto access = static_cast<const AccessOptions&>(options);
    access.authfile.clear(); // it is written, and may not be there yet
    CYBELE_TRY(registry::Transport transport,
               make_transport(session, access, client, "logging in to " + host));
    transport.access.login = login;
    if (!options.token_server.empty()) {
        CYBELE_TRY(transport.access.token_server, registry::read_host(options.token_server));
    }
    registry::Registry tried(client, transport.access, session.environment, {host, "", "", ""}, "");
    CYBELE_CHECK(tried.ping());
    const auto file = registry::login_file(options.authfile, session.environment);
    CYBELE_CHECK(registry::write_login(file, host, login));
    if (!transport.access.token_server.empty()) {
        CYBELE_CHECK(registry::write_login(file, transport.access.token_server, login));
    }
    if (session.is_json()) {
        print_document({{"host", host}, {"user", options.user}, {"file", file.native()}});
    } else if (!session.is_quiet) {
        Session::print(fmt::format("logged in to {} as {}; the login is in {}\n",
                                   host,
                                   printable(options.user),
                                   printable(file.native())));
    }
    return 0;
}

Result<int> logout(const Session& session, const LoginOptions& options) {
    CYBELE_TRY(const std::string host, registry::read_host(options.host));
    const auto file = registry::login_file(options.authfile, session.environment);
    CYBELE_TRY(const bool is_erased, registry::erase_login(file, host));
    if (session.is_json()) {
        print_document({{"host", host}, {"file", file.native()}, {"removed", is_erased}});
    } else if (!session.is_quiet) {
        Session::print(
            is_erased ? fmt::format("logged out of {}\n", host)
                      : fmt::format("no login for {} in {}\n", host, printable(file.native())));
    }
    return 0;
}

Result<std::chrono::seconds> stall_limit(const std::string& text) {
    const auto limit = parse_duration(text);
    if (!limit || limit->count() < 1) {
        return fail(
            ErrorCode::kUsage,
            problem("stall-limit-value", "'" + printable(text) + "' is not a valid stall limit"),
            "the setting `stall-limit` is a time of a second or more",
            "write it as `30 s` or `2 min`");
    }
    return *limit;
}

/// A file that an option names is there, and can be read: without it another server, or none, would
/// be trusted, and another login, or none, would be used.
Result<void> check_given(const std::string& file) {
    if (file.empty() || ::access(file.c_str(), R_OK) == 0) {
        return {};
    }
    const int number = errno;
    if (number == ENOENT) {
        return fail(ErrorCode::kInput,
                    problem("file-missing", "no such file: " + printable(file)).about(file),
                    {},
                    "check the name and the folder that it is relative to");
    }
    return fail(system_error("cannot open " + printable(file), number));
}

/// Certificates are PEM text. Without this the mistake would be found when a server's certificate
/// is not known.
Result<void> check_certificates(const std::string& file) {
    std::error_code error;
    if (file.empty() || !std::filesystem::is_regular_file(file, error)) {
        return {};
    }
    const auto text = read_file(file);
    for (const std::string_view kind : {"", "TRUSTED ", "X509 "}) {
        const std::string begin = fmt::format("-----BEGIN {}CERTIFICATE-----", kind);
        if (!text || text->find(begin) != std::string::npos) {
            return {}; // who uses it says that it cannot be read
        }
    }
    const bool is_binary = text->starts_with("\x30\x82"); // DER
    return fail(ErrorCode::kInput,
                problem("ca-file-without-certificate", printable(file) + " has no certificate"),
                "a CA file is text with `-----BEGIN CERTIFICATE-----`",
                is_binary ? "convert it: `openssl x509 -inform der -in " + shell_quote(file) +
                                " -out ca.pem`"
                          : "give the file with the certificate of the server's authority");
}

using LoginVerb = Result<int> (*)(const Session&, const LoginOptions&);

void finish_login_verb(CLI::App& verb,
                       Session& session,
                       const std::shared_ptr<LoginOptions>& options,
                       LoginVerb what) {
    verb.add_option("host", options->host, "the registry")->required()->type_name("HOST");
    add_access(verb, *options);
    add_format(verb, session);
    verb.callback([&session, options, what] {
        session.action = [&session, options, what] { return what(session, *options); };
    });
}

} // namespace

void add_access(CLI::App& verb, AccessOptions& options) {
    verb.add_option("--ca-file", options.ca_file, "CA certificates for the registry")
        ->type_name("FILE")
        ->check(not_empty());
    verb.add_option("--authfile", options.authfile, "registry credentials file, read first")
        ->type_name("FILE")
        ->check(not_empty());
    verb.add_flag("--plain-http,--no-https",
                  options.is_plain,
                  "use plain HTTP: no encryption, no server authentication");
}

void add_library(CLI::App& verb, AccessOptions& options) {
    verb.add_option("--library", options.library, "host of library:// images that name none")
        ->type_name("HOST");
}

Result<registry::Transport> make_transport(const Session& session,
                                           const AccessOptions& options,
                                           const HttpClient& client,
                                           const std::string& what) {
    CYBELE_TRY(const pipeline::Settings settings, session.settings());
    CYBELE_CHECK(check_given(options.ca_file));
    CYBELE_CHECK(check_given(options.authfile));
    registry::Transport transport;
    CYBELE_TRY(transport.access.stall, stall_limit(settings.get("stall-limit")));
    transport.client = &client;
    transport.environment = session.environment;
    transport.progress = progress(session, what);
    if (!what.empty()) {
        session.doing(what);
    }
    transport.access.ca_file = options.ca_file.empty() ? settings.get("ca-file") : options.ca_file;
    CYBELE_CHECK(check_certificates(transport.access.ca_file.native()));
    transport.access.authfile = options.authfile;
    transport.access.option_words = options.words;
    transport.access.is_plain = options.is_plain;
    transport.access.may_be_plain = options.may_be_plain;
    transport.access.library = options.library.empty() ? settings.get("library") : options.library;
    transport.access.clock = [] { return Session::clock(); };
    transport.access.wait = [](std::chrono::milliseconds pause) {
        std::this_thread::sleep_for(pause);
    };
    transport.access.say = [&session](const std::string& line) { session.say(line); };
    return transport;
}

void install_image_logins(CLI::App& image, Session& session) {
    auto options = std::make_shared<LoginOptions>();
    CLI::App* verb =
        add_verb(image,
                 "login",
                 "Log in to a registry; the password is prompted for or read from standard input.",
                 {"cybelectl image login registry.example -u alice",
                  "cybelectl image login registry.example -u alice --password-stdin "
                  "<token.txt"});
    verb->add_option("-u,--username", options->user, "user name of the login")->type_name("USER");
    verb->add_flag(
        "--password-stdin", options->from_stdin, "read the password from standard input");
    verb->add_option("--token-server",
                     options->token_server,
                     "token server of the registry, as HOST or HOST:PORT, that gets the login, "
                     "too, although it is another host")
        ->type_name("HOST");
    finish_login_verb(*verb, session, options, login);

    options = std::make_shared<LoginOptions>();
    verb = add_verb(image,
                    "logout",
                    "Log out of a registry.",
                    {"cybelectl image logout registry.example",
                     "cybelectl image logout registry.example --authfile auth.json"});
    finish_login_verb(*verb, session, options, logout);
}

} // namespace cybele::cli
