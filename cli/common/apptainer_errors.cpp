// SPDX-License-Identifier: Apache-2.0
#include "cli/common/apptainer_errors.hpp"

#include "support/quote.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::cli {

namespace {

/// Of the fault: `{detail}`, `{subject}`, `{other}`, `{message}`; `{abs}`, `{absother}`: subject
/// and other as absolute paths. Of the subject: `{scheme}`, before its first colon; `{noscheme}`,
/// after its `://`; `{part1}`, `{part2}`, before and after the colon, the first one made absolute;
/// `{parts}`, how many it has; `{name}`, after its last slash. Of the place: `{file}` and the text,
/// `{line}`; `{value}`, after the text's colon; `{unauthorized}`, a registry's answer to that.
struct KnownError {
    std::string_view id; ///< of the problem
    Verbs verbs;
    std::string_view words;
    std::string_view detail = {}; ///< of the fault; empty: any
};

/// Without systemd as process 1 Apptainer has no cgroups.
constexpr std::string_view kNoSystemd =
    "container creation failed: while applying cgroups config: cannot use cgroups - cannot use "
    "systemd cgroups manager, systemd not running as init on this host";
constexpr std::string_view kNoNetwork =
    "container creation failed: network requires root or a suid installation with /etc/subuid "
    "--fakeroot; non-root users can only use --network=none unless permitted by the administrator";

// clang-format off
constexpr KnownError kKnownErrors[] = {
    {"program-not-in-path", Verbs::kAny, "\"{subject}\": executable file not found in $PATH"},
    {"program-not-found", Verbs::kAny, "stat {abs}: no such file or directory"},
    {"run-help-image-missing", Verbs::kAny, "{message}"},
    {"seccomp-profile-missing", Verbs::kAny, "open {subject}: no such file or directory"},
    {"container-directory-failed", Verbs::kAny, "failed to set working directory: chdir {subject}: not a directory", "not-a-folder"},
    {"hostname-malformed", Verbs::kStart, "container creation failed: unable to add {subject} to hostname file: {subject} is not a valid hostname"},
    {"home-malformed", Verbs::kStart, "While setting home directory: home argument has incorrect number of elements: {parts}"},
    {"reference-malformed", Verbs::kStart, "Unable to handle {subject} uri: remote has no library client (see https://apptainer.org/docs/user/latest/endpoint.html#no-default-remote)", "library-not-set"},
    {"limit-file-missing", Verbs::kAny, "open {abs}: no such file or directory"},
    {"fuse-server-failed", Verbs::kAny, "could not start program {subject} /dev/fd/3 -f: exec: \"{subject}\": executable file not found in $PATH", "no-such-file"},
    {"pull-source-unreadable", Verbs::kStart, "Unable to handle {subject}", "no-such-file"},
    {"image-of-registry", Verbs::kStart, "Unsupported transport type: {scheme}"},
    {"apptainer-variable-refused", Verbs::kAny, "While parsing environment variables: while updating flags from environment: \nunable to set flag {subject} to value {other}: strconv.ParseBool: parsing \"{other}\": invalid syntax", "switch"},
    {"apptainer-variable-malformed", Verbs::kAny, "While parsing global environment variables: while updating flags from environment: \nunable to set flag {subject} to value {other}: strconv.ParseBool: parsing \"{other}\": invalid syntax"},
    {"site-settings-missing", Verbs::kAny, "While initializing: couldn't parse configuration file {subject}: open {subject}: no such file or directory"},
    {"bind-kinds-differ", Verbs::kStart, "container creation failed: mount hook function failure: mount {other}->{subject} error: while mounting {other}: could not mount {other}: not a directory"},
    {"instance-user-root-only", Verbs::kAny, "{message}"},
    {"program-is-directory", Verbs::kAny, "is a directory"},
    {"program-not-executable", Verbs::kAny, "permission denied"},
    {"container-directory-missing", Verbs::kAny, "failed to set working directory: chdir {subject}: no such file or directory"},
    {"image-file-missing", Verbs::kStart, "While checking container encryption: could not open image {abs}: failed to retrieve path for {abs}: lstat {abs}: no such file or directory"},
    {"image-not-readable", Verbs::kStart, "While checking container encryption: could not open image {subject}: {subject} is not readable by the current user, check permissions"},
    {"image-not-opened", Verbs::kStart, "While checking container encryption: could not open image {abs}: failed to retrieve path for {abs}: lstat {abs}: permission denied", "permission-denied"},
    {"text-not-a-sif", Verbs::kStart, "While checking container encryption: could not open image {abs}: image format not recognized"},
    {"not-a-sif", Verbs::kStart, "While checking container encryption: could not open image {abs}: image format not recognized", "empty"},
    {"root-file-system-missing", Verbs::kStart, "While checking container encryption: while getting root filesystem in {subject}: no root filesystem found"},
    {"overlay-in-use", Verbs::kAny, "while loading overlay images: failed to open overlay image {subject}: while locking ext3 partition from {subject}: can't open {subject} for writing, currently in use by another process"},
    {"overlay-unusable", Verbs::kAny, "container creation failed: mount hook function failure: hook function for tag prelayer returns error: setup of overlay upper dir failed: failed to create /var/lib/apptainer/mnt/session/overlay-images/0/upper directory: mkdir /var/lib/apptainer/mnt/session/overlay-images/0/upper: permission denied", "upper"},
    {"network-not-supported", Verbs::kAny, kNoNetwork},
    {"network-namespace-root-only", Verbs::kAny, "\"{subject}\" is not an allowed netns path in singularity.conf"},
    {"security-module-not-supported", Verbs::kAny, "failed to apply security configuration: {subject} requested, but is not enabled or supported on this system"},
    {"root-only-option", Verbs::kAny, "Could not configure {subject}: {subject} requires root privileges"},
    {"fakeroot-without-range", Verbs::kAny, "could not use fakeroot: {message}"},
    {"limits-not-delegated", Verbs::kAny, kNoSystemd},
    {"limit-value", Verbs::kAny, "invalid memory value: invalid size: '{subject}'", "size"},
    {"limit-value", Verbs::kAny, "invalid cpus value: can't convert {subject} to decimal", "cpus"},
    {"limit-value", Verbs::kAny, "blkio-weight must be in range 10-1000", "weight"},
    {"instance-stop-signal", Verbs::kAny, "Could not convert stop signal: can't convert {subject} to signal number", "number"},
    {"instance-stop-signal", Verbs::kAny, "Could not convert stop signal: {subject} is not a number"},
    {"scratch-relative", Verbs::kAny, "container creation failed: could not bind scratch directory /var/lib/apptainer/mnt/session/scratch/{subject} into container: destination must be an absolute path"},
    {"workdir-missing", Verbs::kAny, "container creation failed: failed to create {abs}/home: mkdir {abs}/home: no such file or directory"},
    {"home-relative", Verbs::kAny, "container creation failed: failed to add {abs} as session directory: path {subject} is not an absolute path"},
    {"fusemount-malformed", Verbs::kAny, "While setting FUSE mount configuration: while setting fuse mount: no whitespace separators found in command \"{subject}\"", "words"},
    {"fuse-program-missing", Verbs::kAny, "container creation failed: while running FUSE drivers: could not start program {subject} /dev/fd/3 -f: exec: \"{subject}\": executable file not found in $PATH", "fusemount"},
    {"bind-malformed", Verbs::kAny, "container creation failed: id number must be greater than 0", "id"},
    {"image-bind-unusable", Verbs::kAny, "container creation failed: no data partition found in {other}", "partition"},
    {"image-bind-unusable", Verbs::kAny, "container creation failed: mount hook function failure: hook function for tag prelayer returns error: {subject} doesn't exist in image {other}", "missing"},
    {"image-bind-unusable", Verbs::kAny, "while loading data bind images: failed to load data image {other}: while locking ext3 partition from {other}: can't open {other} for writing, currently in use by another process", "in-use"},
    {"container-path-missing", Verbs::kStart, "container creation failed: mount hook function failure: mount {subject}->{detail} error: while mounting {subject}: destination {detail} doesn't exist in container"},
    {"overlay-missing", Verbs::kAny, "while loading overlay images: failed to open overlay image {subject}: failed to retrieve path for {subject}: lstat {abs}: no such file or directory"},
    {"squashfs-not-writable", Verbs::kAny, "could not set {subject} image writable: squashfs is a read-only filesystem"},
    {"image-not-writable", Verbs::kAny, "no SIF writable overlay partition found in {subject}"},
    {"name-server-malformed", Verbs::kAny, "container creation failed: dns ip {subject} is not a valid IP address"},
    {"bind-mode-unknown", Verbs::kAny, "While setting bind mount configuration: while parsing bind path: while getting bind path: {subject} is not a valid bind option"},
    {"mount-type-unknown", Verbs::kAny, "While setting bind mount configuration: while parsing mount \"{subject}\": unsupported mount type \"{other}\", only 'bind' is supported"},
    {"mount-incomplete", Verbs::kAny, "While setting bind mount configuration: while parsing mount \"{subject}\": mounts must specify a source and a destination"},
    {"mount-field-unknown", Verbs::kAny, "While setting bind mount configuration: while parsing mount \"{subject}\": invalid key \"{other}\" in mount specification"},
    {"environment-file-missing", Verbs::kStart, "while setting environment: while processing {subject}: could not read environment file \"{subject}\": open {subject}: no such file or directory"},
    {"bind-source-missing", Verbs::kStart, "container creation failed: mount hook function failure: mount {other}->{subject} error: while mounting {other}: mount source {other} doesn't exist"},
    {"bind-target-relative", Verbs::kAny, "container creation failed: unable to add {subject} to mount list: destination must be an absolute path"},
    {"mount-target-relative", Verbs::kAny, "container creation failed: unable to add {subject} to mount list: destination must be an absolute path"},
    {"home-place-relative", Verbs::kAny, "container creation failed: failed to add {part1} as session directory: path {part2} is not an absolute path"},
    {"workdir-not-directory", Verbs::kAny, "container creation failed: failed to create {abs}/home: mkdir {abs}/home: not a directory"},
    {"security-uid-invalid", Verbs::kAny, "Could not configure target UID/GID: failed to parse provided UID: strconv.ParseUint: parsing \"{subject}\": invalid syntax"},
    {"security-gid-invalid", Verbs::kAny, "Could not configure target UID/GID: failed to parse provided GID: strconv.ParseUint: parsing \"{subject}\": invalid syntax"},
    {"image-bind-of-directory", Verbs::kAny, "container creation failed: could not use {subject} for image binding: not supported image format"},
    {"several-writable-overlays", Verbs::kAny, "while loading overlay images: you can't specify more than one writable overlay, {abs} contains a writable overlay, requires to use '--overlay {absother}:ro'"},
    {"overlay-too-small", Verbs::kAny, "image size must be equal or greater than 64 MiB"},
    {"overlay-file-exists", Verbs::kAny, "EXT3 overlay image {subject} already exists"},
    {"overlay-exists", Verbs::kAny, "a writable overlay partition already exists in {subject} (ID: {other}), delete it first with \"apptainer sif del {other} {subject}\""},
    {"overlay-of-signed-image", Verbs::kAny, "SIF image {subject} is signed: could not add writable overlay"},
    {"keep-privs-root-only", Verbs::kAny, "Could not configure --keep-privs: --keep-privs requires root privileges"},
    {"sif-forbidden-by-site", Verbs::kAny, "configuration disallows users from running unencrypted SIF containers"},
    {"directory-forbidden-by-site", Verbs::kAny, "configuration disallows users from running sandbox containers"},
    {"squashfs-forbidden-by-site", Verbs::kAny, "configuration disallows users from running squashFS containers"},
    {"extfs-forbidden-by-site", Verbs::kAny, "configuration disallows users from running extFS containers"},
    {"instance-missing", Verbs::kStart, "While setting image/instance: {message}"},
    {"instance-exists", Verbs::kAny, "{message}"},
    {"writable-with-overlay", Verbs::kAny, "cannot use --overlay in conjunction with --writable"},
    {"tmpfs-and-writable-overlay", Verbs::kAny, "while loading overlay images: you can't specify --writable-tmpfs with another writable overlay image ({subject})"},
    {"overlay-is-text", Verbs::kAny, "while loading overlay images: failed to open overlay image {subject}: image format not recognized"},
    {"instance-name", Verbs::kStart, "while executing starter: while checking instance name: {subject} is not a valid instance name"},
    {"sandbox-place-taken", Verbs::kAny, "While checking build target: {abs} is not empty and is not an Apptainer sandbox, check its content first and use --force if you want to overwrite it"},
    {"base-file-missing", Verbs::kAny, "While performing build: conveyor failed to get: failed to retrieve path for {subject}: lstat {abs}: no such file or directory"},
    {"CD018", Verbs::kAny, "While performing build: unable to copy files from stage to container fs: stage {subject} was not found"},
    {"CD024", Verbs::kAny, "Unable to create build: unable to get conveyorpacker: invalid build source {subject}"},
    {"step-failed", Verbs::kAny, "While performing build: failed to run %{detail} script: exit status {subject}", "pre"},
    {"step-failed", Verbs::kAny, "While performing build: failed to run %{detail} script: exit status {subject}", "setup"},
    {"step-failed", Verbs::kAny, "While performing build: failed to execute %{detail} script: exit status {subject}", "test"},
    {"step-failed", Verbs::kAny, "While performing build: while running engine: while running %{detail} section: exit status {subject}"},
    {"CD026", Verbs::kAny, "Unable to build from {file}: while parsing definition: {file}: no stages found in definition file", "empty"},
    {"CD013", Verbs::kAny, "Unable to create build: multiple stages detected, all must have headers", "section"},
    {"CD013", Verbs::kAny, "Unable to create build: unable to get conveyorpacker: no bootstrap specification found", "header"},
    {"CD005", Verbs::kAny, "Unable to build from {file}: while parsing definition: {file}: failed to parse deffile header: invalid header keyword found: {subject}", "key"},
    {"CD005", Verbs::kAny, "Unable to build from {file}: while parsing definition: {file}: failed to parse deffile header: header key {line} had no val"},
    {"header-without-image", Verbs::kAny, "While performing build: conveyor failed to get: could not parse reference: ", "docker"},
    {"busybox-mirror-unusable", Verbs::kAny, "While performing build: conveyor failed to get: invalid busybox header, no mirrur url specified"},
    {"bootstrap-agent-unsupported", Verbs::kAny, "While performing build: conveyor failed to get: pacstrap is not in PATH: exec: \"pacstrap\": executable file not found in $PATH", "arch"},
    {"registry-name-unknown", Verbs::kAny, "While performing build: conveyor failed to get: GET {subject}: MANIFEST_UNKNOWN: manifest unknown; map[Tag:{name}]", "MANIFEST_UNKNOWN"},
    {"registry-login-missing", Verbs::kAny, "While performing build: conveyor failed to get: {unauthorized}", "bases"},
    {"registry-login-refused", Verbs::kAny, "While performing build: conveyor failed to get: {unauthorized}", "bases"},
    {"layout-image-missing", Verbs::kAny, "While performing build: conveyor failed to get: stat {value}/index.json: no such file or directory", "oci"},
    {"layout-without-index", Verbs::kAny, "While performing build: conveyor failed to get: stat {value}/index.json: no such file or directory"},
    {"image-not-verified", Verbs::kAny, "While performing build: conveyor failed to get: while checking fingerprint: integrity: signature object {subject} not valid: openpgp: signature made by unknown entity", "key-unknown"},
    {"registry-refused", Verbs::kAny, "While performing build: conveyor failed to get: GET {subject}: MANIFEST_UNKNOWN: manifest unknown; map[Tag:{name}]", "MANIFEST_UNKNOWN"},
    {"reference-kind", Verbs::kAny, "While performing build: conveyor failed to get: error reading the docker archive file: open {value}: no such file or directory", "docker-archive"},
    {"reference-kind", Verbs::kAny, "While performing build: conveyor failed to get: error extracting the OCI archive file: open {value}: no such file or directory", "oci-archive"},
    {"reference-kind", Verbs::kAny, "While performing build: conveyor failed to get: stat {value}/index.json: no such file or directory", "oci"},
    {"archive-damaged", Verbs::kAny, "While performing build: conveyor failed to get: error reading the docker archive file: EOF", "bases"},
    {"image-not-signed", Verbs::kAny, "While performing build: conveyor failed to get: while checking fingerprint: integrity: signature not found for object group 1", "bases"},
    {"file-missing", Verbs::kAny, "While processing the definition file: error while opening file \"{subject}\": open {subject}: no such file or directory", "build-arguments"},
    {"file-missing", Verbs::kAny, "Unable to push image to oci registry: could not open image {subject} for verification: failed to retrieve path for {subject}: lstat {abs}: no such file or directory", "push"},
    {"file-missing", Verbs::kAny, "key import command failed: unable to get entity from: {subject}: open {subject}: no such file or directory", "key-import"},
    {"build-argument-malformed", Verbs::kAny, "While processing the definition file: missing key portion in \"{subject}\"", "key"},
    {"build-argument-malformed", Verbs::kAny, "While processing the definition file: \"{subject}\" is not a key=value pair"},
    {"tmpdir-missing", Verbs::kAny, "Unable to create build: failed to create build parent dir: stat {subject}: no such file or directory"},
    {"text-not-a-sif", Verbs::kAny, "Unable to push image to oci registry: could not open image {subject} for verification: image format not recognized", "push"},
    {"not-a-sif", Verbs::kAny, "Unable to push image to oci registry: \"{subject}\" is not a SIF", "directory"},
    {"reference-malformed", Verbs::kAny, "Unable to push image to oci registry: could not parse reference: {noscheme}", "capitals"},
    {"reference-malformed", Verbs::kAny, "bad uri {subject}", "scheme"},
    {"reference-malformed", Verbs::kAny, "Unable to get library client configuration: remote has no library client (see https://apptainer.org/docs/user/latest/endpoint.html#no-default-remote)", "library"},
    {"reference-malformed", Verbs::kAny, "Unable to get library client configuration: remote has no library client (see https://apptainer.org/docs/user/latest/endpoint.html#no-default-remote)", "library-not-set"},
    {"push-target-docker", Verbs::kAny, "Unsupported transport type: docker"},
    {"key-already-in-keyring", Verbs::kAny, "key import command failed: the key with fingerprint {subject} already belongs to the keyring"},
    {"openpgp-keyring-malformed", Verbs::kAny, "key import command failed: unable to get entity from: {subject}: openpgp: invalid argument: no armored data found", "key-import"},
    {"openpgp-passphrase-wrong", Verbs::kAny, "key import command failed: openpgp: invalid data: private key checksum failure", "key-import"},
    {"key-not-exported", Verbs::kAny, "{message}"},
    {"key-choice-malformed", Verbs::kAny, "{message}"},
    {"key-choice-invalid", Verbs::kAny, "key export command failed: invalid choice"},
    {"key-not-in-keyring", Verbs::kAny, "Unable to remove neither public key: no key matching given fingerprint found, nor private key: no key matching given fingerprint found", "both"},
    {"key-not-in-keyring", Verbs::kAny, "Unable to remove private key: no key matching given fingerprint found", "secret"},
    {"key-not-in-keyring", Verbs::kAny, "Unable to remove public key: no key matching given fingerprint found", "public"},
    {"global-keyring-public", Verbs::kAny, "While listing keys: could not list private keys: global keyring doesn't contain private keys"},
    {"CD001", Verbs::kAny, "Unable to build from {file}: while parsing definition: {file}: invalid section(s) specified: {subject}"},
    {"CD004", Verbs::kAny, "Unable to build from {file}: while parsing definition: {file}: invalid section(s) specified: {subject}"},
    {"CD021", Verbs::kAny, "Unable to build from {file}: build var {subject} is not defined through either --build-arg (--build-arg-file) or 'arguments' section"},
    {"build-argument-unused", Verbs::kAny, "unused build args: {subject}. Use option --warn-unused-build-args to show a warning instead of a fatal message"},
    {"signature-not-found", Verbs::kAny, "{message}"},
    {"key-place-unknown", Verbs::kAny, "Failed to sign container: index out of range"},
    {"push-transport-unknown", Verbs::kAny, "{message}"},
    {"signed-object-missing", Verbs::kAny, "{message}"},
    {"signed-group-missing", Verbs::kAny, "{message}"},
    {"signed-image-missing", Verbs::kAny, "{message}"},
    {"signed-image-malformed", Verbs::kAny, "{message}"},
    {"image-not-pulled", Verbs::kAny, "{message}"},
    {"signature-not-accepted", Verbs::kAny, "{message}"},
    {"signing-keyring-empty", Verbs::kAny, "Failed to sign container: keyring is empty"},
    {"exporting-keyring-empty", Verbs::kAny, "key export command failed: keyring is empty"},
    {"global-keyring-refused", Verbs::kAny, "{message}"},
    {"overlay-image-kind", Verbs::kAny, "{message}"},
    {"key-server-silent", Verbs::kAny, "{message}"},
    {"cache-not-directory", Verbs::kAny, "Failed to create an image cache handle: failed initializing caching directory: unable to stat {subject}/cache: stat {subject}/cache: not a directory"},
    {"cache-switch-malformed", Verbs::kAny, "{message}"},
    {"export-file-exists", Verbs::kAny, "Image file already exists: \"{subject}\" - will not overwrite"},
    {"pull-source-malformed", Verbs::kAny, "Unsupported transport type: {scheme}"},
};
// clang-format on

std::string absolute_path_of(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::absolute(path, ignored).lexically_normal().native();
}

/// "From: busybox": busybox.
std::string value_of(const std::string& line) {
    const std::size_t begin =
        line.find_first_not_of(" \t", std::min(line.find(':'), line.size()) + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
}

/// Of HOST/NAME:TAG.
std::string unauthorized(const Fault& fault, const std::string& image) {
    const std::size_t slash = std::min(image.find('/'), image.size());
    const std::size_t tag = std::max(std::min(image.rfind(':'), image.size()), slash);
    return unauthorized_answer(
        fault,
        image.substr(std::min(slash + 1, tag), tag - std::min(slash + 1, tag)),
        tag < image.size() ? image.substr(tag + 1) : "latest");
}

std::string filled(const KnownError& row, const Fault& fault) {
    const std::string& subject = fault.subject;
    const Place place = fault.where.value_or(Place{});
    const std::size_t colon = std::min(subject.find(':'), subject.size());
    const std::size_t scheme = subject.find("://");
    const std::pair<std::string_view, std::string> values[] = {
        {"{detail}", fault.detail},
        {"{subject}", subject},
        {"{other}", fault.other},
        {"{message}", fault.message},
        {"{abs}", absolute_path_of(subject)},
        {"{absother}", absolute_path_of(fault.other)},
        {"{scheme}", subject.substr(0, colon)},
        {"{noscheme}", subject.substr(scheme == std::string::npos ? 0 : scheme + 3)},
        {"{part1}", absolute_path_of(subject.substr(0, colon))},
        {"{part2}", subject.substr(subject.find(':') + 1)},
        {"{parts}", std::to_string(std::ranges::count(subject, ':') + 1)},
        {"{name}", subject.substr(subject.rfind('/') + 1)},
        {"{file}", place.file},
        {"{line}", place.text},
        {"{value}", value_of(place.text)},
        {"{unauthorized}", unauthorized(fault, value_of(place.text))},
    };
    std::string text;
    for (std::size_t at = 0; at < row.words.size();) {
        const auto* const value = std::ranges::find_if(
            values, [&](const auto& one) { return row.words.substr(at).starts_with(one.first); });
        if (value == std::end(values)) {
            text += row.words[at++];
        } else {
            text += printable(value->second);
            at += value->first.size();
        }
    }
    return text;
}

/// Apptainer ends its commands for keys by an error that is not fatal.
bool is_of_keys(std::string_view words) {
    constexpr std::string_view kBegins[] = {"key import command failed",
                                            "key export command failed",
                                            "pull failed: ",
                                            "push failed: ",
                                            "search failed: "};
    return std::ranges::any_of(
        kBegins, [words](std::string_view begin) { return words.starts_with(begin); });
}

bool has_systemd() {
    std::error_code ignored;
    return std::filesystem::is_directory("/run/systemd/system", ignored);
}

} // namespace

std::optional<ApptainerError> apptainer_error_of(const Fault& fault, Verbs verbs) {
    if (fault.is_warning) {
        return std::nullopt;
    }
    const auto* const row = std::ranges::find_if(kKnownErrors, [&](const KnownError& one) {
        return one.id == fault.id && (one.verbs == Verbs::kAny || verbs == Verbs::kStart) &&
               (one.detail.empty() || one.detail == fault.detail) &&
               (one.words != kNoSystemd || !has_systemd());
    });
    if (row == std::end(kKnownErrors)) {
        return std::nullopt;
    }
    ApptainerError error;
    error.words = filled(*row, fault);
    error.is_fatal = !is_of_keys(error.words);
    error.is_of_build = row->words.starts_with("While performing build");
    return error;
}

std::string
unauthorized_answer(const Fault& fault, const std::string& repository, const std::string& tag) {
    return "GET " + fault.subject + "/v2/" + repository + "/manifests/" + tag +
           ": UNAUTHORIZED: authentication required; [map[Action:pull Class: Name:" + repository +
           " Type:repository]]";
}

} // namespace cybele::cli
