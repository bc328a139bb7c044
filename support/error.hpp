// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace cybele {

/// What kind of fault it is; the value is the exit code of the verbs
/// (docs/reference/exit-codes.md).
enum class ErrorCode {
    kInternal = 1,     ///< a fault of our own
    kUsage = 2,        ///< the command line is wrong
    kInput = 3,        ///< a file, recipe, job or image is unusable
    kVerification = 4, ///< a signature, digest or policy does not hold
    kEnvironment = 5,  ///< a tool, permission, space or network is missing
    kExecution = 6,    ///< what was started failed
};

/// A position in a file that a user wrote. Line and column count from 1; 0 means "not known".
struct Place {
    std::string file;
    std::size_t line = 0;
    std::size_t column = 0;
    std::string text; ///< the line itself, without its end, for the caret
};

/// What is wrong, with the name of that kind of fault: `problem("image-missing", "there is no …")`.
///
/// The name is in kebab case and stays the same when the sentence is improved: scripts, searches
/// and `explain` use it. Several places may make the same fault if one page explains all of them.
struct Problem {
    std::string_view id;      ///< a literal
    std::string message;      ///< without a full stop
    std::string detail = {};  ///< which of the faults with this id it is, for programs
    std::string subject = {}; ///< the file, option, package … that it is about, for programs
    std::string other = {};   ///< a second such: the source of a bind, the value of an option …

    [[nodiscard]] Problem about(std::string what, std::string second = {}) && {
        subject = std::move(what);
        other = std::move(second);
        return std::move(*this);
    }
};
[[nodiscard]] inline Problem
problem(std::string_view id, std::string message, std::string detail = {}) {
    return {id, std::move(message), std::move(detail)};
}

/// One mistake or failure, as a user reads it: `error: message`, ` --> file:line:column`, the line
/// with a caret, `because: …`, `help: …`.
struct Fault {
    ErrorCode code = ErrorCode::kInternal;
    std::string message;              ///< what is wrong, without a full stop
    std::optional<Place> where;       ///< where in a user's file
    std::string because;              ///< the reason; empty where the message says it
    std::string help;                 ///< one remedy, imperative
    bool is_warning = false;          ///< reported, but nothing is refused for it
    std::vector<std::string> context; ///< "while …" lines, innermost first
    std::string id;                   ///< of the problem; of a linter's finding, its rule
    std::string detail;  ///< of the problem; not shown. Of a failed call, the id of its cause
    std::string subject; ///< of the problem; not shown. Empty: not known
    std::string other;   ///< of the problem; not shown

    Fault() = default;
    Fault(ErrorCode kind,
          Problem problem,
          std::string reason = {},
          std::string remedy = {},
          std::optional<Place> place = std::nullopt)
        : code(kind), where(std::move(place)), because(std::move(reason)), help(std::move(remedy)) {
        set(std::move(problem));
    }
    void set(Problem problem) {
        id = problem.id;
        message = std::move(problem.message);
        if (!problem.detail.empty()) {
            detail = std::move(problem.detail);
        }
        if (!problem.subject.empty()) {
            subject = std::move(problem.subject);
        }
        if (!problem.other.empty()) {
            other = std::move(problem.other);
        }
    }
};

[[nodiscard]] inline Fault warning(ErrorCode code,
                                   Problem problem,
                                   std::string because = {},
                                   std::string help = {},
                                   std::optional<Place> where = std::nullopt) {
    Fault fault(code, std::move(problem), std::move(because), std::move(help), std::move(where));
    fault.is_warning = true;
    return fault;
}

/// All faults of one operation, at least one; what `Result` carries.
class Error {
public:
    explicit Error(Fault fault) {
        faults_.push_back(std::move(fault));
    }
    explicit Error(std::vector<Fault> faults) : faults_(std::move(faults)) {}

    /// Shorthand: a fault without a position.
    Error(ErrorCode code, Problem problem, std::string because = {}, std::string help = {})
        : Error(Fault(code, std::move(problem), std::move(because), std::move(help))) {}

    [[nodiscard]] const std::vector<Fault>& faults() const {
        return faults_;
    }
    /// The code of the first fault that is no warning.
    [[nodiscard]] ErrorCode code() const;
    [[nodiscard]] const std::string& message() const {
        return faults_.front().message;
    }

    /// Adds "while WHAT" to each fault; the innermost call comes first. `detail`: for faults
    /// without one.
    [[nodiscard]] Error with_context(std::string_view what, std::string_view detail = {}) &&;

private:
    std::vector<Fault> faults_;
};

template <class T>
using Result = tl::expected<T, Error>;

/// For `map_error`, where a module is entered: the failure of what it was asked for says so.
/// `read_file(path).map_error(during("reading the key of the signer"))`.
[[nodiscard]] inline auto during(std::string what, std::string_view detail = {}) {
    return [what = std::move(what), detail](Error error) {
        return std::move(error).with_context(what, detail);
    };
}

/// Collects the faults of a document, so that all are told at once.
class Faults {
public:
    Faults() = default;
    /// What was being done, for the context of the error that take() makes.
    explicit Faults(std::string during) : during_(std::move(during)) {}
    void add(Fault fault) {
        faults_.push_back(std::move(fault));
    }
    void add(const Error& error);
    [[nodiscard]] bool has_errors() const;
    [[nodiscard]] bool empty() const {
        return faults_.empty();
    }
    [[nodiscard]] const std::vector<Fault>& all() const {
        return faults_;
    }
    /// The collected faults, ordered by file, line and column, as one error. Needs has_errors().
    [[nodiscard]] Error take();

private:
    std::vector<Fault> faults_;
    std::string during_;
};

/// Returned by functions that fail:
/// `return fail(ErrorCode::kInput, problem("image-missing", "…"), "reason", "remedy");`
[[nodiscard]] inline tl::unexpected<Error>
fail(ErrorCode code, Problem problem, std::string because = {}, std::string help = {}) {
    return tl::unexpected<Error>(
        Error(code, std::move(problem), std::move(because), std::move(help)));
}
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
    return tl::unexpected<Error>(std::move(error));
}
[[nodiscard]] inline tl::unexpected<Error> fail(Fault fault) {
    return tl::unexpected<Error>(Error(std::move(fault)));
}

/// A failed system call: message + strerror(saved_errno) as the reason, which names the fault, too
/// ("no-space", "permission-denied"; "system-call-failed" for rare ones). EACCES, EPERM, ENOSPC and
/// the like are kEnvironment; ENOENT of an input is for the caller to tell as kInput.
[[nodiscard]] Error system_error(std::string message, int saved_errno);

} // namespace cybele

#define CYBELE_CONCAT_(a, b) a##b
#define CYBELE_CONCAT(a, b) CYBELE_CONCAT_(a, b)

/// `CYBELE_TRY(auto text, read_file(path));` — declares `text`, or returns the error.
#define CYBELE_TRY(declaration, expression)                                                        \
    auto CYBELE_CONCAT(cybele_result_, __LINE__) = (expression);                                   \
    if (!CYBELE_CONCAT(cybele_result_, __LINE__)) {                                                \
        return tl::unexpected<::cybele::Error>(                                                    \
            std::move(CYBELE_CONCAT(cybele_result_, __LINE__)).error());                           \
    }                                                                                              \
    declaration = std::move(*CYBELE_CONCAT(cybele_result_, __LINE__))

/// `CYBELE_CHECK(write_file(…));` — for `Result<void>` or where the value is not needed.
#define CYBELE_CHECK(expression)                                                                   \
    do {                                                                                           \
        if (auto cybele_checked = (expression); !cybele_checked) {                                 \
            return tl::unexpected<::cybele::Error>(std::move(cybele_checked).error());             \
        }                                                                                          \
    } while (false)
