// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/verb_table.hpp"

#include "support/find.hpp"
#include "support/text.hpp"

namespace cybele::cli {

namespace {

using FlagKind = OtherFlag::Kind;
constexpr bool kValue = true;
constexpr std::string_view kEncrypted =
    "encrypted images are not supported; use an image that is not encrypted";
constexpr std::string_view kNoServer = "cybelectl has no central service; name the host in the "
                                       "address, and log in by `registry login`";
constexpr std::string_view kNoCapabilities =
    "no capabilities are granted to users; run as root what needs them";
constexpr std::string_view kNoCheckpoints =
    "checkpoints are not supported; start DMTCP inside the container";
constexpr std::string_view kNoSettings =
    "the administrator edits /etc/subuid and the settings of `cybelectl config show`";
constexpr std::string_view kNoKeyServer = "no key server is asked; import keys by `key import`";
constexpr std::string_view kNoBundles =
    "OCI bundles are not run; build an image of it and start that";
constexpr std::string_view kNoGpu =
    "no effect where the host has no driver, else refused: build steps see no GPU; compile in the "
    "job instead";
constexpr std::string_view kNoPlugins = "there are no plugins";

// clang-format off
constexpr OtherFlag kFlags[] = {
    {"build", "--arch", kValue, FlagKind::kOwn, ""},
    {"build", "--arch-variant", kValue, FlagKind::kOwn, ""},
    {"build", "--authfile", kValue, FlagKind::kSame, "--authfile"},
    {"build", "--bind,-B", kValue, FlagKind::kSame, "--bind"},
    {"build", "--build-arg", kValue, FlagKind::kSameEach, "--build-arg"},
    {"build", "--build-arg-file", kValue, FlagKind::kSame, "--build-arg-file"},
    {"build", "--data", false, FlagKind::kRefused, "images of data are not made; use a directory or a squashfs file"},
    {"build", "--disable-cache", false, FlagKind::kSame, "--no-cache"},
    {"build", "--docker-host", kValue, FlagKind::kNone, "images of a Docker daemon are not read; use docker-archive:FILE"},
    {"build", "--docker-login", false, FlagKind::kOwn, ""},
    {"build", "--docker-password", kValue, FlagKind::kOwn, ""},
    {"build", "--docker-username", kValue, FlagKind::kOwn, ""},
    {"build", "--encrypt,-e", false, FlagKind::kRefused, kEncrypted},
    {"build", "--fakeroot,-f", false, FlagKind::kNone, "a build is always as root of its own user namespace"},
    {"build", "--fix-perms", false, FlagKind::kSame, "--fix-perms"},
    {"build", "--force,-F", false, FlagKind::kSame, "--force"},
    {"build", "--ignore-fakeroot-command", false, FlagKind::kNone, "the program `fakeroot` is never used"},
    {"build", "--ignore-proot", false, FlagKind::kNone, "the program `proot` is never used"},
    {"build", "--ignore-subuid", false, FlagKind::kNone, "build steps use the subordinate ids where there are some"},
    {"build", "--ignore-userns", false, FlagKind::kNone, "a build by a user always needs a user namespace"},
    {"build", "--json", false, FlagKind::kNone, "like in Apptainer 1.4.5, a definition file is read nevertheless"},
    {"build", "--library", kValue, FlagKind::kSame, "--library"},
    {"build", "--mksquashfs-args", kValue, FlagKind::kOwn, "-comp gzip|zstd; others are refused, for mksquashfs is not used"},
    {"build", "--mount", kValue, FlagKind::kSame, "--mount"},
    {"build", "--no-cleanup", false, FlagKind::kNone, "nothing is left to look at: the steps before a failed one are cached, and run no second time"},
    {"build", "--no-https", false, FlagKind::kSame, "--no-https"},
    {"build", "--notest,-T", false, FlagKind::kSame, "--notest"},
    {"build", "--nv", false, FlagKind::kOwn, kNoGpu},
    {"build", "--nvccli", false, FlagKind::kOwn, kNoGpu},
    {"build", "--passphrase", false, FlagKind::kRefused, kEncrypted},
    {"build", "--pem-path", kValue, FlagKind::kRefused, kEncrypted},
    {"build", "--reproducible", false, FlagKind::kNone, "with SOURCE_DATE_EPOCH set, equal inputs give equal images"},
    {"build", "--rocm", false, FlagKind::kOwn, kNoGpu},
    {"build", "--sandbox,-s", false, FlagKind::kSame, "--sandbox"},
    {"build", "--section", kValue, FlagKind::kSame, "--section"},
    {"build", "--tmpdir", kValue, FlagKind::kOwn, ""},
    {"build", "--update,-u", false, FlagKind::kSame, "--update"},
    {"build", "--userns", false, FlagKind::kNone, "a build by a user is always in a user namespace"},
    {"build", "--warn-unused-build-args", false, FlagKind::kSame, "--warn-unused-build-args"},
    {"build", "--writable-tmpfs", false, FlagKind::kSame, "--writable-tmpfs"},
    {"inspect", "--all", false, FlagKind::kSame, "--all"},
    {"inspect", "--app", kValue, FlagKind::kSame, "--app"},
    {"inspect", "--deffile,-d", false, FlagKind::kSame, "--deffile"},
    {"inspect", "--environment,-e", false, FlagKind::kSame, "--environment"},
    {"inspect", "--helpfile,-H", false, FlagKind::kSame, "--helpfile"},
    {"inspect", "--json,-j", false, FlagKind::kSame, "--json"},
    {"inspect", "--labels,-l", false, FlagKind::kSame, "--labels"},
    {"inspect", "--list-apps", false, FlagKind::kSame, "--list-apps"},
    {"inspect", "--runscript,-r", false, FlagKind::kSame, "--runscript"},
    {"inspect", "--startscript,-s", false, FlagKind::kSame, "--startscript"},
    {"inspect", "--test,-t", false, FlagKind::kSame, "--test"},
    {"run-help", "--app", kValue, FlagKind::kSame, "--app"},
    {"pull", "--allow-unauthenticated", false, FlagKind::kNone, "a pull never asks for a signature"},
    {"pull", "--allow-unsigned,-U", false, FlagKind::kNone, "a pull never asks for a signature"},
    {"pull", "--arch", kValue, FlagKind::kOwn, ""},
    {"pull", "--arch-variant", kValue, FlagKind::kOwn, ""},
    {"pull", "--authfile", kValue, FlagKind::kOwn, ""},
    {"pull", "--dir", kValue, FlagKind::kOwn, ""},
    {"pull", "--disable-cache", false, FlagKind::kOwn, ""},
    {"pull", "--docker-host", kValue, FlagKind::kNone, "images of a Docker daemon are not read; use docker-archive:FILE"},
    {"pull", "--docker-login", false, FlagKind::kOwn, ""},
    {"pull", "--docker-password", kValue, FlagKind::kOwn, ""},
    {"pull", "--docker-username", kValue, FlagKind::kOwn, ""},
    {"pull", "--force,-F", false, FlagKind::kOwn, ""},
    {"pull", "--library", kValue, FlagKind::kOwn, ""},
    {"pull", "--name", kValue, FlagKind::kOwn, ""},
    {"pull", "--no-cleanup", false, FlagKind::kNone, "nothing is left to look at: what an interrupted pull left is used by the next one"},
    {"pull", "--no-https", false, FlagKind::kOwn, ""},
    {"pull", "--sandbox", false, FlagKind::kOwn, ""},
    {"pull", "--tmpdir", kValue, FlagKind::kOwn, ""},
    {"push", "--allow-unsigned,-U", false, FlagKind::kNone, "a push never asks for a signature"},
    {"push", "--authfile", kValue, FlagKind::kSame, "--authfile"},
    {"push", "--description,-D", kValue, FlagKind::kNone, "only library servers, to which nothing is pushed, keep descriptions"},
    {"push", "--docker-host", kValue, FlagKind::kNone, "images of a Docker daemon are not read; use docker-archive:FILE"},
    {"push", "--docker-password", kValue, FlagKind::kOwn, ""},
    {"push", "--docker-username", kValue, FlagKind::kOwn, ""},
    {"push", "--library", kValue, FlagKind::kRefused, "nothing is pushed to library servers; push to oras://"},
    {"push", "--no-https", false, FlagKind::kSame, "--no-https"},
    {"sign", "--all,-a", false, FlagKind::kNone, "every group is signed unless one is named"},
    {"sign,verify", "--group-id,-g", kValue, FlagKind::kSame, "--group-id"},
    {"sign,verify", "--groupid", kValue, FlagKind::kSame, "--group-id"},
    {"sign,verify", "--sif-id,-i", kValue, FlagKind::kSame, "--sif-id"},
    {"sign,verify", "--id", kValue, FlagKind::kSame, "--sif-id"},
    {"sign,verify", "--key", kValue, FlagKind::kSame, "--key"},
    {"sign", "--keyidx,-k", kValue, FlagKind::kOwn, ""},
    {"verify", "--all,-a", false, FlagKind::kNone, "every group is verified unless one is named"},
    {"verify", "--certificate", kValue, FlagKind::kSame, "--certificate"},
    {"verify", "--certificate-intermediates", kValue, FlagKind::kSame, "--certificate-intermediates"},
    {"verify", "--certificate-roots", kValue, FlagKind::kSame, "--certificate-roots"},
    {"verify", "--json,-j", false, FlagKind::kOwn, ""},
    {"verify", "--legacy-insecure", false, FlagKind::kSame, "--legacy-insecure"},
    {"verify", "--local,-l", false, FlagKind::kNone, "keys are looked for in the keyrings of this machine only"},
    {"verify", "--ocsp-verify", false, FlagKind::kSame, "--revocation=hard"},
    {"verify", "--url,-u", kValue, FlagKind::kOwn, "only with --key, --certificate or --local: no key server is asked; import the signer's key by `key import`"},
    {"cache list", "--type,-T", kValue, FlagKind::kOwn, ""},
    {"cache list", "--verbose,-v", false, FlagKind::kOwn, ""},
    {"cache clean", "--days,-D", kValue, FlagKind::kOwn, ""},
    {"cache clean", "--dry-run,-n", false, FlagKind::kSame, "--dry-run"},
    {"cache clean", "--force,-f", false, FlagKind::kOwn, ""},
    {"cache clean", "--type,-T", kValue, FlagKind::kOwn, ""},
    {"key list,key newpair,key import,key export,key remove,key pull,key push,key search", "--keysdir,-d", kValue, FlagKind::kOwn, ""},
    {"key list", "--secret,-s", false, FlagKind::kOwn, ""},
    {"key list", "--global,-g", false, FlagKind::kOwn, ""},
    {"key newpair", "--name,-N", kValue, FlagKind::kSame, "--name"},
    {"key newpair", "--email,-E", kValue, FlagKind::kSame, "--email"},
    {"key newpair", "--comment,-C", kValue, FlagKind::kSame, "--comment"},
    {"key newpair", "--password,-P", kValue, FlagKind::kOwn, ""},
    {"key newpair", "--push,-U", false, FlagKind::kOwn, ""},
    {"key newpair", "--bit-length,-b", kValue, FlagKind::kOwn, "3072 or 4096 bits of RSA (default: 4096)"},
    {"key import", "--new-password", false, FlagKind::kSame, "--new-passphrase"},
    {"key export", "--secret,-s", false, FlagKind::kSame, "--secret"},
    {"key export", "--armor,-a", false, FlagKind::kSame, "--armor"},
    {"key remove", "--public,-p", false, FlagKind::kOwn, ""},
    {"key remove", "--secret,-s", false, FlagKind::kOwn, ""},
    {"key remove", "--both,-b", false, FlagKind::kOwn, ""},
    {"key pull,key push,key search", "--url,-u", kValue, FlagKind::kOwn, ""},
    {"key search", "--long-list,-l", false, FlagKind::kOwn, ""},
    {"key import,key remove", "--global,-g", false, FlagKind::kOwn, "root changes the keyring of the machine, /etc/apptainer/global-pgp-public"},
    {"key pull,key export", "--global,-g", false, FlagKind::kRefused, "the machine's keyring belongs to root; name a file: `cybelectl key import`"},
    {"registry login,remote login", "--username,-u", kValue, FlagKind::kSame, "--username"},
    {"registry login,remote login", "--password,-p", kValue, FlagKind::kOwn, ""},
    {"registry login,remote login", "--password-stdin", false, FlagKind::kSame, "--password-stdin"},
    {"registry login,remote login", "--authfile", kValue, FlagKind::kSame, "--authfile"},
    {"remote login", "--no-https", false, FlagKind::kOwn, ""},
    {"registry logout,remote logout", "--authfile", kValue, FlagKind::kSame, "--authfile"},
    {"remote add,remote remove,remote use", "--global,-g", false, FlagKind::kOwn, ""},
    {"remote add", "--insecure,-i", false, FlagKind::kOwn, ""},
    {"remote add", "--no-default,-n", false, FlagKind::kOwn, ""},
    {"remote add", "--no-login", false, FlagKind::kOwn, ""},
    {"remote add", "--tokenfile", kValue, FlagKind::kRefused, "no access tokens are stored"},
    {"remote use", "--exclusive,-e", false, FlagKind::kOwn, ""},
    {"config global", "--dry-run,-d", false, FlagKind::kOwn, ""},
    {"config global", "--get,-g", false, FlagKind::kOwn, ""},
    {"config global", "--reset,-r", false, FlagKind::kOwn, ""},
    {"config global", "--set,-s", false, FlagKind::kOwn, ""},
    {"config global", "--unset,-u", false, FlagKind::kOwn, ""},
    {"instance list", "--json,-j", false, FlagKind::kOwn, ""},
    {"instance list", "--logs,-l", false, FlagKind::kOwn, ""},
    {"instance list", "--all,-a", false, FlagKind::kNone, "all that this user has started are listed"},
    {"instance stop", "--all,-a", false, FlagKind::kOwn, ""},
    {"instance stop", "--force,-F", false, FlagKind::kOwn, ""},
    {"instance stop", "--signal,-s", kValue, FlagKind::kOwn, ""},
    {"instance stop", "--timeout,-t", kValue, FlagKind::kOwn, ""},
    {"instance list,instance stop,instance stats", "--user,-u", kValue, FlagKind::kOwn, ""},
    {"instance stats", "--json,-j", false, FlagKind::kOwn, ""},
    {"instance stats", "--no-stream", false, FlagKind::kOwn, ""},
    {"overlay create", "--size,-s", kValue, FlagKind::kOwn, ""},
    {"overlay create", "--create-dir", kValue, FlagKind::kOwn, ""},
    {"overlay create", "--fakeroot,-f", false, FlagKind::kOwn, ""},
    {"overlay create", "--sparse,-S", false, FlagKind::kOwn, ""},
    {"sif add", "--datatype", kValue, FlagKind::kSame, "--datatype"},
    {"sif add", "--parttype", kValue, FlagKind::kSame, "--parttype"},
    {"sif add", "--partfs", kValue, FlagKind::kSame, "--partfs"},
    {"sif add", "--partarch", kValue, FlagKind::kSame, "--partarch"},
    {"sif add", "--signhash", kValue, FlagKind::kSame, "--signhash"},
    {"sif add", "--signentity", kValue, FlagKind::kSame, "--signentity"},
    {"sif add", "--groupid", kValue, FlagKind::kSame, "--groupid"},
    {"sif add", "--link", kValue, FlagKind::kSame, "--link"},
    {"sif add", "--alignment", kValue, FlagKind::kSame, "--alignment"},
    {"sif add", "--filename", kValue, FlagKind::kSame, "--filename"},
    {"sif add", "--sbomformat", kValue, FlagKind::kSame, "--sbomformat"},
};

constexpr OtherVerb kVerbs[] = {
    {"build", "build", 2, 2, ""},
    {"cache clean", "cache prune", 0, 99, ""},
    {"cache list", "cache list", 0, 99, ""},
    {"inspect", "inspect", 1, 1, ""},
    {"key export", "key export", 1, 1, ""},
    {"key import", "key import", 1, 1, ""},
    {"key list", "", 0, 0, ""},
    {"key newpair", "key new", 0, 0, ""},
    {"pull", "", 1, 2, ""},
    {"push", "image push", 2, 2, ""},
    {"registry login", "image login", 1, 1, ""},
    {"registry logout", "image logout", 0, 1, ""},
    {"registry list", "", 0, 0, ""},
    {"remote login", "image login", 0, 1, ""},
    {"remote logout", "image logout", 0, 1, ""},
    {"run-help", "inspect", 1, 1, ""},
    {"sif add", "sif add", 2, 2, ""},
    {"sif del", "sif del", 2, 2, ""},
    {"sif dump", "sif dump", 2, 2, ""},
    {"sif header", "sif header", 1, 1, ""},
    {"sif info", "", 2, 2, ""},
    {"sif list", "sif list", 1, 1, ""},
    {"sif new", "sif new", 1, 1, ""},
    {"sif setprim", "sif setprim", 2, 2, ""},
    {"sign", "sign", 1, 1, ""},
    {"verify", "verify", 1, 1, ""},
    {"version", "", 0, 99, ""},
    {"overlay create", "", 1, 1, ""},
    {"buildcfg", "", 0, 1, ""},
    {"capability", "", 0, 99, kNoCapabilities},
    {"checkpoint", "", 0, 99, kNoCheckpoints},
    {"config", "", 0, 99, kNoSettings},
    {"delete", "", 1, 1, "library servers are only read; remove an image of this machine by `cybelectl image remove`, others by the tools of their registry"},
    {"instance list", "", 0, 1, ""},
    {"instance stop", "", 0, 1, ""},
    {"instance stats", "", 1, 1, ""},
    {"key pull", "", 1, 1, ""},
    {"key push", "", 1, 1, ""},
    {"key remove", "", 1, 1, ""},
    {"key search", "", 1, 1, ""},
    {"keyserver", "", 0, 99, kNoKeyServer},
    {"oci", "", 0, 99, kNoBundles},
    {"plugin", "", 0, 99, kNoPlugins},
    {"plugin list", "", 0, 0, ""},
    {"remote", "", 0, 99, kNoServer},
    {"search", "", 1, 1, kNoServer},
    {"remote add", "", 2, 2, ""},
    {"remote list", "", 0, 0, ""},
    {"remote remove", "", 1, 1, ""},
    {"remote status", "", 0, 1, ""},
    {"remote use", "", 1, 1, ""},
    {"keyserver add", "", 1, 2, kNoKeyServer},
    {"keyserver list", "", 0, 1, ""},
    {"keyserver login", "", 1, 1, kNoKeyServer},
    {"keyserver logout", "", 1, 1, kNoKeyServer},
    {"keyserver remove", "", 1, 2, kNoKeyServer},
    {"capability add", "", 1, 1, kNoCapabilities},
    {"capability avail", "", 0, 1, kNoCapabilities},
    {"capability drop", "", 1, 1, kNoCapabilities},
    {"capability list", "", 0, 1, kNoCapabilities},
    {"checkpoint list", "", 0, 0, kNoCheckpoints},
    {"checkpoint create", "", 1, 1, kNoCheckpoints},
    {"checkpoint delete", "", 1, 1, kNoCheckpoints},
    {"checkpoint instance", "", 1, 1, kNoCheckpoints},
    {"config fakeroot", "", 1, 1, kNoSettings},
    {"confgen", "", 0, 2, kNoSettings},
    {"config global", "", 1, 2, ""},
    {"oci attach", "", 1, 1, kNoBundles},
    {"oci create", "", 1, 1, kNoBundles},
    {"oci delete", "", 1, 1, kNoBundles},
    {"oci exec", "", 2, 99, kNoBundles},
    {"oci kill", "", 1, 99, kNoBundles},
    {"oci mount", "", 2, 2, kNoBundles},
    {"oci pause", "", 1, 1, kNoBundles},
    {"oci resume", "", 1, 1, kNoBundles},
    {"oci run", "", 1, 1, kNoBundles},
    {"oci start", "", 1, 1, kNoBundles},
    {"oci state", "", 1, 1, kNoBundles},
    {"oci umount", "", 1, 1, kNoBundles},
    {"oci update", "", 1, 1, kNoBundles},
    {"plugin compile", "", 1, 1, kNoPlugins},
    {"plugin create", "", 2, 2, kNoPlugins},
    {"plugin disable", "", 1, 1, kNoPlugins},
    {"plugin enable", "", 1, 1, kNoPlugins},
    {"plugin inspect", "", 1, 1, kNoPlugins},
    {"plugin install", "", 1, 1, kNoPlugins},
    {"plugin uninstall", "", 1, 1, kNoPlugins},
    {"completion", "", 0, 1, ""},
};
constexpr OtherVariable kVariables[] = {
    {"build,pull,push", "NOHTTPS", "--no-https"},
    {"build,pull,push", "NO_HTTPS", "--no-https"},
    {"build,pull,push,registry login,registry logout,remote login,remote logout", "AUTH_FILE", "--authfile"},
    {"build,pull,push,registry login,registry logout,remote login,remote logout", "AUTHFILE", "--authfile"},
    {"registry login,remote login", "LOGIN_USERNAME", "--username"},
    {"registry login,remote login", "LOGIN_PASSWORD", "--password"},
    {"remote add", "ADD_INSECURE", "--insecure"},
    {"build,pull", "DISABLE_CACHE", "--disable-cache"},
    {"build,pull", "FORCE", "--force"},
    {"build,pull", "LIBRARY", "--library"},
    {"build,pull", "TMPDIR", "--tmpdir"},
    {"build", "BUILD_ARCH", "--arch"},
    {"build", "SANDBOX", "--sandbox"},
    {"build", "NOTEST", "--notest"},
    {"build", "FAKEROOT", "--fakeroot"},
    {"build", "FIXPERMS", "--fix-perms"},
    {"build", "SECTION", "--section"},
    {"build", "UPDATE", "--update"},
    {"build", "ENCRYPT", "--encrypt"},
    {"build", "NV", "--nv"},
    {"build", "ROCM", "--rocm"},
    {"build", "NVCCLI", "--nvccli"},
    {"build", "BIND", "--bind"},
    {"build", "BINDPATH", "--bind"},
    {"build", "MOUNT", "--mount"},
    {"build", "WRITABLE_TMPFS", "--writable-tmpfs"},
    {"build", "MKSQUASHFS_ARGS", "--mksquashfs-args"},
    {"build", "IGNORE_SUBUID", "--ignore-subuid"},
    {"build", "BUILD_ARCH_VARIANT", "--arch-variant"},
    {"build,pull", "NO_CLEANUP", "--no-cleanup"},
    {"build,pull", "DOCKER_HOST", "--docker-host"},
    {"build,pull", "DOCKER_LOGIN", "--docker-login"},
    {"pull", "PULL_ARCH_VARIANT", "--arch-variant"},
    {"pull", "SANDBOX", "--sandbox"},
    {"instance list,instance stop,instance stats", "USER", "--user"},
    {"instance list,instance stop", "ALL", "--all"},
    {"instance list", "JSON", "--json"},
    {"instance list", "LOGS", "--logs"},
    {"instance stop", "FORCE", "--force"},
    {"instance stop", "SIGNAL", "--signal"},
    {"key list", "SECRET", "--secret"},
    {"verify", "URL", "--url"},
    {"pull", "PULL_ARCH", "--arch"},
    {"pull", "PULL_NAME", "--name"},
    {"pull", "PULLDIR", "--dir"},
    {"pull", "PULLFOLDER", "--dir"},
    {"pull,push", "ALLOW_UNSIGNED", "--allow-unsigned"},
    {"sign", "SIGN_KEY", "--key"},
    {"verify", "VERIFY_KEY", "--key"},
    {"verify", "VERIFY_CERTIFICATE", "--certificate"},
    {"verify", "VERIFY_INTERMEDIATES", "--certificate-intermediates"},
    {"verify", "VERIFY_ROOTS", "--certificate-roots"},
    {"verify", "VERIFY_OCSP", "--ocsp-verify"},
    {"key pull,key push,key search", "URL", "--url"},
    {"overlay create", "SIZE", "--size"},
    {"overlay create", "CREATE_DIR", "--create-dir"},
    {"overlay create", "FAKEROOT", "--fakeroot"},
    {"overlay create", "SPARSE", "--sparse"},
};
// clang-format on

bool has_word(std::string_view list, std::string_view word) {
    const auto words = text::split_terminated(list, ',');
    return contains(words, word);
}

} // namespace

bool OtherFlag::has_name(std::string_view name) const {
    return has_word(names, name);
}

bool OtherFlag::is_of(std::string_view verb) const {
    return has_word(verbs, verb);
}

std::span<const OtherVariable> other_variables() {
    return kVariables;
}

std::span<const OtherFlag> other_flags() {
    return kFlags;
}

std::span<const OtherVerb> other_verbs() {
    return kVerbs;
}

const OtherFlag* find_flag(std::string_view verb, std::string_view name) {
    return find_row(kFlags,
                    [&](const OtherFlag& one) { return one.is_of(verb) && one.has_name(name); });
}

const OtherVerb* find_verb(std::string_view verb) {
    return find_row(kVerbs, verb, &OtherVerb::verb);
}

} // namespace cybele::cli
