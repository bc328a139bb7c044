// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/server/pump.hpp"
#include "bridge/service/service.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace cybele::bridge {

/// One exchange after another with the API server, for the verbs that do one thing and exit.
class ServerSession {
public:
    [[nodiscard]] static Result<std::unique_ptr<ServerSession>> open(const ServiceRequest& request);

    /// The namespace of the bridge itself.
    [[nodiscard]] const std::string& name_space() const {
        return space_;
    }
    [[nodiscard]] Result<nlohmann::json> read(const std::string& path);
    /// An empty object where the server has none (404).
    [[nodiscard]] Result<nlohmann::json> read_if_present(const std::string& path);
    /// All objects that the bridge serves, page by page. Unreadable ones are skipped.
    [[nodiscard]] Result<void> each_object(const std::function<void(const Object&)>& take);
    /// The object of the bridge's kind, else the managed Job, with this NAMESPACE/NAME; of
    /// job/NAMESPACE/NAME the managed Job. kUsage where the text is neither, kInput where no such
    /// object exists.
    [[nodiscard]] Result<Object> object(const std::string& place);
    /// Whether the object still exists under its name with its uid.
    [[nodiscard]] Result<bool> exists(const std::string& place, const std::string& uid);
    /// Sends a review (of a token, of a right) to the server; its answer.
    [[nodiscard]] Result<nlohmann::json> review(const std::string& path,
                                                const nlohmann::json& body);
    /// Changes the object that was read; `what` begins the error: "removing the finalizer".
    [[nodiscard]] Result<void> patch(const std::string& what,
                                     const std::string& path,
                                     std::string_view type,
                                     std::string body);

private:
    ServerSession(const ServiceRequest& request, apiserver::Access access);

    [[nodiscard]] std::vector<std::string> collections(const std::string& space) const;
    [[nodiscard]] Result<void> each_of(const std::string& path,
                                       const std::function<void(const Object&)>& take);

    const ServiceRequest& request_;
    JobReader jobs_;
    std::string space_;
    apiserver::Connection connection_;
    Pump pump_;
};

/// Before NAMESPACE/NAME: of two objects with that name the ordinary Job.
inline constexpr std::string_view kOrdinaryJob = "job/";

/// Whether the text is NAMESPACE/NAME of an object.
[[nodiscard]] bool is_place_text(const std::string& text);
/// kUsage for a text that names no object; `job/NAMESPACE/NAME` is an ordinary Job.
[[nodiscard]] Result<void> check_place(const std::string& place);

} // namespace cybele::bridge
