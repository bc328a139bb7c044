// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::registry {

/// What a registry wants to see (RFC 9110 section 11.6.1): a scheme with its parameters, both in
/// lower case, values as they are.
struct Challenge {
    std::string scheme; ///< "basic", "bearer"; empty: none that can be read
    std::map<std::string, std::string> parameters;

    [[nodiscard]] std::string get(const std::string& name) const {
        const auto found = parameters.find(name);
        return found == parameters.end() ? std::string() : found->second;
    }
};

/// All challenges of a `WWW-Authenticate` header, or of several that are joined by commas.
[[nodiscard]] std::vector<Challenge> read_challenges(std::string_view header);
/// The one to answer: Bearer, else Basic; without either the first one.
[[nodiscard]] Challenge choose_challenge(const std::vector<Challenge>& challenges);

/// `a/b?x` against the URL that it was an answer to.
[[nodiscard]] std::string resolve_location(std::string_view location, std::string_view url);

/// The address of a list's next page, by its `Link` header (RFC 8288), relative to `url`; empty:
/// this page was the last.
[[nodiscard]] std::string next_page(std::string_view link, std::string_view url);
/// `https://host:port` of a URL.
[[nodiscard]] std::string_view origin_of(std::string_view url);
/// Whether two URLs have one origin, in whatever spelling.
[[nodiscard]] bool is_same_origin(std::string_view a, std::string_view b);
/// Whether a registry's login may go to the token server that it names, both as URLs: to its own
/// origin; else by https: at the usual port to hosts of the domain that it is in (auth.docker.io of
/// registry-1.docker.io), to itself and to hosts below it. An address (of digits) has no domain,
/// and neither has a top level such as `io` or `co.uk`.
[[nodiscard]] bool is_of_registry(std::string_view realm, std::string_view registry);
/// HOST[:PORT] of a URL, as files of logins name it: without the port where it is the usual one.
[[nodiscard]] std::string kept_host(std::string_view url);
/// HOST of a URL or of HOST[:PORT], in lower case, without the port.
[[nodiscard]] std::string host_name(std::string_view url);
/// `url` with one parameter more.
[[nodiscard]] std::string
with_parameter(std::string url, std::string_view name, std::string_view value);

} // namespace cybele::registry
