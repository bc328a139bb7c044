// SPDX-License-Identifier: Apache-2.0
#include "support/passphrase.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

namespace cybele {

namespace {

constexpr int kStandardInput = 0;

/// One byte; false at the end of the input.
Result<bool> read_byte(int fd, char& byte, const std::string& from) {
    for (;;) {
        const ssize_t count = ::read(fd, &byte, 1);
        if (count >= 0) {
            return count == 1;
        }
        if (errno != EINTR) {
            return fail(system_error("cannot read the passphrase from " + from, errno));
        }
    }
}

tl::unexpected<Error> too_long(const std::string& from) {
    return fail(ErrorCode::kInput,
                problem("passphrase-too-long", fmt::format("{} holds no passphrase", from)),
                fmt::format("its first line has more than {} bytes", kMaximumPassphrase),
                "give what holds the passphrase alone in its first line");
}

/// Byte by byte, so that the next line stays there for the next key.
Result<Secret> read_line(int fd, const std::string& from) {
    Secret line;
    char byte = '\0';
    bool has_any = false;
    for (;;) {
        CYBELE_TRY(const bool is_read, read_byte(fd, byte, from));
        has_any = has_any || is_read;
        if (!is_read || byte == '\n') {
            break;
        }
        if (line.size() == kMaximumPassphrase) {
            return too_long(from);
        }
        line.append({&byte, 1});
    }
    wipe(&byte, 1);
    if (!has_any) {
        return fail(ErrorCode::kInput,
                    problem("passphrase-missing", fmt::format("{} holds no passphrase", from)),
                    "it is at its end",
                    "put the passphrase into its first line; an empty line is an empty one");
    }
    return line;
}

Result<Secret> read_from_file(const PassphraseSource& source) {
    if (source.file == "-") {
        return read_line(kStandardInput, "standard input");
    }
    const std::string from = printable(source.file.native());
    CYBELE_TRY(const UniqueFd fd, open_for_reading(source.file));
    struct stat status {};
    if (::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) &&
        (status.st_mode & (S_IRGRP | S_IROTH)) != 0 && source.on_warning) {
        source.on_warning(warning(ErrorCode::kInput,
                                  problem("passphrase-not-secret",
                                          fmt::format("the passphrase in {} is not secret", from)),
                                  "other users may read the file",
                                  fmt::format("close it: chmod 600 {}", from)));
    }
    return read_line(fd.get(), from);
}

/// The terminal of the process, which shows nothing of what is typed until this goes.
class Terminal {
public:
    explicit Terminal(UniqueFd fd) : fd_(std::move(fd)) {
        is_changed_ = ::tcgetattr(fd_.get(), &before_) == 0;
        termios silent = before_;
        // Without signals from the keyboard: a process that dies here would leave the echo off.
        silent.c_lflag &= static_cast<tcflag_t>(~(ECHO | ECHONL | ICANON | ISIG));
        silent.c_cc[VMIN] = 1;
        silent.c_cc[VTIME] = 0;
        is_changed_ = is_changed_ && ::tcsetattr(fd_.get(), TCSAFLUSH, &silent) == 0;
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal() {
        if (is_changed_) {
            ::tcsetattr(fd_.get(), TCSAFLUSH, &before_);
        }
    }

    Result<Secret> ask(const std::string& prompt) {
        const std::string from = "the terminal";
        if (!is_changed_) {
            return fail(ErrorCode::kEnvironment,
                        problem("passphrase-terminal", "cannot ask for the passphrase"),
                        "the terminal cannot hide what is typed",
                        "give it in a file, by --passphrase-file");
        }
        CYBELE_CHECK(write_all(fd_.get(), prompt, from));
        Secret line;
        for (char byte = '\0';;) {
            CYBELE_TRY(const bool is_read, read_byte(fd_.get(), byte, from));
            if (!is_read || is_control(byte, VINTR) || is_control(byte, VQUIT)) {
                CYBELE_CHECK(write_all(fd_.get(), "\n", from));
                return fail(ErrorCode::kUsage,
                            problem("passphrase-not-given", "no passphrase was given"),
                            "it was asked for");
            }
            if (byte == '\n' || byte == '\r' || is_control(byte, VEOF)) {
                break;
            }
            if (is_control(byte, VERASE) || byte == '\b') {
                line.resize(line.size() - (line.empty() ? 0 : 1));
            } else if (is_control(byte, VKILL)) {
                line.resize(0);
            } else if (line.size() == kMaximumPassphrase) {
                return too_long(from);
            } else {
                line.append({&byte, 1});
            }
        }
        CYBELE_CHECK(write_all(fd_.get(), "\n", from));
        return line;
    }

private:
    [[nodiscard]] bool is_control(char byte, std::size_t which) const {
        return static_cast<cc_t>(byte) == before_.c_cc[which] && byte != '\0';
    }

    UniqueFd fd_;
    termios before_{};
    bool is_changed_ = false;
};

Result<Secret> ask(UniqueFd fd, std::string_view what, PassphraseUse use) {
    Terminal terminal(std::move(fd));
    CYBELE_TRY(Secret first,
               terminal.ask(fmt::format("Passphrase of {}: ", printable(std::string(what)))));
    if (use == PassphraseUse::kChoose) {
        CYBELE_TRY(const Secret second, terminal.ask("The same again: "));
        if (first.view() != second.view()) {
            return fail(ErrorCode::kInput,
                        problem("passphrases-differ", "the two passphrases differ"),
                        "one of them was mistyped",
                        "call it again");
        }
    }
    return first;
}

Result<Secret> read_any(const PassphraseSource& source, std::string_view what, PassphraseUse use) {
    if (!source.file.empty()) {
        return read_from_file(source);
    }
    if (source.descriptor) {
        return read_line(*source.descriptor, fmt::format("descriptor {}", *source.descriptor));
    }
    if (source.value) {
        if (source.value->size() > kMaximumPassphrase) {
            return too_long(source.variable);
        }
        Secret value;
        value.append(*source.value);
        return value;
    }
    if (source.may_ask) {
        UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
        if (terminal.valid()) {
            return ask(std::move(terminal), what, use);
        }
    }
    return fail(ErrorCode::kUsage,
                problem("passphrase-source-missing",
                        fmt::format("no passphrase for {}", printable(std::string(what)))),
                source.may_ask ? "there is no terminal to ask at" : "none was given",
                source.variable.empty()
                    ? "give it in a file: " + source.file_option
                    : fmt::format("give it in a file, {}, or in the variable {}",
                                  source.file_option,
                                  source.variable));
}

} // namespace

Result<Secret>
read_passphrase(const PassphraseSource& source, std::string_view what, PassphraseUse use) {
    CYBELE_TRY(Secret secret, read_any(source, what, use));
    if (use == PassphraseUse::kChoose && secret.empty()) {
        return fail(
            ErrorCode::kInput,
            problem("passphrase-empty",
                    fmt::format("the passphrase for {} is empty", printable(std::string(what)))),
            "it would protect nothing",
            "choose one of several words");
    }
    return secret;
}

} // namespace cybele
