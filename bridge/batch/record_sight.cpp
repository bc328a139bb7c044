// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/record_sight.hpp"

#include "bridge/objects/patterns.hpp"
#include "bridge/objects/plain_words.hpp"
#include "submission/records/record.hpp"
#include "support/find.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace cybele::bridge {
namespace {

using submission::Receipt;

constexpr int kNoSuchProgram = 127; ///< of a shell

/// Words of one line, and texts with a length.
struct RecordText {
    std::map<std::string, std::string, std::less<>> words;
    std::map<std::string, std::string, std::less<>> files;
    bool is_complete = false;
};

bool is_file(std::string_view name) {
    constexpr std::string_view kFiles[] = {"answer", "end", "code", "output", "errors", "refusal"};
    return contains(kFiles, name);
}

RecordText split_record(std::string_view text) {
    RecordText record;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line == "complete") {
            record.is_complete = text.empty();
            return record;
        }
        const std::size_t space = line.find(' ');
        if (space == std::string_view::npos) {
            return record;
        }
        const std::string name(line.substr(0, space));
        const std::string_view value = text::trimmed(line.substr(space + 1));
        if (!is_file(name)) {
            record.words[name] = value;
            continue;
        }
        const int length = text::number(value).value_or(-1);
        if (length < 0 || static_cast<std::size_t>(length) >= text.size()) {
            return record;
        }
        record.files[name] = text.substr(0, static_cast<std::size_t>(length));
        text.remove_prefix(static_cast<std::size_t>(length) + 1);
    }
    return record;
}

std::string_view found(const std::map<std::string, std::string, std::less<>>& map,
                       std::string_view name) {
    const auto at = map.find(name);
    return at == map.end() ? std::string_view() : std::string_view(at->second);
}

/// The end that a script of ours wrote; another object's is as none.
std::optional<SeenJob> read_end(std::string_view text, std::string_view uid) {
    const auto record = submission::parse_exit_record(text, "exit.json");
    if (!record || record->uuid != uid) {
        return std::nullopt;
    }
    struct Word {
        std::string_view word;
        submission::State state;
    };
    constexpr Word kWords[] = {{"done", submission::State::kDone},
                               {"failed", submission::State::kFailed},
                               {"timeout", submission::State::kTimeout},
                               {"cancelled", submission::State::kCancelled}};
    for (const Word& row : kWords) {
        if (record->state != row.word) {
            continue;
        }
        SeenJob end;
        end.state = row.state;
        end.native = record->state;
        end.signal = record->signal;
        end.started = record->start;
        end.ended = record->end;
        if (record->signal == 0) {
            end.code = record->code;
        }
        return end;
    }
    return std::nullopt;
}

/// The id in a text that the batch system printed after it accepted a job, or that we noted.
std::string id_in(std::string_view text, const submission::Commands& commands) {
    cybele::Outcome outcome;
    outcome.output = text;
    const Receipt receipt = commands.receipt(outcome);
    return receipt.kind == Receipt::Kind::kAccepted && is_job_id(receipt.id) ? receipt.id
                                                                             : std::string();
}

void read_receipt(const RecordText& text,
                  const submission::Commands& commands,
                  RecordObservation& sight) {
    const auto code = text::number(text::trimmed(found(text.files, "code")));
    if (!sight.answer.empty()) {
        sight.remark = plain_words(found(text.files, "errors"));
    }
    if (!code || !sight.answer.empty()) {
        return;
    }
    cybele::Outcome outcome;
    outcome.code = *code;
    outcome.output = found(text.files, "output");
    outcome.errors = found(text.files, "errors");
    const Receipt receipt = commands.receipt(outcome);
    const bool was_not_found = *code == kNoSuchProgram && outcome.output.empty();
    if (receipt.kind == Receipt::Kind::kUnreachable || was_not_found) {
        sight.unreachable = receipt.words;
    } else if (receipt.kind == Receipt::Kind::kAccepted && is_job_id(receipt.id)) {
        sight.answer = receipt.id;
        sight.remark = plain_words(outcome.errors);
    } else if (receipt.kind == Receipt::Kind::kRefused) {
        sight.refusal = plain_words(receipt.words);
    }
}

} // namespace

RecordObservation
read_record(std::string_view text, const submission::Commands& commands, std::string_view uid) {
    const RecordText record = split_record(text);
    RecordObservation sight;
    const auto claims = text::number(found(record.words, "claims"));
    const auto age = text::number(found(record.words, "age"));
    if (!record.is_complete || !claims || !age) {
        return sight;
    }
    sight.was_read = true;
    sight.claims = *claims;
    sight.claim_age = *age;
    sight.is_closed = found(record.words, "closed") == "yes";
    sight.is_submitter_gone = found(record.words, "alive") == "no";
    sight.answer = id_in(found(record.files, "answer"), commands);
    sight.end = read_end(found(record.files, "end"), uid);
    read_receipt(record, commands, sight);
    if (const auto released = found(record.words, "released"); is_job_id(released)) {
        sight.released = released;
        sight.answer = released;
    }
    if (sight.answer.empty() && sight.refusal.empty()) {
        sight.refusal = plain_words(text::trimmed(found(record.files, "refusal")));
    }
    return sight;
}

} // namespace cybele::bridge
