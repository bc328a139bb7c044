// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/token.hpp"

#include "submission/backends/command_backend.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace cybele::submission {
namespace {

constexpr std::chrono::seconds kLimit{60};
constexpr std::int64_t kFileSeconds = 60;

/// Base64 of URLs, with or without padding; what is none ends it.
std::string decoded(std::string_view text) {
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string bytes;
    unsigned held = 0;
    unsigned bits = 0;
    for (const char letter : text) {
        const std::size_t value = kLetters.find(letter);
        if (value == std::string_view::npos) {
            break;
        }
        held = held << 6U | static_cast<unsigned>(value);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes += static_cast<char>(held >> bits & 0xFFU);
        }
    }
    return bytes;
}

/// `SLURM_JWT=…`, as `scontrol token` prints it, or the token alone.
Result<std::string> taken(std::string_view text, const std::string& source) {
    constexpr std::string_view kName = "SLURM_JWT=";
    std::string_view token = text::trimmed(text);
    if (token.starts_with(kName)) {
        token.remove_prefix(kName.size());
    }
    // A grid proxy has lines; anything else in a header would be another header.
    const bool is_proxy = token.starts_with("-----BEGIN ");
    const bool is_odd = std::ranges::any_of(token, [is_proxy](char letter) {
        const auto byte = static_cast<unsigned char>(letter);
        return byte < ' ' ? !(is_proxy && letter == '\n')
                          : byte > '~' || (byte == ' ' && !is_proxy);
    });
    if (token.empty() || is_odd) {
        return fail(ErrorCode::kEnvironment,
                    problem("token-missing", "there is no token from " + printable(source)),
                    token.empty() ? "it gave nothing" : "its output is not a token",
                    "it must give the token alone, as `scontrol token` does");
    }
    return std::string(token);
}

} // namespace

TokenClaims read_claims(std::string_view token) {
    TokenClaims claims;
    const auto parts = text::split(token, '.');
    if (parts.size() != 3) {
        return claims;
    }
    const nlohmann::json body = parse_json(decoded(parts[1]));
    if (!body.is_object()) {
        return claims;
    }
    const auto number = [&body](const char* name) -> std::int64_t {
        const auto found = body.find(name);
        return found != body.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
    };
    claims.issued = number("iat");
    claims.expires = number("exp");
    if (const auto user = body.find("sun"); user != body.end() && user->is_string()) {
        claims.user = user->get<std::string>();
    }
    return claims;
}

Result<std::string> Token::ask() const {
    if (!command_.empty()) {
        Command command;
        for (const std::string_view word : text::split(command_, ' ')) {
            if (!word.empty()) {
                command.argv.emplace_back(word);
            }
        }
        command.environment = environment_.all();
        command.input = "";
        command.limit = kLimit;
        CYBELE_TRY(const Outcome outcome, run_process(command));
        if (!outcome.ok()) {
            Outcome silent = outcome;
            silent.output.clear();
            return fail(
                ErrorCode::kEnvironment,
                problem("token-command-failed", "the token command failed: " + printable(command_)),
                printable(words_of(silent)),
                "call it by hand; it must print the token alone");
        }
        return taken(outcome.output, "`" + command_ + "`");
    }
    if (const auto file = environment_.get("CYBELE_TOKEN_FILE")) {
        const auto text = read_file(*file, std::size_t{1} << 16U);
        if (!text) {
            return fail(ErrorCode::kEnvironment,
                        problem("token-file-missing", "there is no token in " + printable(*file)),
                        text.error().faults().front().because,
                        "CYBELE_TOKEN_FILE names it");
        }
        return taken(*text, *file);
    }
    if (const auto token = environment_.get("SLURM_JWT")) {
        return taken(*token, "SLURM_JWT");
    }
    return fail(ErrorCode::kEnvironment,
                problem("token-not-configured", "the service asks for a token, and there is none"),
                "no command, no file and no variable gives one",
                "name a command in the Site (`token-command: scontrol token lifespan=3600`), or a "
                "file: CYBELE_TOKEN_FILE=FILE");
}

Result<std::string> Token::get() {
    const std::int64_t now = clock_();
    bool is_old = !kept_;
    if (kept_ && command_.empty()) {
        is_old = now >= kept_since_ + kFileSeconds;
    }
    if (kept_) {
        const TokenClaims claims = read_claims(*kept_);
        const std::int64_t from = claims.issued != 0 ? claims.issued : kept_since_;
        is_old = is_old || (claims.expires > from && now >= from + (claims.expires - from) * 4 / 5);
    }
    if (is_old) {
        CYBELE_TRY(kept_, ask());
        kept_since_ = now;
    }
    return *kept_;
}

bool Token::renew() {
    kept_.reset();
    return !command_.empty() || environment_.get("CYBELE_TOKEN_FILE").has_value();
}

} // namespace cybele::submission
