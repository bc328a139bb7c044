// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/batch_fields.hpp"
#include "schedulers/reading/typed_body.hpp"
#include "schedulers/reading/typed_words.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cybele::schedulers {

/// What is asked for, as numbers.
struct Place {
    std::uint64_t nodes = 1;
    std::uint64_t tasks = 1;
    std::uint64_t cpus = 1;
    bool is_exact = true; ///< false: the scheduler chooses nodes or tasks
};
[[nodiscard]] Place place_of_options(const BatchOptions& options);

/// Variables that the shells of our script read themselves, which set-up may not change.
[[nodiscard]] bool is_of_shell(std::string_view name);

/// These, and variables of our script, which set-up may not declare.
[[nodiscard]] bool is_our_variable(std::string_view name);

/// Variables that neither the runtime nor our script sets.
[[nodiscard]] bool is_harmless_variable(std::string_view name);

/// The lines before a launch, as the fields that say the same.
struct TypedSetup {
    std::vector<std::string> modules;
    std::string text; ///< of `setup`: what has no field, in order
    std::map<std::string, std::string> environment;
    std::optional<std::uint64_t> threads;
    Constants constants;            ///< what the launch's own words may name
    std::set<std::string> exported; ///< what each process that the script starts has
    std::string last_options;       ///< `set -e` and its like that no line of `text` comes after
    bool reads_elsewhere = false;   ///< `source`, `eval` and their like may set any variable
    bool loads_any_module = false;  ///< a module that may set what a container of ours hides
    bool keeps_threads = false;     ///< the text sets the number, among lines that may do so, too
    bool enters_submit_directory = false;
    bool changes_directory = false;    ///< to one that the launch starts in
    bool hides_from_container = false; ///< it sets what a container of ours would not see
    bool steers_launcher = false;      ///< it sets what a launcher reads …
    bool steers_srun = false;          ///< … `srun`
};

/// Unset where the set-up could not come before a launch of ours: it changes the directory, or sets
/// what our script sets itself; `why` names the line.
[[nodiscard]] std::optional<TypedSetup> typed_setup(const BatchScript& script,
                                                    const BatchOptions& options,
                                                    const Body& body,
                                                    const Place& place,
                                                    std::vector<Remainder>& why);

} // namespace cybele::schedulers
