// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/seccomp_profile.hpp"

#include "runtime/namespaces/system_call_filter.hpp"
#include "support/find.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace cybele::namespaces {
namespace {

struct NamedCall {
    std::string_view name;
    std::uint32_t number;
};
/// From the headers of the compiler, in the order of names.
constexpr NamedCall kCalls[] = {
#include "runtime/namespaces/system_call_names.inc"
};

std::optional<std::uint32_t> call_named(std::string_view name) {
    const auto* const found = std::ranges::find(kCalls, name, &NamedCall::name);
    return found == std::end(kCalls) ? std::nullopt : std::optional(found->number);
}

constexpr std::uint32_t kErrnoMask = 0xffff;

/// The kernel's word for an action; `number` is its errno or its message to a tracer.
std::optional<std::uint32_t> verdict_of(std::string_view action, std::uint32_t number) {
    struct Row {
        std::string_view name;
        std::uint32_t verdict;
        bool has_number;
    };
    constexpr Row kRows[] = {{"SCMP_ACT_ALLOW", SECCOMP_RET_ALLOW, false},
                             {"SCMP_ACT_ERRNO", SECCOMP_RET_ERRNO, true},
                             {"SCMP_ACT_KILL", SECCOMP_RET_KILL_THREAD, false},
                             {"SCMP_ACT_KILL_THREAD", SECCOMP_RET_KILL_THREAD, false},
                             {"SCMP_ACT_KILL_PROCESS", SECCOMP_RET_KILL_PROCESS, false},
                             {"SCMP_ACT_TRAP", SECCOMP_RET_TRAP, false},
                             {"SCMP_ACT_TRACE", SECCOMP_RET_TRACE, true},
                             {"SCMP_ACT_LOG", SECCOMP_RET_LOG, false}};
    for (const Row& row : kRows) {
        if (row.name == action) {
            return row.verdict | (row.has_number ? number & kErrnoMask : 0);
        }
    }
    return std::nullopt;
}

/// A comparison of one argument of a call, which has 64 bits.
struct Condition {
    std::uint32_t index = 0;
    std::string op;
    std::uint64_t value = 0;
    std::uint64_t other = 0; ///< of SCMP_CMP_MASKED_EQ: what the masked argument is
};

/// Where a jump of a block leads.
enum class Target { kNext, kPass, kEnd };

/// The instructions for one call with conditions: all must hold. A jump's targets are filled in
/// when the block is complete.
class Block {
public:
    explicit Block(std::uint32_t number) {
        jump(BPF_JEQ, number, Target::kNext, Target::kEnd);
    }
    void add(const Condition& condition);
    void finish(std::uint32_t verdict, std::vector<sock_filter>& program);

private:
    struct Line {
        sock_filter instruction;
        Target if_true = Target::kNext;
        Target if_false = Target::kNext;
        std::size_t pass = 0; ///< the line after this condition
    };
    void statement(std::uint16_t code, std::uint32_t value) {
        lines_.push_back({BPF_STMT(code, value)});
    }
    void jump(std::uint16_t code, std::uint32_t value, Target if_true, Target if_false) {
        lines_.push_back({BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | code | BPF_K), value, 0, 0),
                          if_true,
                          if_false});
    }
    enum class Half { kHigh, kLow };
    void load_half(const Condition& condition, Half half) {
        const std::size_t from =
            offsetof(seccomp_data, args) + condition.index * sizeof(std::uint64_t) +
            ((half == Half::kHigh) == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) ? 4 : 0);
        statement(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(from));
    }

    std::vector<Line> lines_;
};

void Block::add(const Condition& condition) {
    const std::size_t begin = lines_.size();
    const auto high = static_cast<std::uint32_t>(condition.value >> 32U);
    const auto low = static_cast<std::uint32_t>(condition.value);
    const std::string& op = condition.op;
    load_half(condition, Half::kHigh);
    if (op == "SCMP_CMP_MASKED_EQ") {
        statement(BPF_ALU | BPF_AND | BPF_K, high);
        jump(BPF_JEQ,
             static_cast<std::uint32_t>(condition.other >> 32U),
             Target::kNext,
             Target::kEnd);
        load_half(condition, Half::kLow);
        statement(BPF_ALU | BPF_AND | BPF_K, low);
        jump(BPF_JEQ, static_cast<std::uint32_t>(condition.other), Target::kNext, Target::kEnd);
    } else if (op == "SCMP_CMP_EQ") {
        jump(BPF_JEQ, high, Target::kNext, Target::kEnd);
        load_half(condition, Half::kLow);
        jump(BPF_JEQ, low, Target::kNext, Target::kEnd);
    } else if (op == "SCMP_CMP_NE") {
        jump(BPF_JEQ, high, Target::kNext, Target::kPass);
        load_half(condition, Half::kLow);
        jump(BPF_JEQ, low, Target::kEnd, Target::kNext);
    } else {
        const bool is_greater = op == "SCMP_CMP_GT" || op == "SCMP_CMP_GE";
        // Of the lower half: ">" and "<=" by JGT, ">=" and "<" by JGE.
        const std::uint16_t code = op == "SCMP_CMP_GT" || op == "SCMP_CMP_LE" ? BPF_JGT : BPF_JGE;
        jump(BPF_JGT, high, is_greater ? Target::kPass : Target::kEnd, Target::kNext);
        jump(BPF_JEQ, high, Target::kNext, is_greater ? Target::kEnd : Target::kPass);
        load_half(condition, Half::kLow);
        jump(code,
             low,
             is_greater ? Target::kNext : Target::kEnd,
             is_greater ? Target::kEnd : Target::kNext);
    }
    for (std::size_t i = begin; i < lines_.size(); ++i) {
        lines_[i].pass = lines_.size();
    }
}

void Block::finish(std::uint32_t verdict, std::vector<sock_filter>& program) {
    statement(BPF_RET | BPF_K, verdict);
    const std::size_t end = lines_.size(); // where the number is loaded again
    statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        Line& line = lines_[i];
        const auto distance = [&](Target target) {
            const std::size_t to = target == Target::kNext   ? i + 1
                                   : target == Target::kPass ? line.pass
                                                             : end;
            return static_cast<std::uint8_t>(to - i - 1);
        };
        if (BPF_CLASS(line.instruction.code) == BPF_JMP) {
            line.instruction.jt = distance(line.if_true);
            line.instruction.jf = distance(line.if_false);
        }
        program.push_back(line.instruction);
    }
}

/// Reads a profile; the first thing that is wrong becomes the error.
class ProfileReader {
public:
    explicit ProfileReader(std::string_view file) : file_(file) {}

    Result<std::vector<sock_filter>> read(std::string_view text);

private:
    using Json = nlohmann::json;

    [[nodiscard]] Error refuse(std::string what, std::string because = {}) const {
        return Error(ErrorCode::kInput,
                     problem("seccomp-profile-invalid",
                             "the seccomp profile '" + printable(file_) + "': " + std::move(what)),
                     std::move(because),
                     "write it as `linux.seccomp` of the OCI runtime specification");
    }
    Result<std::uint32_t> action(const Json& rule, const char* key, const char* number_key) const;
    Result<std::vector<Condition>> conditions(const Json& rule) const;
    Result<void> add_rule(const Json& rule, std::vector<sock_filter>& program) const;

    std::string file_;
};

std::uint64_t number_at(const nlohmann::json& object, const char* key, std::uint64_t otherwise) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_integer() ? found->get<std::uint64_t>()
                                                               : otherwise;
}

Result<std::uint32_t>
ProfileReader::action(const Json& rule, const char* key, const char* number_key) const {
    const std::string word = member_text(rule, key);
    const auto verdict =
        verdict_of(word, static_cast<std::uint32_t>(number_at(rule, number_key, EPERM)));
    if (!verdict) {
        return fail(refuse("'" + printable(word) + "' is not a supported action",
                           "supported are SCMP_ACT_ALLOW, ERRNO, KILL, KILL_THREAD, KILL_PROCESS, "
                           "TRAP, TRACE and LOG"));
    }
    return *verdict;
}

Result<std::vector<Condition>> ProfileReader::conditions(const Json& rule) const {
    constexpr std::string_view kComparisons[] = {"SCMP_CMP_NE",
                                                 "SCMP_CMP_LT",
                                                 "SCMP_CMP_LE",
                                                 "SCMP_CMP_EQ",
                                                 "SCMP_CMP_GE",
                                                 "SCMP_CMP_GT",
                                                 "SCMP_CMP_MASKED_EQ"};
    constexpr std::uint64_t kMostArguments = 6;
    std::vector<Condition> found;
    const auto args = rule.find("args");
    if (args == rule.end() || !args->is_array()) {
        return found;
    }
    for (const Json& arg : *args) {
        Condition condition;
        const std::uint64_t index =
            arg.is_object() ? number_at(arg, "index", kMostArguments) : kMostArguments;
        condition.op = arg.is_object() ? member_text(arg, "op") : "";
        if (index >= kMostArguments || !contains(kComparisons, condition.op)) {
            return fail(refuse("a condition is not valid",
                               "it has an index from 0 to 5 and an operator SCMP_CMP_…"));
        }
        condition.index = static_cast<std::uint32_t>(index);
        condition.value = number_at(arg, "value", 0);
        condition.other = number_at(arg, "valueTwo", 0);
        found.push_back(std::move(condition));
    }
    return found;
}

/// Conditions on one argument that appears twice are alternatives, as for runc.
bool has_alternatives(const std::vector<Condition>& conditions) {
    return std::ranges::any_of(conditions, [&](const Condition& one) {
        return std::ranges::count_if(conditions, [&](const Condition& other) {
                   return other.index == one.index;
               }) > 1;
    });
}

void add_block(std::uint32_t number,
               const std::vector<Condition>& conditions,
               std::uint32_t verdict,
               std::vector<sock_filter>& program) {
    if (conditions.empty()) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
        program.push_back(BPF_STMT(BPF_RET | BPF_K, verdict));
        return;
    }
    Block block(number);
    for (const Condition& condition : conditions) {
        block.add(condition);
    }
    block.finish(verdict, program);
}

Result<void> ProfileReader::add_rule(const Json& rule, std::vector<sock_filter>& program) const {
    if (!rule.is_object()) {
        return fail(refuse("a rule of `syscalls` is not an object"));
    }
    CYBELE_TRY(const std::uint32_t verdict, action(rule, "action", "errnoRet"));
    CYBELE_TRY(const std::vector<Condition> all, conditions(rule));
    std::vector<std::string> names;
    if (const auto list = rule.find("names"); list != rule.end() && list->is_array()) {
        for (const Json& name : *list) {
            names.push_back(name.is_string() ? name.get<std::string>() : "");
        }
    }
    if (const std::string name = member_text(rule, "name"); !name.empty()) {
        names.push_back(name);
    }
    if (names.empty()) {
        return fail(refuse("a rule of `syscalls` names no calls"));
    }
    const bool is_any = has_alternatives(all);
    for (const std::string& name : names) {
        const auto number = call_named(name);
        if (!number) {
            continue;
        }
        if (!is_any) {
            add_block(*number, all, verdict, program);
            continue;
        }
        for (const Condition& one : all) {
            add_block(*number, {one}, verdict, program);
        }
    }
    return {};
}

Result<std::vector<sock_filter>> ProfileReader::read(std::string_view text) {
    constexpr std::size_t kMostInstructions = 4000; // the kernel: 4096
    const Json profile = parse_json<Json>(text);
    if (!profile.is_object()) {
        return fail(refuse("it is not a JSON object"));
    }
    CYBELE_TRY(const std::uint32_t usual, action(profile, "defaultAction", "defaultErrnoRet"));
    std::vector<sock_filter> program;
    if (const auto rules = profile.find("syscalls"); rules != profile.end() && rules->is_array()) {
        for (const Json& rule : *rules) {
            CYBELE_CHECK(add_rule(rule, program));
        }
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, usual));
    if (program.size() > kMostInstructions) {
        return fail(refuse("it has too many rules for the kernel"));
    }
    return program;
}

} // namespace

Result<std::vector<sock_filter>> compile_seccomp_profile(std::string_view json,
                                                         std::string_view file) {
    return ProfileReader(file).read(json);
}

Result<void> install_seccomp_profile(const std::vector<sock_filter>& program) {
    SystemCallFilter filter(SECCOMP_RET_KILL_PROCESS);
#if defined(__x86_64__)
    constexpr std::uint32_t kFirstX32 = 0x40000000;
    filter.add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kFirstX32, 0, 1));
    filter.answer(SECCOMP_RET_KILL_PROCESS);
#endif
    for (const sock_filter& instruction : program) {
        filter.add(instruction);
    }
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !filter.install()) {
        return fail(system_error("cannot install the seccomp profile", errno));
    }
    return {};
}

} // namespace cybele::namespaces
