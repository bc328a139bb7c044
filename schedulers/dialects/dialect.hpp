// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/plan/plan.hpp"
#include "support/error.hpp"
#include "templates/renderer.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::schedulers {

/// How a dialect serves a need of a Job.
enum class Service {
    kDirective, ///< a directive of the head carries it
    kScript,    ///< the script's own code does
    kScheduler, ///< the scheduler reads it from the Job
    kCannot,    ///< refused: cannot be expressed
    kLater,     ///< refused: not yet
    kNothing,   ///< taken, without effect; told once
};

struct NeedRule {
    Service service = Service::kCannot;
    std::string value; ///< kDirective: the name by which the head's template carries it
    std::string because;
    std::string help;
    std::string before; ///< the version from which on another row counts; empty: none
};

/// The words that a dialect has for the forms of a field: of `array` range, step, list, single,
/// limit; of an `id` number, element, server, bracket; of a `log` and an `element-log` the pattern
/// (as in `output`) of the file that the batch system writes by itself when the job has ended.
struct FormRule {
    std::set<std::string> words;
    std::string before;
};

struct LimitRule {
    std::uint32_t most = 0;
    std::string before;
};

/// What one version of a batch system can express.
struct Rules {
    std::map<std::string, NeedRule, std::less<>> needs;
    std::map<std::string, FormRule, std::less<>> forms;
    std::map<std::string, LimitRule, std::less<>> limits; ///< name, array
};

/// A batch system's way to say things: `dialects/NAME.needs`, NAME.head.mustache,
/// NAME.place.mustache. The rules are those of the version, of the newest where it is not known.
struct Dialect : Rules {
    std::string name;
    std::string version;          ///< as the Site gives it; empty: not known
    std::string oldest_known;     ///< the oldest version that the table speaks of
    std::set<std::string> traits; ///< srun, node-file, queues, binds-cores, double-quotes, …
    std::optional<Rules> oldest;  ///< where the version is not known: those of the oldest
    bool has_head = false;
    templates::TemplateSet templates; ///< shared texts, and this dialect's as dialect/{head,place}

    [[nodiscard]] bool has(std::string_view trait) const {
        return traits.contains(std::string(trait));
    }
    [[nodiscard]] launchers::PlaceTraits place() const;
};

/// The dialect as that version of the batch system speaks it; empty: the newest. An unknown name is
/// kInput with the nearest known one.
[[nodiscard]] Result<Dialect> find_dialect(const std::string& name,
                                           const std::string& version = {});

/// The dialects' names, for messages and completion.
[[nodiscard]] std::vector<std::string> dialect_names();

/// Reads a `.needs` table; a line that it does not know is kInternal with its number.
[[nodiscard]] Result<void> read_needs(std::string_view text, Dialect& into);

/// Whether a version is older than another. Years count alike with and without their century
/// (PBS Pro went from 19 to 2020, OpenPBS goes on with 20).
[[nodiscard]] bool is_older(std::string_view version, std::string_view than);

} // namespace cybele::schedulers
