// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What linters share: rules, what they find, and the forms in which it is told.
namespace cybele::lint {

/// An error breaks what is checked, a warning may, a note is advice.
enum class Severity { kError, kWarning, kNote };
[[nodiscard]] std::string_view to_string(Severity severity);

struct Rule {
    std::string_view id; ///< "CD012"
    Severity severity = Severity::kWarning;
    std::string_view title;  ///< a few words
    std::string_view why;    ///< what happens, one sentence
    std::string_view fix;    ///< imperative
    std::string_view source; ///< section or trap of the notes that it comes from
};

/// One fault or trap, with the rule that it breaks.
struct Finding {
    std::string_view rule;
    Fault fault;
    bool is_refusal = false; ///< Apptainer refuses the file for it
};

/// Collects findings in the order in which they are met.
class Findings {
public:
    void add(std::string_view rule, Fault fault) {
        fault.id = rule;
        all_.push_back({rule, std::move(fault), false});
    }
    /// `place` with its texts.
    void add(std::string_view rule,
             Fault place,
             std::string message,
             std::string because,
             std::string help) {
        place.message = std::move(message);
        place.because = std::move(because);
        place.help = std::move(help);
        add(rule, std::move(place));
    }
    [[nodiscard]] bool empty() const {
        return all_.empty();
    }
    [[nodiscard]] std::size_t size() const {
        return all_.size();
    }
    [[nodiscard]] std::vector<Finding>& all() {
        return all_;
    }
    [[nodiscard]] const std::vector<Finding>& all() const {
        return all_;
    }

private:
    std::vector<Finding> all_;
};

/// What was found in one file.
struct FileFindings {
    std::string file;
    bool is_accepted = true;
    const std::vector<Finding>* findings = nullptr;
};

using FindRule = const Rule* (*)(std::string_view id);

/// As a person reads it: each finding as faults are shown, with its rule behind the severity.
[[nodiscard]] std::string
text_of(const std::vector<Finding>& findings, FindRule find_rule, bool is_coloured);
/// {"format":1,"files":[{"file","accepted","findings":[{rule, severity, message, line, …}]}]}
[[nodiscard]] std::string json_of(const std::vector<FileFindings>& files, FindRule find_rule);
/// SARIF 2.1.0, for code review.
[[nodiscard]] std::string sarif_of(const std::vector<FileFindings>& files,
                                   std::span<const Rule* const> rules,
                                   FindRule find_rule);
/// The same of faults, whose names are their rules; `file` is where those without a place belong.
[[nodiscard]] std::string sarif_of(const std::vector<Fault>& faults, const std::string& file);

/// The rules as a Markdown table.
[[nodiscard]] std::string table_of(std::span<const Rule* const> rules);

} // namespace cybele::lint
