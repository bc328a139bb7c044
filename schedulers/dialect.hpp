// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/plan.hpp"
#include "support/error.hpp"
#include "templates/renderer.hpp"

#include <map>
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
};

struct NeedRule {
    Service service = Service::kCannot;
    std::string value; ///< kDirective: the name by which the head's template carries it
    std::string because;
    std::string help;
};

/// A batch system's way to say things: `dialects/NAME.needs`, NAME.head.mustache,
/// NAME.place.mustache.
struct Dialect {
    std::string name;
    std::set<std::string> traits; ///< srun, node-file, queues, binds-cores, double-quotes
    std::map<std::string, NeedRule, std::less<>> needs;
    bool has_head = false;
    templates::TemplateSet templates; ///< shared texts, and this dialect's as dialect/{head,place}

    [[nodiscard]] bool has(std::string_view trait) const {
        return traits.contains(std::string(trait));
    }
    [[nodiscard]] launchers::PlaceTraits place() const;
};

/// An unknown name is kInput with the nearest known one.
[[nodiscard]] Result<Dialect> find_dialect(const std::string& name);

/// Reads a `.needs` table; a line that it does not know is kInternal with its number.
[[nodiscard]] Result<void> read_needs(std::string_view text, Dialect& into);

} // namespace cybele::schedulers
