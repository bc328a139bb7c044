// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// What each release of Apptainer, SingularityCE and Singularity 3 knows of the definition file
/// format. Source: the parsers and changelogs of the tagged releases, compared tag by tag.
namespace cybele::definitions {

struct Version {
    int major = 0;
    int minor = 0;
    int patch = 0;
    friend constexpr auto operator<=>(const Version&, const Version&) = default;
};
/// "1.4" or, where the patch is not 0, "1.3.5".
[[nodiscard]] std::string to_string(const Version& version);

/// The two lines of releases. SingularityCE goes on where Singularity 3.8 ended, so both count in
/// one line of versions.
enum class Family { kApptainer, kSingularity };

/// The program that must understand a definition: its family and the lowest version.
struct Dialect {
    Family family = Family::kApptainer;
    Version version;
    friend constexpr bool operator==(const Dialect&, const Dialect&) = default;
    /// "Apptainer 1.4.5", "SingularityCE 4.0", "Singularity 3.5".
    [[nodiscard]] std::string name() const;
};

/// The release that judges where none is named.
inline constexpr Dialect kApptainer{Family::kApptainer, {1, 4, 5}};

/// The first release that has something; nothing: no release of that family has it.
struct Since {
    std::optional<Version> apptainer;
    std::optional<Version> singularity;

    [[nodiscard]] bool holds_for(const Dialect& dialect) const;
    /// "Apptainer 1.2, SingularityCE 4.0", for messages.
    [[nodiscard]] std::string describe() const;
};

/// What a recipe writer may want, or what changed how a file is read.
enum class Feature {
    kStages,               ///< several stages, `Stage:`, %files from, section arguments
    kHeaderContinuation,   ///< a header value that ends in `\` goes on in the next line
    kQuotedFiles,          ///< double quotes and tabs in %files lines
    kBaseEnvironment,      ///< %post sees the variables of the base image
    kEmbeddedShell,        ///< environment files are read by a built-in bash-like shell
    kBuildVariables,       ///< $SINGULARITY_ENVIRONMENT and _LABELS in %post
    kApptainerVariables,   ///< $APPTAINER_ENVIRONMENT, _ROOTFS and so on
    kTestShebang,          ///< a shebang of one's own in %test
    kTemplates,            ///< `{{ name }}`, %arguments, --build-arg
    kCommentsKeepTemplate, ///< a template behind `#` stays as it is
    kNestedArguments,      ///< the value of an argument may use another one
    kEqualsInArguments,    ///< the value of an argument may hold `=`
    kImpliedFakeroot,      ///< an ordinary user builds without --fakeroot
    kReproducible,         ///< SOURCE_DATE_EPOCH decides the times in the image
};

struct FeatureRow {
    Feature feature;
    std::string_view word; ///< as in documents: "templates"
    std::string_view what; ///< one line
    Since since;
};

[[nodiscard]] std::span<const FeatureRow> features();
[[nodiscard]] const FeatureRow& feature_row(Feature feature);
[[nodiscard]] bool has(const Dialect& dialect, Feature feature);

/// `apptainer`, `apptainer>=1.2`, `apptainer 1.2`, `ce>=4.0`, `singularity3`, `singularity 3.5`:
/// the lowest release meant. Releases older than the tables know are refused (kUsage).
[[nodiscard]] Result<Dialect> parse_dialect(std::string_view text);

} // namespace cybele::definitions
