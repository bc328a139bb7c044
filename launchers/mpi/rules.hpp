// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/mpi/mpi.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::compatibility {

/// Where a rule comes from.
enum class Source {
    kRan,    ///< seen on the programs themselves
    kSource, ///< read in their source
    kDoc,    ///< documented, or told in an issue of theirs
};

/// A variable for the ranks' environment. An empty value stands for the Site's network
/// (`interconnect.network`).
struct Option {
    std::string_view variable;
    std::string_view value;
    bool operator==(const Option&) const = default;
};

struct Rule {
    std::string_view id; ///< `pair/openmpi-4-pmi2`: unique, told in the reference page
    Outcome outcome = Outcome::kUnknown;
    Source source = Source::kDoc;
    std::string_view because;
    std::string_view help; ///< empty only where it works
    std::array<Option, 3> options{};
};

/// What an image's MPI must speak for a row to hold.
enum class Speaks { kAnything, kPmix, kPmi2, kNoPmi2 };
enum class Nodes { kAny, kOne, kSeveral };

/// An image's MPI under a launcher; the first row that fits counts.
struct PairRow {
    std::string_view family;
    VersionRange image;
    Speaks speaks;
    MpiLauncher launcher;
    Nodes nodes;
    Rule rule;
};

enum class Order { kAny, kClientNotNewer };

/// PMIx of the image (client) against PMIx of the launcher (server); the first row that fits.
struct PmixRow {
    VersionRange client;
    VersionRange server;
    Order order;
    Rule rule;
};

/// What a runtime or a Site puts between launcher and ranks.
enum class Circumstance {
    kOwnUserNamespace, ///< each rank in one of its own
    kOwnPidNamespace,
    kOwnIpcNamespace,
    kOwnNetNamespace,
    kOwnUtsNamespace,
    kPrivateTmp,
    kPrivateShm,
    kClearedEnvironment,
    kClosedDescriptors,
    kMungeDemanded,       ///< the PMIx server names munge first, and the image has none
    kApptainerWithUserns, ///< Apptainer with --userns or without setuid
};

/// All rows that fit count.
struct CircumstanceRow {
    Circumstance circumstance;
    std::string_view family; ///< empty: any
    VersionRange image;
    bool is_for_pmi2; ///< only under srun with pmi2
    Rule rule;
};

/// The name of the library that programs of an MPI ask for: equal names may stand for each other.
struct AbiRow {
    std::string_view family;
    VersionRange mpi;
    std::string_view soname;
    Source source;
};

/// A processor that a compiler makes programs for.
struct TargetRow {
    std::string_view target;
    std::string_view architecture;
    unsigned level; ///< a processor runs what is of its own and of lower levels
};

[[nodiscard]] std::span<const PairRow> pair_rows();
[[nodiscard]] std::span<const PmixRow> pmix_rows();
[[nodiscard]] std::span<const CircumstanceRow> circumstance_rows();
[[nodiscard]] std::span<const AbiRow> abi_rows();
[[nodiscard]] std::span<const TargetRow> target_rows();
/// Rules of library, processor and bind model that judge() looks up by their id.
[[nodiscard]] std::span<const Rule> machine_rules();

/// What a runtime's option brings about: `--contain` two of them. Empty: nothing that matters.
[[nodiscard]] std::span<const Circumstance> circumstances_of(std::string_view runtime_option);

/// Settings of a user's own by which a runtime takes from ranks what their launcher tells them:
/// `APPTAINER_CLEANENV`, … An MPI launch unsets them.
[[nodiscard]] std::vector<std::string> misleading_settings();

/// "seen", "source", "documented".
[[nodiscard]] std::string_view source_text(Source source);
[[nodiscard]] std::string_view circumstance_text(Circumstance circumstance);

[[nodiscard]] std::vector<const Rule*> all_rules();
/// The rule of an id as `job check` tells it, or nothing.
[[nodiscard]] const Rule* find_rule(std::string_view id);
/// What `explain pair/openmpi-4-pmi2` prints.
[[nodiscard]] std::string explain_rule(const Rule& rule);
/// All rules as the table of docs/reference/mpi.md.
[[nodiscard]] std::string rules_page();

} // namespace cybele::compatibility
