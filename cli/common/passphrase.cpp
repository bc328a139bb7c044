// SPDX-License-Identifier: Apache-2.0
#include "cli/common/passphrase.hpp"

#include "cli/common/cli11.hpp"

#include <limits>

namespace cybele::cli {

void add_passphrase(CLI::App& verb, PassphraseOptions& options) {
    CLI::Option* const file = verb.add_option("--passphrase-file",
                                              options.file,
                                              "file with the key's passphrase in its first line")
                                  ->type_name("FILE");
    verb.add_option("--passphrase-fd",
                    options.descriptor,
                    "file descriptor from which one line is read: the key's passphrase")
        ->type_name("N")
        ->check(CLI::Range(std::numeric_limits<double>::max(), "NONNEGATIVE"))
        ->excludes(file);
}

PassphraseSource passphrase_source(const Session& session, const PassphraseOptions& options) {
    PassphraseSource source;
    source.file = options.file;
    source.descriptor = options.descriptor;
    source.variable = "CYBELE_PASSPHRASE";
    source.value = session.environment.get("CYBELE_PASSPHRASE");
    if (!source.value) {
        source.value = session.environment.get("COSIGN_PASSWORD");
    }
    source.may_ask = true;
    if (session.is_terminal && !source.value && source.file.empty() && !source.descriptor) {
        session.doing({}); // its line would be written over the question
    }
    if (!session.is_apptainer()) { // Apptainer says nothing of who may read a file
        source.on_warning = [&session](Fault fault) { session.note({std::move(fault)}); };
    }
    return source;
}

} // namespace cybele::cli
