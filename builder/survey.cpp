// SPDX-License-Identifier: Apache-2.0
#include "builder/survey.hpp"

#include "builder/context.hpp"
#include "builder/copy_nodes.hpp"
#include "support/directory.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrivateKey = "a private key";
constexpr const char* kSecretToken = "a token";
constexpr const char* kSecretSettings = "settings with secrets";
constexpr const char* kSecretLogins = "logins";
constexpr const char* kKeyStore = "a store of keys";
constexpr off_t kMostOfKey = off_t{64} << 10U;  ///< bytes of a file that may hold a key
constexpr off_t kMostOfToken = off_t{4} << 10U; ///< of one that is a token
constexpr std::size_t kReadOfSecret = std::size_t{4} << 10U;

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
};
constexpr std::array kSecretEnds = {
    SecretName{".token", kSecretToken},
    SecretName{".p12", kKeyStore},
    SecretName{".pfx", kKeyStore},
    SecretName{".jks", kKeyStore},
    SecretName{".kdbx", kKeyStore},
};
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
    SecretContent{"AKIA", 16, false, kMostOfToken, kSecretToken},
    SecretContent{"ghp_", 36, false, kMostOfToken, kSecretToken},
    SecretContent{"github_pat_", 40, false, kMostOfToken, kSecretToken},
    SecretContent{"glpat-", 20, false, kMostOfToken, kSecretToken},
    SecretContent{"hf_", 30, false, kMostOfToken, kSecretToken},
};

const char* what_of_name(std::string_view name) {
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
    const bool is_example = std::any_of(
        kExamples.begin(), kExamples.end(), [&](auto end) { return name.ends_with(end); });
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

const char* what_of_content(const CopiedNode& node) {
    if (node.status.st_size > kMostOfKey) {
        return nullptr;
    }
    const UniqueFd fd = reopen(node.fd.get(), O_RDONLY);
    std::array<char, kReadOfSecret> start{};
    const ssize_t size = fd.valid() ? ::pread(fd.get(), start.data(), start.size(), 0) : 0;
    const std::string_view text(start.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    for (const SecretContent& content : kSecretContents) {
        if (node.status.st_size <= content.most && holds(text, content)) {
            return content.what;
        }
    }
    return nullptr;
}

class Surveyor {
public:
    Surveyor(const Copy& copy, int root, Survey& result)
        : copy_(copy), root_(root), result_(result) {}

    void look(const fs::path& path, const std::string& name, int depth) {
        const auto node = open_node(root_, path, true);
        if (!node || depth > kDeepestCopy) {
            return; // the copy says why
        }
        const bool is_directory = S_ISDIR(node->status.st_mode);
        const auto answer = look_at(copy_, path, *node, depth);
        if (!answer.is_taken() && !answer.may_hold) {
            result_.left_out.push_back({name, answer.because});
            return;
        }
        if (is_directory) {
            const bool is_top = depth == 0 && !copy_.is_pattern;
            const UniqueFd readable = reopen(node->fd.get(), O_RDONLY | O_DIRECTORY);
            for (const std::string& one :
                 names_in(readable.get(), path).value_or(std::vector<std::string>())) {
                look(path / one, is_top ? one : name + "/" + one, depth + 1);
            }
        } else if (S_ISREG(node->status.st_mode)) {
            count(*node, name);
        }
    }

private:
    void count(const CopiedNode& node, const std::string& name) {
        ++result_.files;
        result_.bytes += static_cast<std::uint64_t>(node.status.st_size);
        const char* what = what_of_name(fs::path(name).filename().native());
        what = what == nullptr ? what_of_content(node) : what;
        if (what != nullptr) {
            result_.secrets.push_back({name, what});
        }
    }

    const Copy& copy_;
    int root_;
    Survey& result_;
};

} // namespace

Survey survey(const Copy& copy) {
    Survey result;
    const UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    Surveyor surveyor(copy, root.get(), result);
    for (const fs::path& source : copy.sources) {
        const fs::path place = source.lexically_normal();
        surveyor.look(source,
                      place.filename().empty() ? place.parent_path().filename().native()
                                               : place.filename().native(),
                      0);
    }
    return result;
}

} // namespace cybele::builder
