// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/connection.hpp"
#include "submission/backends/token.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"
#include "support/http.hpp"

#include <functional>
#include <string>
#include <vector>

namespace cybele::submission {

/// What a service answered.
struct ServiceAnswer {
    int status = 0;
    std::string body;
};

/// A request without what every one has.
struct ServiceRequest {
    std::string method = "GET";
    std::string path; ///< behind the service's address, with its query
    std::string body; ///< JSON; empty: none
    /// False: what it changes must not happen twice, so that only a 401, with which a service does
    /// nothing, makes it ask again.
    bool may_repeat = true;
};

/// A REST service that takes a token: one exchange at a time, a refused token renewed once.
class Service {
public:
    /// The headers that carry the token.
    using Headers = std::function<std::vector<HttpHeader>(const std::string& token)>;
    /// Whether an answer may mean that the token is refused; a 401 means that always.
    using Doubt = std::function<bool(const ServiceAnswer&)>;

    Service(Connection connection, Token token, HttpClient client, Headers headers, Doubt doubt)
        : way_(std::move(connection)), token_(std::move(token)), client_(std::move(client)),
          headers_(std::move(headers)), doubt_(std::move(doubt)) {}

    /// Any status is an answer, but 401 and what may mean the same, with a new token too:
    /// kEnvironment, as is a service that does not answer.
    [[nodiscard]] Result<ServiceAnswer> ask(const ServiceRequest& request);
    [[nodiscard]] const Connection& connection() const {
        return way_;
    }

private:
    [[nodiscard]] Result<ServiceAnswer> send(const ServiceRequest& request);
    Connection way_;
    Token token_;
    HttpClient client_;
    Headers headers_;
    Doubt doubt_;
};

} // namespace cybele::submission
