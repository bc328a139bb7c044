// SPDX-License-Identifier: Apache-2.0
#include "launchers/mpi/judge.hpp"

#include "support/find.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

namespace cybele::compatibility {
namespace {

using enum Outcome;
using enum MpiLauncher;

/// The worse an outcome, the higher.
constexpr int badness(Outcome outcome) {
    constexpr std::array<int, 5> kBadness{0, 1, 3, 4, 2};
    return kBadness[static_cast<std::size_t>(outcome)];
}

const Rule& machine_rule(std::string_view id) {
    const auto rules = machine_rules();
    return *std::ranges::find(rules, id, &Rule::id);
}

bool speaks(const PmiSupport& pmi, Speaks wanted) {
    switch (wanted) {
    case Speaks::kAnything:
        return true;
    case Speaks::kPmix:
        return pmi.has_pmix;
    case Speaks::kPmi2:
        return pmi.has_pmi2;
    case Speaks::kNoPmi2:
        return !pmi.has_pmi2;
    }
    return false;
}

const Rule& pair_rule(const Image& image, const PmiSupport& pmi, const Host& host) {
    const Version version = parse_version(image.mpi.version);
    for (const PairRow& row : pair_rows()) {
        const bool is_for_nodes =
            row.nodes == Nodes::kAny || (row.nodes == Nodes::kSeveral) == host.has_several_nodes;
        if ((row.family.empty() || row.family == image.mpi.family) && row.image.holds(version) &&
            row.launcher == host.launcher && is_for_nodes && speaks(pmi, row.speaks)) {
            return row.rule;
        }
    }
    return machine_rule("pair/never-seen");
}

/// The launcher's PMIx: as stated (`pmix_v4` counts as 4), else what the host's Open MPI brings.
/// Open MPI 4.1 is left open: it was measured with PMIx 4.2.2, and its own is 3.2.5.
Version server_pmix(const Host& host) {
    constexpr std::string_view kPlugin = "pmix_v";
    std::string_view text = host.pmix;
    if (text.starts_with(kPlugin)) {
        text.remove_prefix(kPlugin.size());
    }
    const Version stated = parse_version(text);
    if (stated.is_known || host.launcher != kMpirunOpenmpi) {
        // A name without a second number may be any release of that series.
        Version server = stated;
        if (text.find('.') == std::string_view::npos && server.is_known) {
            server.numbers[1] = 9;
        }
        return server;
    }
    constexpr VersionRange kMeasured{"4.1", "4.1"};
    const Version mpi = parse_version(host.mpi.version);
    return mpi.is_known && kMeasured.holds(mpi) ? Version{} : parse_version(bundled_pmix(host.mpi));
}

const Rule* pmix_rule(const PmiSupport& pmi, const Host& host) {
    if (!pmi.has_pmix || (host.launcher != kMpirunOpenmpi && host.launcher != kSrunPmix)) {
        return nullptr;
    }
    const Version client = parse_version(pmi.pmix);
    const Version server = server_pmix(host);
    for (const PmixRow& row : pmix_rows()) {
        if (row.client.holds(client) && row.server.holds(server) &&
            (row.order == Order::kAny || client <= server)) {
            return &row.rule;
        }
    }
    return nullptr;
}

void add_circumstances(const Image& image, const Host& host, std::vector<const Rule*>& rules) {
    const Version version = parse_version(image.mpi.version);
    for (const CircumstanceRow& row : circumstance_rows()) {
        const bool is_there = contains(host.circumstances, row.circumstance);
        if (is_there && (row.family.empty() || row.family == image.mpi.family) &&
            row.image.holds(version) && (!row.is_for_pmi2 || host.launcher == kSrunPmi2)) {
            rules.push_back(&row.rule);
        }
    }
}

const TargetRow* find_target(std::string_view target) {
    const auto rows = target_rows();
    return find_row(rows, target, &TargetRow::target);
}

void add_machine(const Image& image, const Host& host, std::vector<const Rule*>& rules) {
    if (!image.architecture.empty() && !host.architecture.empty() &&
        image.architecture != host.architecture) {
        rules.push_back(&machine_rule("machine/architecture"));
        return;
    }
    const TargetRow* made_for = find_target(image.target);
    const TargetRow* processor = find_target(host.processor);
    if (made_for != nullptr && processor != nullptr &&
        (made_for->architecture != processor->architecture || made_for->level > processor->level)) {
        rules.push_back(&machine_rule("machine/target"));
    }
}

std::string_view soname_of(const MpiVersion& mpi) {
    const Version version = parse_version(mpi.version);
    for (const AbiRow& row : abi_rows()) {
        if (row.family == mpi.family && version.is_known && row.mpi.holds(version)) {
            return row.soname;
        }
    }
    return {};
}

/// `glibc 2.36` → its number; a bare number counts as glibc's.
std::pair<std::string_view, Version> libc_of(std::string_view text) {
    const auto blank = text.find(' ');
    if (blank == std::string_view::npos) {
        return {"glibc", parse_version(text)};
    }
    return {text.substr(0, blank), parse_version(text.substr(blank + 1))};
}

void add_bind(const Image& image, const Host& host, std::vector<const Rule*>& rules) {
    const auto inside = soname_of(image.mpi);
    const auto outside = soname_of(host.mpi);
    const bool is_known = !inside.empty() && !outside.empty();
    rules.push_back(&machine_rule(!is_known           ? "bind/abi-unknown"
                                  : inside == outside ? "bind/same-abi"
                                                      : "bind/other-abi"));
    const auto [image_libc, image_version] = libc_of(image.libc);
    const auto [host_libc, host_version] = libc_of(host.libc);
    if (!image_version.is_known || !host_version.is_known) {
        rules.push_back(&machine_rule("bind/libc-unknown"));
    } else if (image_libc != host_libc) {
        rules.push_back(&machine_rule("bind/musl"));
    } else if (image_version < host_version) {
        rules.push_back(&machine_rule("bind/libc-newer"));
    }
}

} // namespace

Judgement judge(const Image& image, const Host& host) {
    Judgement judgement;
    // In the bind model the ranks call the host's library, which finds its own launcher.
    Image seen = image;
    if (host.model == Model::kBind) {
        seen.mpi = host.mpi;
        seen.pmi = host.pmix.empty() ? std::string{} : "pmix " + host.pmix;
        add_bind(image, host, judgement.rules);
    }
    const PmiSupport pmi = pmi_of(seen.pmi, seen.mpi);
    judgement.rules.push_back(&pair_rule(seen, pmi, host));
    const Rule* wire = host.model == Model::kHybrid ? pmix_rule(pmi, host) : nullptr;
    if (wire != nullptr) {
        judgement.rules.push_back(wire);
    }
    add_circumstances(seen, host, judgement.rules);
    add_machine(image, host, judgement.rules);
    std::ranges::stable_sort(
        judgement.rules, std::greater{}, [](const Rule* rule) { return badness(rule->outcome); });
    judgement.outcome = judgement.rules.front()->outcome;
    for (const Rule* rule : judgement.rules) {
        for (const Option& option : rule->options) {
            const bool is_new = !contains(judgement.options, option);
            if (!option.variable.empty() && is_new) {
                judgement.options.push_back(option);
            }
        }
    }
    return judgement;
}

std::string_view library_of(const MpiVersion& mpi) {
    const auto soname = soname_of(mpi);
    return soname.substr(0, soname.find(' '));
}

std::string Judgement::text() const {
    return fmt::format(
        "{} ({}): {}", outcome_text(outcome), source_text(worst().source), worst().because);
}

} // namespace cybele::compatibility
