// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/connection.hpp"

#include "submission/backends/command_backend.hpp"
#include "support/encoding.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>

namespace cybele::submission {
namespace {

struct ServiceAddress {
    Connection::Kind kind;
    std::string_view prefix;
};
constexpr ServiceAddress kServices[] = {{Connection::Kind::kSlurmrestd, "slurmrestd+"},
                                        {Connection::Kind::kRimrock, "rimrock+"}};

struct Setting {
    std::string_view name;
    std::string Connection::*member;
};
constexpr Setting kSettings[] = {{"host", &Connection::host},
                                 {"token-command", &Connection::token_command}};

constexpr std::string_view kHexadecimalDigits = "0123456789ABCDEF";

std::string escaped(std::string_view text) {
    std::string plain;
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        if (byte <= ' ' || letter == '%' || letter == '&' || letter == '#') {
            plain += '%';
            plain += kHexadecimalDigits[byte / kHexadecimalDigits.size()];
            plain += kHexadecimalDigits[byte % kHexadecimalDigits.size()];
        } else {
            plain += letter;
        }
    }
    return plain;
}

Result<void> read_settings(std::string_view text, Connection& connection) {
    for (const std::string_view part : text::split(text, '&')) {
        const std::size_t equals = std::min(part.find('='), part.size());
        const auto* const known =
            std::ranges::find(kSettings, part.substr(0, equals), &Setting::name);
        if (known == std::end(kSettings) || equals == part.size()) {
            return fail(ErrorCode::kInput,
                        problem("service-setting-unknown",
                                "'" + printable(part) + "' is not a setting of a service"),
                        "the journal was written by another cybelectl",
                        "call that one");
        }
        connection.*known->member = percent_decoded(part.substr(equals + 1));
    }
    return {};
}

} // namespace

std::string text_of(const Connection& connection) {
    const auto* const service =
        std::ranges::find(kServices, connection.kind, &ServiceAddress::kind);
    if (service == std::end(kServices)) {
        return connection.address;
    }
    std::string text = std::string(service->prefix) + escaped(connection.address);
    char separator = '#';
    for (const Setting& setting : kSettings) {
        if (!(connection.*setting.member).empty()) {
            text += separator;
            text.append(setting.name).append("=").append(escaped(connection.*setting.member));
            separator = '&';
        }
    }
    return text;
}

Result<Connection> read_connection(std::string_view text) {
    Connection connection;
    for (const ServiceAddress& service : kServices) {
        if (!text.starts_with(service.prefix)) {
            continue;
        }
        connection.kind = service.kind;
        const std::size_t hash = std::min(text.find('#'), text.size());
        connection.address =
            percent_decoded(text.substr(service.prefix.size(), hash - service.prefix.size()));
        while (connection.address.ends_with('/')) {
            connection.address.pop_back();
        }
        if (hash != text.size()) {
            CYBELE_CHECK(read_settings(text.substr(hash + 1), connection));
        }
        return connection;
    }
    connection.kind = text.empty() ? Connection::Kind::kCommands : Connection::Kind::kSsh;
    connection.address = text;
    return connection;
}

std::string shown(std::string_view text) {
    return std::string(text.substr(0, text.find('#')));
}

std::string shown(const Connection& connection) {
    return shown(text_of(connection));
}

Result<void> check_address(const Connection& connection) {
    for (const std::string_view safe :
         {"https://", "http://127.0.0.1", "http://localhost", "http://[::1]"}) {
        const char next =
            connection.address.size() > safe.size() ? connection.address[safe.size()] : '/';
        if (connection.address.starts_with(safe) &&
            (safe.ends_with("//") || next == ':' || next == '/')) {
            return {};
        }
    }
    return fail(ErrorCode::kInput,
                problem("token-over-http",
                        printable(connection.address) + " is not a valid address for a token"),
                "over http, everybody on the way would read it",
                "write https://, or reach the service by a tunnel: ssh -L 6820:SERVICE:6820 LOGIN, "
                "then http://127.0.0.1:6820");
}

} // namespace cybele::submission
