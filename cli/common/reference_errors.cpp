// SPDX-License-Identifier: Apache-2.0
#include "cli/common/reference_errors.hpp"

#include "support/quote.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::cli {

namespace {

enum class Verbs { kAny, kStart };

/// `{1}`, `{2}`: the quoted words of our message; `{b}`: that of our reason; `{m}`: all between the
/// first and the last quote of our message; `{first}`, `{last}`: its first and last word; `{path}`:
/// the first word as an absolute path, `{section}`: `{1}` without its `%`, `{abs1}`, `{abs2}`: the
/// quoted ones so, `{abslast}`: the last word so, `{second}`: the second word, `{blast}`: the last
/// word of our reason, `{part1}`,
/// `{part2}`: what stands before and after the colon of the first quoted one; `{file}`: the place,
/// `{subject}`: what the error is about, `{abs}`: that as an absolute path.
struct KnownError {
    std::string_view id; ///< of the problem
    Verbs verbs;
    std::string_view words;
    std::string_view reason = {}; ///< a part of our reason; empty: any
};

/// Without systemd as process 1 the reference has no cgroups.
constexpr std::string_view kNoSystemd =
    "container creation failed: while applying cgroups config: cannot use cgroups - cannot use "
    "systemd cgroups manager, systemd not running as init on this host";
constexpr std::string_view kNoNetwork =
    "container creation failed: network requires root or a suid installation with /etc/subuid "
    "--fakeroot; non-root users can only use --network=none unless permitted by the administrator";

// clang-format off
constexpr KnownError kKnownErrors[] = {
    {"program-not-in-path", Verbs::kAny, "\"{1}\": executable file not found in $PATH"},
    {"program-not-found", Verbs::kAny, "stat {abs1}: no such file or directory"},
    {"run-help-image-missing", Verbs::kAny, "{message}"},
    {"seccomp-profile-missing", Verbs::kAny, "open {last}: no such file or directory"},
    {"limit-file-missing", Verbs::kAny, "open {abslast}: no such file or directory"},
    {"fuse-server-failed", Verbs::kAny, "could not start program {1} /dev/fd/3 -f: exec: \"{1}\": executable file not found in $PATH", "No such file"},
    {"pull-source-unreadable", Verbs::kStart, "Unable to handle {subject}", "No such file"},
    {"image-of-registry", Verbs::kStart, "Unsupported transport type: {scheme1}"},
    {"apptainer-variable-refused", Verbs::kAny, "While parsing environment variables: while updating flags from environment: \nunable to set flag {subject} to value {b}: strconv.ParseBool: parsing \"{b}\": invalid syntax", "is neither true nor false"},
    {"site-settings-missing", Verbs::kAny, "While initializing: couldn't parse configuration file {1}: open {1}: no such file or directory"},
    {"bind-kinds-differ", Verbs::kStart, "container creation failed: mount hook function failure: mount {1}->{2} error: while mounting {1}: could not mount {1}: not a directory"},
    {"instance-user-root-only", Verbs::kAny, "{message}"},
    {"program-is-directory", Verbs::kAny, "is a directory"},
    {"program-not-executable", Verbs::kAny, "permission denied"},
    {"container-directory-missing", Verbs::kAny, "failed to set working directory: chdir {1}: no such file or directory"},
    {"image-file-missing", Verbs::kStart, "While checking container encryption: could not open image {abs1}: failed to retrieve path for {abs1}: lstat {abs1}: no such file or directory"},
    {"image-not-readable", Verbs::kStart, "While checking container encryption: could not open image {1}: {1} is not readable by the current user, check permissions"},
    {"image-not-opened", Verbs::kStart, "While checking container encryption: could not open image {abs1}: failed to retrieve path for {abs1}: lstat {abs1}: permission denied", "Permission denied"},
    {"text-not-a-sif", Verbs::kStart, "While checking container encryption: could not open image {path}: image format not recognized"},
    {"not-a-sif", Verbs::kStart, "While checking container encryption: could not open image {path}: image format not recognized", "it is an empty file"},
    {"overlay-in-use", Verbs::kAny, "while loading overlay images: failed to open overlay image {1}: while locking ext3 partition from {1}: can't open {1} for writing, currently in use by another process"},
    {"overlay-unusable", Verbs::kAny, "container creation failed: mount hook function failure: hook function for tag prelayer returns error: setup of overlay upper dir failed: failed to create /var/lib/apptainer/mnt/session/overlay-images/0/upper directory: mkdir /var/lib/apptainer/mnt/session/overlay-images/0/upper: permission denied", "no folder 'upper'"},
    {"network-not-supported", Verbs::kAny, kNoNetwork},
    {"network-namespace-root-only", Verbs::kAny, "\"{subject}\" is not an allowed netns path in singularity.conf"},
    {"security-module-not-supported", Verbs::kAny, "failed to apply security configuration: {second} requested, but is not enabled or supported on this system"},
    {"root-only-option", Verbs::kAny, "Could not configure {first}: {first} requires root privileges"},
    {"fakeroot-without-range", Verbs::kAny, "could not use fakeroot: {message}"},
    {"limits-not-delegated", Verbs::kAny, kNoSystemd},
    {"limit-value", Verbs::kAny, "invalid memory value: invalid size: '{1}'", "a size is a number"},
    {"limit-value", Verbs::kAny, "invalid cpus value: can't convert {1} to decimal", "it is a number between"},
    {"limit-value", Verbs::kAny, "blkio-weight must be in range 10-1000", "10 to 1000"},
    {"instance-stop-signal", Verbs::kAny, "Could not convert stop signal: {1} is not a number"},
    {"scratch-relative", Verbs::kAny, "container creation failed: could not bind scratch directory /var/lib/apptainer/mnt/session/scratch/{1} into container: destination must be an absolute path"},
    {"workdir-missing", Verbs::kAny, "container creation failed: failed to create {abs1}/home: mkdir {abs1}/home: no such file or directory"},
    {"home-relative", Verbs::kAny, "container creation failed: failed to add {abs1} as session directory: path {1} is not an absolute path"},
    {"fusemount-malformed", Verbs::kAny, "While setting FUSE mount configuration: while setting fuse mount: no whitespace separators found in command \"{1}\"", "its arguments and a target"},
    {"fuse-program-missing", Verbs::kAny, "container creation failed: while running FUSE drivers: could not start program {1} /dev/fd/3 -f: exec: \"{1}\": executable file not found in $PATH", "it is looked for"},
    {"bind-malformed", Verbs::kAny, "container creation failed: id number must be greater than 0", "id= accepts the number"},
    {"image-bind-unusable", Verbs::kAny, "container creation failed: no data partition found in {1}", "the SIF has no partition"},
    {"image-bind-unusable", Verbs::kAny, "container creation failed: mount hook function failure: hook function for tag prelayer returns error: {blast} doesn't exist in image {1}", "it has no "},
    {"image-bind-unusable", Verbs::kAny, "while loading data bind images: failed to load data image {1}: while locking ext3 partition from {1}: can't open {1} for writing, currently in use by another process", "a second time"},
    {"container-path-missing", Verbs::kStart, "container creation failed: mount hook function failure: mount {subject}->{1} error: while mounting {subject}: destination {1} doesn't exist in container"},
    {"overlay-missing", Verbs::kAny, "while loading overlay images: failed to open overlay image {1}: failed to retrieve path for {1}: lstat {abs1}: no such file or directory"},
    {"squashfs-not-writable", Verbs::kAny, "could not set {1} image writable: squashfs is a read-only filesystem"},
    {"image-not-writable", Verbs::kAny, "no SIF writable overlay partition found in {1}"},
    {"name-server-malformed", Verbs::kAny, "container creation failed: dns ip {1} is not a valid IP address"},
    {"bind-mode-unknown", Verbs::kAny, "While setting bind mount configuration: while parsing bind path: while getting bind path: {b} is not a valid bind option"},
    {"mount-type-unknown", Verbs::kAny, "While setting bind mount configuration: while parsing mount \"{m}\": unsupported mount type \"{b}\", only 'bind' is supported"},
    {"mount-incomplete", Verbs::kAny, "While setting bind mount configuration: while parsing mount \"{m}\": mounts must specify a source and a destination"},
    {"mount-field-unknown", Verbs::kAny, "While setting bind mount configuration: while parsing mount \"{m}\": invalid key \"{b}\" in mount specification"},
    {"environment-file-missing", Verbs::kStart, "while setting environment: while processing {1}: could not read environment file \"{1}\": open {1}: no such file or directory"},
    {"bind-source-missing", Verbs::kStart, "container creation failed: mount hook function failure: mount {1}->{subject} error: while mounting {1}: mount source {1} doesn't exist"},
    {"bind-target-relative", Verbs::kAny, "container creation failed: unable to add {subject} to mount list: destination must be an absolute path"},
    {"mount-target-relative", Verbs::kAny, "container creation failed: unable to add {subject} to mount list: destination must be an absolute path"},
    {"home-place-relative", Verbs::kAny, "container creation failed: failed to add {part1} as session directory: path {part2} is not an absolute path"},
    {"workdir-not-directory", Verbs::kAny, "container creation failed: failed to create {abs1}/home: mkdir {abs1}/home: not a directory"},
    {"security-uid-invalid", Verbs::kAny, "Could not configure target UID/GID: failed to parse provided UID: strconv.ParseUint: parsing \"{subject}\": invalid syntax"},
    {"security-gid-invalid", Verbs::kAny, "Could not configure target UID/GID: failed to parse provided GID: strconv.ParseUint: parsing \"{subject}\": invalid syntax"},
    {"image-bind-of-directory", Verbs::kAny, "container creation failed: could not use {1} for image binding: not supported image format"},
    {"several-writable-overlays", Verbs::kAny, "while loading overlay images: you can't specify more than one writable overlay, {abs1} contains a writable overlay, requires to use '--overlay {abs2}:ro'"},
    {"overlay-too-small", Verbs::kAny, "image size must be equal or greater than 64 MiB"},
    {"overlay-file-exists", Verbs::kAny, "EXT3 overlay image {first} already exists"},
    {"overlay-exists", Verbs::kAny, "a writable overlay partition already exists in {1} (ID: {b}), delete it first with \"apptainer sif del {b} {1}\""},
    {"overlay-of-signed-image", Verbs::kAny, "SIF image {1} is signed: could not add writable overlay"},
    {"keep-privs-root-only", Verbs::kAny, "Could not configure --keep-privs: --keep-privs requires root privileges"},
    {"sif-forbidden-by-site", Verbs::kAny, "configuration disallows users from running unencrypted SIF containers"},
    {"directory-forbidden-by-site", Verbs::kAny, "configuration disallows users from running sandbox containers"},
    {"squashfs-forbidden-by-site", Verbs::kAny, "configuration disallows users from running squashFS containers"},
    {"extfs-forbidden-by-site", Verbs::kAny, "configuration disallows users from running extFS containers"},
    {"instance-missing", Verbs::kStart, "While setting image/instance: {message}"},
    {"instance-exists", Verbs::kAny, "{message}"},
    {"writable-with-overlay", Verbs::kAny, "cannot use --overlay in conjunction with --writable"},
    {"tmpfs-and-writable-overlay", Verbs::kAny, "while loading overlay images: you can't specify --writable-tmpfs with another writable overlay image ({subject})"},
    {"overlay-is-text", Verbs::kAny, "while loading overlay images: failed to open overlay image {1}: image format not recognized"},
    {"instance-name", Verbs::kStart, "while executing starter: while checking instance name: {1} is not a valid instance name"},
    {"sandbox-place-taken", Verbs::kAny, "While checking build target: {path} is not empty and is not an Apptainer sandbox, check its content first and use --force if you want to overwrite it"},
    {"base-file-missing", Verbs::kAny, "While performing build: conveyor failed to get: failed to retrieve path for {subject}: lstat {abs}: no such file or directory"},
    {"CD018", Verbs::kAny, "While performing build: unable to copy files from stage to container fs: stage {1} was not found"},
    {"CD024", Verbs::kAny, "Unable to create build: unable to get conveyorpacker: invalid build source {1}"},
    {"step-failed", Verbs::kAny, "While performing build: while running engine: while running {first} section: exit status {last}"},
    {"CD001", Verbs::kAny, "Unable to build from {file}: while parsing definition: {file}: invalid section(s) specified: {section}"},
    {"CD004", Verbs::kAny, "Unable to build from {file}: while parsing definition: {file}: invalid section(s) specified: {section}"},
    {"CD021", Verbs::kAny, "Unable to build from {file}: build var {1} is not defined through either --build-arg (--build-arg-file) or 'arguments' section"},
    {"build-argument-unused", Verbs::kAny, "unused build args: {1}. Use option --warn-unused-build-args to show a warning instead of a fatal message"},
    {"signature-not-found", Verbs::kAny, "{message}"},
    {"key-place-unknown", Verbs::kAny, "Failed to sign container: index out of range"},
    {"push-transport-unknown", Verbs::kAny, "{message}"},
    {"signed-object-missing", Verbs::kAny, "{message}"},
    {"signed-group-missing", Verbs::kAny, "{message}"},
    {"export-file-exists", Verbs::kAny, "Image file already exists: \"{first}\" - will not overwrite"},
    {"pull-source-malformed", Verbs::kAny, "Unsupported transport type: {scheme}"},
};
// clang-format on

std::vector<std::string> quoted_words(std::string_view text) {
    std::vector<std::string> words;
    for (std::size_t at = text.find('\''); at != std::string_view::npos;) {
        const std::size_t end = text.find('\'', at + 1);
        if (end == std::string_view::npos) {
            break;
        }
        words.emplace_back(text.substr(at + 1, end - at - 1));
        at = text.find('\'', end + 1);
    }
    words.resize(std::max<std::size_t>(words.size(), 2));
    return words;
}

std::string absolute_path_of(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::absolute(path, ignored).lexically_normal().native();
}

/// All between the first quote and the last one.
std::string between_quotes(std::string_view text) {
    const std::size_t first = text.find('\'');
    const std::size_t last = text.rfind('\'');
    return first == last ? std::string() : std::string(text.substr(first + 1, last - first - 1));
}

std::string filled(const KnownError& row, const Fault& fault) {
    const auto words = quoted_words(fault.message);
    const std::string first = fault.message.substr(0, fault.message.find(' '));
    const std::string last = fault.message.substr(fault.message.rfind(' ') + 1);
    const std::string second =
        fault.message.substr(std::min(first.size() + 1, fault.message.size()));
    const std::pair<std::string_view, std::string> values[] = {
        {"{1}", words[0]},
        {"{2}", words[1]},
        {"{b}", quoted_words(fault.because).front()},
        {"{m}", between_quotes(fault.message)},
        {"{abs1}", absolute_path_of(words[0])},
        {"{abs2}", absolute_path_of(words[1])},
        {"{path}", absolute_path_of(first)},
        {"{file}", fault.where ? fault.where->file : ""},
        {"{section}", words[0].substr(words[0].starts_with('%') ? 1 : 0)},
        {"{first}", first},
        {"{last}", last},
        {"{abslast}", absolute_path_of(last)},
        {"{second}", second.substr(0, second.find(' '))},
        {"{blast}", fault.because.substr(fault.because.rfind(' ') + 1)},
        {"{part1}", absolute_path_of(words[0].substr(0, words[0].find(':')))},
        {"{part2}", words[0].substr(std::min(words[0].find(':') + 1, words[0].size()))},
        {"{subject}", fault.subject},
        {"{abs}", absolute_path_of(fault.subject)},
        {"{scheme1}", words[0].substr(0, words[0].find(':'))},
        {"{scheme}", last.substr(0, last.find(':'))},
        {"{message}", fault.message},
    };
    std::string text;
    for (std::size_t at = 0; at < row.words.size();) {
        const auto* const value =
            std::find_if(std::begin(values), std::end(values), [&](const auto& one) {
                return row.words.substr(at).starts_with(one.first);
            });
        if (value == std::end(values)) {
            text += row.words[at++];
        } else {
            text += printable(value->second);
            at += value->first.size();
        }
    }
    return text;
}

bool has_systemd() {
    std::error_code ignored;
    return std::filesystem::is_directory("/run/systemd/system", ignored);
}

} // namespace

std::optional<std::string> reference_error_text(const Fault& fault, bool is_start) {
    if (fault.is_warning) {
        return std::nullopt;
    }
    const auto* const row =
        std::find_if(std::begin(kKnownErrors), std::end(kKnownErrors), [&](const KnownError& one) {
            return one.id == fault.id && (one.verbs == Verbs::kAny || is_start) &&
                   fault.because.find(one.reason) != std::string::npos &&
                   (one.words != kNoSystemd || !has_systemd());
        });
    return row == std::end(kKnownErrors) ? std::nullopt : std::optional(filled(*row, fault));
}

} // namespace cybele::cli
