// SPDX-License-Identifier: Apache-2.0
// The static program as it starts: exec, run and shell, which ranks call by the thousand, are done
// by this small program; for all else, and for whatever it cannot tell, it becomes the whole one.
#include "cli/common/call.hpp"
#include "cli/run/start_options.hpp"
#include "cli/run/start_words.hpp"
#include "cli/start/whole_program.hpp"
#include "support/file_size_signal.hpp"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <sys/mman.h>

namespace {

int call(int argc, char** argv, void (*sigpipe_before)(int)) {
    const auto become_whole = [=] {
        std::signal(SIGPIPE, sigpipe_before); // NOLINT: before any thread
        cybele::restore_file_size_signal();
        cybele::cli::become_whole_program(argv);
    };
    cybele::cli::Session session;
    session.words = cybele::cli::words_of(argc, argv);
    session.apptainer_name = cybele::cli::apptainer_name_of(argc > 0 ? argv[0] : "");
    cybele::cli::learn(session, sigpipe_before);
    if (!cybele::cli::read_start(session)) {
        become_whole();
    }
    session.find_image =
        [&](const cybele::cli::StartOptions& options) -> cybele::Result<std::string> {
        // Of the store or of a registry; to be written, perhaps by a link into the store.
        if (options.image.find(':') != std::string::npos || options.request.image.writable) {
            become_whole();
        }
        return options.image;
    };
    return cybele::cli::act(session);
}

/// A start writes a dozen pages of the heap: they come at once (Linux 5.14), not by a fault each.
void populate_heap() {
    constexpr std::size_t kPage = 4096;
    constexpr std::size_t kWritten = 12 * kPage;
    const auto first = std::make_unique<char>();
    char* const page = first.get() - reinterpret_cast<std::uintptr_t>(first.get()) % kPage;
    (void)madvise(page, kWritten, MADV_POPULATE_WRITE);
}

} // namespace

int main(int argc, char** argv) {
    populate_heap();
    return cybele::cli::guarded(call, argc, argv);
}
