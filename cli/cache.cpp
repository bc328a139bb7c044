// SPDX-License-Identifier: Apache-2.0
// `cache`: what builds keep for the next one.
#include "registry/cache.hpp"

#include "builder/keys.hpp"
#include "cli/cli11.hpp"
#include "cli/session.hpp"
#include "registry/known_files.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

using registry::Cache;
using registry::CacheEntry;

struct Options {
    std::string kind;
    std::string keep;
    unsigned days = 0;
    bool is_all = false;
    bool is_dry = false;
};

Result<Cache> open_cache(const Session& session) {
    CYBELE_TRY(const project::Settings settings, session.settings());
    const std::string chosen = settings.get("cache-dir");
    return Cache(chosen.empty() ? session.environment.cache_directory()
                                : std::filesystem::path(chosen));
}

std::vector<CacheEntry> entries_of(const Cache& cache, const std::string& kind) {
    std::vector<CacheEntry> list = cache.list();
    list.erase(std::remove_if(list.begin(),
                              list.end(),
                              [&](const CacheEntry& e) { return !kind.empty() && e.kind != kind; }),
               list.end());
    return list;
}

std::string in_megabytes(std::uint64_t bytes) {
    return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::string in_days(std::int64_t now, std::int64_t used) {
    constexpr std::int64_t kDay = 86400;
    const std::int64_t days = std::max<std::int64_t>(0, now - used) / kDay;
    return days == 0 ? "today" : fmt::format("{} day{} ago", days, days == 1 ? "" : "s");
}

/// What an entry holds, for people.
std::string title_of(const CacheEntry& entry) {
    const builder::KeptStep kept = builder::read_kept(entry.about);
    if (kept.step.empty()) {
        return "-";
    }
    const std::string file = std::filesystem::path(kept.definition).filename().native();
    return printable(kept.step) + " of " + printable(file) +
           (kept.text.empty() ? "" : ": " + printable(kept.text));
}

nlohmann::json json_of(const CacheEntry& entry) {
    const builder::KeptStep kept = builder::read_kept(entry.about);
    return {{"kind", entry.kind},
            {"key", entry.key},
            {"bytes", entry.bytes},
            {"used", entry.used},
            {"step", kept.step},
            {"definition", kept.definition},
            {"parent", kept.parent},
            {"text", kept.text}};
}

Result<int> list(Session& session, const Options& options) {
    CYBELE_TRY(const Cache cache, open_cache(session));
    const auto entries = entries_of(cache, options.kind);
    std::uint64_t total = 0;
    nlohmann::json rows = nlohmann::json::array();
    for (const CacheEntry& entry : entries) {
        total += entry.bytes;
        if (session.is_json()) {
            rows.push_back(json_of(entry));
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
        Session::print(document.dump(2) + "\n");
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
    const auto steps = entries_of(cache, "steps");
    if (session.is_json()) {
        nlohmann::json rows = nlohmann::json::array();
        std::transform(steps.begin(), steps.end(), std::back_inserter(rows), json_of);
        Session::print(nlohmann::json{{"format", 1}, {"steps", rows}}.dump(2) + "\n");
        return 0;
    }
    TreePrinter(steps).print("", 0);
    return 0;
}

/// "500M", "2G", bytes.
Result<std::uint64_t> parse_size(const std::string& text) {
    constexpr std::string_view kUnits = "KMGT";
    std::size_t used = 0;
    double number = -1;
    try {
        number = std::stod(text, &used);
    } catch (const std::exception&) {
        number = -1;
    }
    std::string unit = text.substr(std::min(used, text.size()));
    if (unit.ends_with("B")) {
        unit.pop_back();
    }
    const std::size_t power = unit.empty() ? 0 : kUnits.find(unit) + 1;
    if (!(number >= 0) || number > 1e15 || unit.size() > 1 || (power == 0 && !unit.empty())) {
        return fail(ErrorCode::kUsage,
                    "--keep takes a size, not '" + printable(text) + "'",
                    {},
                    "write --keep 500M, or --keep 2G");
    }
    return static_cast<std::uint64_t>(number * std::pow(1000.0, static_cast<double>(power)));
}

Result<int> prune(Session& session, const Options& options) {
    if (options.keep.empty() && options.days == 0 && !options.is_all) {
        return fail(ErrorCode::kUsage,
                    "nothing says what may go",
                    "pruning without a limit would remove everything",
                    "give --keep SIZE, --unused DAYS or --all");
    }
    std::uint64_t limit = 0;
    if (!options.keep.empty()) {
        CYBELE_TRY(limit, parse_size(options.keep));
    }
    CYBELE_TRY(const Cache cache, open_cache(session));
    auto entries = entries_of(cache, options.kind);
    std::stable_sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) {
        return a.used < b.used;
    });
    std::uint64_t total = 0;
    for (const CacheEntry& entry : entries) {
        total += entry.bytes;
    }
    constexpr std::int64_t kDay = 86400;
    const std::int64_t oldest =
        options.days == 0 ? 0 : Session::clock() - static_cast<std::int64_t>(options.days) * kDay;
    std::uint64_t freed = 0;
    std::size_t count = 0;
    std::size_t locked = 0;
    for (const CacheEntry& entry : entries) {
        const bool goes = options.is_all || (options.days > 0 && entry.used < oldest) ||
                          (!options.keep.empty() && total - freed > limit);
        if (!goes) {
            continue;
        }
        if (!options.is_dry && !Cache::remove(entry)) {
            ++locked;
            continue;
        }
        freed += entry.bytes;
        ++count;
    }
    if (options.kind.empty() && !options.is_dry && (options.is_all || options.days > 0)) {
        registry::KnownFiles::forget(cache.directory(),
                                     options.is_all ? std::nullopt : std::optional(oldest / kDay));
    }
    if (options.is_all && options.kind.empty() && !options.is_dry) {
        // Where earlier versions kept packages, by the name of a definition file.
        CYBELE_CHECK(remove_tree(cache.directory() / "debs"));
    }
    if (session.is_json()) {
        const nlohmann::json document{
            {"format", 1}, {"removed", count}, {"bytes", freed}, {"in_use", locked}};
        Session::print(document.dump(2) + "\n");
        return 0;
    }
    Session::print(fmt::format("{} {} {}, {}{}\n",
                               options.is_dry ? "would remove" : "removed",
                               count,
                               count == 1 ? "entry" : "entries",
                               in_megabytes(freed),
                               locked == 0 ? "" : fmt::format("; {} in use stay", locked)));
    return 0;
}

Result<int> verify(Session& session, const Options& options) {
    CYBELE_TRY(const Cache cache, open_cache(session));
    const auto entries = entries_of(cache, options.kind);
    nlohmann::json damaged = nlohmann::json::array();
    for (const CacheEntry& entry : entries) {
        if (Cache::is_whole(entry)) {
            continue;
        }
        damaged.push_back(entry.path.native());
        if (!session.is_json()) {
            Session::print("damaged " + printable(entry.path.native()) + "\n");
        }
        (void)Cache::remove(entry);
    }
    if (options.kind.empty()) {
        // What builds read lies elsewhere: the next one reads it again.
        registry::KnownFiles::forget(cache.directory(), std::nullopt);
    }
    if (session.is_json()) {
        const nlohmann::json document{
            {"format", 1}, {"entries", entries.size()}, {"damaged", damaged}};
        Session::print(document.dump(2) + "\n");
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
    auto options = std::make_shared<Options>();
    CLI::App* cache = add_verb(app, "cache", "Look at what builds keep for the next one.", {});
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
        verb->add_option("--kind", options->kind, "only these: bases, steps, images, packages")
            ->type_name("KIND");
    };
    add_kind(add("list",
                 "List the entries, with what each was made from.",
                 {"cybelectl cache list", "cybelectl cache list --kind steps"},
                 [&session, options] { return list(session, *options); }));
    add("tree", "Show which kept step lies on which.", {"cybelectl cache tree"}, [&session] {
        return tree(session);
    });
    CLI::App* prune_verb = add("prune",
                               "Remove what was not used for longest.",
                               {"cybelectl cache prune --keep 2G",
                                "cybelectl cache prune --unused 30",
                                "cybelectl cache prune --all"},
                               [&session, options] { return prune(session, *options); });
    add_kind(prune_verb);
    prune_verb->add_option("--keep", options->keep, "how much may stay, for example 2G")
        ->type_name("SIZE");
    prune_verb->add_option("--unused", options->days, "what was not used for so many days goes")
        ->type_name("DAYS")
        ->check(CLI::Range(1U, 36500U));
    prune_verb->add_flag("--all", options->is_all, "everything goes");
    prune_verb->add_flag("-n,--dry-run", options->is_dry, "only say what would go");
    add_kind(add("verify",
                 "Compare each entry with its digest; damaged ones are removed, digests of other "
                 "files forgotten.",
                 {"cybelectl cache verify"},
                 [&session, options] { return verify(session, *options); }));
}

} // namespace cybele::cli
