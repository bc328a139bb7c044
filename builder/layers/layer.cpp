// SPDX-License-Identifier: Apache-2.0
#include "builder/layers/layer.hpp"

#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <unistd.h>

namespace cybele::builder {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLayerBlock = std::size_t{1} << 18U;
/// Content that compresses better than this is made to fill disks. Small layers are let be.
constexpr std::uint64_t kMostTimes = 200;
constexpr std::uint64_t kLetBe = std::uint64_t{256} << 20U;

} // namespace

struct LayerReader::State {
    struct Free {
        void operator()(archive* a) const {
            archive_read_free(a);
        }
    };
    using Archive = std::unique_ptr<archive, Free>;

    fs::path path;
    std::string digest;  ///< of the packed bytes; empty: not known
    std::string diff_id; ///< of the tar
    UniqueFd fd;
    Sha256 unpacked;
    std::uint64_t packed_size = 0;
    std::uint64_t unpacked_size = 0;
    std::optional<Error> error; ///< of the bytes below the tar
    bool is_empty = false;
    std::array<char, kLayerBlock> buffer{};
    Archive stream; ///< takes the compression off
    Archive tar;

    [[nodiscard]] std::uint64_t limit() const {
        return std::max(kLetBe, packed_size * kMostTimes);
    }
    [[nodiscard]] std::string name() const {
        return "the layer " + (digest.empty() ? diff_id : digest);
    }
    [[nodiscard]] Error too_much() const {
        return {ErrorCode::kInput,
                problem("layer-unpacks-too-much", name() + " unpacks to more than it should"),
                fmt::format("{} bytes may become {} at most; more is made to fill disks",
                            packed_size,
                            limit()),
                "do not use the image; if you trust it, build with --builder apptainer"};
    }

    static la_ssize_t read_packed(archive* reader, void* data, const void** bytes) {
        auto& self = *static_cast<State*>(data);
        for (;;) {
            const ssize_t count = ::read(self.fd.get(), self.buffer.data(), self.buffer.size());
            if (count < 0 && errno == EINTR) {
                continue;
            }
            if (count < 0) {
                self.error = system_error("cannot read " + printable(self.path.native()), errno);
                archive_set_error(reader, errno, "cannot read");
                return -1;
            }
            *bytes = self.buffer.data();
            return count;
        }
    }

    static la_ssize_t read_unpacked(archive* reader, void* data, const void** bytes) {
        auto& self = *static_cast<State*>(data);
        while (!self.is_empty) {
            std::size_t size = 0;
            la_int64_t offset = 0;
            const int status = archive_read_data_block(self.stream.get(), bytes, &size, &offset);
            if (status == ARCHIVE_EOF) {
                self.is_empty = true;
                return 0;
            }
            if (status < ARCHIVE_WARN) {
                const char* text = archive_error_string(self.stream.get());
                self.error =
                    self.error.value_or(Error(ErrorCode::kInput,
                                              problem("layer-damaged", self.name() + " is damaged"),
                                              text != nullptr ? printable(text) : "",
                                              "get the image again"));
                archive_set_error(reader, EINVAL, "damaged");
                return -1;
            }
            self.unpacked_size += size;
            if (self.unpacked_size > self.limit()) {
                self.error = self.too_much();
                archive_set_error(reader, EFBIG, "too much");
                return -1;
            }
            if (size > 0) {
                self.unpacked.update(std::string_view(static_cast<const char*>(*bytes), size));
                return static_cast<la_ssize_t>(size);
            }
        }
        return 0;
    }
};

LayerReader::LayerReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
LayerReader::LayerReader(LayerReader&&) noexcept = default;
LayerReader::~LayerReader() = default;

Result<LayerReader> LayerReader::open(const registry::OciLayer& layer) {
    auto state = std::make_unique<State>();
    state->path = layer.file.path;
    state->digest = layer.descriptor.digest;
    state->diff_id = layer.diff_id;
    CYBELE_TRY(state->fd, open_for_reading(layer.file.path));
    CYBELE_TRY(state->packed_size, file_size(state->fd.get(), layer.file.path));
    if (state->packed_size != layer.descriptor.size) {
        return fail(ErrorCode::kVerification,
                    problem("layer-wrong-size", state->name() + " is not what it should be"),
                    fmt::format("it has {} bytes, its manifest says {}",
                                state->packed_size,
                                layer.descriptor.size),
                    "get the image again from an intact source");
    }
    // First of all, so that nothing is read of a file that is not the right one.
    if (!state->digest.empty()) {
        CYBELE_TRY(const Digest found,
                   sha256_range(state->fd.get(), 0, state->packed_size, state->path));
        if ("sha256:" + hex(found) != state->digest) {
            return fail(
                ErrorCode::kVerification,
                problem("layer-wrong-digest", state->name() + " is not what it should be"),
                "the digest of its bytes is sha256:" + hex(found),
                "build again: it is fetched again; if the error stays, its source is damaged");
        }
    }
    state->stream.reset(archive_read_new());
    archive* stream = state->stream.get();
    archive_read_support_filter_gzip(stream);
    archive_read_support_filter_zstd(stream);
    archive_read_support_format_raw(stream);
    archive_read_support_format_empty(stream);
    state->tar.reset(archive_read_new());
    archive_read_support_format_tar(state->tar.get());
    archive_read_support_format_empty(state->tar.get());
    LayerReader reader(std::move(state));
    State& own = *reader.state_;
    archive_entry* entry = nullptr;
    const bool is_open =
        archive_read_open(stream, &own, nullptr, State::read_packed, nullptr) == ARCHIVE_OK;
    const int status = is_open ? archive_read_next_header(stream, &entry) : ARCHIVE_FATAL;
    if (status != ARCHIVE_OK && status != ARCHIVE_EOF) {
        return fail(own.error.value_or(Error(ErrorCode::kInput,
                                             problem("layer-damaged", own.name() + " is damaged"),
                                             printable(archive_error_string(stream)),
                                             "get the image again")));
    }
    own.is_empty = status == ARCHIVE_EOF;
    if (archive_read_open(own.tar.get(), &own, nullptr, State::read_unpacked, nullptr) !=
        ARCHIVE_OK) {
        return fail(reader.failure());
    }
    return reader;
}

archive* LayerReader::tar() const {
    return state_->tar.get();
}

Error LayerReader::failure() const {
    if (const auto& error = state_->error; error.has_value()) {
        return *error;
    }
    const char* text = archive_error_string(state_->tar.get());
    return {ErrorCode::kInput,
            problem("layer-incomplete", state_->name() + " is not a complete tar file"),
            text != nullptr ? printable(text) : "",
            "get the image again; is it an image of a root file system?"};
}

std::uint64_t LayerReader::limit() const {
    return state_->limit();
}

Error LayerReader::too_much() const {
    return state_->too_much();
}

Result<void> LayerReader::finish() {
    State& own = *state_;
    // The zeros behind the last entry, and what else a hostile layer has there.
    for (const void* bytes = nullptr;;) {
        const la_ssize_t count = State::read_unpacked(own.tar.get(), &own, &bytes);
        if (count < 0) {
            return fail(failure());
        }
        if (count == 0) {
            break;
        }
    }
    const std::string unpacked = "sha256:" + hex(own.unpacked.finish());
    if (unpacked != own.diff_id) {
        return fail(ErrorCode::kVerification,
                    problem("layer-wrong-content", own.name() + " is not what it should be"),
                    "the digest of its tar is " + unpacked + ", the image says " + own.diff_id,
                    "do not use the image; report this to its author");
    }
    return {};
}

} // namespace cybele::builder
