// SPDX-License-Identifier: Apache-2.0
#include "images/container/metadata_labels.hpp"

#include "images/inspection/inspect_json.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

#include <array>
#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::images {
namespace {

constexpr std::string_view kSchema = "org.label-schema.";
constexpr std::string_view kDeffile = "org.label-schema.usage.singularity.deffile.";
constexpr std::string_view kHelpFile = "/.singularity.d/runscript.help";
constexpr std::string_view kFactPrefix = "cybelectl.";
/// Of the image that is this one's own base.
constexpr std::string_view kBasePrefix = "org.opencontainers.image.base.";

// Who built the base image, when, and from what, is not said of the image that is built from it.
constexpr std::array kNotInherited = {"cybelectl.lock",
                                      "cybelectl.recipe",
                                      "cybelectl.sources",
                                      "org.label-schema.usage.apptainer.version",
                                      "org.label-schema.usage.singularity.version"};

constexpr std::array kDays = {
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::array kMonths = {"January",
                                "February",
                                "March",
                                "April",
                                "May",
                                "June",
                                "July",
                                "August",
                                "September",
                                "October",
                                "November",
                                "December"};

Labels automatic_labels(const std::string& architecture, const Metadata& metadata) {
    Labels labels;
    const auto set = [&](std::string_view name, std::string value) {
        labels[fmt::format("{}{}", kSchema, name)] = std::move(value);
    };
    set("schema-version", "1.0");
    set("build-date", build_date(metadata.build_time));
    set("build-arch", architecture);
    set(metadata.names_apptainer ? "usage.apptainer.version" : "usage.cybelectl.version",
        metadata.names_apptainer ? std::string(kApptainerVersion) : CYBELE_VERSION);
    if (!metadata.help.empty()) {
        set("usage", std::string(kHelpFile));
        set("usage.apptainer.runscript.help", std::string(kHelpFile));
    }
    for (const auto& [key, value] : metadata.header_labels) {
        const auto name = text::lowered(key);
        labels[name.starts_with(kDeffile) ? name : std::string(kDeffile) + name] = value;
    }
    return labels;
}

} // namespace

Labels parse_build_labels(std::string_view text) {
    Labels labels;
    while (!text.empty()) {
        const auto end = text.find('\n');
        auto line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        const auto start = line.find_first_not_of(" \t");
        if (start == std::string_view::npos || line[start] == '#') {
            continue;
        }
        line.remove_prefix(start);
        const auto blank = line.find(' ');
        labels[std::string(line.substr(0, blank))] = blank == std::string_view::npos
                                                         ? std::string_view{}
                                                         : text::trimmed(line.substr(blank + 1));
    }
    return labels;
}

Labels merge_labels(const LabelSources& sources, const Metadata& metadata) {
    auto labels = sources.inherited;
    for (const auto* name : kNotInherited) {
        labels.erase(name);
    }
    for (const auto& [key, value] : sources.of_post) {
        labels.insert_or_assign(key, value);
    }
    if (metadata.replaces_labels) {
        for (const auto& [key, value] : metadata.labels) {
            labels.insert_or_assign(key, value);
        }
    }
    for (auto& [key, value] : automatic_labels(sources.architecture, metadata)) {
        labels.insert_or_assign(key, value);
    }
    for (const auto& [key, value] : metadata.labels) {
        if (key.starts_with(kFactPrefix) || key.starts_with(kBasePrefix)) {
            labels.insert_or_assign(key, value);
        } else if (const auto [at, is_new] = labels.emplace(key, value);
                   !is_new && metadata.on_warning && metadata.names_apptainer &&
                   !metadata.replaces_labels) {
            metadata.on_warning("Label: " + key +
                                " already exists and force option is false, not overwriting");
        } else if (!is_new && at->second != value && metadata.on_warning) {
            metadata.on_warning(
                fmt::format("the label {} of %labels is ignored: the image has it already with the "
                            "value '{}'{}",
                            key,
                            at->second,
                            key.starts_with(kSchema) ? "" : "; --force replaces it"));
        }
    }
    return labels;
}

std::string build_date(std::int64_t unix_seconds) {
    const std::time_t time = unix_seconds;
    std::tm utc{};
    if (::gmtime_r(&time, &utc) == nullptr) {
        return "unknown";
    }
    return fmt::format("{}_{}_{}_{}_{}:{}:{}_UTC",
                       kDays.at(static_cast<std::size_t>(utc.tm_wday)),
                       utc.tm_mday,
                       kMonths.at(static_cast<std::size_t>(utc.tm_mon)),
                       utc.tm_year + 1900,
                       utc.tm_hour,
                       utc.tm_min,
                       utc.tm_sec);
}

} // namespace cybele::images
