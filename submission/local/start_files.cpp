// SPDX-License-Identifier: Apache-2.0
#include "submission/local/start_files.hpp"

#include "submission/records/record_folder.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/own_folder.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace cybele::submission {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostOfStart = std::size_t{64} << 20U;
constexpr const char* kScript = "job.sh";
constexpr const char* kEnvironment = "environment";
constexpr const char* kCommand = "command";

fs::path start_folder(const fs::path& folder, const LocalSpec& spec) {
    return folder / "local" / spec.uuid;
}

EnvironmentMap read_environment(std::string_view bytes) {
    EnvironmentMap environment;
    for (std::string_view rest = bytes; !rest.empty();) {
        const std::string_view entry = rest.substr(0, rest.find('\0'));
        rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
        const std::size_t equals = entry.find('=');
        if (equals != std::string_view::npos) {
            environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
        }
    }
    return environment;
}

/// Words that end with NUL each; the empty word stands for the script.
std::string command_bytes(const OwnScript& own) {
    std::string bytes;
    for (const std::string& word : own.shell) {
        bytes.append(word).push_back('\0');
    }
    bytes.push_back('\0');
    for (const std::string& word : own.arguments) {
        bytes.append(word).push_back('\0');
    }
    return bytes;
}

std::vector<std::string> read_command(std::string_view bytes, const fs::path& script) {
    std::vector<std::string> words;
    bool has_script = false;
    while (!bytes.empty()) {
        const std::string_view word = bytes.substr(0, bytes.find('\0'));
        bytes.remove_prefix(std::min(word.size() + 1, bytes.size()));
        const bool is_script = word.empty() && !has_script;
        has_script = has_script || is_script;
        words.push_back(is_script ? script.native() : std::string(word));
    }
    return words;
}

/// Written in place: what a crash cuts is written again by who submits again.
Result<void> write_private(const fs::path& path, std::string_view bytes, unsigned mode) {
    (void)::unlink(path.c_str()); // of a submission that was killed
    const UniqueFd fd(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!fd.valid()) {
        return fail(system_error("cannot write " + printable(path.native()), errno));
    }
    return write_all(fd.get(), bytes, path);
}

} // namespace

Result<void> keep_start(const fs::path& folder,
                        const LocalSpec& spec,
                        std::string_view script,
                        const EnvironmentMap& environment,
                        const OwnScript* own) {
    const fs::path place = start_folder(folder, spec);
    CYBELE_CHECK(make_own_folder({place, "the local queue", "CYBELE_STATE_DIR"}));
    std::string bytes;
    for (const auto& [name, value] : environment) {
        bytes.append(name).append("=").append(value).push_back('\0');
    }
    CYBELE_CHECK(write_private(place / kScript, script, 0700));
    if (own != nullptr) {
        CYBELE_CHECK(write_private(place / kCommand, command_bytes(*own), 0600));
    }
    return write_private(place / kEnvironment, bytes, 0600);
}

void secure_start(const fs::path& folder, const LocalSpec& spec) {
    for (const char* name : {kScript, kEnvironment, kCommand}) {
        if (const auto fd = open_for_reading(start_folder(folder, spec) / name)) {
            ::fsync(fd->get()); // best effort: the job stands in the queue already
        }
    }
}

Result<StartFiles> kept_start(const fs::path& folder, const LocalSpec& spec) {
    if (spec.script.empty()) {
        CYBELE_TRY(const RecordFolder record, RecordFolder::open(spec.record));
        CYBELE_TRY(const std::string bytes, record.read(kEnvironment, kMostOfStart));
        return StartFiles{fs::path(spec.record) / kScript, read_environment(bytes), {}};
    }
    const fs::path place = start_folder(folder, spec);
    CYBELE_CHECK(check_own_folder({place, "the local queue", "CYBELE_STATE_DIR"}));
    CYBELE_TRY(const std::string script, read_file(place / kScript, kMostOfStart));
    if ("sha256:" + hex(sha256(script)) != spec.script) {
        return fail(ErrorCode::kVerification,
                    problem("local-script-changed",
                            "the script of job " + std::to_string(spec.number) +
                                " is not the one that was submitted"),
                    "its SHA-256 is not " + spec.script,
                    "submit the job again");
    }
    CYBELE_TRY(const std::string bytes, read_file(place / kEnvironment, kMostOfStart));
    StartFiles start{place / kScript, read_environment(bytes), {}};
    std::error_code error;
    if (fs::exists(place / kCommand, error)) {
        CYBELE_TRY(const std::string words, read_file(place / kCommand, kMostOfStart));
        start.command = read_command(words, start.script);
    }
    return start;
}

void forget_start(const fs::path& folder, const LocalSpec& spec) {
    std::error_code error;
    fs::remove_all(start_folder(folder, spec), error);
    if (spec.script.empty()) {
        fs::remove(fs::path(spec.record) / kEnvironment, error);
    }
}

} // namespace cybele::submission
