// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/bind_option.hpp"

#include "runtime/containers/csv.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace cybele::runtime {
namespace {

enum class Escapes { kStay, kRead };

/// Splits at `separator`; a backslash before it keeps it. Backslashes before other characters stay.
std::vector<std::string> split_option(std::string_view text, char separator, Escapes escapes) {
    std::vector<std::string> parts(1);
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool is_escape =
            text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == ':' || text[i + 1] == ',');
        if (is_escape) {
            if (escapes == Escapes::kStay) {
                parts.back() += text[i];
            }
            parts.back() += text[++i];
        } else if (text[i] == separator) {
            parts.emplace_back();
        } else {
            parts.back() += text[i];
        }
    }
    return parts;
}

constexpr std::string_view kImageSource = "image-src=";
constexpr std::string_view kImageId = "id=";

bool is_option(std::string_view word) {
    return word == "ro" || word == "rw" || word.starts_with(kImageSource) ||
           word.starts_with(kImageId);
}

/// The number of a partition, from 1 on; the reason where it is none.
std::string take_image_id(BindOption& bind, std::string_view text) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), bind.image_id);
    const bool is_number = read.ec == std::errc() && read.ptr == text.data() + text.size();
    return is_number && bind.image_id > 0 ? "" : "id= accepts the number of a partition";
}

/// Sets what "ro", "rw", "image-src=PATH" or "id=N" says (is_option()); the reason where it cannot
/// be read.
std::string take_option(BindOption& bind, std::string_view word) {
    if (word.starts_with(kImageId)) {
        return take_image_id(bind, word.substr(kImageId.size()));
    }
    if (word.starts_with(kImageSource)) {
        bind.image_source = word.substr(kImageSource.size());
        return bind.image_source.empty() ? "image-src= accepts a path in the image" : "";
    }
    bind.is_read_only = bind.is_read_only || word == "ro"; // of both, the stronger one
    return "";
}

constexpr std::string_view kBindHelp = "write SRC:DST or SRC:DST:ro";

std::string unread_bind(std::string_view bind) {
    return "cannot read the bind '" + printable(bind) + "'";
}

/// `option`: the one that is wrong, if any.
tl::unexpected<Error>
refuse(std::string_view bind, const std::string& because, std::string_view option = {}) {
    return fail(ErrorCode::kUsage,
                problem("bind-malformed",
                        unread_bind(bind),
                        std::string(option.substr(0, option.find('=')))),
                because,
                std::string(kBindHelp));
}

} // namespace

std::vector<std::string> binds_of_variables(const Environment& environment) {
    std::vector<std::string> binds;
    for (const std::string name : {"BIND", "BINDPATH"}) {
        const bool has_own = environment.all().contains("APPTAINER_" + name); // also an empty one
        binds.push_back(environment.get_or((has_own ? "APPTAINER_" : "SINGULARITY_") + name, ""));
    }
    return binds;
}

Result<std::vector<BindOption>>
read_binds(std::string_view text, const std::filesystem::path& directory, bool follows_apptainer) {
    std::vector<BindOption> binds;
    bool has_options = false;
    for (const std::string& one : split_option(text, ',', Escapes::kStay)) {
        if (one.empty()) {
            continue;
        }
        // "SRC:DST:ro,image-src=/": an option behind a comma belongs to the bind before it.
        if (!binds.empty() && has_options && is_option(one)) {
            if (const std::string why = take_option(binds.back(), one); !why.empty()) {
                return refuse(text, why, one);
            }
            continue;
        }
        std::vector<std::string> parts = split_option(one, ':', Escapes::kRead);
        for (std::string& part : parts) {
            part = std::string(text::trimmed(part, " "));
        }
        while (follows_apptainer && !parts.empty() && parts[0].empty()) {
            parts.erase(parts.begin()); // for Apptainer, ":/mnt" is "/mnt"
        }
        if (parts.empty()) {
            continue;
        }
        const bool lacks_target = follows_apptainer && parts.size() == 3 && parts[1].empty();
        if (parts.size() > 3 || parts[0].empty() || lacks_target) {
            return refuse(one, "it has more parts than source, target and mode, or lacks one");
        }
        BindOption bind;
        bind.source = (directory / parts[0]).lexically_normal();
        if (parts.size() > 1 && !parts[1].empty()) {
            bind.target = parts[1];
        } else { // for Apptainer, a relative source is a relative target, too
            bind.target = follows_apptainer ? std::filesystem::path(parts[0]) : bind.source;
        }
        if (parts.size() == 3) {
            if (!is_option(parts[2])) {
                return fail(ErrorCode::kUsage,
                            problem("bind-mode-unknown", unread_bind(one)).about(parts[2]),
                            "the mode '" + printable(parts[2]) + "' is neither ro nor rw",
                            std::string(kBindHelp));
            }
            if (const std::string why = take_option(bind, parts[2]); !why.empty()) {
                return refuse(one, why, parts[2]);
            }
        }
        if (!bind.target.is_absolute()) {
            return fail(
                ErrorCode::kUsage,
                problem("bind-target-relative", unread_bind(one)).about(bind.source.native()),
                "the target is not an absolute path",
                std::string(kBindHelp));
        }
        has_options = parts.size() == 3;
        binds.push_back(std::move(bind));
    }
    return binds;
}

namespace {

constexpr std::string_view kMountHelp =
    "write type=bind,source=SRC,destination=DST or the same with ,ro";

std::string unread_mount(std::string_view mount) {
    return "cannot read the mount '" + printable(mount) + "'";
}

tl::unexpected<Error> refuse_mount(std::string_view mount, const std::string& because) {
    return fail(ErrorCode::kUsage,
                problem("mount-malformed", unread_mount(mount)),
                because,
                std::string(kMountHelp));
}

/// Nothing, or the reason why a value of `mount` cannot be read.
Result<void> mount_value(std::string_view mount, const std::string& because) {
    if (because.empty()) {
        return {};
    }
    return refuse_mount(mount, because);
}

/// Sets what a field of `mount` says.
Result<void> take_field(BindOption& bind,
                        std::string_view mount,
                        const std::string& field,
                        bool follows_apptainer) {
    const auto equals = field.find('=');
    const std::string key = field.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : field.substr(equals + 1);
    if (key == "type") {
        if (value == "bind") {
            return {};
        }
        return fail(
            ErrorCode::kUsage,
            problem("mount-type-unknown", unread_mount(mount)).about(std::string(mount), value),
            "the type '" + printable(value) + "' is not bind",
            std::string(kMountHelp));
    }
    if (key == "ro" || key == "readonly") {
        bind.is_read_only = true;
        return mount_value(mount,
                           equals == std::string::npos || value == "true" || follows_apptainer
                               ? ""
                               : "'" + key + "' accepts no value");
    }
    if (key == "image-src") {
        bind.image_source = value;
        return mount_value(mount, value.empty() ? "image-src= accepts a path in the image" : "");
    }
    if (key == "id") {
        return mount_value(mount, take_image_id(bind, value));
    }
    const bool is_source = key == "src" || key == "source";
    if (!is_source && key != "dst" && key != "destination" && key != "target") {
        return fail(
            ErrorCode::kUsage,
            problem("mount-field-unknown", unread_mount(mount)).about(std::string(mount), key),
            "'" + printable(key) + "' is not known here",
            std::string(kMountHelp));
    }
    (is_source ? bind.source : bind.target) = value;
    return {};
}

} // namespace

Result<BindOption>
read_mount(std::string_view text, const std::filesystem::path& directory, bool follows_apptainer) {
    BindOption bind;
    for (const std::string& field : csv_fields(text)) {
        CYBELE_CHECK(take_field(bind, text, field, follows_apptainer));
    }
    if (bind.source.empty() || bind.target.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("mount-incomplete", unread_mount(text)).about(std::string(text)),
                    "it lacks a source or a destination",
                    std::string(kMountHelp));
    }
    if (!bind.target.is_absolute()) {
        return fail(ErrorCode::kUsage,
                    problem("mount-target-relative", unread_mount(text))
                        .about((directory / bind.source).lexically_normal().native()),
                    "the destination is not an absolute path",
                    std::string(kMountHelp));
    }
    bind.source = (directory / bind.source).lexically_normal();
    return bind;
}

} // namespace cybele::runtime
