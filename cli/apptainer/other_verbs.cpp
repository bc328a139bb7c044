// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/other_verbs.hpp"

#include "cli/apptainer/architecture_flag.hpp"
#include "cli/apptainer/build_configuration.hpp"
#include "cli/apptainer/config_verbs.hpp"
#include "cli/apptainer/given_files.hpp"
#include "cli/apptainer/gpu_flags.hpp"
#include "cli/apptainer/instance_verbs.hpp"
#include "cli/apptainer/key_list.hpp"
#include "cli/apptainer/key_verbs.hpp"
#include "cli/apptainer/key_words.hpp"
#include "cli/apptainer/keyserver_verbs.hpp"
#include "cli/apptainer/other_completion.hpp"
#include "cli/apptainer/overlay_create.hpp"
#include "cli/apptainer/registry_verbs.hpp"
#include "cli/apptainer/remote_verbs.hpp"
#include "cli/apptainer/sif_info.hpp"
#include "cli/apptainer/sif_words.hpp"
#include "cli/apptainer/squashfs_flag.hpp"
#include "cli/common/apptainer_folders.hpp"
#include "cli/common/image_store.hpp"
#include "cli/image/apptainer_cache.hpp"
#include "cli/image/inspect_print.hpp"
#include "cli/image/pull_error.hpp"
#include "cli/image/start_image.hpp"
#include "images/inspection/contents.hpp"
#include "images/sif/sif.hpp"
#include "pipeline/image_source.hpp"
#include "support/file.hpp"
#include "support/passphrase.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"
#include "support/size.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

/// `--docker-login`. Like there, what comes through a pipe is read to its end for the name.
void ask_for_login(Session& session) {
    Session::print("Enter Docker Username: ");
    std::string name;
    std::getline(std::cin, name);
    std::string password;
    if (::isatty(STDIN_FILENO) != 0) {
        PassphraseSource source;
        source.may_ask = true;
        const auto given = read_passphrase(source, "the registry", PassphraseUse::kOpen);
        password = given ? std::string(given->view()) : std::string();
    } else {
        Session::print("Enter Docker Password: \n");
    }
    session.environment.set("APPTAINER_DOCKER_USERNAME", name);
    session.environment.set("APPTAINER_DOCKER_PASSWORD", password);
}

void add_login(Session& session, const OtherCall& call) {
    if (call.has("--docker-login")) {
        ask_for_login(session);
    }
    for (const auto& [flag, variable] :
         {std::pair("--docker-username", "APPTAINER_DOCKER_USERNAME"),
          std::pair("--docker-password", "APPTAINER_DOCKER_PASSWORD"),
          std::pair("--tmpdir", "CYBELE_TMPDIR")}) {
        if (call.has(flag)) {
            session.environment.set(variable, call.value(flag));
        }
    }
}

Result<void> check_temporary(const OtherCall& call) {
    const std::string folder = call.value("--tmpdir");
    std::error_code failed;
    if (!call.has("--tmpdir") || fs::is_directory(folder, failed)) {
        return {};
    }
    return fail(
        ErrorCode::kInput,
        problem("tmpdir-missing", "the directory '" + printable(folder) + "' does not exist")
            .about(folder),
        "--tmpdir and APPTAINER_TMPDIR name where the image is made",
        "make it: `mkdir -p " + shell_quote(folder) + "`");
}

/// A definition that comes through a pipe is read once, into memory. Like there, any folder is an
/// image, but one without files.
Result<std::string> seekable_source(const std::string& source) {
    std::error_code failed;
    const fs::file_status status = fs::status(source, failed);
    if (fs::is_directory(status)) {
        const bool is_plain = !pipeline::image_source(source) && !fs::is_empty(source, failed);
        return is_plain ? "localimage://" + source : source;
    }
    if (failed ||
        (!fs::is_fifo(status) && !fs::is_character_file(status) && source != "/dev/stdin")) {
        return source;
    }
    std::ifstream in(source, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const int memory = ::memfd_create("definition", MFD_CLOEXEC); // open until this process ends
    if (memory < 0) {
        return fail(system_error("cannot read " + printable(source), errno));
    }
    CYBELE_CHECK(write_all(memory, text, source));
    return "/proc/self/fd/" + std::to_string(memory);
}

Result<OwnWords> build(Session& session, const OtherCall& call) {
    CYBELE_TRY(const bool has_cache, has_apptainer_cache(session));
    CYBELE_TRY(const std::string architecture, read_architecture(call));
    CYBELE_CHECK(check_temporary(call));
    CYBELE_CHECK(check_gpu_flags(session, call));
    CYBELE_TRY(const std::string compression, read_squashfs_arguments(call));
    add_login(session, call);
    std::vector<std::string> words = call.own_words();
    words.insert(words.begin(), "--quiet");
    if (!has_cache) {
        words.emplace_back("--no-cache");
    }
    if (!architecture.empty()) {
        words.push_back("--arch=" + architecture);
    }
    if (!compression.empty()) {
        words.push_back("--compression=" + compression);
    }
    words.push_back("--output=" + call.words[0]);
    CYBELE_TRY(std::string source, seekable_source(call.words[1]));
    words.push_back(std::move(source));
    return OwnWords{std::move(words), std::nullopt};
}

Result<OwnWords> pull(Session& session, const OtherCall& call) {
    FilePullRequest wish;
    CYBELE_TRY(wish.options.architecture, read_architecture(call));
    add_login(session, call);
    wish.source = call.words.back();
    if (wish.source.find(':') == std::string::npos && !call.has("--library")) {
        return fail(ErrorCode::kInput,
                    problem("pull-transport-missing", "No transport type URI supplied"));
    }
    if (wish.source.find(':') == std::string::npos) {
        wish.source = "library://" + wish.source;
    }
    const std::string scheme = wish.source.substr(0, wish.source.find(':'));
    if (scheme == "oci" || scheme.ends_with("-archive")) {
        wish.options.architecture.clear(); // like there: a file holds what it holds
    }
    wish.output = call.value("--name");
    if (wish.output.empty()) {
        wish.output = call.words.size() > 1 ? call.words[0] : pulled_name(wish.source);
    }
    if (const std::string folder = call.value("--dir"); !folder.empty()) {
        // Like there, a full path is below the folder, too.
        wish.output = (fs::path(folder) / fs::path(wish.output).relative_path()).native();
    }
    wish.is_forced = call.has("--force");
    wish.is_sandbox = call.has("--sandbox");
    CYBELE_TRY(const bool has_cache, has_apptainer_cache(session));
    wish.options.has_no_cache = !has_cache || call.has("--disable-cache");
    wish.options.has_plain_http = call.has("--no-https");
    wish.options.authfile = call.value("--authfile");
    session.action = [&session, wish] {
        return pull_file(session, wish).map_error([&wish](const Error& failed) {
            return apptainer_pull_error(wish.source, PulledFor::kFile, failed);
        });
    };
    return OwnWords{};
}

Result<OwnWords> push(Session& session, const OtherCall& call) {
    const std::string& target = call.words.back();
    const std::string scheme = target.substr(0, std::min(target.find(':'), target.size()));
    if (target.find("://") != std::string::npos && scheme != "oras" && scheme != "library" &&
        scheme != "docker") {
        return fail(
            ErrorCode::kInput,
            problem("push-transport-unknown", "Unsupported transport type: " + printable(scheme)),
            "images are pushed to OCI registries",
            "write oras://HOST/NAME:TAG");
    }
    if (call.has("--description") && scheme == "oras") {
        session.warn_as_apptainer("Description is not supported for push to oras. Ignoring it.");
    }
    add_login(session, call);
    std::vector<std::string> words = call.own_words();
    words.insert(words.begin(), "--quiet");
    words.insert(words.end(), call.words.begin(), call.words.end());
    return OwnWords{std::move(words), std::nullopt};
}

/// The help text of an image or of one of its applications, or that there is none.
Result<OwnWords> run_help(const Session& session, const OtherCall& call) {
    CYBELE_TRY(const std::string path, image_path(session, call.words.front()));
    std::error_code failed;
    if (!std::filesystem::exists(path, failed) && !failed) {
        return fail(ErrorCode::kInput,
                    problem("run-help-image-missing",
                            "container not found: stat " + printable(path) +
                                ": no such file or directory"));
    }
    CYBELE_TRY(const auto contents, images::open_contents(path));
    CYBELE_CHECK(check_has_shell(path, contents));
    CYBELE_TRY(auto inspection, images::inspect_contents(contents));
    const std::string app = call.value("--app");
    const images::Inspection shown = app.empty() ? inspection : inspection.apps[app];
    if (shown.help.empty()) {
        Session::print("No help sections were defined for this image\n");
        return OwnWords{{}, 0};
    }
    MetadataChoice choice;
    choice.helpfile = true;
    print_metadata(shown, choice);
    return OwnWords{{}, 0};
}

/// "y" or "n" from standard input, as Apptainer asks; kInput where neither comes.
Result<bool> ask_before_cleaning() {
    Session::print("This will delete everything in your cache (containers from all sources and OCI "
                   "blobs).\nHint: You can see exactly what would be deleted by canceling and "
                   "using the --dry-run option.\nDo you want to continue? [y/N] ");
    std::string answer;
    if (!std::getline(std::cin, answer)) {
        return fail(ErrorCode::kInput,
                    problem("no-answer",
                            "Handle clean failed: could not prompt user: could not read user's "
                            "input: EOF"));
    }
    return answer == "y" || answer == "Y";
}

Result<OwnWords> cache_clean(const Session& session, const OtherCall& call) {
    int days = 0;
    const std::string text = call.value("--days");
    const auto read = std::from_chars(text.data(), text.data() + text.size(), days);
    if (call.has("--days") && (read.ec != std::errc() || read.ptr != text.data() + text.size())) {
        return fail(ErrorCode::kUsage,
                    problem("apptainer-flag",
                            "invalid argument \"" + printable(text) +
                                "\" for \"-D, --days\" flag: strconv.ParseInt: parsing \"" +
                                printable(text) + "\": invalid syntax"));
    }
    CYBELE_TRY(const bool has_cache, has_apptainer_cache(session));
    const auto types = read_cache_types(session, call.values("--type"), UnknownTypes::kIgnored);
    if (!call.has("--force") && !call.has("--dry-run")) {
        CYBELE_TRY(const bool is_wanted, ask_before_cleaning());
        if (!is_wanted) {
            session.inform_as_apptainer("Handle cleanup canceled");
            return OwnWords{{}, 0};
        }
    }
    if (call.has("--dry-run")) {
        Session::print("User requested a dry run. Not actually deleting any data!\n");
        return inform_of_cleaning(session, has_cache, days, types).map([] {
            return OwnWords{{}, 0};
        });
    }
    CYBELE_CHECK(inform_of_cleaning(session, has_cache, days, types));
    if (!has_cache) {
        return OwnWords{{}, 0};
    }
    CYBELE_CHECK(clean_apptainer_images(session, days, types));
    if (!has_cache_type(types, "blob")) {
        return OwnWords{{}, 0};
    }
    std::vector<std::string> words = call.own_words();
    words.push_back(days > 0 ? "--unused=" + text : "--all");
    CYBELE_CHECK(clean_apptainer_layers(session, days));
    words.insert(words.begin(), "--quiet");
    return OwnWords{std::move(words), std::nullopt};
}

} // namespace

std::vector<std::string> OtherCall::own_words() const {
    std::vector<std::string> own;
    for (const std::string_view part : text::split_terminated(verb->ours, ' ')) {
        own.emplace_back(part);
    }
    own.insert(own.end(), same.begin(), same.end());
    return own;
}

bool OtherCall::has(std::string_view name) const {
    return std::ranges::any_of(flags, [&](const auto& one) { return one.first->has_name(name); });
}

std::vector<std::string> OtherCall::values(std::string_view name) const {
    std::vector<std::string> found;
    for (const auto& [flag, value] : flags) {
        if (flag->has_name(name)) {
            found.push_back(value);
        }
    }
    return found;
}

std::string OtherCall::value(std::string_view name) const {
    std::string found;
    for (const auto& [flag, value] : flags) {
        if (flag->has_name(name)) {
            found = value;
        }
    }
    return found;
}

// NOLINTNEXTLINE(readability-function-size): one branch per verb
Result<OwnWords> translate(Session& session, const OtherCall& call) {
    const std::string_view verb = call.verb->verb;
    use_apptainer_cache(session);
    if (!call.value("--keysdir").empty()) {
        session.environment.set("APPTAINER_KEYSDIR",
                                fs::absolute(call.value("--keysdir")).lexically_normal().native());
    }
    CYBELE_CHECK(check_given_files(session, call));
    CYBELE_CHECK(check_sif_words(call));
    if (verb == "build") {
        return build(session, call);
    }
    if (verb == "pull") {
        return pull(session, call);
    }
    if (verb == "push") {
        return push(session, call);
    }
    if (verb == "sign" || verb == "verify") {
        return sign_or_verify(session, call);
    }
    if (call.has("--global") && (verb == "key import" || verb == "key remove")) {
        return change_global_keyring(session, call);
    }
    if (verb == "key newpair") {
        return key_new(session, call);
    }
    if (verb == "key remove" || verb == "key pull" || verb == "key push" || verb == "key search") {
        return key_verb(session, call).map([](int code) { return OwnWords{{}, code}; });
    }
    if (verb == "key export") {
        return key_export(session, call);
    }
    if (verb == "key list") {
        return list_keyring(session, call).map([](int code) { return OwnWords{{}, code}; });
    }
    if (verb == "sif info") {
        auto shown = show_object(call);
        if (!shown) { // as Apptainer, with the usage
            return fail(ErrorCode::kUsage,
                        problem("apptainer-command-line", shown.error().faults().front().message));
        }
        return OwnWords{{}, *shown};
    }
    if (verb == "run-help") {
        return run_help(session, call);
    }
    if (verb == "plugin list") { // there are none, ever
        Session::print("There are no plugins installed.\n");
        return OwnWords{{}, 0};
    }
    if (verb == "config global") {
        return configure(call).map([](int code) { return OwnWords{{}, code}; });
    }
    if (verb == "keyserver list" || verb == "remote status") {
        return (verb == "remote status" ? show_remote_status(session, call)
                                        : list_key_servers(session, call))
            .map([](int code) {
                return OwnWords{{}, code};
            });
    }
    if (verb.starts_with("remote ") && call.verb->ours.empty()) {
        return remote_verb(session, call).map([](int code) { return OwnWords{{}, code}; });
    }
    if (verb == "registry list") {
        return registry_list(session, call).map([](int code) { return OwnWords{{}, code}; });
    }
    if (verb == "remote login" || verb == "remote logout") {
        CYBELE_TRY(const std::optional<int> done, endpoint_access(session, call));
        if (done) {
            return OwnWords{{}, done};
        }
    }
    if (verb.ends_with(" login") || verb.ends_with(" logout")) {
        return (verb.ends_with(" login") ? registry_login(session, call)
                                         : registry_logout(session, call))
            .map([](int code) {
                return OwnWords{{}, code};
            });
    }
    if (verb == "cache list") {
        CYBELE_TRY(const bool has_cache, has_apptainer_cache(session));
        const auto types = read_cache_types(session, call.values("--type"), UnknownTypes::kWarned);
        return list_apptainer_cache(session, has_cache, call.has("--verbose"), types)
            .map([](int code) {
                return OwnWords{{}, code};
            });
    }
    if (verb == "cache clean") {
        return cache_clean(session, call);
    }
    if (verb.starts_with("instance ")) {
        return instance_verb(session, call).map([](int code) { return OwnWords{{}, code}; });
    }
    if (verb == "overlay create") {
        return create_overlay(session, call).map([](int code) { return OwnWords{{}, code}; });
    }
    if (verb == "completion") {
        CYBELE_TRY(
            const std::string script,
            completion_of(session.apptainer_name, call.words.empty() ? "" : call.words.front()));
        Session::print(script);
        return OwnWords{{}, 0};
    }
    if (verb == "buildcfg") {
        CYBELE_TRY(const int code, show_build_configuration(session, call));
        return OwnWords{{}, code};
    }
    if (verb == "version") {
        Session::print(std::string(kOtherVersion) + "\n");
        return OwnWords{{}, 0};
    }
    std::vector<std::string> words = call.own_words();
    if (verb == "key import") {
        words.emplace_back("--no-passphrase"); // a private key stays as it comes
    }
    words.insert(words.end(), call.words.begin(), call.words.end());
    return OwnWords{std::move(words), std::nullopt};
}

} // namespace cybele::cli
