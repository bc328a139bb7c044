// SPDX-License-Identifier: Apache-2.0
#include "bridge/objects/admission.hpp"

#include "bridge/objects/refusals.hpp"
#include "bridge/objects/refused_directives.hpp"
#include "schedulers/reading/asked.hpp"
#include "schedulers/reading/option_table.hpp"
#include "support/find.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

std::optional<Refusal> refused(std::string_view reason, std::string message) {
    return Refusal{std::string(reason), std::move(message)};
}

/// The row of the account; `refusal` says why there is none.
const AccountRow*
find_account(const Object& object, const Site& site, std::optional<Refusal>& refusal) {
    const AccountRow* only = nullptr;
    std::size_t count = 0;
    for (const AccountRow& row : site.accounts) {
        if (row.space != object.space) {
            continue;
        }
        ++count;
        only = &row;
        if (row.account == object.spec.account) {
            return only;
        }
    }
    if (count == 0) {
        refusal = refused(kNoAccount,
                          fmt::format("namespace {} has no account on the cluster", object.space));
    } else if (!object.spec.account.empty()) {
        refusal = refused(
            kAccountNotAdmitted,
            fmt::format("namespace {} cannot use account {}", object.space, object.spec.account));
    } else if (count > 1) {
        refusal = refused(kAccountAmbiguous,
                          fmt::format("namespace {} has {} accounts", object.space, count));
    }
    return refusal ? nullptr : only;
}

/// Whether a job of the object may belong to the account in its status.
bool has_account(const Object& object, const Site& site) {
    const std::string& account = object.status.account;
    return account.empty() || std::ranges::any_of(site.accounts, [&](const AccountRow& row) {
               return row.space == object.space && row.account == account;
           });
}

/// Flags that are written as one word: what follows the first would not be looked at.
bool is_bundle(const schedulers::Directive& directive, schedulers::Reader reader) {
    const auto* row = schedulers::find_option(reader, directive.option);
    return row != nullptr && row->takes == schedulers::OptionValue::kNothing && directive.has_value;
}

std::optional<Refusal> refusal_of_script(const schedulers::BatchScript& script) {
    for (const schedulers::Directive& directive : script.directives) {
        const RefusedDirective* row = find_refused(directive);
        if (row == nullptr && !is_bundle(directive, script.reader)) {
            continue;
        }
        return refused(
            kDirectiveRefused,
            fmt::format("line {}: {}: {}",
                        directive.line,
                        printable(directive.option),
                        row != nullptr ? row->because : "write each option as a word of its own"));
    }
    for (const schedulers::SuspectLine& odd : script.odd) {
        if (odd.why == schedulers::SuspectLine::Why::kExtra &&
            (odd.text == "hetjob" || odd.text == "packjob")) {
            return refused(kDirectiveRefused,
                           fmt::format("line {}: {}: one object is one job, and a heterogeneous "
                                       "job is several",
                                       odd.line,
                                       odd.text));
        }
    }
    return std::nullopt;
}

/// sbatch reads `#PBS` lines after commands, too. The others are left empty, so that lines keep
/// their numbers.
std::string lines_of_pbs(const std::string& script) {
    std::string kept = "#!/bin/sh\n";
    bool is_first = true;
    for (const std::string_view line : text::split(script, '\n')) {
        if (!std::exchange(is_first, false)) {
            kept += text::trimmed(line).starts_with("#PBS") ? line : "";
            kept += '\n';
        }
    }
    return kept;
}

std::optional<Refusal> refusal_of_sbatch(const std::string& script) {
    using schedulers::Reader;
    const std::string of_pbs = lines_of_pbs(script);
    const std::pair<const std::string*, Reader> texts[] = {
        {&script, Reader::kSlurm}, {&of_pbs, Reader::kTorque}, {&of_pbs, Reader::kPbspro}};
    for (const auto& [text, reader] : texts) {
        const auto read = schedulers::read_batch_script(*text, "spec.batch", reader);
        if (auto refusal = read ? refusal_of_script(*read) : std::nullopt) {
            return refusal;
        }
    }
    return std::nullopt;
}

/// A partition list of Slurm names several, one of which is enough.
std::vector<std::string>
queues_of(const Object& object, const schedulers::Asked& asked, const Site& site) {
    std::string list = !object.spec.queue.empty() ? object.spec.queue : asked.queue;
    list = list.empty() ? site.default_queue : list;
    std::vector<std::string> queues;
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        queues.push_back(list.substr(0, comma));
        list.erase(0, comma + 1);
    }
    return queues;
}

template <class Number>
std::optional<Refusal>
too_much(std::string_view what, Number wanted, const QueueLimits& queue, Number most) {
    return refused(
        kQueueLimit,
        fmt::format(
            "the job asks for {} {}, and queue {} has at most {}", wanted, what, queue.name, most));
}

std::optional<Refusal> refusal_of_limits(const schedulers::Asked& asked, const QueueLimits& queue) {
    if (queue.nodes && asked.nodes > *queue.nodes) {
        return too_much("nodes", asked.nodes, queue, *queue.nodes);
    }
    if (queue.time && asked.time && *asked.time > *queue.time) {
        return too_much("seconds", asked.time->count(), queue, queue.time->count());
    }
    if (queue.memory_per_node && asked.memory_per_node &&
        *asked.memory_per_node > *queue.memory_per_node) {
        return too_much(
            "bytes of memory per node", *asked.memory_per_node, queue, *queue.memory_per_node);
    }
    return std::nullopt;
}

const QueueLimits* find_queue(const Site& site, const std::string& name) {
    return find_row(site.queues, name, &QueueLimits::name);
}

/// Refused where no queue of the list fits; the first says why.
std::optional<Refusal> refusal_of_queues(const std::vector<std::string>& queues,
                                         const schedulers::Asked& asked,
                                         const AccountRow& row,
                                         const Site& site) {
    if (queues.empty() && !row.queues.empty()) { // the batch system would choose any of its own
        return refused(kQueueNotAdmitted,
                       fmt::format("the object names no queue, and account {} can use {} only",
                                   row.account,
                                   fmt::join(row.queues, ", ")));
    }
    for (const std::string& name : queues) {
        if (!row.queues.empty() && !contains(row.queues, name)) {
            return refused(
                kQueueNotAdmitted,
                fmt::format("account {} cannot use queue {}", row.account, printable(name)));
        }
    }
    std::optional<Refusal> first;
    for (const std::string& name : queues) {
        const QueueLimits* known = find_queue(site, name);
        auto refusal = known == nullptr ? std::nullopt : refusal_of_limits(asked, *known);
        if (!refusal) {
            return std::nullopt;
        }
        first = first ? first : std::move(refusal);
    }
    return first;
}

/// Of a queue that the Site does not list, the name is known.
bool has_label(const Site& site,
               const std::string& name,
               const std::string& key,
               const std::string& value) {
    const QueueLimits* queue = find_queue(site, name);
    if (queue == nullptr && (key == "wlm.sylabs.io/partition" || key == "cybelectl.io/queue")) {
        return value == name;
    }
    const auto& labels = queue != nullptr ? queue->labels : site.labels;
    const auto found = labels.find(key);
    return found != labels.end() && found->second == value;
}

/// The batch system chooses any queue of the list: each must have the labels.
std::optional<Refusal>
refusal_of_selector(const Object& object, std::vector<std::string> queues, const Site& site) {
    if (queues.empty()) {
        queues.emplace_back(); // the batch system's default
    }
    for (const auto& [key, value] : object.spec.node_selector) {
        for (const std::string& name : queues) {
            if (!has_label(site, name, key, value)) {
                return refused(
                    kSelectorNotMet,
                    fmt::format("{} does not have the label {}={}",
                                name.empty() ? "the default queue" : "queue " + printable(name),
                                printable(key),
                                printable(value)));
            }
        }
    }
    return std::nullopt;
}

/// Whether the path is a folder of the list, or below one. Symbolic links are looked at where the
/// copy is made.
bool is_below(const std::vector<std::string>& roots, const std::string& path) {
    const bool is_plain = path.starts_with('/') && (path + "/").find("/../") == std::string::npos;
    return is_plain && std::ranges::any_of(roots, [&](const std::string& root) {
               return path == root || path.starts_with(root.ends_with('/') ? root : root + "/");
           });
}

std::optional<Refusal> refusal_of_results(const Object& object, const AccountRow& row) {
    if (!object.spec.results) {
        return std::nullopt;
    }
    const auto mount = parse_json(object.spec.results->mount);
    if (!mount.is_object() || !mount.contains("hostPath")) {
        return std::nullopt;
    }
    const auto& volume = mount["hostPath"];
    const std::string path =
        volume.is_object() && volume.contains("path") && volume["path"].is_string()
            ? volume["path"].get<std::string>()
            : "";
    if (is_below(row.results_roots, path)) {
        return std::nullopt;
    }
    return refused(kResultsRootNotAdmitted,
                   fmt::format("results of account {} can be copied below [{}] only, not to '{}'",
                               row.account,
                               fmt::join(row.results_roots, ", "),
                               printable(path)));
}

} // namespace

Admitted admit(const Object& object, const Site& site) {
    Admitted admitted;
    admitted.has_account = has_account(object, site);
    if (object.refusal) {
        admitted.refusal = object.refusal;
        return admitted;
    }
    if (object.kind != site.kind) {
        admitted.refusal = refused(
            kWrongSystem, fmt::format("this bridge runs {} objects only", kind_text(site.kind)));
        return admitted;
    }
    const AccountRow* row = find_account(object, site, admitted.refusal);
    if (row == nullptr) {
        return admitted;
    }
    admitted.account = row->account;
    const auto reader =
        site.kind == Kind::kSlurmJob ? schedulers::Reader::kSlurm : schedulers::Reader::kTorque;
    const auto script = schedulers::read_batch_script(object.spec.batch, "spec.batch", reader);
    if (!script) {
        admitted.refusal = refused(kScriptNotText, script.error().message());
        return admitted;
    }
    admitted.refusal = refusal_of_script(*script);
    if (!admitted.refusal && site.is_read_by_sbatch) {
        admitted.refusal = refusal_of_sbatch(object.spec.batch);
    }
    if (!admitted.refusal) {
        const schedulers::Asked asked = schedulers::what_is_asked(*script);
        const std::vector<std::string> queues = queues_of(object, asked, site);
        admitted.refusal = refusal_of_queues(queues, asked, *row, site);
        if (!admitted.refusal) {
            admitted.refusal = refusal_of_selector(object, queues, site);
        }
    }
    if (!admitted.refusal) {
        admitted.refusal = refusal_of_results(object, *row);
    }
    return admitted;
}

} // namespace cybele::bridge
