// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/verb_texts.hpp"

#include "support/find.hpp"

#include <iterator>

namespace cybele::cli {

namespace {

// clang-format off
constexpr VerbText kTexts[] = {
    {"build", "build [local options...] <IMAGE PATH> <BUILD SPEC>", "Build an Apptainer image"},
    {"buildcfg", "buildcfg [parameter]", "Show the build configuration of apptainer"},
    {"cache", "cache", "Manage the local cache"},
    {"cache clean", "cache clean [clean options...]", "Clean your local Apptainer cache"},
    {"cache list", "cache list [list options...]", "List your local Apptainer cache"},
    {"capability", "capability", "Manage Linux capabilities for users and groups"},
    {"capability add", "capability add [add options...] <capabilities>", "Add capabilities to a user or group (requires root)"},
    {"capability avail", "capability avail [capabilities]", "Show description for available capabilities"},
    {"capability drop", "capability drop [drop options...] <capabilities>", "Remove capabilities from a user or group (requires root)"},
    {"capability list", "capability list [user/group]", "Show capabilities for a given user or group"},
    {"checkpoint", "checkpoint", "Manage container checkpoint state (experimental)"},
    {"checkpoint create", "checkpoint create <name>", "Create empty checkpoint storage (experimental)"},
    {"checkpoint delete", "checkpoint delete <name>", "Delete a checkpoint (experimental)"},
    {"checkpoint instance", "checkpoint instance <instance-name>", "Checkpoint the state of a running instance (experimental)"},
    {"checkpoint list", "checkpoint list", "List local checkpoints (experimental)"},
    {"completion", "completion [flags]", "Generate the autocompletion script for the specified shell"},
    {"completion bash", "completion bash", "Generate the autocompletion script for bash"},
    {"completion fish", "completion fish [flags]", "Generate the autocompletion script for fish"},
    {"completion powershell", "completion powershell [flags]", "Generate the autocompletion script for powershell"},
    {"completion zsh", "completion zsh [flags]", "Generate the autocompletion script for zsh"},
    {"confgen", "confgen [oldconffile] newconffile", "Create a new configuration file from an old one"},
    {"config", "config", "Manage various apptainer configuration (root user only)"},
    {"config fakeroot", "config fakeroot <option> <user>", "Manage fakeroot user mappings entries (root user only)"},
    {"config global", "config global <option> <directive> [value,...]", "Edit apptainer.conf from command line (root user only or unprivileged installation)"},
    {"delete", "delete [delete options...] <imageRef> [flags]", "Deletes requested image from the library"},
    {"exec", "exec [exec options...] <container> <command>", "Run a command within a container"},
    {"help", "help [command] [flags]", "Help about any command"},
    {"inspect", "inspect [inspect options...] <image path>", "Show metadata for an image"},
    {"instance", "instance", "Manage containers running as services"},
    {"instance list", "instance list [list options...] [<instance name glob>]", "List all running and named Apptainer instances"},
    {"instance run", "instance run [start options...] <container path> <instance name> [runscript args...]", "Run a named instance of the given container image"},
    {"instance start", "instance start [start options...] <container path> <instance name> [startscript args...]", "Start a named instance of the given container image"},
    {"instance stats", "instance stats [stats options...] <instance name>", "Get stats for a named instance"},
    {"instance stop", "instance stop [stop options...] [instance]", "Stop a named instance of a given container image"},
    {"key", "key [key options...]", "Manage OpenPGP keys"},
    {"key export", "key export [export options...] <output-file>", "Export a public or private key into a specific file"},
    {"key import", "key import [import options...] <input-key>", "Import a local key into the local or global keyring"},
    {"key list", "key list", "List keys in your local or in the global keyring"},
    {"key newpair", "key newpair", "Create a new key pair"},
    {"key pull", "key pull [pull options...] <fingerprint>", "Download a public key from a key server"},
    {"key push", "key push [push options...] <fingerprint>", "Upload a public key to a key server"},
    {"key remove", "key remove <fingerprint>", "Remove a local public key from your local or the global keyring"},
    {"key search", "key search [search options...] <search_string>", "Search for keys on a key server"},
    {"keyserver", "keyserver [subcommand options...]", "Manage apptainer keyservers"},
    {"keyserver add", "keyserver add [options] [remoteName] <keyserver_url>", "Add a keyserver (root user only)"},
    {"keyserver list", "keyserver list [remoteName]", "List all keyservers that are configured"},
    {"keyserver login", "keyserver login [login options...] <keyserver>", "Login to a keyserver"},
    {"keyserver logout", "keyserver logout <keyserver>", "Logout from a keyserver"},
    {"keyserver remove", "keyserver remove [remoteName] <keyserver_url>", "Remove a keyserver (root user only)"},
    {"oci", "oci", "Manage OCI containers"},
    {"oci attach", "oci attach <container_ID>", "Attach console to a running container process (root user only)"},
    {"oci create", "oci create -b <bundle_path> [create options...] <container_ID>", "Create a container from a bundle directory (root user only)"},
    {"oci delete", "oci delete <container_ID>", "Delete container (root user only)"},
    {"oci exec", "oci exec <container_ID> <command> <args>", "Execute a command within container (root user only)"},
    {"oci kill", "oci kill [kill options...] <container_ID>", "Kill a container (root user only)"},
    {"oci mount", "oci mount <sif_image> <bundle_path>", "Mount create an OCI bundle from SIF image (root user only)"},
    {"oci pause", "oci pause <container_ID>", "Suspends all processes inside the container (root user only)"},
    {"oci resume", "oci resume <container_ID>", "Resumes all processes previously paused inside the container (root user only)"},
    {"oci run", "oci run -b <bundle_path> [run options...] <container_ID>", "Create/start/attach/delete a container from a bundle directory (root user only)"},
    {"oci start", "oci start <container_ID>", "Start container process (root user only)"},
    {"oci state", "oci state <container_ID>", "Query state of a container (root user only)"},
    {"oci umount", "oci umount <bundle_path>", "Umount delete bundle (root user only)"},
    {"oci update", "oci update [update options...] <container_ID>", "Update container cgroups resources (root user only)"},
    {"overlay", "overlay", "Manage an EXT3 writable overlay image"},
    {"overlay create", "overlay create <options> image", "Create EXT3 writable overlay image"},
    {"plugin", "plugin [plugin options...]", "Manage Apptainer plugins"},
    {"plugin compile", "plugin compile [compile options...] <host_path>", "Compile an Apptainer plugin"},
    {"plugin create", "plugin create <host_path> <name>", "Create a plugin skeleton directory"},
    {"plugin disable", "plugin disable <name>", "disable an installed Apptainer plugin"},
    {"plugin enable", "plugin enable <name>", "Enable an installed Apptainer plugin"},
    {"plugin inspect", "plugin inspect (<name>|<image>)", "Inspect an Apptainer plugin (either an installed one or an image)"},
    {"plugin install", "plugin install <plugin_path>", "Install a compiled Apptainer plugin"},
    {"plugin list", "plugin list [list options...]", "List installed Apptainer plugins"},
    {"plugin uninstall", "plugin uninstall <name>", "Uninstall removes the named plugin from the system"},
    {"pull", "pull [pull options...] [output file] <URI>", "Pull an image from a URI"},
    {"push", "push [push options...] <image> <URI>", "Upload image to the provided URI"},
    {"registry", "registry [subcommand options...]", "Manage authentication to OCI/Docker registries"},
    {"registry list", "registry list", "List all OCI credentials that are configured"},
    {"registry login", "registry login [login options...] <registry_uri>", "Login to an OCI/Docker registry"},
    {"registry logout", "registry logout <registry_uri>", "Logout from an OCI/Docker registry"},
    {"remote", "remote [remote options...]", "Manage apptainer remote endpoints"},
    {"remote add", "remote add [add options...] <remote_name> <remote_URI>", "Add a new apptainer remote endpoint"},
    {"remote get-login-password", "remote get-login-password", "Retrieves the cli secret for the current logged in user"},
    {"remote list", "remote list", "List all apptainer remote endpoints that are configured"},
    {"remote login", "remote login [login options...] <remote_name>", "Login to an apptainer remote endpoint"},
    {"remote logout", "remote logout <remote_name>", "Log out from an apptainer remote endpoint"},
    {"remote remove", "remote remove [remove options...] <remote_name>", "Remove an existing apptainer remote endpoint"},
    {"remote status", "remote status [remote_name]", "Check the status of the apptainer services at an endpoint, and your authentication token"},
    {"remote use", "remote use [use options...] <remote_name>", "Set an Apptainer remote endpoint to be actively used"},
    {"run", "run [run options...] <container> [args...]", "Run the user-defined default command within a container"},
    {"run-help", "run-help <image path>", "Show the user-defined help for an image"},
    {"search", "search [search options...] <search_query>", "Search a Container Library for images"},
    {"shell", "shell [shell options...] <container>", "Run a shell within a container"},
    {"sif", "sif", "Manipulate Singularity Image Format (SIF) images"},
    {"sif add", "sif add <sif_path> <object_path> [flags]", "Add data object"},
    {"sif del", "sif del <id> <sif_path>", "Delete data object"},
    {"sif dump", "sif dump <id> <sif_path>", "Dump data object"},
    {"sif header", "sif header <sif_path>", "Display global header"},
    {"sif info", "sif info <id> <sif_path>", "Display data object info"},
    {"sif list", "sif list <sif_path>", "List data objects"},
    {"sif new", "sif new <sif_path>", "Create SIF image"},
    {"sif setprim", "sif setprim <id> <sif_path>", "Set primary system partition"},
    {"sign", "sign [sign options...] <image path>", "Add digital signature(s) to an image"},
    {"test", "test [exec options...] <image path>", "Run the user-defined tests within a container"},
    {"verify", "verify [verify options...] <image path>", "Verify digital signature(s) within an image"},
    {"version", "version", "Show the version for Apptainer"},
};
// clang-format on

} // namespace

const VerbText* verb_text(std::string_view verb) {
    return find_row(kTexts, verb, &VerbText::verb);
}

std::span<const VerbText> verb_texts() {
    return kTexts;
}

} // namespace cybele::cli
