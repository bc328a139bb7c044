// SPDX-License-Identifier: Apache-2.0
#include "bridge/configuration/configuration.hpp"

#include "bridge/batch/batch_cluster.hpp"
#include "bridge/objects/queue_labels.hpp"
#include "launchers/documents/site.hpp"
#include "support/document.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/presence.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

Site site_of(const launchers::Bridge& document, const launchers::Site& cluster) {
    Site site;
    site.kind = cluster.dialect == "slurm" ? Kind::kSlurmJob : Kind::kTorqueJob;
    site.is_read_by_sbatch = cluster.dialect == "slurm-torque";
    for (const launchers::BridgeAccount& row : document.accounts) {
        site.accounts.push_back({row.name_space, row.account, row.queues, row.results_roots});
    }
    for (const launchers::SiteQueue& queue : cluster.queues) {
        site.queues.push_back(
            {queue.name,
             queue.nodes ? std::optional<std::uint64_t>(*queue.nodes) : std::nullopt,
             queue.max_time,
             queue.memory_per_node_bytes,
             selectable_labels(document, queue)});
    }
    site.labels = selectable_labels(document, {});
    if (!cluster.queues.empty()) {
        site.default_queue = cluster.queues.front().name;
    }
    return site;
}

/// The Site that the document names; where it is missing, the error has the place of the field.
Result<launchers::Site> read_site_of(const launchers::Bridge& document) {
    auto text = read_file(document.site);
    if (text) {
        return launchers::read_site(std::move(*text), document.site);
    }
    Fault fault = text.error().faults().front();
    fault.where = document.source.place(document::mark_of(document.marks, "site"));
    return fail(Error(std::move(fault)).with_context("reading the Site of the bridge"));
}

/// Queues of accounts are queues of the Site, where it lists them.
Result<void> check_queues(const launchers::Bridge& document, const launchers::Site& cluster) {
    Faults faults;
    std::vector<std::string_view> known;
    std::vector<std::string> names;
    for (const launchers::SiteQueue& queue : cluster.queues) {
        known.emplace_back(queue.name);
        names.push_back(queue.name);
    }
    for (std::size_t row = 0; row < document.accounts.size() && !known.empty(); ++row) {
        const std::vector<std::string>& queues = document.accounts[row].queues;
        for (std::size_t at = 0; at < queues.size(); ++at) {
            if (contains(known, queues[at])) {
                continue;
            }
            const std::string near = nearest(queues[at], known);
            faults.add(document::fault_at(
                document.source,
                document::mark_of(document.marks, fmt::format("accounts[{}].queues[{}]", row, at)),
                problem("bridge-queue-unknown",
                        "the Site has no queue '" + printable(queues[at]) + "'"),
                "it has " + text::joined(names, ", "),
                near.empty() ? "write one of them, or add it to `queues` of the Site"
                             : "did you mean `" + near + "`?"));
        }
    }
    return faults.has_errors() ? Result<void>(fail(faults.take())) : Result<void>();
}

} // namespace

launchers::BridgeConnection reader_of(const launchers::Bridge& document) {
    const launchers::BridgeConnection first =
        document.accounts.empty() ? launchers::BridgeConnection() : document.accounts.front().way;
    return document.reader.value_or(first);
}

Result<Configuration> read_configuration(const std::filesystem::path& file) {
    Configuration configuration;
    configuration.file = file;
    CYBELE_TRY(const bool is_there, is_present(file, "the Bridge"));
    if (!is_there) {
        return fail(
            ErrorCode::kInput,
            problem("bridge-missing", "there is no Bridge document " + printable(file.native())),
            "it names the Site, and the accounts that each namespace may use",
            "name it with --config; `cybelectl explain bridge` shows one to begin with");
    }
    CYBELE_TRY(std::string text, read_file(file).map_error(during("reading the Bridge")));
    CYBELE_TRY(configuration.document, launchers::read_bridge(std::move(text), file));
    CYBELE_TRY(launchers::Site cluster, read_site_of(configuration.document));
    if (commands_of(cluster.dialect) == nullptr) {
        return fail(
            ErrorCode::kInput,
            problem("bridge-scheduler-unsupported",
                    "the bridge cannot use the scheduler '" + printable(cluster.dialect) + "'"),
            "it hands jobs over held, to slurm, torque, slurm-torque or pbspro",
            "name a Site of one of these in `site` of " + printable(file.native()));
    }
    if (configuration.document.virtual_nodes && cluster.queues.empty()) {
        return fail(ErrorCode::kInput,
                    problem("bridge-nodes-without-queues",
                            "`virtual-nodes` is set, and the Site lists no queues"),
                    "each node stands for a queue of the Site",
                    "add `queues` to " + printable(configuration.document.site.native()));
    }
    const auto uses_service = [](const launchers::BridgeAccount& row) {
        return !row.way.slurmrestd.empty();
    };
    if (cluster.dialect != "slurm" &&
        std::ranges::any_of(configuration.document.accounts, uses_service)) {
        return fail(ErrorCode::kInput,
                    problem("bridge-service-unsupported",
                            "`slurmrestd` is set, and the scheduler is '" +
                                printable(cluster.dialect) + "'"),
                    "it is a service of Slurm",
                    "use ssh or commands in " + printable(file.native()));
    }
    CYBELE_CHECK(check_queues(configuration.document, cluster));
    configuration.dialect = cluster.dialect;
    configuration.site = site_of(configuration.document, cluster);
    configuration.times.claim = configuration.document.hand_over_patience.count();
    configuration.times.keep_records = configuration.document.keep_records.count();
    if (cluster.patience) {
        configuration.times.vanished = cluster.patience->count();
    }
    configuration.cluster = std::move(cluster);
    return configuration;
}

} // namespace cybele::bridge
