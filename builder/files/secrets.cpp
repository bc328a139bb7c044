// SPDX-License-Identifier: Apache-2.0
#include "builder/files/secrets.hpp"

#include "support/find.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

constexpr const char* kPrivateKey = "a private key";
constexpr const char* kSecretToken = "a token";
constexpr const char* kSecretSettings = "settings with secrets";
constexpr const char* kSecretLogins = "logins";
constexpr const char* kKeyStore = "a store of keys";
constexpr off_t kMostOfKey = off_t{64} << 10U;  ///< bytes of a file that may hold a key
constexpr off_t kMostOfToken = off_t{4} << 10U; ///< of one that is a token

struct SecretName {
    std::string_view name;
    const char* what;
};
constexpr std::array kSecretNames = {
    SecretName{".env", kSecretSettings},
    SecretName{".netrc", kSecretLogins},
    SecretName{"_netrc", kSecretLogins},
    SecretName{".git-credentials", kSecretLogins},
    SecretName{".pgpass", kSecretLogins},
    SecretName{".pypirc", kSecretLogins},
    SecretName{".htpasswd", kSecretLogins},
    SecretName{"token", kSecretToken},
    SecretName{".token", kSecretToken},
    SecretName{".vault-token", kSecretToken},
    SecretName{"id_rsa", kPrivateKey},
    SecretName{"id_dsa", kPrivateKey},
    SecretName{"id_ecdsa", kPrivateKey},
    SecretName{"id_ed25519", kPrivateKey},
    SecretName{"pgp-secret", kPrivateKey}, // the keyring of Apptainer and ours
    SecretName{"secring.gpg", kPrivateKey},
    SecretName{".dockercfg", kSecretLogins},
    SecretName{".my.cnf", kSecretLogins},
    SecretName{"rclone.conf", kSecretLogins},
    SecretName{"application_default_credentials.json", kSecretLogins},
};
constexpr std::array kSecretEnds = {
    SecretName{".token", kSecretToken},
    SecretName{".p12", kKeyStore},
    SecretName{".pfx", kKeyStore},
    SecretName{".jks", kKeyStore},
    SecretName{".kdbx", kKeyStore},
};
/// Ends of paths: such a name alone is common.
constexpr std::array kSecretPaths = {
    SecretName{".kube/config", kSecretLogins},
    SecretName{".cargo/credentials", kSecretToken},
    SecretName{".cargo/credentials.toml", kSecretToken},
    SecretName{".config/gh/hosts.yml", kSecretToken},
};
constexpr std::string_view kGnupgKeys = "private-keys-v1.d/"; ///< below .gnupg
/// Settings of programs that load from repositories: a password may be in an address.
constexpr std::array<std::string_view, 4> kSettingsWithAddresses = {
    "pip.conf", ".condarc", ".gitconfig", ".yarnrc"};
/// `.env.NAME` but for these, which show what one looks like.
constexpr std::array<std::string_view, 4> kExamples = {".example", ".sample", ".template", ".dist"};

/// A text that is a secret with what follows it.
struct SecretContent {
    std::string_view begin;
    std::size_t length; ///< letters and digits of a key or token that follow
    bool ends_line;     ///< they follow on the next line; in JSON its end is written as \n
    off_t most;         ///< bytes of the file: sources name such texts, too
    const char* what;
};
constexpr const char* kEncryptedKey = "PRIVATE KEY-----\nProc-Type:";
constexpr std::array kSecretContents = {
    SecretContent{"PRIVATE KEY-----", 16, true, kMostOfKey, kPrivateKey},
    SecretContent{kEncryptedKey, 0, false, kMostOfKey, kPrivateKey},
    SecretContent{"-----BEGIN PGP PRIVATE KEY BLOCK-----", 0, true, kMostOfKey, kPrivateKey},
    SecretContent{"PuTTY-User-Key-File-", 1, false, kMostOfKey, kPrivateKey},
    SecretContent{"AGE-SECRET-KEY-1", 50, false, kMostOfToken, kPrivateKey},
    SecretContent{"_authToken=", 8, false, kMostOfToken, kSecretToken},
    SecretContent{"\"auth\": \"", 8, false, kMostOfToken, kSecretLogins},
    SecretContent{"\"auth\":\"", 8, false, kMostOfToken, kSecretLogins},
    SecretContent{"client-key-data: ", 40, false, kMostOfKey, kPrivateKey},
    SecretContent{"oauth_token: ", 30, false, kMostOfToken, kSecretToken},
    SecretContent{"AKIA", 16, false, kMostOfToken, kSecretToken},
    SecretContent{"ghp_", 36, false, kMostOfToken, kSecretToken},
    SecretContent{"github_pat_", 40, false, kMostOfToken, kSecretToken},
    SecretContent{"glpat-", 20, false, kMostOfToken, kSecretToken},
    SecretContent{"hf_", 30, false, kMostOfToken, kSecretToken},
    SecretContent{"aws_secret_access_key = ", 40, false, kMostOfToken, kSecretToken},
    SecretContent{"aws_secret_access_key=", 40, false, kMostOfToken, kSecretToken},
    SecretContent{"xoxb-", 20, false, kMostOfToken, kSecretToken},
    SecretContent{"xoxp-", 20, false, kMostOfToken, kSecretToken},
    SecretContent{"npm_", 36, false, kMostOfToken, kSecretToken},
    SecretContent{"pypi-AgEI", 40, false, kMostOfToken, kSecretToken},
    SecretContent{"dckr_pat_", 20, false, kMostOfToken, kSecretToken},
    SecretContent{"AIzaSy", 33, false, kMostOfToken, kSecretToken},
    SecretContent{"sk-ant-", 40, false, kMostOfToken, kSecretToken},
};

const char* what_of_name(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    for (const SecretName& one : kSecretNames) {
        if (name == one.name) {
            return one.what;
        }
    }
    for (const SecretName& one : kSecretEnds) {
        if (name.ends_with(one.name)) {
            return one.what;
        }
    }
    for (const SecretName& one : kSecretPaths) {
        const std::size_t before = path.size() - std::min(path.size(), one.name.size() + 1);
        if (path.ends_with(one.name) && (path.size() == one.name.size() || path[before] == '/')) {
            return one.what;
        }
    }
    if (path.find(kGnupgKeys) != std::string_view::npos && name.ends_with(".key")) {
        return kPrivateKey;
    }
    const bool is_example =
        std::ranges::any_of(kExamples, [&](auto end) { return name.ends_with(end); });
    return name.starts_with(".env.") && !is_example ? kSecretSettings : nullptr;
}

/// Without the end of a line; nothing where no line ends.
std::optional<std::string_view> next_line(std::string_view text) {
    text.remove_prefix(text.starts_with('\r') ? 1 : 0);
    const std::size_t end = text.starts_with('\n') ? 1 : text.starts_with("\\n") ? 2 : 0;
    return end == 0 ? std::nullopt : std::optional(text.substr(end));
}

bool holds(std::string_view text, const SecretContent& content) {
    constexpr std::string_view kDigits =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-=+/";
    for (std::size_t at = text.find(content.begin); at != std::string_view::npos;
         at = text.find(content.begin, at + 1)) {
        const std::string_view behind = text.substr(at + content.begin.size());
        const auto rest = content.ends_line ? next_line(behind) : std::optional(behind);
        if (rest && std::min(rest->find_first_not_of(kDigits), rest->size()) >= content.length) {
            return true;
        }
    }
    return false;
}

/// A private key without armour: a DER sequence that begins with the version of PKCS #8, PKCS #1 or
/// SEC 1.
bool is_binary_key(std::string_view text) {
    using namespace std::string_view_literals;
    constexpr std::size_t kMostOfLength = 3; // bytes that say how long the sequence is
    if (!text.starts_with('\x30')) {
        return false;
    }
    const std::string_view start = text.substr(1, kMostOfLength + 5);
    constexpr std::array kVersions = {
        "\x02\x01\x00\x30"sv, "\x02\x01\x01\x30"sv, "\x02\x01\x00\x02\x82"sv, "\x02\x01\x01\x04"sv};
    return std::ranges::any_of(kVersions, [&](std::string_view version) {
        const std::size_t at = start.find(version);
        return at != std::string_view::npos && at >= 1 && at <= kMostOfLength;
    });
}

/// `https://user:password@host`.
bool has_password_in_address(std::string_view text) {
    constexpr std::string_view kMiddle = "://";
    for (std::size_t at = text.find(kMiddle); at != std::string_view::npos;
         at = text.find(kMiddle, at + 1)) {
        const std::string_view rest = text.substr(at + kMiddle.size());
        const std::string_view login = rest.substr(0, rest.find_first_of("@/ \n\r\"'"));
        const std::size_t colon = login.find(':');
        if (rest.substr(login.size()).starts_with('@') && colon != std::string_view::npos &&
            colon + 1 < login.size() && login[colon + 1] != '$') {
            return true;
        }
    }
    return false;
}

const char* what_of_content(std::string_view name, int fd, off_t bytes) {
    if (bytes > kMostOfKey) {
        return nullptr;
    }
    // Complete: in a file of certificates the key is the last thing.
    static thread_local std::vector<char> content(std::size_t{kMostOfKey});
    const ssize_t size = fd >= 0 ? ::pread(fd, content.data(), content.size(), 0) : 0;
    const std::string_view text(content.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    if (is_binary_key(text)) {
        return kPrivateKey;
    }
    const bool has_addresses = contains(kSettingsWithAddresses, name);
    if (has_addresses && has_password_in_address(text)) {
        return kSecretLogins;
    }
    for (const SecretContent& one : kSecretContents) {
        if (bytes <= one.most && holds(text, one)) {
            return one.what;
        }
    }
    return nullptr;
}

} // namespace

const char* secret_in(std::string_view name, int fd, std::uint64_t bytes) {
    const char* const what = what_of_name(name);
    return what == nullptr
               ? what_of_content(name.substr(name.rfind('/') + 1), fd, static_cast<off_t>(bytes))
               : what;
}

} // namespace cybele::builder
