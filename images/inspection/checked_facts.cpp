// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/checked_facts.hpp"

#include "images/inspection/binary_text.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include <fmt/format.h>

namespace cybele::images {
namespace {

/// Something found, in the form of a label: "openmpi 4.1.4".
struct Finding {
    std::string text;
    std::string path;
};
using Findings = std::vector<Finding>;

/// How a file of a clue tells its version: by a text in its bytes, or by its name.
struct Source {
    Evidence clue;
    std::string_view family;  ///< first word of the label; empty: the version alone
    std::string_view marker;  ///< must stand in the file's texts; empty: none needed
    std::string_view before;  ///< the version follows this text; empty: a text that is a version
    std::string_view in_name; ///< the version follows this in the file's name
};
constexpr std::array kSources = {
    Source{Evidence::kGlibc, "glibc", "", "stable release version ", ""},
    Source{Evidence::kMpi, "mvapich2", "MVAPICH2 Version", "", ""},
    Source{Evidence::kMpi, "intel", "Intel(R) MPI Library", "Intel(R) MPI Library ", ""},
    Source{Evidence::kMpi, "mpich", "MPICH Version", "", ""},
    Source{Evidence::kMpi, "openmpi", "Open MPI v", "", ""},
    Source{Evidence::kPmix, "pmix", "", "OpenPMIx ", ""},
    Source{Evidence::kPmix, "pmix", "", "PMIx ", ""},
    Source{Evidence::kMusl, "musl", "", "", ""},
    Source{Evidence::kPython, "", "", "", "python"},
    Source{Evidence::kJava, "", "", "JAVA_VERSION=\"", ""},
    Source{Evidence::kCuda, "cuda", "", "", "libcudart.so."},
    Source{Evidence::kSpark, "", "", "", "-"},
};

struct ClueFact {
    const char* name;
    Evidence clue;
    Evidence other; ///< of the same fact
};
constexpr std::array kClueFacts = {
    ClueFact{"libc", Evidence::kGlibc, Evidence::kMusl},
    ClueFact{"mpi", Evidence::kMpi, Evidence::kMpi},
    ClueFact{"pmi", Evidence::kPmix, Evidence::kPmix},
    ClueFact{"gpu", Evidence::kCuda, Evidence::kCuda},
    ClueFact{"python", Evidence::kPython, Evidence::kPython},
    ClueFact{"java", Evidence::kJava, Evidence::kJava},
    ClueFact{"spark", Evidence::kSpark, Evidence::kSpark},
};
constexpr std::array kPathFacts = {"mpi-prefix", "mpi-probe"};

std::string version_in_name(std::string_view name, std::string_view before) {
    const auto at = before == "-" ? name.rfind(before) : name.find(before);
    return at == std::string_view::npos ? std::string{}
                                        : leading_version(name.substr(at + before.size()));
}

// `python3.11` says 3.11, and in its bytes 3.11.2; `python3.11-config` is another program.
Result<std::string> python_version(const FoundFile& file) {
    const auto named = version_in_name(file.node->name(), "python");
    if (named.empty() || !file.node->name().ends_with(named)) {
        return std::string{};
    }
    CYBELE_TRY(const auto told, find_version(*file.node, {}));
    return told.starts_with(named + ".") ? told : named;
}

Result<std::string> version_by(const Source& source, const FoundFile& file) {
    if (source.clue == Evidence::kPython) {
        return python_version(file);
    }
    if (!source.in_name.empty()) {
        return version_in_name(file.node->name(), source.in_name);
    }
    TextSearch search;
    search.marker = source.marker;
    search.before = source.before;
    return find_version(*file.node, search);
}

// A program of another kind may have the name: java's `release` without JAVA_VERSION says nothing.
Result<Findings> findings_of(const Survey& survey, Evidence clue) {
    Findings findings;
    const auto files = survey.find(clue);
    if (files == survey.end()) {
        return findings;
    }
    for (const auto& file : files->second) {
        for (const auto& source : kSources) {
            if (source.clue != clue) {
                continue;
            }
            CYBELE_TRY(const auto version, version_by(source, file));
            if (!version.empty()) {
                auto text =
                    source.family.empty() ? version : fmt::format("{} {}", source.family, version);
                findings.push_back({std::move(text), file.path});
                break;
            }
        }
    }
    return findings;
}

// "4.1.4" is "4.1", and "4.2.2rc2" is "4.2.2"; "3.11" is not "3.1". Families must be the same.
bool agrees(std::string_view label, std::string_view found) {
    if (!found.starts_with(label)) {
        return false;
    }
    return found.size() == label.size() ||
           std::isdigit(static_cast<unsigned char>(found[label.size()])) == 0;
}

std::string first_word(std::string_view text) {
    return std::string(text.substr(0, text.find(' ')));
}

// A label of another family than any that can be found (pmi2 beside pmix) is not judged by it.
bool is_comparable(std::string_view label, const Findings& findings, std::string_view fact) {
    return fact != "pmi" || std::ranges::any_of(findings, [&](const Finding& one) {
               return first_word(one.text) == first_word(label);
           });
}

CheckedFact check_fact(const ClueFact& fact, std::string label, const Findings& findings) {
    CheckedFact checked;
    checked.name = fact.name;
    checked.label = std::move(label);
    std::vector<std::string> texts;
    for (const auto& finding : findings) {
        if (!contains(texts, finding.text)) {
            texts.push_back(finding.text);
        }
    }
    checked.found = fmt::format("{}", fmt::join(texts, ", "));
    checked.path = findings.empty() ? "" : findings.front().path;
    if (checked.label.empty()) {
        checked.verdict = findings.empty() ? Verdict::kUnknown : Verdict::kUnlabelled;
    } else if (findings.empty() || !is_comparable(checked.label, findings, fact.name)) {
        checked.verdict = Verdict::kUnseen;
    } else {
        const bool is_so =
            std::ranges::any_of(texts, [&](const auto& one) { return agrees(checked.label, one); });
        checked.verdict = is_so ? Verdict::kAgrees : Verdict::kContradicted;
    }
    return checked;
}

Result<CheckedFact> check_path_fact(const FilePointer& root, const char* name, std::string label) {
    CheckedFact checked;
    checked.name = name;
    checked.label = std::move(label);
    if (checked.label.empty()) {
        return checked;
    }
    CYBELE_TRY(const auto node, find_file(root, checked.label));
    checked.verdict = node ? Verdict::kAgrees : Verdict::kContradicted;
    checked.found = node ? checked.label : "";
    checked.path = checked.found;
    return checked;
}

} // namespace

std::string_view verdict_name(Verdict verdict) {
    switch (verdict) {
    case Verdict::kAgrees:
        return "agrees";
    case Verdict::kContradicted:
        return "contradicted";
    case Verdict::kUnseen:
        return "unseen";
    case Verdict::kUnlabelled:
        return "unlabelled";
    case Verdict::kUnknown:
        break;
    }
    return "unknown";
}

Result<std::vector<CheckedFact>> check_facts(const FilePointer& root,
                                             const Survey& survey,
                                             const std::map<std::string, std::string>& labels) {
    const auto label_of = [&](const char* name) {
        const auto found = labels.find(std::string("cybelectl.") + name);
        return found == labels.end() ? std::string{} : found->second;
    };
    std::vector<CheckedFact> facts;
    for (const auto& fact : kClueFacts) {
        CYBELE_TRY(auto findings, findings_of(survey, fact.clue));
        if (fact.other != fact.clue) {
            CYBELE_TRY(const auto more, findings_of(survey, fact.other));
            findings.insert(findings.end(), more.begin(), more.end());
        }
        facts.push_back(check_fact(fact, label_of(fact.name), findings));
    }
    for (const auto* name : kPathFacts) {
        CYBELE_TRY(auto checked, check_path_fact(root, name, label_of(name)));
        facts.push_back(std::move(checked));
    }
    return facts;
}

} // namespace cybele::images
