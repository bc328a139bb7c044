// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench.hpp"
#include "schedulers/dialects/dialect.hpp"
#include "support/message.hpp"

#include <string>

namespace cybele::schedulers {

inline constexpr const char* kBatchHead = "launch: batch\n";

inline std::string script_field(const std::string& body) {
    std::string text = "script: |\n";
    std::size_t at = 0;
    while (at < body.size()) {
        const auto end = body.find('\n', at);
        text += "  " + body.substr(at, end - at) + "\n";
        at = end + 1;
    }
    return text;
}

inline std::string batch(const std::string& fields, const std::string& body) {
    return kBatchHead + fields + script_field(body);
}

inline Result<RenderedScript> render_batch(const std::string& fields, const std::string& dialect) {
    const launchers::Job job = job_of("kind: Job\nname: run\n" + fields);
    RenderInput input;
    input.job = &job;
    input.dialect = dialect;
    input.image = job.image ? job.image->reference : "";
    return render_script(input);
}

/// The lines of the head, without the first.
inline std::string head_of(const std::string& fields, const std::string& dialect) {
    const auto script = render_batch(fields, dialect);
    REQUIRE_MESSAGE(script.has_value(), format_text(script.error().faults()));
    const auto begin = script->text.find('\n') + 1;
    return script->text.substr(begin, script->text.find("\n# From ") - begin);
}

inline std::string fault_of(const std::string& fields, const std::string& dialect) {
    const auto script = render_batch(fields, dialect);
    REQUIRE_FALSE(script.has_value());
    return format_text(script.error().faults());
}

} // namespace cybele::schedulers
