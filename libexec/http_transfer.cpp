// SPDX-License-Identifier: Apache-2.0
#include "libexec/http_transfer.hpp"

#include "libexec/http_hash.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::http {

namespace {

using Easy = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using List = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

struct Kind {
    CURLcode code;
    const char* name;
};
constexpr Kind kKinds[] = {
    {CURLE_COULDNT_RESOLVE_HOST, "no-such-host"},
    {CURLE_COULDNT_CONNECT, "not-connected"},
    {CURLE_URL_MALFORMAT, "url"},
    {CURLE_UNSUPPORTED_PROTOCOL, "url"},
    {CURLE_OPERATION_TIMEDOUT, "timeout"},
    {CURLE_PEER_FAILED_VERIFICATION, "untrusted"},
    {CURLE_SSL_CONNECT_ERROR, "untrusted"},
    {CURLE_SSL_CACERT_BADFILE, "untrusted"},
    {CURLE_SSL_CERTPROBLEM, "certificate"},
    {CURLE_FILESIZE_EXCEEDED, "too-large"},
};

constexpr mode_t kOutputMode = 0600;
/// Bytes of a system call; libcurl's 16 and 64 KiB need more processor time for an image.
constexpr long kTransferBuffer = 512L << 10U;

std::string reason_of(int number) {
    return std::generic_category().message(number);
}

class File {
public:
    File() = default;
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (fd_ >= 0) {
            ::close(fd_);
        }
    }
    bool open(const std::string& path, int flags) {
        fd_ = ::open(path.c_str(), flags | O_CLOEXEC, kOutputMode); // NOLINT: open(2) is variadic
        return fd_ >= 0;
    }
    [[nodiscard]] int fd() const {
        return fd_;
    }

private:
    int fd_ = -1;
};

/// What the callbacks of one transfer share.
class Transfer {
public:
    Transfer(const Request& request, const Hop& hop) : request_(request), hop_(hop) {}

    Answer run();

private:
    bool open_files();
    bool set_options(CURL* easy, curl_slist* headers);
    bool set_body(CURL* easy);
    List make_headers();
    bool begin_body();
    void fail(std::string kind, std::string message) {
        if (!answer_.failure) {
            answer_.failure = Failure{std::move(kind), std::move(message)};
        }
    }
    std::size_t take_header(std::string_view line);
    std::size_t take_body(std::string_view piece);
    std::size_t give_body(char* into, std::size_t room);
    void tell_progress(curl_off_t total, curl_off_t done);
    bool hash_what_is_there();
    [[nodiscard]] std::uint64_t body_size() const;
    [[nodiscard]] bool is_for_file() const {
        return !request_.output.path.empty() && (answer_.status == 200 || answer_.status == 206);
    }

    static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self) {
        return static_cast<Transfer*>(self)->take_header({data, size});
    }
    static std::size_t on_body(char* data, std::size_t, std::size_t size, void* self) {
        return static_cast<Transfer*>(self)->take_body({data, size});
    }
    static std::size_t on_read(char* data, std::size_t size, std::size_t count, void* self) {
        return static_cast<Transfer*>(self)->give_body(data, size * count);
    }
    static int on_progress(
        void* self, curl_off_t total, curl_off_t done, curl_off_t to_send, curl_off_t sent) {
        static_cast<Transfer*>(self)->tell_progress(total + to_send, done + sent);
        return 0;
    }
    static int on_seek(void* self, curl_off_t offset, int origin) {
        if (origin != SEEK_SET || offset < 0) {
            return CURL_SEEKFUNC_CANTSEEK;
        }
        static_cast<Transfer*>(self)->sent_ = static_cast<std::uint64_t>(offset);
        return CURL_SEEKFUNC_OK;
    }

    const Request& request_;
    const Hop& hop_;
    Answer answer_;
    File input_;
    File output_;
    std::uint64_t input_size_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t had_ = 0; ///< bytes that the output file had before
    bool is_body_begun_ = false;
    std::optional<Hash> hash_;
    std::chrono::steady_clock::time_point told_;
};

std::uint64_t Transfer::body_size() const {
    return request_.body.file.empty() ? request_.body.bytes.size() : input_size_;
}

bool Transfer::open_files() {
    if (hop_.has_body && !request_.body.file.empty()) {
        struct stat status {};
        if (!input_.open(request_.body.file, O_RDONLY) || ::fstat(input_.fd(), &status) != 0) {
            fail("file", "cannot read " + request_.body.file + ": " + reason_of(errno));
            return false;
        }
        const auto size = static_cast<std::uint64_t>(status.st_size);
        const std::uint64_t rest = size - std::min(size, request_.body.offset);
        input_size_ = request_.body.size.value_or(rest);
        if (input_size_ > rest) {
            fail("file", request_.body.file + " is shorter than what is to be sent of it");
            return false;
        }
    }
    struct stat status {};
    if (request_.output.is_resumed && ::stat(request_.output.path.c_str(), &status) == 0) {
        had_ = static_cast<std::uint64_t>(status.st_size);
    }
    return true;
}

List Transfer::make_headers() {
    List list(nullptr, curl_slist_free_all);
    const auto append = [&](const std::string& line) {
        curl_slist* const longer = curl_slist_append(list.get(), line.c_str());
        if (longer == nullptr) {
            fail("request", "memory is short");
            return;
        }
        (void)list.release();
        list.reset(longer);
    };
    append("Expect:"); // servers that do not know it would cost a second
    for (const auto& [name, value] : hop_.headers) {
        std::string line = name;
        line += value.empty() ? ";" : ": "; // libcurl's way to send an empty header
        append(line += value);
    }
    if (had_ > 0) {
        append("Range: bytes=" + std::to_string(had_) + "-");
    } else if (request_.range) {
        append("Range: bytes=" + std::to_string(request_.range->first) + "-" +
               std::to_string(request_.range->second));
    }
    return list;
}

bool Transfer::set_body(CURL* easy) {
    if (hop_.method == "HEAD") {
        return curl_easy_setopt(easy, CURLOPT_NOBODY, 1L) == CURLE_OK;
    }
    bool done = true;
    if (hop_.has_body) {
        done = curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L) == CURLE_OK &&
               curl_easy_setopt(easy,
                                CURLOPT_INFILESIZE_LARGE,
                                static_cast<curl_off_t>(body_size())) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_READFUNCTION, &Transfer::on_read) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_READDATA, this) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, &Transfer::on_seek) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_SEEKDATA, this) == CURLE_OK;
    }
    return done && curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, hop_.method.c_str()) == CURLE_OK;
}

bool Transfer::set_options(CURL* easy, curl_slist* headers) {
    bool done = set_body(easy);
    const auto set = [&](CURLoption option, auto value) {
        done = done && curl_easy_setopt(easy, option, value) == CURLE_OK;
    };
    set(CURLOPT_URL, hop_.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, request_.access.allows_plain ? "http,https" : "https");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(CURLOPT_USERAGENT, "cybelectl/" CYBELE_VERSION);
    set(CURLOPT_HTTPHEADER, headers);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.limits.connect_ms));
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(request_.limits.exchange_ms));
    if (request_.limits.stall_s > 0) {
        set(CURLOPT_LOW_SPEED_LIMIT, 1L);
        set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request_.limits.stall_s));
    }
    if (!request_.access.ca_file.empty()) {
        set(CURLOPT_CAINFO, request_.access.ca_file.c_str());
    }
    if (!request_.access.unix_socket.empty()) {
        set(CURLOPT_UNIX_SOCKET_PATH, request_.access.unix_socket.c_str());
    }
    if (request_.tells_progress) {
        set(CURLOPT_NOPROGRESS, 0L);
        set(CURLOPT_XFERINFOFUNCTION, &Transfer::on_progress);
        set(CURLOPT_XFERINFODATA, static_cast<void*>(this));
    }
    set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(CURLOPT_HEADERDATA, static_cast<void*>(this));
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(CURLOPT_WRITEDATA, static_cast<void*>(this));
    set(CURLOPT_BUFFERSIZE, kTransferBuffer);
    set(CURLOPT_UPLOAD_BUFFERSIZE, kTransferBuffer);
    return done;
}

std::size_t Transfer::take_header(std::string_view line) {
    take_header_line(line, answer_.status, answer_.headers);
    return line.size();
}

/// Makes the file ready for the first byte, behind what it has or empty. Only now: an answer
/// without a body for it leaves no file.
bool Transfer::begin_body() {
    is_body_begun_ = true;
    if (!is_for_file()) {
        return true;
    }
    std::uint64_t at = 0;
    if (had_ > 0 && answer_.status == 206) {
        const std::string expected = "bytes " + std::to_string(had_) + "-";
        if (!value_of(answer_.headers, "content-range").starts_with(expected)) {
            fail("unreachable", "the server sends another part of the file than was asked for");
            return false;
        }
        at = had_;
    }
    // What another user put under the name is neither followed nor kept.
    const bool is_new = !request_.output.is_resumed;
    if (is_new) {
        (void)::unlink(request_.output.path.c_str());
    }
    if (!output_.open(request_.output.path,
                      O_RDWR | O_CREAT | O_NOFOLLOW | (is_new ? O_EXCL : 0)) ||
        ::ftruncate(output_.fd(), static_cast<off_t>(at)) != 0 ||
        ::lseek(output_.fd(), static_cast<off_t>(at), SEEK_SET) < 0) {
        fail("file", "cannot write " + request_.output.path + ": " + reason_of(errno));
        return false;
    }
    had_ = at;
    return !request_.output.is_hashed || hash_what_is_there();
}

/// Of a file that goes on, the bytes before count, too.
bool Transfer::hash_what_is_there() {
    hash_.emplace();
    std::array<char, 65536> buffer{};
    for (std::uint64_t at = 0; at < had_;) {
        const std::size_t room = std::min<std::uint64_t>(buffer.size(), had_ - at);
        const ssize_t count = ::pread(output_.fd(), buffer.data(), room, static_cast<off_t>(at));
        if (count <= 0) {
            fail("file", "cannot read " + request_.output.path);
            return false;
        }
        hash_->update({buffer.data(), static_cast<std::size_t>(count)});
        at += static_cast<std::uint64_t>(count);
    }
    return true;
}

void Transfer::tell_progress(curl_off_t total, curl_off_t done) {
    constexpr std::chrono::milliseconds kBetween{200};
    const auto now = std::chrono::steady_clock::now();
    if (now - told_ < kBetween || total <= 0) {
        return;
    }
    told_ = now;
    const std::string line = write_progress(had_ + static_cast<std::uint64_t>(done),
                                            had_ + static_cast<std::uint64_t>(total));
    (void)std::fwrite(line.data(), 1, line.size(), stdout);
    (void)std::fflush(stdout);
}

std::size_t Transfer::take_body(std::string_view piece) {
    const std::size_t size = piece.size();
    if (is_redirect(answer_.status) && request_.limits.redirects > 0) {
        return size;
    }
    if (!is_body_begun_ && !begin_body()) {
        return 0;
    }
    answer_.size += size;
    if (answer_.size > request_.limits.answer_size) {
        fail("too-large",
             "the answer is larger than " + std::to_string(request_.limits.answer_size) + " bytes");
        return 0;
    }
    if (!is_for_file()) {
        answer_.body.append(piece);
        return size;
    }
    if (hash_) {
        hash_->update(piece);
    }
    while (!piece.empty()) {
        const ssize_t count = ::write(output_.fd(), piece.data(), piece.size());
        if (count < 0 && errno != EINTR) {
            fail("file", "cannot write " + request_.output.path + ": " + reason_of(errno));
            return 0;
        }
        piece.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
    return size;
}

std::size_t Transfer::give_body(char* into, std::size_t room) {
    const std::size_t count =
        static_cast<std::size_t>(std::min<std::uint64_t>(room, body_size() - sent_));
    if (request_.body.file.empty()) {
        std::memcpy(into, request_.body.bytes.data() + sent_, count);
        sent_ += count;
        return count;
    }
    const ssize_t got =
        ::pread(input_.fd(), into, count, static_cast<off_t>(request_.body.offset + sent_));
    if (got < 0 || (got == 0 && count > 0)) {
        fail("file", "cannot read " + request_.body.file);
        return CURL_READFUNC_ABORT;
    }
    sent_ += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
}

Answer Transfer::run() {
    if (!open_files()) {
        return answer_;
    }
    const Easy easy(curl_easy_init(), curl_easy_cleanup);
    const List headers = make_headers();
    if (easy == nullptr || answer_.failure || !set_options(easy.get(), headers.get())) {
        fail("request", "libcurl does not accept the request");
        return answer_;
    }
    std::array<char, CURL_ERROR_SIZE> message{};
    const CURLcode buffered = curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, message.data());
    const CURLcode code = curl_easy_perform(easy.get());
    if (code != CURLE_OK) {
        const bool has_message = buffered == CURLE_OK && message[0] != '\0';
        const char* const words = has_message ? message.data() : curl_easy_strerror(code);
        fail(failure_kind(code, words), words);
        return answer_;
    }
    // A body of no bytes has not begun yet, but its file has to be empty.
    if (is_for_file() && hop_.method != "HEAD" && !is_body_begun_ && !begin_body()) {
        return answer_;
    }
    if (hash_) {
        answer_.sha256 = hash_->finish();
    }
    answer_.url = hop_.url;
    return answer_;
}

} // namespace

Answer transfer(const Request& request, const Hop& hop) {
    return Transfer(request, hop).run();
}

void take_header_line(std::string_view line, int& status, Headers& headers) {
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) {
        line.remove_suffix(1);
    }
    if (line.starts_with("HTTP/")) { // of a 100 before, of a proxy, of the answer
        headers.clear();
        const std::size_t space = line.find(' ');
        const std::string number(space == std::string_view::npos ? "" : line.substr(space + 1, 3));
        status = static_cast<int>(std::strtol(number.c_str(), nullptr, 10));
        return;
    }
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos) {
        std::string name(line.substr(0, colon));
        std::transform(name.begin(), name.end(), name.begin(), [](char letter) {
            return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
        });
        line.remove_prefix(colon + 1);
        const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
        line.remove_prefix(begin);
        line = line.substr(0, line.find_last_not_of(" \t") + 1);
        headers.emplace_back(std::move(name), std::string(line));
    }
}

std::string failure_kind(int code, std::string_view words) {
    // libcurl has one code for all failures of TLS; these words are OpenSSL's.
    if (code == CURLE_SSL_CONNECT_ERROR && words.find("wrong version number") != words.npos) {
        return "not-tls";
    }
    const auto* const kind = std::find_if(std::begin(kKinds),
                                          std::end(kKinds),
                                          [&](const Kind& known) { return known.code == code; });
    return kind == std::end(kKinds) ? "unreachable" : kind->name;
}

bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string value_of(const Headers& headers, std::string_view name) {
    const auto found = std::find_if(
        headers.begin(), headers.end(), [&](const auto& header) { return header.first == name; });
    return found == headers.end() ? std::string() : found->second;
}

} // namespace cybele::http
