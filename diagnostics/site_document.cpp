// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/site_probe.hpp"
#include "support/document.hpp"
#include "support/duration.hpp"
#include "support/size.hpp"
#include "support/yaml_print.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::diagnostics {
namespace {

using launchers::Site;

/// `{a: "x", b: "y"}` of what is known.
std::string flow(const std::vector<std::pair<std::string_view, std::string>>& fields) {
    std::string text;
    for (const auto& [name, value] : fields) {
        if (!value.empty()) {
            text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, value);
        }
    }
    return "{" + text + "}";
}

std::string quoted(const std::string& text) {
    return text.empty() ? std::string() : yaml::double_quoted(text);
}

std::string list(const std::vector<std::string>& items) {
    std::string text;
    for (const auto& item : items) {
        text += (text.empty() ? "" : ", ") + yaml::double_quoted(item);
    }
    return "[" + text + "]";
}

std::string queue_text(const launchers::SiteQueue& queue) {
    const auto count = [](const std::optional<std::uint32_t>& value) {
        return value && *value > 0 ? std::to_string(*value) : std::string();
    };
    return flow(
        {{"name", quoted(queue.name)},
         {"nodes", count(queue.nodes)},
         {"cores-per-node", count(queue.cores_per_node)},
         {"memory-per-node",
          queue.memory_per_node_bytes ? format_size(*queue.memory_per_node_bytes) : ""},
         {"gpus-per-node", queue.gpus_per_node == 0 ? "" : std::to_string(queue.gpus_per_node)},
         {"gpu-type", quoted(queue.gpu_type)},
         {"gpu-vendor", queue.gpu_vendor},
         {"max-time", queue.max_time ? format_duration(*queue.max_time) : ""},
         {"features", queue.features.empty() ? "" : list(queue.features)}});
}

struct Difference {
    std::string_view field;
    std::string written;
    std::string here;
};

std::vector<Difference> differences_of(const Site& site, const Site& here) {
    const auto mpi = [](const Site& some) {
        return some.mpi.empty() ? std::string()
                                : some.mpi.front().family + " " + some.mpi.front().version;
    };
    const auto pmi = [](const Site& some) {
        return some.pmi ? fmt::format("{}", fmt::join(*some.pmi, " ")) : std::string();
    };
    return {{"scheduler.dialect", site.dialect, here.dialect},
            {"scheduler.version", site.scheduler_version, here.scheduler_version},
            {"runtime.program", site.runtime.program, here.runtime.program},
            {"runtime.version", site.runtime.version, here.runtime.version},
            {"runtime.mode", site.runtime.mode, here.runtime.mode},
            {"node.arch", site.node_arch, here.node_arch},
            {"node.glibc", site.node_glibc, here.node_glibc},
            {"mpi", mpi(site), mpi(here)},
            {"pmi", pmi(site), pmi(here)}};
}

/// What the Site says and this machine's programs do not: one note.
void note_not_compared(const Site& site, const Site& here, Faults& faults) {
    std::string names;
    std::string_view first;
    const auto add = [&](std::string_view field) {
        first = names.empty() ? field : first;
        names += fmt::format("{}`{}`", names.empty() ? "" : ", ", field);
    };
    for (const Difference& one : differences_of(site, here)) {
        if (one.here.empty() && !one.written.empty()) {
            add(one.field);
        }
    }
    if (!site.queues.empty() && here.queues.empty()) {
        add("queues");
    }
    if (names.empty()) {
        return;
    }
    Fault note = document::fault_at(
        site.source,
        document::mark_of(site.marks, first),
        problem("site-not-compared", fmt::format("not compared with this machine: {}", names)),
        "the programs that could say it are not here, or did not answer",
        "run the check where they answer: see `cybelectl site probe`");
    note.is_warning = true;
    faults.add(std::move(note));
}

void compare_queues(const Site& site, const Site& here, Faults& faults) {
    for (std::size_t index = 0; index < site.queues.size() && !here.queues.empty(); ++index) {
        const std::string& name = site.queues[index].name;
        const bool is_here =
            std::ranges::any_of(here.queues, [&](const auto& queue) { return queue.name == name; });
        if (!is_here) {
            faults.add(document::fault_at(
                site.source,
                document::mark_of(site.marks, fmt::format("queues[{}].name", index)),
                problem("site-queue-missing", fmt::format("there is no queue '{}' here", name)),
                "`sinfo` does not list it",
                "drop it, or run the check where that batch system is"));
        }
    }
}

} // namespace

std::string write_site(const ProbedSite& probed) {
    const Site& site = probed.site;
    const auto origin = [&](std::string_view field) {
        const auto found = std::ranges::find_if(
            probed.origins, [&](const auto& one) { return one.first == field; });
        return found == probed.origins.end() ? std::string() : "  # " + found->second;
    };
    std::string text =
        "# Facts of this place, as `cybelectl site probe` found them; edit what it cannot see.\n"
        "kind: Site\nname: " +
        site.name + "\n";
    const auto line = [&](std::string_view field, const std::string& value) {
        text += fmt::format("{}: {}{}\n", field, value, origin(field));
    };
    line("scheduler",
         flow({{"dialect", site.dialect}, {"version", quoted(site.scheduler_version)}}));
    if (!site.runtime.program.empty()) {
        line("runtime",
             flow({{"program", site.runtime.program},
                   {"version", quoted(site.runtime.version)},
                   {"mode", site.runtime.mode}}));
    }
    line("node", flow({{"arch", quoted(site.node_arch)}, {"glibc", quoted(site.node_glibc)}}));
    if (!site.mpi.empty()) {
        const auto& mpi = site.mpi.front();
        line("mpi",
             "[" +
                 flow({{"family", mpi.family},
                       {"version", quoted(mpi.version)},
                       {"prefix", quoted(mpi.prefix)}}) +
                 "]");
    }
    if (site.pmi) {
        line("pmi", list(*site.pmi));
    }
    if (site.interconnect != "ethernet") {
        line("interconnect", flow({{"kind", site.interconnect}}));
    }
    if (!site.scratch_node.text.empty()) {
        line("scratch", flow({{"node", quoted(site.scratch_node.text)}}));
    }
    if (!site.queues.empty()) {
        text += "queues:" + origin("queues") + "\n";
        for (const auto& queue : site.queues) {
            text += "  - " + queue_text(queue) + "\n";
        }
    }
    if (!probed.libpmix.empty()) {
        text += "# PMIx library of this machine: " + probed.libpmix + "\n";
    }
    return text;
}

Faults compare_site(const Site& site, const ProbedSite& probed) {
    Faults faults;
    if (site.through != "commands") {
        Fault note = document::fault_at(site.source,
                                        document::mark_of(site.marks, "scheduler.through"),
                                        problem("site-elsewhere", "not compared with this machine"),
                                        "its batch system is reached by " + site.through,
                                        "compare it on a login node of that cluster");
        note.is_warning = true;
        faults.add(std::move(note));
        return faults;
    }
    for (const Difference& one : differences_of(site, probed.site)) {
        const auto mark = document::mark_of(site.marks, one.field);
        if (one.here.empty() || one.written == one.here) {
            continue;
        }
        Fault fault = document::fault_at(
            site.source,
            mark,
            problem("site-differs",
                    one.written.empty()
                        ? fmt::format("the Site does not say `{}`", one.field)
                        : fmt::format("`{}` is '{}' in the Site", one.field, one.written)),
            fmt::format("this machine has '{}'", one.here),
            one.written.empty()
                ? "add what `cybelectl site probe` writes for it, so that jobs are checked by it"
                : "fix the Site, or run the check where its jobs run");
        fault.is_warning = one.written.empty();
        faults.add(std::move(fault));
    }
    compare_queues(site, probed.site, faults);
    note_not_compared(site, probed.site, faults);
    return faults;
}

} // namespace cybele::diagnostics
