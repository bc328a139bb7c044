// SPDX-License-Identifier: Apache-2.0
#include "support/message.hpp"

#include "support/json.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele {

namespace {

constexpr std::size_t kWidest = 120;

/// The line of a fault and its caret; a long line is cut around the column.
std::string format_line(const Place& place) {
    std::string_view text = place.text;
    std::size_t column = std::max<std::size_t>(place.column, 1) - 1;
    column = std::min(column, text.size());
    std::size_t first = 0;
    if (text.size() > kWidest && column > kWidest / 2) {
        first = column - kWidest / 2;
    }
    const auto shown = [](std::string_view part) {
        std::string out = printable(part);
        for (std::size_t at = 0; (at = out.find("\\t", at)) != std::string::npos;) {
            out.replace(at, 2, "    ");
        }
        return out;
    };
    const std::string before = shown(text.substr(first, column - first));
    const std::string after = shown(text.substr(column, kWidest - (column - first)));
    std::size_t width = 0;
    for (const char c : before) {
        width += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1 : 0;
    }
    return "  | " + before + after + "\n  | " + std::string(width, ' ') + "^\n";
}

std::string format_place(const Place& place) {
    std::string line = " --> " + printable(place.file);
    if (place.line > 0) {
        line += ":" + std::to_string(place.line);
    }
    if (place.line > 0 && place.column > 0) {
        line += ":" + std::to_string(place.column);
    }
    return line + "\n";
}

} // namespace

std::string format_text(const Fault& fault, bool is_coloured, bool has_id) {
    const auto paint = [&](const char* colour, const std::string& word) {
        return is_coloured ? std::string("\x1b[1;") + colour + "m" + word + "\x1b[0m" : word;
    };
    const std::string id = has_id && !fault.id.empty() ? "[" + fault.id + "]:" : ":";
    std::string text = fault.is_warning ? paint("33", "warning" + id) : paint("31", "error" + id);
    text += " " + fault.message + "\n";
    if (fault.where) {
        text += format_place(*fault.where);
        if (fault.where->line > 0) {
            text += format_line(*fault.where);
        }
    }
    if (has_id) { // -v
        for (const std::string& context : fault.context) {
            text += "while: " + context + "\n";
        }
    }
    if (!fault.because.empty()) {
        text += paint("36", "because:") + " " + fault.because + "\n";
    }
    if (!fault.help.empty()) {
        text += paint("32", "help:") + " " + fault.help + "\n";
    }
    return text;
}

std::string format_text(const std::vector<Fault>& faults, bool is_coloured) {
    std::string text;
    for (const Fault& fault : faults) {
        text += (text.empty() ? "" : "\n") + format_text(fault, is_coloured);
    }
    return text;
}

std::string format_json(const std::vector<Fault>& faults) {
    nlohmann::json list = nlohmann::json::array();
    for (const Fault& fault : faults) {
        nlohmann::json entry;
        entry["severity"] = fault.is_warning ? "warning" : "error";
        entry["code"] = static_cast<int>(fault.code);
        if (!fault.id.empty()) {
            entry["id"] = fault.id;
        }
        entry["message"] = fault.message;
        if (fault.where) {
            entry["file"] = fault.where->file;
            if (fault.where->line > 0) {
                entry["line"] = fault.where->line;
                entry["column"] = fault.where->column;
                entry["text"] = fault.where->text;
            }
        }
        if (!fault.because.empty()) {
            entry["because"] = fault.because;
        }
        if (!fault.help.empty()) {
            entry["help"] = fault.help;
        }
        if (!fault.context.empty()) {
            entry["context"] = fault.context;
        }
        list.push_back(std::move(entry));
    }
    const nlohmann::json document{{"format", 1}, {"faults", std::move(list)}};
    return json_text(document) + "\n";
}

} // namespace cybele
