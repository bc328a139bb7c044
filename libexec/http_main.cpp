// SPDX-License-Identifier: Apache-2.0
// cybelectl-http: one HTTP exchange for cybelectl; with --session, many; with --serve, https for
// others. JSON on standard input, JSON on standard output; exit code 0 whenever an answer was
// written, one that tells of a failure too.
#include "libexec/http_exchange.hpp"
#include "libexec/http_server.hpp"
#include "libexec/http_session.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include <curl/curl.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace {

bool read_all(std::string& text) {
    char buffer[65536];
    for (;;) {
        const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (count == 0) {
            return true;
        }
        if (count < 0 && errno != EINTR) {
            return false;
        }
        text.append(buffer, count > 0 ? static_cast<std::size_t>(count) : 0);
    }
}

} // namespace

int main(int argc, char** argv) {
    using namespace cybele::http;
    // Who asked may be killed; then nobody keeps others from the file that this one writes.
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) { // NOLINT: prctl(2) is variadic
        return 1;
    }
    if (argc == 2 && std::string_view(argv[1]) == "--version") {
        return std::puts("cybelectl-http " CYBELE_VERSION) == EOF ? 1 : 0;
    }
    const bool is_session = argc == 2 && std::string_view(argv[1]) == "--session";
    const bool is_server = argc == 2 && std::string_view(argv[1]) == "--serve";
    if (argc != 1 && !is_session && !is_server) {
        (void)std::fputs(
            "cybelectl-http reads a JSON request from standard input; it is started by "
            "cybelectl\n",
            stderr);
        return 2;
    }
    if (std::signal(SIGPIPE, SIG_IGN) == SIG_ERR || // NOLINT: no thread runs yet
        std::signal(SIGXFSZ, SIG_IGN) == SIG_ERR || // NOLINT: a write fails instead
        curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return 1;
    }
    if (is_server) {
        return run_server();
    }
    if (is_session) {
        const int code = run_session();
        curl_global_cleanup();
        return code;
    }
    std::string text;
    Request request;
    Answer answer;
    if (!read_all(text)) {
        return 1;
    }
    answer.failure = read_request(text, request);
    if (!answer.failure) {
        answer = exchange(request);
    }
    const std::string written = write_answer(answer);
    curl_global_cleanup();
    const bool is_written =
        std::fwrite(written.data(), 1, written.size(), stdout) == written.size();
    return is_written && std::fflush(stdout) == 0 ? 0 : 1;
}
