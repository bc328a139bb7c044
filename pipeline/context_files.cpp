// SPDX-License-Identifier: Apache-2.0
#include "pipeline/context_files.hpp"

#include "builder/files/copy.hpp"
#include "builder/files/ignore_file.hpp"
#include "builder/files/listing.hpp"
#include "builder/files/output.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;
using builder::Listing;
using builder::NamedFile;
using builder::TakenFiles;

constexpr std::size_t kShownFiles = 8;
constexpr const char* kReadable = "everyone who can read the image can read it";

std::string list_of(const std::vector<NamedFile>& files) {
    std::string list;
    for (std::size_t i = 0; i < std::min(files.size(), kShownFiles); ++i) {
        list +=
            fmt::format("{}{} ({})", i == 0 ? "" : ", ", printable(files[i].name), files[i].what);
    }
    return files.size() > kShownFiles
               ? fmt::format("{} and {} more", list, files.size() - kShownFiles)
               : list;
}

std::string size_of(std::uint64_t bytes) {
    constexpr std::uint64_t kMegabyte = 1'000'000;
    return bytes < kMegabyte ? fmt::format("{} bytes", bytes)
                             : fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

bool is_allowed(const std::string& name, const std::vector<std::string>& allowed) {
    const std::string last = fs::path(name).filename();
    return std::ranges::any_of(allowed, [&](const std::string& pattern) {
        return builder::matches_ignore_pattern(pattern, name) ||
               (pattern.find('/') == std::string::npos &&
                builder::matches_ignore_pattern(pattern, last));
    });
}

/// As a yaml list takes it.
std::string word(const std::string& text) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-";
    const bool is_plain =
        !text.empty() && text.front() != '-' && text.find_first_not_of(kPlain) == std::string::npos;
    return is_plain ? text : "'" + printable(text) + "'";
}

std::string allowing_line(const PlannedCopy& copy, const std::vector<NamedFile>& secrets) {
    std::string names;
    for (const std::string& name : copy.allowed) {
        names += (names.empty() ? "" : ", ") + word(name);
    }
    for (const NamedFile& secret : secrets) {
        names += (names.empty() ? "" : ", ") + word(secret.name);
    }
    return fmt::format("{{from: {}, to: {}, allow: [{}]}}",
                       word(copy.line.source),
                       word(copy.line.destination),
                       names);
}

class Looker {
public:
    Looker(const ImagePlan& plan, const Environment& environment)
        : plan_(plan), environment_(environment) {}

    /// What a copy takes; nothing where its sources are not there: the builder says where they are
    /// missed.
    [[nodiscard]] std::shared_ptr<const Listing> look(const PlannedCopy& copy) {
        const builder::CopyFrom host{"/", builder::absolute_path(plan_.directory), false};
        const auto found = builder::find_sources(copy.line, host, environment_.all(), {});
        return found ? plan_.files->list(*found) : std::make_shared<const Listing>();
    }
    void refuse(const PlannedCopy& copy, TakenFiles survey) {
        std::erase_if(survey.secrets, [&](const NamedFile& secret) {
            return is_allowed(secret.name, copy.allowed);
        });
        if (!survey.secrets.empty()) {
            Fault fault = copy.place;
            fault.set(problem("context-holds-secret", "'files' copies " + list_of(survey.secrets)));
            fault.because = kReadable;
            fault.help = fmt::format("leave it out by a .dockerignore, or allow it: {}",
                                     allowing_line(copy, survey.secrets));
            faults_.add(std::move(fault));
        }
        if (survey.files == 0 && !survey.left_out.empty()) {
            Fault fault = copy.place;
            fault.set(
                problem("context-copy-empty",
                        fmt::format("nothing of '{}' is copied", printable(copy.line.source))));
            fault.because = "left out: " + list_of(survey.left_out);
            fault.help = "name other files, or correct the ignore file";
            faults_.add(std::move(fault));
        }
    }
    [[nodiscard]] Result<void> end() {
        return faults_.has_errors() ? Result<void>(fail(faults_.take())) : Result<void>();
    }

private:
    const ImagePlan& plan_;
    const Environment& environment_;
    Faults faults_;
};

void add(std::vector<NamedFile>& all, const std::vector<NamedFile>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

} // namespace

Result<std::vector<std::string>>
look_at_context(const ImagePlan& plan, const std::string& builder, const Environment& environment) {
    Looker looker(plan, environment);
    const bool is_own = builder == "embedded";
    const bool has_rules = plan.is_recipe && is_own;
    TakenFiles all;
    TakenFiles doubtful; // taken all the same
    for (const PlannedCopy& copy : plan.copies) {
        const auto listing = looker.look(copy);
        if (plan.is_recipe) {
            looker.refuse(copy, listing->inputs);
        }
        if (!has_rules) {
            add(doubtful.left_out, listing->inputs.left_out);
        }
        if (!plan.is_recipe) {
            add(doubtful.secrets, listing->inputs.secrets);
        }
        all.files += listing->taken.files;
        all.bytes += listing->taken.bytes;
        add(all.left_out, listing->taken.left_out);
    }
    if (plan.files) {
        plan.files->known().save();
    }
    CYBELE_CHECK(looker.end());
    std::vector<std::string> lines;
    if (!plan.copies.empty()) {
        lines.push_back(
            fmt::format("files: {} of the host, {}{}",
                        all.files,
                        size_of(all.bytes),
                        all.left_out.empty() ? "" : "; left out: " + list_of(all.left_out)));
    }
    if (!doubtful.left_out.empty()) {
        lines.push_back(fmt::format("warning: {} copies what a Recipe would leave out: {}",
                                    is_own ? "%files" : builder,
                                    list_of(doubtful.left_out)));
    }
    if (!doubtful.secrets.empty()) {
        lines.push_back(
            fmt::format("warning: %files copies {}; {}", list_of(doubtful.secrets), kReadable));
    }
    return lines;
}

} // namespace cybele::pipeline
