// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

/// Texts that readers of yaml get wrong.
namespace cybele::kubernetes {

inline const std::vector<std::string>& nasty_texts() {
    static const std::vector<std::string> kTexts{"",
                                                 "yes",
                                                 "No",
                                                 "on",
                                                 "OFF",
                                                 "y",
                                                 "n",
                                                 "true",
                                                 "False",
                                                 "null",
                                                 "Null",
                                                 "~",
                                                 "0123",
                                                 "017",
                                                 "0o17",
                                                 "08",
                                                 "0x1F",
                                                 "0b101",
                                                 "1_000",
                                                 "1e3",
                                                 "3.10",
                                                 "1234e56",
                                                 "10",
                                                 "-1",
                                                 "+1",
                                                 ".5",
                                                 ".inf",
                                                 "-.INF",
                                                 ".nan",
                                                 "NaN",
                                                 "12:30:45",
                                                 "4G",
                                                 "=",
                                                 "<<",
                                                 "INFINITE",
                                                 "2026-11-21",
                                                 "99999999999999999999",
                                                 "#",
                                                 "a #b",
                                                 "a: b",
                                                 "- a",
                                                 "? a",
                                                 "[a]",
                                                 "{a: 1}",
                                                 "&a",
                                                 "*a",
                                                 "!a",
                                                 "|",
                                                 ">",
                                                 "%a",
                                                 "@a",
                                                 "`a`",
                                                 "'",
                                                 "''",
                                                 "\"",
                                                 "\\",
                                                 "\\n",
                                                 " a",
                                                 "a ",
                                                 " ",
                                                 "\t",
                                                 "\n",
                                                 "a\nb",
                                                 "a\n\n",
                                                 "\r",
                                                 "a\r\nb",
                                                 "---",
                                                 "...",
                                                 "\x01",
                                                 "\x1b[31m",
                                                 "\x7f",
                                                 "\xc2\x85",
                                                 "\xc2\xa0",
                                                 "\xe2\x80\xa8",
                                                 "\xe2\x80\xa9",
                                                 "\xef\xbb\xbf",
                                                 "\xef\xbf\xbd",
                                                 "\xf0\x9f\x90\x84",
                                                 "\xc3\xa4",
                                                 "$HOME",
                                                 "$(X)",
                                                 "{{x}}",
                                                 "wlm.sylabs.io/v1alpha1",
                                                 "a,b",
                                                 "a:",
                                                 ":a",
                                                 "a'b\"c",
                                                 "\\x41",
                                                 "\\u0041"};
    return kTexts;
}

/// A text put together from nasty ones and letters.
inline std::string random_text(std::mt19937& random) {
    const auto& texts = nasty_texts();
    std::string text;
    const auto parts = random() % 5 + 1;
    for (std::uint32_t part = 0; part < parts; ++part) {
        text += random() % 2 == 0 ? texts[random() % texts.size()]
                                  : std::string(1, static_cast<char>('a' + random() % 26));
    }
    return text;
}

/// A script of lines of such texts; without what no literal block carries.
inline std::string random_script(std::mt19937& random) {
    std::string script = random() % 4 == 0 ? "" : "#!/bin/bash\n";
    const auto lines = random() % 12 + 1;
    for (std::uint32_t line = 0; line < lines; ++line) {
        script += std::string(random() % 4, ' ') + std::string(random() % 2, '\t');
        script += random_text(random) + "\n";
    }
    if (random() % 4 == 0) {
        script.pop_back();
    } else {
        script += std::string(random() % 3, '\n');
    }
    return script;
}

} // namespace cybele::kubernetes
