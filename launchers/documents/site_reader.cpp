// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/expand_help.hpp"
#include "launchers/documents/job_fields.hpp"
#include "launchers/documents/job_options.hpp"
#include "launchers/documents/job_parts.hpp"
#include "launchers/documents/site.hpp"
#include "launchers/documents/site_templates.hpp"
#include "support/digest.hpp"
#include "support/document_view.hpp"
#include "support/duration.hpp"
#include "support/encoding.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <set>

namespace cybele::launchers {
namespace {

using document::Reading;
using document::View;

void read_scheduler(const View& root, Site& site) {
    const View scheduler = root.table("scheduler");
    site.dialect = scheduler.text("dialect");
    site.scheduler_version = scheduler.text("version");
    site.account_option = scheduler.text("account-option");
    if (scheduler.has("patience")) {
        site.patience = scheduler.duration("patience");
    }
    const View through = scheduler.table("through");
    for (const std::string_view way : {"ssh", "slurmrestd", "rimrock"}) {
        if (through.has(way)) {
            site.through = way;
        }
    }
    for (const std::string_view setting :
         {"ssh", "slurmrestd", "rimrock", "host", "token-command"}) {
        if (through.has(setting)) {
            site.through_settings[std::string(setting)] = through.text(setting);
        }
    }
}

void read_machines(const View& root, Site& site) {
    const View runtime = root.table("runtime");
    site.runtime = {runtime.text("program"),
                    runtime.text("version"),
                    runtime.text("path"),
                    runtime.text("mode")};
    const View node = root.table("node");
    site.node_arch = node.text("arch");
    site.node_glibc = node.text("glibc");
    for (const View& item : root.tables("mpi")) {
        site.mpi.push_back({item.text("family"),
                            item.text("version"),
                            item.text("prefix"),
                            item.text("launcher"),
                            item.list("modules")});
    }
    if (root.has("pmi")) {
        site.pmi = root.list("pmi");
    }
    if (root.has("interconnect")) {
        const View interconnect = root.table("interconnect");
        site.interconnect = interconnect.text("kind");
        site.interconnect_network = interconnect.text("network");
    }
    const View scratch = root.table("scratch");
    if (scratch.has("node")) {
        site.scratch_node = read_node_text(scratch.table("node"));
    }
}

SiteQueue read_queue(const View& view) {
    SiteQueue queue;
    queue.name = view.text("name");
    queue.nodes = view.maybe_count("nodes");
    queue.cores_per_node = view.maybe_count("cores-per-node");
    queue.memory_per_node_bytes = view.maybe_size("memory-per-node");
    queue.gpus_per_node = view.count("gpus-per-node");
    queue.gpu_type = view.text("gpu-type");
    queue.gpu_form = gpu_form_of(view.text("gpu-form"));
    queue.gpu_vendor = view.text("gpu-vendor");
    queue.time = view.maybe_duration("time");
    queue.max_time = view.maybe_duration("max-time");
    queue.features = view.list("features");
    queue.account = view.text("account");
    queue.qos = view.text("qos");
    queue.directives = read_directives(view.table("directives"));
    queue.modules = view.list("modules");
    queue.setup = read_setup(view);
    queue.teardown = read_teardown(view);
    return queue;
}

SiteKubernetes read_kubernetes(const View& view) {
    SiteKubernetes kubernetes;
    kubernetes.bridge = view.text("bridge");
    kubernetes.api_version = view.text("api-version");
    kubernetes.kind = view.text("kind");
    kubernetes.node_name = view.text("node-name");
    kubernetes.pod_cores = view.maybe_count("pod-cores");
    kubernetes.pod_memory_bytes = view.maybe_size("pod-memory");
    kubernetes.pod_time = view.maybe_duration("pod-time");
    if (view.has("connector")) {
        const View inner = view.table("connector");
        Connector connector;
        connector.image = inner.text("image");
        connector.backend = inner.text("backend");
        connector.credentials = inner.text("credentials");
        connector.monitoring_period = inner.duration("monitoring-period");
        connector.grace = inner.duration("grace");
        kubernetes.connector = std::move(connector);
    }
    return kubernetes;
}

void check_queues(Reading& reading, const View& root, const Site& site) {
    std::set<std::string> names;
    const auto views = root.tables("queues");
    for (std::size_t i = 0; i < site.queues.size(); ++i) {
        const SiteQueue& queue = site.queues[i];
        const std::string path = views[i].path();
        if (!reading.is_good(path)) {
            continue;
        }
        if (!names.insert(queue.name).second) {
            reading.complain(
                path + ".name",
                problem("queue-duplicate", "queue '" + queue.name + "' appears two times"),
                "its limits must be known",
                "remove it, or give it another name");
        }
        if (queue.max_time && queue.max_time->count() == 0) {
            reading.complain(path + ".max-time",
                             problem("queue-without-time", "'max-time' is 0"),
                             "no job could run in the queue",
                             "write for example `max-time: 2 d`, or leave it out");
        } else if (queue.time && queue.max_time && *queue.time > *queue.max_time) {
            reading.complain(path + ".time",
                             problem("queue-time-beyond-limit", "'time' is longer than 'max-time'"),
                             "jobs without a time of their own would be refused",
                             "write `time: " + format_duration(*queue.max_time) +
                                 "`, or raise `max-time`");
        }
    }
}

/// What other batch systems have no option for.
void check_payment(Reading& reading, const View& root, const Site& site) {
    const bool is_slurm = site.dialect == "slurm" || site.dialect == "slurm-torque";
    const auto refuse = [&](const std::string& path) {
        if (!is_slurm && reading.is_good("scheduler")) {
            reading.complain(
                path,
                problem("site-qos-dialect", "`qos` is not supported by " + site.dialect),
                "only Slurm has it as an option of a job",
                "remove `qos`, or write it as the batch system does, in `directives`");
        }
    };
    if (root.has("qos")) {
        refuse("qos");
    }
    const View scheduler = root.table("scheduler");
    if (site.account_option != "-A" && site.dialect != "pbspro" && reading.is_good("scheduler")) {
        reading.complain(
            scheduler.path("account-option"),
            problem("site-account-option", "`account-option` is not supported by " + site.dialect),
            "only PBS Pro has two options for who pays",
            "remove it");
    }
    for (const View& queue : root.tables("queues")) {
        if (queue.has("qos")) {
            refuse(queue.path() + ".qos");
        }
    }
}

/// Other variables would stand in the script as they are written.
void check_scratch(Reading& reading, const View& root, const Site& site) {
    const std::string& node = site.scratch_node.text;
    for (auto at = node.find('$'); !site.scratch_node.expands && at != std::string::npos;
         at = node.find('$', at + 1)) {
        constexpr std::string_view kLetters =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
        const auto end = std::min(node.find_first_not_of(kLetters, at + 1), node.size());
        const std::string name = node.substr(at, end - at);
        if (name != "$USER" && name != "$CYBELE_JOB") {
            reading.complain(
                root.table("scratch").path() + ".node",
                problem("scratch-variable", "'" + printable(name) + "' is not expanded here"),
                "the script expands `$USER` and `$CYBELE_JOB`, each as a part of the path",
                expand_help(node).empty() ? "write the folder itself, for example `/local/$USER`"
                                          : expand_help(node));
            return;
        }
    }
}

void check_through(Reading& reading, const View& root, const Site& site) {
    const View through = root.table("scheduler").table("through");
    if (!through.has("ssh") && site.through == "commands") {
        return;
    }
    const std::string& path = through.path();
    if (!reading.is_good(path)) {
        return;
    }
    if (site.through == "slurmrestd" && site.dialect != "slurm") {
        reading.complain(path,
                         problem("slurmrestd-dialect", "slurmrestd speaks for Slurm only"),
                         "the dialect is '" + site.dialect + "'",
                         "use `commands` or `{ssh: HOST}`");
    }
    if (site.through == "rimrock" && !through.has("host")) {
        reading.complain(path,
                         problem("rimrock-host-missing", "'host' is missing"),
                         "rimrock requires the login host",
                         "add `host: login.example.org`, with the name of your login host");
    }
    if (through.has("host") && site.through != "rimrock") {
        reading.complain(path + ".host",
                         problem("host-setting-unused", "'host' belongs to rimrock"),
                         "'" + site.through + "' names its host already",
                         "remove `host`");
    }
    if (through.has("token-command") && site.through == "ssh") {
        reading.complain(path + ".token-command",
                         problem("ssh-token-command", "'token-command' is not a setting of ssh"),
                         "ssh has its own keys",
                         "remove `token-command`");
    }
}

} // namespace

Result<Site> read_site(std::string text, const std::filesystem::path& file) {
    Site site;
    const Digest digest = sha256(text);
    CYBELE_TRY(Reading reading, Reading::open(site_kind(), std::move(text), file.string()));
    const View root = reading.root();
    site.name = root.text("name");
    read_scheduler(root, site);
    read_machines(root, site);
    for (const View& item : root.tables("queues")) {
        site.queues.push_back(read_queue(item));
    }
    site.account = root.text("account");
    site.qos = root.text("qos");
    site.modules = root.list("modules");
    site.setup = read_setup(root);
    site.teardown = read_teardown(root);
    site.directives = read_directives(root.table("directives"));
    site.binds = read_node_texts(root, "binds");
    site.environment = read_environment(root);
    const View verify = root.table("verify");
    site.verify_policy = verify.scalar();
    site.verify_keys = verify.list("keys");
    site.verify_require = verify.is_scalar() ? "any" : verify.text("require");
    if (root.has("kubernetes")) {
        site.kubernetes = read_kubernetes(root.table("kubernetes"));
    }
    site.folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
    if (root.has("templates") && reading.is_good("templates")) {
        site.templates = read_site_templates(reading, site.folder / root.text("templates"));
    }
    check_queues(reading, root, site);
    check_payment(reading, root, site);
    check_scratch(reading, root, site);
    check_through(reading, root, site);
    if (reading.faults().has_errors()) {
        return fail(reading.faults().take());
    }
    site.digest = hex(digest);
    site.source = reading.source();
    site.marks = reading.marks();
    return site;
}

} // namespace cybele::launchers
