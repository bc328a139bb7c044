// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/keys/new.hpp"
#include "images/openpgp/clear_sign.hpp"
#include "images/openpgp/generate.hpp"
#include "images/signatures/legacy.hpp"
#include "images/signatures/sign.hpp"
#include "images/squashfs/squashfs.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "tests/unit/namespaces/tiny_root.hpp"

#include <optional>
#include <string>
#include <vector>

/// Signed images whose every partition is known.
namespace verified {

using namespace cybele;
using namespace cybele::images;

namespace fs = std::filesystem;

constexpr std::int64_t kNow = 1800000000;
constexpr std::size_t kEntries = 48;
constexpr std::size_t kTable = 4096;

/// A file system as its partitions: the root, and what is laid over it, the lowest first.
struct Layers {
    std::string root;
    std::vector<std::string> over;

    bool operator==(const Layers&) const = default;
};

/// An entry of the table, read and written by hand: nothing of the code under test.
struct Raw {
    static std::uint64_t number(const std::string& bytes, std::size_t at, std::size_t size) {
        std::uint64_t value = 0;
        for (std::size_t i = size; i-- > 0;) {
            value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
        }
        return value;
    }
    static void put(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            bytes[at + i] = static_cast<char>(value >> (8U * i) & 0xffU);
        }
    }
    static std::size_t entry(std::size_t index) {
        return kTable + index * 585;
    }
    static bool is_used(const std::string& bytes, std::size_t index) {
        return bytes[entry(index) + 4] != 0;
    }
    static bool is_partition(const std::string& bytes, std::size_t index, std::uint64_t part) {
        return is_used(bytes, index) && number(bytes, entry(index), 4) == 0x4004 &&
               number(bytes, entry(index) + 205, 4) == part;
    }
    static std::string object(const std::string& bytes, std::size_t index) {
        const std::uint64_t offset = number(bytes, entry(index) + 17, 8);
        const std::uint64_t size = number(bytes, entry(index) + 25, 8);
        return offset <= bytes.size() ? bytes.substr(offset, size) : std::string();
    }
    /// What a runtime lays together, by the bytes of the file alone.
    static std::optional<Layers> layers(const std::string& bytes) {
        for (std::size_t i = 0; i < kEntries; ++i) {
            if (!is_partition(bytes, i, 2)) {
                continue;
            }
            Layers found{object(bytes, i), {}};
            for (std::size_t j = 0; j < kEntries; ++j) {
                if (is_partition(bytes, j, 4) &&
                    number(bytes, entry(j) + 9, 4) == number(bytes, entry(i) + 9, 4)) {
                    found.over.push_back(object(bytes, j));
                }
            }
            return found;
        }
        return std::nullopt;
    }
};

/// A signed image as its signer left it.
struct Base {
    std::string bytes;
    Layers layers;
    bool is_legacy = false;
};

/// A squashfs of a few files with this text.
inline std::string pack(const std::string& text, const std::vector<std::string>& names) {
    const TempDirectory folder = tiny::make_folder();
    const fs::path root = folder.path() / "root";
    for (const std::string& name : names) {
        tiny::write(root / name, text + " " + name + "\n");
    }
    const fs::path file = folder.path() / "file";
    tiny::write(file, "");
    const UniqueFd fd(open(file.c_str(), O_RDWR | O_CLOEXEC));
    PackOptions options;
    options.all_root = true;
    options.workers = 1;
    options.clamp_times = 0;
    const auto size = write_squashfs(root, fd.get(), 0, options);
    REQUIRE(size.has_value());
    return tiny::read(file).substr(0, *size);
}

inline NewObject object_of(DataType type, std::string bytes) {
    NewObject object;
    object.type = type;
    object.bytes = std::move(bytes);
    return object;
}

inline NewObject partition_of(PartType part, const std::string& bytes) {
    NewObject object = object_of(DataType::kPartition, bytes);
    object.extra = partition_extra(FsType::kSquashfs, part, host_architecture());
    object.alignment = 4096;
    return object;
}

inline SignOptions signed_now() {
    SignOptions options;
    options.now = kNow;
    return options;
}

/// Signers, partitions and images, made once.
struct World {
    TempDirectory folder = [] {
        auto made = TempDirectory::make(
            fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path(), "verified");
        REQUIRE(made.has_value());
        return std::move(*made);
    }();
    fs::path path = folder.path() / "app.sif";
    std::string good = pack("good", {"word", "bin/sh", "etc/passwd"});
    std::string evil = pack("evil", {"word", "bin/sh", "etc/passwd"});
    std::string over = pack("over", {"word", "opt/more"});
    std::string evil_over = pack("evil over", {"word"});
    openpgp::Certificate person = new_person("Alice");
    openpgp::Certificate stranger = new_person("Eve");
    openpgp::Keyring ring;
    Trust trust;
    Trust old;
    std::vector<Base> bases;

    World() {
        for (const char* const name : {"alice", "eve"}) {
            REQUIRE(
                new_key({folder.path() / (std::string(name) + ".pem"), "ed25519", {}}).has_value());
        }
        ring.add(person);
        trust.keys.push_back(*PublicKey::read(folder.path() / "alice.pub"));
        trust.keyring = ring;
        trust.now = kNow;
        old = trust;
        old.legacy_judge = [this](const Image& image,
                                  const Descriptor& signature,
                                  std::string_view text,
                                  SignatureState& state) {
            return judge_legacy(image, signature, text, LegacyTrust{ring, kNow}, state);
        };
        const NewObject definition = object_of(DataType::kDefinition, "bootstrap: scratch\n");
        const NewObject root = partition_of(PartType::kPrimary, good);
        NewObject other_group = partition_of(PartType::kOverlay, over);
        other_group.group = 2;
        add({definition, root}, {good, {}});
        add({definition, root, partition_of(PartType::kOverlay, over)}, {good, {over}});
        add({definition, root, partition_of(PartType::kSystem, over)}, {good, {}});
        add({definition, root, other_group}, {good, {}});
        add_by_person({definition, root}, {good, {}});
        add_old({definition, root}, {good, {}}, 2);
        add_old({root, definition}, {good, {}}, 1);
    }

    static openpgp::Certificate new_person(const std::string& name) {
        auto made =
            openpgp::generate({name, "", "", "ed25519", kNow - 1000, {}, std::string(32, 'r')});
        REQUIRE(made.has_value());
        return std::move(*made);
    }
    [[nodiscard]] Signers pem(const std::string& name) const {
        Signers signers;
        signers.keys.push_back({*PrivateKey::read(folder.path() / (name + ".pem")), {}});
        return signers;
    }
    [[nodiscard]] std::string clear_signed(const std::string& text,
                                           const openpgp::Certificate& by) const {
        const auto key = openpgp::SecretKey::choose(by, kNow);
        REQUIRE(key.has_value());
        auto made = openpgp::clear_sign(text, *key, kNow, std::string(openpgp::kSaltSize, 's'));
        REQUIRE(made.has_value());
        return std::move(*made);
    }
    /// A signature of Singularity 3.5 over one object's bytes.
    [[nodiscard]] NewObject old_signature(const std::string& over_bytes,
                                          std::uint32_t id,
                                          const openpgp::Certificate& by) const {
        const Digest digest = sha256(over_bytes);
        NewObject object =
            object_of(DataType::kSignature, clear_signed("SIFHASH:\n" + hex(digest), by));
        object.group = 0;
        object.link = id;
        Fingerprint fingerprint{};
        const auto key = openpgp::SecretKey::choose(by, kNow);
        for (std::size_t i = 0; i < fingerprint.size(); ++i) {
            fingerprint[i] = static_cast<std::uint8_t>(
                std::stoi(key->primary_fingerprint().substr(2 * i, 2), nullptr, 16));
        }
        object.extra = signature_extra(HashType::kSha256, fingerprint);
        return object;
    }

private:
    void write(const std::vector<NewObject>& objects) {
        NewImage image;
        image.time = kNow - 100;
        image.id = std::array<std::uint8_t, 16>{1, 2, 3};
        image.objects = objects;
        const auto written = write_image(path, image);
        REQUIRE(written.has_value());
    }
    void keep(const Layers& layers, bool is_legacy) {
        bases.push_back({tiny::read(path), layers, is_legacy});
        REQUIRE(Raw::layers(bases.back().bytes) == layers);
    }
    void add(const std::vector<NewObject>& objects, const Layers& layers) {
        write(objects);
        REQUIRE(sign_image(path, pem("alice"), signed_now()).has_value());
        keep(layers, false);
    }
    void add_by_person(const std::vector<NewObject>& objects, const Layers& layers) {
        write(objects);
        Signers signers;
        signers.pgp = *openpgp::SecretKey::choose(person, kNow);
        REQUIRE(sign_image(path, signers, signed_now()).has_value());
        keep(layers, false);
    }
    void add_old(const std::vector<NewObject>& objects, const Layers& layers, std::uint32_t id) {
        write(objects);
        REQUIRE(add_objects(path, {old_signature(layers.root, id, person)}, kNow).has_value());
        keep(layers, true);
    }
};

inline const World& world() {
    static const World made;
    return made;
}

} // namespace verified
