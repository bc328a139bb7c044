// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/key_directory.hpp"

#include "support/file.hpp"
#include "support/lock.hpp"
#include "support/presence.hpp"
#include "support/quote.hpp"
#include "support/secret.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace cybele::images::openpgp {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPublic = "pgp-public";
constexpr const char* kSecret = "pgp-secret";
constexpr const char* kLock = ".cybelectl.lock";
constexpr unsigned kFileMode = 0600;
constexpr unsigned kFolderMode = 0700;

Result<Keyring> read_ring(const fs::path& path) {
    CYBELE_TRY(const bool is_there, is_present(path, "the keyring"));
    return is_there ? Keyring::read(path) : Keyring();
}

/// Held until the descriptor closes. The file stays: removing it would let two in.
Result<UniqueFd> lock(const fs::path& folder) {
    const fs::path path = folder / kLock;
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode));
    if (!fd.valid() || !take_lock(fd.get(), LOCK_EX)) {
        return fail(system_error("cannot lock the keyring " + printable(path.native()), errno));
    }
    return fd;
}

Result<void> write_ring(const fs::path& path, const Keyring& ring) {
    std::string bytes = ring.packets();
    auto written = write_file(path, bytes, kFileMode);
    wipe(bytes);
    return written;
}

} // namespace

KeyDirectory KeyDirectory::of(const Environment& environment) {
    for (const char* const variable : {"APPTAINER_KEYSDIR", "SINGULARITY_SYPGPDIR"}) {
        if (const auto folder = environment.get(variable)) {
            return KeyDirectory(*folder);
        }
    }
    const auto settings = environment.get_absolute("APPTAINER_CONFIGDIR");
    return KeyDirectory(settings.value_or(environment.home() / ".apptainer") / "keys");
}

fs::path KeyDirectory::public_file() const {
    return path_ / kPublic;
}

Result<Keyring> KeyDirectory::public_ring() const {
    return read_ring(path_ / kPublic);
}

Result<Keyring> KeyDirectory::secret_ring() const {
    return read_ring(path_ / kSecret);
}

Result<std::vector<KeyDirectory::Imported>> KeyDirectory::import(const Keyring& keyring) const {
    CYBELE_CHECK(make_directories(path_, kFolderMode));
    CYBELE_TRY(const UniqueFd held, lock(path_));
    CYBELE_TRY(Keyring open, public_ring());
    CYBELE_TRY(Keyring secret, secret_ring());
    std::vector<Imported> all;
    bool changes_open = false;
    bool changes_secret = false;
    for (const Certificate& certificate : keyring.certificates()) {
        Imported one;
        one.fingerprint = certificate.fingerprint();
        one.added = open.add(certificate.public_half());
        changes_open = changes_open || one.added != Keyring::Added::kKnown;
        one.is_secret = certificate.has_secret();
        if (one.is_secret) {
            one.secret = secret.add(certificate);
            changes_secret = changes_secret || one.secret != Keyring::Added::kKnown;
        }
        all.push_back(std::move(one));
    }
    // The private one first: a public key without it would look like somebody else's.
    if (changes_secret) {
        CYBELE_CHECK(write_ring(path_ / kSecret, secret));
    }
    if (changes_open) {
        CYBELE_CHECK(write_ring(path_ / kPublic, open));
    }
    return all;
}

Result<bool>
KeyDirectory::remove(const std::string& fingerprint, bool is_public, bool is_secret) const {
    CYBELE_TRY(const bool is_there, is_present(path_, "the keyring"));
    if (!is_there) {
        return false;
    }
    CYBELE_TRY(const UniqueFd held, lock(path_));
    bool is_removed = false;
    for (const auto& [name, is_meant] :
         {std::pair(kSecret, is_secret), std::pair(kPublic, is_public)}) {
        if (!is_meant) {
            continue;
        }
        CYBELE_TRY(const Keyring ring, read_ring(path_ / name));
        const Certificate* const found = ring.find(fingerprint);
        if (found == nullptr) {
            continue;
        }
        Keyring rest;
        for (const Certificate& one : ring.certificates()) {
            if (one.fingerprint() != found->fingerprint()) {
                rest.add(one);
            }
        }
        CYBELE_CHECK(write_ring(path_ / name, rest));
        is_removed = true;
    }
    return is_removed;
}

} // namespace cybele::images::openpgp
