// SPDX-License-Identifier: Apache-2.0
// `cache`: what builds and starts keep for the next one.
#include "builder/pack/keys.hpp"
#include "cli/common/cli11.hpp"
#include "cli/common/session.hpp"
#include "cli/image/cache_entries.hpp"
#include "registry/cache/known_files.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

struct CacheOptions {
    std::string kind;
    std::string keep;
    unsigned days = 0;
    bool is_all = false;
    bool is_dry = false;
    bool is_tree = false;
};

std::string in_megabytes(std::uint64_t bytes) {
    return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

constexpr std::int64_t kCacheDay = 86400; // seconds

std::string in_days(std::int64_t now, std::int64_t used) {
    const std::int64_t days = std::max<std::int64_t>(0, now - used) / kCacheDay;
    return days == 0 ? "today" : fmt::format("{} day{} ago", days, days == 1 ? "" : "s");
}

/// What an entry holds, for people.
std::string title_of(const CacheEntry& entry) {
    if (entry.kind == kUnpacked) {
        return entry.about.empty() ? "-" : printable(entry.about);
    }
    const builder::KeptStep kept = builder::read_kept(entry.about);
    if (kept.step.empty()) {
        return "-";
    }
    const std::string file = std::filesystem::path(kept.definition).filename().native();
    return printable(kept.step) + " of " + printable(file) +
           (kept.text.empty() ? "" : ": " + printable(kept.text));
}

nlohmann::json cache_entry_json(const CacheEntry& entry) {
    nlohmann::json row = {
        {"kind", entry.kind}, {"key", entry.key}, {"bytes", entry.bytes}, {"used", entry.used}};
    if (entry.kind == kUnpacked) {
        row["image"] = printable(entry.about);
        return row;
    }
    const builder::KeptStep kept = builder::read_kept(entry.about);
    row.update({{"step", kept.step},
                {"definition", kept.definition},
                {"parent", kept.parent},
                {"text", kept.text}});
    return row;
}

Result<int> list_cache(Session& session, const CacheOptions& options) {
    CYBELE_CHECK(check_kind(options.kind));
    CYBELE_TRY(const Cache cache, open_cache(session));
    const auto entries = entries_of(session, cache, options.kind);
    std::uint64_t total = 0;
    nlohmann::json rows = nlohmann::json::array();
    for (const CacheEntry& entry : entries) {
        total += entry.bytes;
        if (session.is_json()) {
            rows.push_back(cache_entry_json(entry));
            continue;
        }
        Session::print(fmt::format("{:<9}{:<14}{:>10}  {:<12}  {}\n",
                                   entry.kind,
                                   entry.key.substr(0, 12),
                                   in_megabytes(entry.bytes),
                                   in_days(Session::clock(), entry.used),
                                   title_of(entry)));
    }
    if (session.is_json()) {
        const nlohmann::json document{{"format", 1},
                                      {"directory", cache.directory().native()},
                                      {"bytes", total},
                                      {"entries", rows}};
        Session::print(json_text(document) + "\n");
    } else {
        Session::print(fmt::format("{} {}, {}\n",
                                   entries.size(),
                                   entries.size() == 1 ? "entry" : "entries",
                                   in_megabytes(total)));
    }
    return 0;
}

class TreePrinter {
public:
    explicit TreePrinter(const std::vector<CacheEntry>& entries) {
        std::set<std::string> keys;
        for (const CacheEntry& entry : entries) {
            keys.insert(entry.key);
        }
        for (const CacheEntry& entry : entries) {
            const std::string parent = builder::read_kept(entry.about).parent;
            // What its parent was pruned from stands alone.
            children_[keys.count(parent) > 0 ? parent : ""].push_back(&entry);
        }
    }
    void print(const std::string& parent, std::size_t depth) {
        const auto found = children_.find(parent);
        if (found == children_.end() || depth > kDeepest) {
            return;
        }
        for (const CacheEntry* entry : found->second) {
            Session::print(fmt::format("{}{} {:>10}  {}\n",
                                       std::string(2 * depth, ' '),
                                       entry->key.substr(0, 12),
                                       in_megabytes(entry->bytes),
                                       title_of(*entry)));
            print(entry->key, depth + 1);
        }
    }

private:
    static constexpr std::size_t kDeepest = 1000;
    std::map<std::string, std::vector<const CacheEntry*>> children_;
};

Result<int> tree(Session& session) {
    CYBELE_TRY(const Cache cache, open_cache(session));
    const auto steps = kept_entries(cache, "steps");
    if (session.is_json()) {
        nlohmann::json rows = nlohmann::json::array();
        std::transform(steps.begin(), steps.end(), std::back_inserter(rows), cache_entry_json);
        Session::print(json_text(nlohmann::json{{"format", 1}, {"steps", rows}}) + "\n");
        return 0;
    }
    TreePrinter(steps).print("", 0);
    return 0;
}

struct Pruned {
    std::uint64_t bytes = 0;
    std::size_t count = 0;
    std::size_t locked = 0;
};

/// Unix seconds; what was used before goes. 0: no such limit.
std::int64_t oldest_of(const CacheOptions& options) {
    return options.days == 0
               ? 0
               : Session::clock() - static_cast<std::int64_t>(options.days) * kCacheDay;
}

/// The longest unused first; `limit`: see --keep.
Pruned
remove_some(std::vector<CacheEntry> entries, const CacheOptions& options, std::uint64_t limit) {
    std::ranges::stable_sort(entries, {}, &CacheEntry::used);
    std::uint64_t total = 0;
    for (const CacheEntry& entry : entries) {
        total += entry.bytes;
    }
    Pruned pruned;
    for (const CacheEntry& entry : entries) {
        const bool goes = options.is_all || (options.days > 0 && entry.used < oldest_of(options)) ||
                          (!options.keep.empty() && total - pruned.bytes > limit);
        if (!goes) {
            continue;
        }
        if (!options.is_dry && !remove_entry(entry)) {
            ++pruned.locked;
            continue;
        }
        pruned.bytes += entry.bytes;
        ++pruned.count;
    }
    return pruned;
}

/// What is no entry: digests of files, and what earlier versions kept.
Result<void> remove_rest(const Cache& cache, const CacheOptions& options) {
    if (!options.kind.empty() || options.is_dry) {
        return {};
    }
    if (options.is_all || options.days > 0) {
        registry::KnownFiles::forget(
            cache.directory(),
            options.is_all ? std::nullopt : std::optional(oldest_of(options) / kCacheDay));
    }
    // Packages by the name of a definition file.
    return options.is_all ? remove_tree(cache.directory() / "debs") : Result<void>();
}

Result<int> prune(Session& session, const CacheOptions& options) {
    if (options.keep.empty() && options.days == 0 && !options.is_all) {
        return fail(ErrorCode::kUsage,
                    problem("prune-without-limit", "nothing says what may go"),
                    "pruning without a limit would remove everything",
                    "give --keep SIZE, --unused DAYS or --all");
    }
    session.doing("looking for what can be removed");
    CYBELE_CHECK(check_kind(options.kind));
    std::uint64_t limit = 0;
    if (!options.keep.empty()) {
        CYBELE_TRY(limit, read_keep(options.keep));
    }
    CYBELE_TRY(const Cache cache, open_cache(session));
    const Pruned pruned = remove_some(entries_of(session, cache, options.kind), options, limit);
    CYBELE_CHECK(remove_rest(cache, options));
    if (session.is_json()) {
        const nlohmann::json document{{"format", 1},
                                      {"removed", pruned.count},
                                      {"bytes", pruned.bytes},
                                      {"in_use", pruned.locked}};
        Session::print(json_text(document) + "\n");
        return 0;
    }
    if (session.is_apptainer() && !options.is_dry) {
        return 0; // as by Apptainer, nothing is printed
    }
    Session::print(
        fmt::format("{} {} {}, {}{}\n",
                    options.is_dry ? "would remove" : "removed",
                    pruned.count,
                    pruned.count == 1 ? "entry" : "entries",
                    in_megabytes(pruned.bytes),
                    pruned.locked == 0 ? "" : fmt::format("; {} in use stay", pruned.locked)));
    return 0;
}

Result<int> verify_cache(Session& session, const CacheOptions& options) {
    session.doing("verifying the cache");
    CYBELE_CHECK(check_kind(options.kind));
    if (options.kind == kUnpacked) {
        return fail(ErrorCode::kUsage,
                    problem("unpacked-images-not-verifiable",
                            "images that were unpacked cannot be verified"),
                    "they are folders, of which no digest is stored",
                    "remove them: `cybelectl cache prune --kind unpacked --all`; the next start "
                    "unpacks the image again");
    }
    CYBELE_TRY(const Cache cache, open_cache(session));
    const auto entries = kept_entries(cache, options.kind);
    nlohmann::json damaged = nlohmann::json::array();
    for (const CacheEntry& entry : entries) {
        if (Cache::is_whole(entry)) {
            continue;
        }
        damaged.push_back(entry.path.native());
        if (!session.is_json()) {
            Session::print("damaged " + printable(entry.path.native()) + "\n");
        }
        (void)remove_entry(entry);
    }
    if (options.kind.empty()) {
        // What builds read lies elsewhere: the next one reads it again.
        registry::KnownFiles::forget(cache.directory(), std::nullopt);
    }
    if (session.is_json()) {
        const nlohmann::json document{
            {"format", 1}, {"entries", entries.size()}, {"damaged", damaged}};
        Session::print(json_text(document) + "\n");
    } else {
        Session::print(damaged.empty()
                           ? fmt::format("{} entries are as they were written\n", entries.size())
                           : fmt::format("{} of {} entries were damaged and are removed: the next "
                                         "build makes them again\n",
                                         damaged.size(),
                                         entries.size()));
    }
    return damaged.empty() ? 0 : static_cast<int>(ErrorCode::kInput);
}

} // namespace

void install_cache(CLI::App& app, Session& session) {
    auto options = std::make_shared<CacheOptions>();
    CLI::App* cache = add_verb(app,
                               "cache",
                               "Inspect and prune the caches of builds and container starts.",
                               {"cybelectl cache list", "cybelectl cache prune --unused 30"});
    cache->require_subcommand(1);
    const auto add = [&](const std::string& name,
                         const std::string& description,
                         const std::vector<std::string>& examples,
                         const std::function<Result<int>()>& work) {
        CLI::App* verb = add_verb(*cache, name, description, examples);
        add_format(*verb, session);
        verb->callback([&session, work] { session.action = work; });
        return verb;
    };
    const auto add_kind = [&](CLI::App* verb) {
        verb->add_option(
                "--kind",
                options->kind,
                "only this kind: bases, steps, failed, images, packages, unpacked (by starts)")
            ->type_name("KIND");
    };
    CLI::App* list_verb =
        add("list",
            "List the entries, with what each was made from.",
            {"cybelectl cache list",
             "cybelectl cache list --kind steps",
             "cybelectl cache list --tree"},
            [&session, options] {
                return options->is_tree ? tree(session) : list_cache(session, *options);
            });
    add_kind(list_verb);
    list_verb
        ->add_flag("--tree", options->is_tree, "show build steps as a tree, each below its parent")
        ->excludes(list_verb->get_option("--kind"));
    CLI::App* prune_verb = add("prune",
                               "Remove the least recently used entries.",
                               {"cybelectl cache prune --keep 2G",
                                "cybelectl cache prune --unused 30",
                                "cybelectl cache prune --all"},
                               [&session, options] { return prune(session, *options); });
    add_kind(prune_verb);
    CLI::Option* keep =
        prune_verb->add_option("--keep", options->keep, "size to keep, for example 2G")
            ->type_name("SIZE");
    CLI::Option* unused =
        prune_verb->add_option("--unused", options->days, "remove entries unused for DAYS days")
            ->type_name("DAYS")
            ->check(CLI::Range(1U, 36500U));
    prune_verb->add_flag("--all", options->is_all, "remove everything")
        ->excludes(keep)
        ->excludes(unused);
    prune_verb->add_flag("-n,--dry-run", options->is_dry, "show what would be removed");
    add_kind(add("verify",
                 "Compare each entry with its digest and remove damaged ones.",
                 {"cybelectl cache verify", "cybelectl cache verify --kind packages"},
                 [&session, options] { return verify_cache(session, *options); }));
}

} // namespace cybele::cli
