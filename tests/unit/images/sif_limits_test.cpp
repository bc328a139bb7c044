// SPDX-License-Identifier: Apache-2.0
#include "images/sif/format.hpp"
#include "sif_sample.hpp"

#include <chrono>
#include <functional>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sample;

namespace {

// A sanitizer costs memory and time by itself: there the images are read for its own findings.
#if defined(__has_feature)
constexpr bool kIsSanitized = __has_feature(address_sanitizer);
#else
constexpr bool kIsSanitized = false;
#endif

struct Cost {
    bool is_read = false;
    long more_kilobytes = 0; ///< at its peak, above what the process had before
    double seconds = 0;      ///< of the processor
};

/// Opens the image in a process of its own and reads what is small in it.
Cost cost_of_opening(const fs::path& path) {
    int ends[2] = {-1, -1};
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const auto peak = [] {
            rusage usage{};
            ::getrusage(RUSAGE_SELF, &usage);
            return usage;
        };
        const rusage before = peak();
        Cost cost;
        {
            const auto image = Image::open(path);
            cost.is_read = image.has_value();
            for (std::size_t i = 0; image && i < image->descriptors().size(); ++i) {
                (void)image->read_object(image->descriptors()[i], 4096);
            }
        }
        const rusage after = peak();
        cost.more_kilobytes = after.ru_maxrss - before.ru_maxrss;
        cost.seconds = static_cast<double>(after.ru_utime.tv_sec + after.ru_stime.tv_sec) +
                       static_cast<double>(after.ru_utime.tv_usec + after.ru_stime.tv_usec) / 1e6;
        ::_exit(::write(ends[1], &cost, sizeof cost) == sizeof cost ? 0 : 1);
    }
    Cost cost;
    CHECK(::read(ends[0], &cost, sizeof cost) == sizeof cost);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    ::close(ends[0]);
    ::close(ends[1]);
    return cost;
}

/// The largest table there may be, every entry in use, each with the longest name and an object.
void write_full_table(const fs::path& path, bool is_overlapping) {
    NewImage wanted = image();
    wanted.objects.clear();
    wanted.descriptors = 65535;
    write(path, wanted);
    std::string bytes = content(path);
    const std::uint64_t data = bytes.size();
    Descriptor descriptor;
    descriptor.type = DataType::kGeneric;
    descriptor.group = 1;
    descriptor.size = 1;
    descriptor.name.assign(128, 'n');
    for (std::uint32_t id = 1; id <= 65535; ++id) {
        descriptor.id = id;
        descriptor.offset = data + (is_overlapping ? 0 : 65535 - id);
        bytes.replace(entry(id), 585, encode_descriptor(descriptor));
    }
    put(bytes, kFree, 0);
    put(bytes, kDataSize, 65535);
    REQUIRE(write_file(path, bytes + std::string(65535, 'd')).has_value());
}

} // namespace

TEST_CASE("no image costs more than 50 MB and a second, whatever it claims") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, image());
    const std::string whole = content(path);
    const struct {
        const char* name;
        bool is_read;
        std::function<void()> make;
    } cases[] = {
        {"a full table", true, [&] { write_full_table(path, false); }},
        {"a full table of overlapping objects", false, [&] { write_full_table(path, true); }},
        {"a sparse file of a terabyte, all of it one object",
         true,
         [&] {
             std::string bytes = whole;
             put(bytes, entry(2) + kSize, (1ULL << 40U) - 32768);
             REQUIRE(write_file(path, bytes).has_value());
             REQUIRE(::truncate(path.c_str(), 1LL << 40U) == 0);
         }},
        {"a signature of 64 GB",
         false,
         [&] {
             std::string bytes = whole;
             put(bytes, entry(1), 0x4005, 4);
             put(bytes, entry(1) + kSize, 1ULL << 36U);
             put(bytes, entry(2) + kSize, 0);
             REQUIRE(write_file(path, bytes).has_value());
             REQUIRE(::truncate(path.c_str(), 1LL << 37U) == 0);
         }},
        {"2^57 descriptors",
         false,
         [&] {
             std::string bytes = whole;
             put(bytes, kTotal, 1ULL << 57U);
             REQUIRE(write_file(path, bytes).has_value());
         }},
    };
    for (const auto& one : cases) {
        CAPTURE(one.name);
        fs::remove(path);
        one.make();
        const Cost cost = cost_of_opening(path);
        CHECK(cost.is_read == one.is_read);
        if (!kIsSanitized) {
            CHECK(cost.more_kilobytes < 44 * 1024); // the program itself takes 4 MB
            CHECK(cost.seconds < 1.0);
        }
    }
}
