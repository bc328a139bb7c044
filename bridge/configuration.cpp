// SPDX-License-Identifier: Apache-2.0
#include "bridge/configuration.hpp"

#include "bridge/batch_cluster.hpp"
#include "launchers/documents/site.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

namespace cybele::bridge {
namespace {

Site site_of(const launchers::Bridge& document, const launchers::Site& cluster) {
    Site site;
    site.kind = cluster.dialect == "slurm" ? Kind::kSlurmJob : Kind::kTorqueJob;
    for (const launchers::BridgeAccount& row : document.accounts) {
        site.accounts.push_back({row.name_space, row.account, row.queues, row.results_roots});
    }
    for (const launchers::SiteQueue& queue : cluster.queues) {
        site.queues.push_back(
            {queue.name,
             queue.nodes ? std::optional<std::uint64_t>(*queue.nodes) : std::nullopt,
             queue.max_time,
             queue.memory_per_node_bytes});
    }
    if (!cluster.queues.empty()) {
        site.default_queue = cluster.queues.front().name;
    }
    return site;
}

} // namespace

launchers::BridgeWay reader_of(const launchers::Bridge& document) {
    const launchers::BridgeWay first =
        document.accounts.empty() ? launchers::BridgeWay() : document.accounts.front().way;
    return document.reader.value_or(first);
}

Result<Configuration> read_configuration(const std::filesystem::path& file) {
    Configuration configuration;
    configuration.file = file;
    CYBELE_TRY(std::string text, read_file(file).map_error(during("reading the Bridge")));
    CYBELE_TRY(configuration.document, launchers::read_bridge(std::move(text), file));
    CYBELE_TRY(
        std::string site_text,
        read_file(configuration.document.site).map_error(during("reading the Site of the bridge")));
    CYBELE_TRY(const launchers::Site cluster,
               launchers::read_site(std::move(site_text), configuration.document.site));
    if (commands_of(cluster.dialect) == nullptr) {
        return fail(
            ErrorCode::kInput,
            problem("bridge-scheduler-unsupported",
                    "the bridge cannot use the scheduler '" + printable(cluster.dialect) + "'"),
            "it hands jobs over held, to slurm, torque, slurm-torque or pbspro",
            "name a Site of one of these in `site` of " + printable(file.native()));
    }
    configuration.dialect = cluster.dialect;
    configuration.site = site_of(configuration.document, cluster);
    configuration.times.claim = configuration.document.hand_over_patience.count();
    configuration.times.keep_records = configuration.document.keep_records.count();
    configuration.times.vanished = cluster.patience.count();
    return configuration;
}

} // namespace cybele::bridge
