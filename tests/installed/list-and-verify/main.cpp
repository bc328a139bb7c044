// SPDX-License-Identifier: Apache-2.0
// list-and-verify IMAGE [KEY.pub…]: lists an image's objects and verifies its signatures.
#include "images/sif/sif.hpp"
#include "images/signatures/signature.hpp"
#include "support/quote.hpp"

#include <filesystem>
#include <iostream>
#include <vector>

namespace {

int tell(const cybele::Error& error) {
    for (const auto& fault : error.faults()) {
        std::cerr << "error: " << fault.message << "\nbecause: " << fault.because << "\n";
    }
    return static_cast<int>(error.code());
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::cerr << "usage: list-and-verify IMAGE [KEY.pub...]\n";
        return 2;
    }
    const auto image = cybele::images::Image::open(argv[1]);
    if (!image) {
        return tell(image.error());
    }
    for (const auto& object : image->descriptors()) {
        std::cout << object.id << " " << cybele::images::data_type_name(object.type) << " "
                  << object.size << " " << cybele::printable(object.name) << "\n";
    }
    const std::vector<std::filesystem::path> keys(argv + 2, argv + argc);
    if (keys.empty()) {
        return 0;
    }
    const auto verification = cybele::images::verify_image(argv[1], keys);
    if (!verification) {
        return tell(verification.error());
    }
    std::cout << (verification->is_verified ? "verified" : "not verified: " + verification->because)
              << "\n";
    return verification->is_verified ? 0 : 4;
}
