// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/script_words.hpp"

#include "schedulers/reading/script_shell.hpp"

namespace cybele::submission {

ScriptWords words_of_script(const std::string& script, schedulers::Reader reader) {
    ScriptWords words;
    const auto read = schedulers::read_batch_script(script, "job.sh", reader);
    if (!read) {
        return words;
    }
    for (const char* need : {"requeue", "no-requeue", "rerun"}) {
        words.says_rerun = words.says_rerun || read->find(need) != nullptr;
    }
    if (const schedulers::Directive* comment = read->find("comment"); comment != nullptr) {
        words.comment = comment->value;
    }
    words.variables = schedulers::variables_of(*read);
    return words;
}

} // namespace cybele::submission
