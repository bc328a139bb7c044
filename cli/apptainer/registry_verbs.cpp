// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/registry_verbs.hpp"

#include "cli/apptainer/remotes_file.hpp"
#include "cli/image/transfer.hpp"
#include "registry/oci/credentials.hpp"
#include "registry/oci/registry.hpp"
#include "support/passphrase.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

struct RegistryPlace {
    std::string address; ///< docker://HOST
    std::string host;
};

std::string login_address(const OtherCall& call) {
    return call.words.empty() ? std::string() : call.words.front();
}

/// The host of docker://HOST or oras://HOST.
Result<RegistryPlace> read_registry(const OtherCall& call, const std::string& doing) {
    const std::string address = login_address(call);
    const std::size_t colon = std::min(address.find("://"), address.size());
    const std::string scheme = address.substr(0, colon);
    if (colon == address.size() || (scheme != "docker" && scheme != "oras")) {
        const std::size_t port = std::min(address.find(':'), address.size());
        const bool has_port = port < address.size() && colon == address.size();
        const bool is_number = has_port && address.find_first_not_of("0123456789.") == port;
        return fail(
            ErrorCode::kInput,
            problem("registry-address",
                    doing + ": " +
                        (is_number ? "parse \"" + printable(address) +
                                         "\": first path segment in URL cannot contain colon"
                                   : (has_port ? printable(address.substr(0, port)) : "") +
                                         " transport is not supported")));
    }
    return RegistryPlace{address, address.substr(colon + 3)};
}

tl::unexpected<Error> refuse_login(const RegistryPlace& place, const std::string& why) {
    return fail(
        ErrorCode::kInput,
        problem("registry-login-wrong", "while login to " + printable(place.address) + ": " + why));
}

/// A place that is not a host is not a mistake of the command line there.
Result<std::string> host_of(const RegistryPlace& place) {
    return registry::read_host(place.host).map_error([](const Error& failed) {
        Fault fault = failed.faults().front();
        fault.code = ErrorCode::kInput;
        return Error(std::move(fault));
    });
}

Result<std::string>
read_password(const Session& session, const OtherCall& call, const RegistryPlace& place) {
    if (!call.value("--password").empty()) {
        return call.value("--password");
    }
    PassphraseSource source;
    source.file = call.has("--password-stdin") ? "-" : "";
    source.file_option = "--password-stdin <FILE";
    source.value = session.environment.get("CYBELE_REGISTRY_PASSWORD");
    source.may_ask = true;
    const bool is_given = source.value || !source.file.empty();
    if (!is_given && ::isatty(STDIN_FILENO) == 0) { // the question is answered by a line
        Session::print("Password / Token: ");
        std::string line;
        std::getline(std::cin, line);
        Session::print("\n");
        return line.empty() ? refuse_login(place, "a password is required")
                            : Result<std::string>(std::move(line));
    }
    CYBELE_TRY(const Secret given,
               read_passphrase(source, "the registry " + place.host, PassphraseUse::kOpen));
    return std::string(given.view());
}

enum class LoginChange { kAdded, kRemoved };

Result<void> note_login(const Session& session,
                        const OtherCall& call,
                        const std::string& address,
                        LoginChange change) {
    const bool is_there = change == LoginChange::kAdded;
    const std::filesystem::path file = remotes_file(session, call);
    CYBELE_TRY(Remotes remotes, read_remotes(file));
    CYBELE_CHECK(add_system_remotes(session, remotes));
    const bool is_elsewhere = !call.value("--authfile").empty(); // like there: not in the list
    if (is_there && !is_elsewhere) {
        add_login_address(remotes, address);
    } else if (!is_elsewhere) {
        remove_login_address(remotes, address);
    }
    CYBELE_CHECK(write_remotes(file, remotes, call.group_file.empty()));
    if (is_there) {
        session.inform_as_apptainer("Token stored in " + file.native());
    }
    return {};
}

void note_old_name(const Session& session, const OtherCall& call) {
    const std::string verb(call.verb->verb);
    if (verb.starts_with("remote ")) {
        session.warn_as_apptainer(
            fmt::format("'{}' is deprecated for registries or keyservers and will be "
                        "removed in a future release; running 'registry {}'",
                        verb,
                        verb.substr(verb.find(' ') + 1)));
    }
}

} // namespace

Result<int> registry_login(const Session& session, const OtherCall& call) {
    note_old_name(session, call);
    CYBELE_TRY(const RegistryPlace place,
               read_registry(call, "while login to " + printable(login_address(call))));
    if (call.value("--username").empty()) {
        return refuse_login(place, "Docker/OCI registry requires a username");
    }
    CYBELE_TRY(std::string password, read_password(session, call, place));
    const registry::Login login{call.value("--username"), std::move(password), {}, "this login"};
    CYBELE_TRY(const std::string host, host_of(place));
    const HttpClient client = HttpClient::find(session.environment, session.program);
    AccessOptions access;
    access.is_plain = call.has("--no-https");
    access.may_be_plain = true;
    CYBELE_TRY(registry::Transport transport,
               make_transport(session, access, client, "logging in to " + host));
    transport.access.login = login;
    registry::Registry tried(client, transport.access, session.environment, {host, "", "", ""}, "");
    CYBELE_CHECK(tried.ping());
    const auto file = registry::login_file(call.value("--authfile"), session.environment);
    CYBELE_CHECK(registry::write_login(file, host, login));
    session.inform_as_apptainer("Token stored in " + printable(file.native()));
    CYBELE_CHECK(note_login(session, call, place.address, LoginChange::kAdded));
    return 0;
}

Result<int> registry_logout(const Session& session, const OtherCall& call) {
    note_old_name(session, call);
    const std::string address = login_address(call);
    if (!address.starts_with("http://") && !address.starts_with("https://")) {
        CYBELE_TRY(const RegistryPlace place, read_registry(call, "while verifying token"));
        CYBELE_TRY(const std::string host, host_of(place));
        const auto file = registry::login_file(call.value("--authfile"), session.environment);
        CYBELE_TRY(const bool is_erased, registry::erase_login(file, host));
        if (is_erased) {
            session.inform_as_apptainer("Token removed from " + printable(file.native()));
        } else {
            session.warn_as_apptainer("There is no existing login to registry \"" +
                                      printable(host) + "\".");
        }
        CYBELE_CHECK(note_login(session, call, address, LoginChange::kRemoved));
    }
    session.inform_as_apptainer(
        "Logout succeeded"); // also of a key server, which has no login here
    return 0;
}

Result<int> registry_list(const Session& session, const OtherCall& call) {
    CYBELE_TRY(const Remotes remotes, read_remotes(remotes_file(session, call)));
    std::vector<std::string> addresses = login_addresses(remotes);
    CYBELE_TRY(const std::vector<std::string> hosts,
               registry::login_hosts(registry::login_file({}, session.environment)));
    for (const std::string& host : hosts) { // what other programs have logged in to
        const bool is_noted = std::ranges::any_of(
            addresses, [&](const std::string& one) { return one.ends_with("://" + host); });
        if (!is_noted) {
            addresses.push_back("docker://" + host);
        }
    }
    std::size_t width = std::string_view("URI").size();
    for (const std::string& address : addresses) {
        width = std::max(width, address.size());
    }
    std::string text = fmt::format("\n{:<{}}  SECURE?\n", "URI", width);
    for (const std::string& address : addresses) {
        text += fmt::format("{:<{}}  \u2713\n", printable(address), width);
    }
    Session::print(text);
    return 0;
}

} // namespace cybele::cli
