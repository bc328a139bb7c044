// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cybele::schedulers {

/// An invariant whose break is seen by reading: in some rendered script `from` becomes `to`, and
/// then find_breaks() must name the invariant.
struct ReadRow {
    std::string_view invariant;
    std::string_view mutant; ///< what is broken, for the page
    std::string_view from;
    std::string_view to;
};
[[nodiscard]] std::span<const ReadRow> read_rows();

/// An invariant whose break is seen by running: `holds` is true of the rendered script and false of
/// the mutant.
struct RunRow {
    std::string_view invariant;
    std::string_view test; ///< what is run, for the page
    std::string_view mutant;
    std::string_view from;
    std::string_view to;
    std::string (*script)();
    bool (*holds)(const std::string& script);
};
[[nodiscard]] std::span<const RunRow> run_rows();

/// Tests that lie elsewhere, with their mutants: file and name.
struct OtherRow {
    std::string_view invariant;
    std::string_view test;
    std::string_view mutant;
    std::string_view parts;
};
[[nodiscard]] std::span<const OtherRow> other_rows();

} // namespace cybele::schedulers
