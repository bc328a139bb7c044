// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/import/lists.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cybele::recipes {

/// The platform that images are built for.
constexpr std::string_view kCondaPlatform = "linux-64";

/// A text of a map; "" where there is none.
[[nodiscard]] std::string scalar_of(const yaml::Node& map, std::string_view key);

/// What an archive's address says of it.
struct CondaArchive {
    std::string name;
    std::string version;
    std::string build;
    std::string channel;
    std::string platform;
};

/// ADDRESS/CHANNEL/PLATFORM/NAME-VERSION-BUILD.conda
[[nodiscard]] std::optional<CondaArchive> archive_of(std::string_view url);

/// Puts packages of a lock into a Recipe: each with version, build and checksum.
class LockedConda {
public:
    LockedConda(const ImportRequest& request, Ledger& ledger, Draft& draft)
        : request_(request), ledger_(ledger), draft_(draft) {}

    void add(const CondaArchive& archive, const std::string& sha256, yaml::Mark mark);
    void channel(const std::string& name);
    /// `command` makes a lock for kCondaPlatform.
    void finish(yaml::Mark mark, std::string_view command);

private:
    const ImportRequest& request_;
    Ledger& ledger_;
    Draft& draft_;
    std::size_t without_sum_ = 0;
    yaml::Mark first_;
};

} // namespace cybele::recipes
