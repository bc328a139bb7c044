// SPDX-License-Identifier: Apache-2.0
#include "images/inspection/binary_text.hpp"

#include "support/characters.hpp"

namespace cybele::images {
namespace {

constexpr std::size_t kShortest = 4;
constexpr std::size_t kLongest = 512; // of a text that can be a version

bool is_printable(char c) {
    return c >= ' ' && c < 0x7F;
}

/// Judges text after text of a file.
class Search {
public:
    explicit Search(const TextSearch& search)
        : search_(search), is_marked_(search.marker.empty()) {}

    void feed(std::string_view bytes) {
        for (const char c : bytes) {
            if (!is_printable(c)) {
                judge();
                text_.clear();
            } else if (text_.size() < kLongest) {
                text_ += c;
            }
        }
    }
    [[nodiscard]] std::string finish() {
        judge();
        return is_marked_ ? (released_.empty() ? version_ : released_) : std::string{};
    }

private:
    void judge() {
        if (text_.size() < kShortest) {
            return;
        }
        is_marked_ = is_marked_ || text_.find(search_.marker) != std::string::npos;
        if (!search_.before.empty()) {
            const auto at = text_.find(search_.before);
            if (version_.empty() && at != std::string::npos) {
                version_ =
                    leading_version(std::string_view(text_).substr(at + search_.before.size()));
            }
            return;
        }
        const bool is_release = text_.front() == 'v';
        const auto whole = std::string_view(text_).substr(is_release ? 1 : 0);
        auto& known = is_release ? released_ : version_;
        if (known.empty() && leading_version(whole) == whole) {
            known = whole;
        }
    }

    const TextSearch& search_;
    bool is_marked_;
    std::string text_;
    std::string version_;
    std::string released_;
};

} // namespace

std::string leading_version(std::string_view text) {
    std::size_t end = 0;
    std::size_t dots = 0;
    while (end < text.size() && (is_digit(text[end]) || (text[end] == '.' && end > 0))) {
        dots += text[end] == '.' ? 1U : 0U;
        ++end;
    }
    while (end > 0 && text[end - 1] == '.') { // the end of a sentence
        --end;
        --dots;
    }
    if (dots == 0) {
        return {};
    }
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0)) {
        ++end;
    }
    return std::string(text.substr(0, end));
}

Result<std::string> find_version(const FileNode& file, const TextSearch& search) {
    Search found(search);
    CYBELE_CHECK(file.read([&](std::string_view bytes) -> Result<void> {
        found.feed(bytes);
        return {};
    }));
    return found.finish();
}

} // namespace cybele::images
