# SPDX-License-Identifier: Apache-2.0
# cybelectl by the name of Apptainer: the rows of Apptainer's own tables, by both programs.
# shellcheck disable=SC2030,SC2031,SC2154 # each case has a registry of its own; serve sets its port
load ../parts/cases.bash

@test "both programs do the same: starts in each kind of container" {
    compare tables profiles
}

@test "both programs do the same: binds and environments" {
    compare tables tables
}

@test "both programs do the same: variables of flags" {
    compare tables variables
}

@test "both programs do the same: images in files, overlays in files, settings of the host" {
    compare tables 'images|ext3|config'
}

@test "both programs do the same: signatures, keys and usage" {
    compare tables 'signing|usage'
}

@test "both programs do the same: OCI images, pull and push" {
    serve registry docker-registry open "$place/registry"
    # shellcheck disable=SC2154 # serve sets it
    export CYBELE_REGISTRY=127.0.0.1:$registry
    compare tables 'oci|registry'
}

@test "both programs do the same: definition files and their sections" {
    compare more definitions
}

@test "both programs do the same: reported faults of Apptainer, mounts that are left out" {
    compare more 'regressions|mounts'
}

@test "both programs do the same: sections of definition files, built in other ways, and archives of Docker" {
    compare situations 'building|ocirun'
}

@test "both programs do the same: values of variables, binds and folders in the words of users" {
    compare situations 'values|files'
}

@test "both programs do the same: OpenPGP keys, instances, help, and the lines that callers type" {
    compare situations 'pgp|instances|helps|callers'
}

@test "both programs do the same: logins of a registry" {
    serve registry docker-registry htpasswd "$place/private"
    # shellcheck disable=SC2154 # serve sets it
    export CYBELE_PRIVATE=127.0.0.1:$registry
    compare situations credentials
}

@test "both programs do the same: cached images, keyrings, fingerprints of bases, further commands" {
    compare more 'cached|keyring|fingerprints|verbs'
}

@test "both programs do the same: settings of OCI images that a shell would read, archives and layouts" {
    compare further 'entrypoints|layouts'
}

@test "both programs do the same: the life of instances, overlays, keyrings" {
    compare further 'holders|layers|rings'
}

@test "both programs do the same: architectures, pull, push, the cache" {
    serve registry docker-registry open "$place/registry"
    export CYBELE_REGISTRY=127.0.0.1:$registry
    compare further 'transfers|caches'
}

@test "both programs do the same: registry login, list and logout" {
    serve registry docker-registry htpasswd "$place/private"
    export CYBELE_PRIVATE=127.0.0.1:$registry
    compare further logins
}

@test "both programs do the same: namespaces, mounts and layers of containers" {
    compare reference 'isolations|layerkinds'
}

@test "both programs do the same: objects of SIF files, settings of the host" {
    compare reference 'objects|configs'
}

@test "both programs do the same: images by HTTP, artifacts of other programs" {
    serve registry docker-registry open "$place/registry"
    serve web folder-server "$place/side/ours/rows"
    # shellcheck disable=SC2154 # serve sets it
    export CYBELE_REGISTRY=127.0.0.1:$registry CYBELE_WEB=127.0.0.1:$web
    compare practice webs
}

@test "both programs do the same: keys of a key server" {
    serve keys key-server "$place/gnupg"
    # shellcheck disable=SC2154 # serve sets it
    export CYBELE_KEYS=127.0.0.1:$keys
    compare practice servers
}

@test "both programs do the same: lives of instances, steps of builds" {
    compare practice 'lives|steps'
}

@test "both programs do the same: messages, and what users bind, overlay and set" {
    compare practice 'sayings|vessels'
}

@test "both programs do the same: binds, homes, and mounts that are left out" {
    compare suites 'volumes|nomounts'
}

@test "both programs do the same: ends of programs, environments, variables of commands" {
    compare suites 'stops|settings|cmdvars'
}

@test "both programs do the same: sections and stages of definition files, owners in overlays" {
    compare suites 'sections|vaults'
}

@test "both programs do the same: applications of SCIF, and the words that callers look for" {
    compare outside 'apps|words'
}

@test "both programs do the same: what a further reading of Apptainer's suites found" {
    compare outside finds
}

@test "both programs do the same: help, usage and the words of errors" {
    compare outside letter
}

@test "both programs do the same: odd forms of flags, words in wrong number, what metadata looks like" {
    compare forms 'empties|usages'
}

@test "both programs do the same: variables of containers, -- in each place, words of the commands for keys" {
    compare forms 'forms|inspections'
}

@test "both programs do the same: wrong words of refused commands, command lines of callers" {
    compare invocations 'repairs|wrappers|shapes'
}

@test "both programs do the same: caches, umasks, instances, memory, and what stands where nobody looked" {
    compare outside details
}

@test "both programs do the same: endpoints, and the words of files that are missing" {
    compare outside 'endpoints|fresh'
}

@test "both programs do the same: parts of built images, copied files, stages, arguments, headers, outputs" {
    compare making 'parts|copies|stages|arguments|headers|targets'
}

@test "both programs do the same: applications, keys, signed images, objects, overlays and instances of built images" {
    compare making 'scif|looks|signers|descriptors|extents|tenants'
}

@test "both programs do the same: bases and images of a registry" {
    serve registry docker-registry open "$place/registry"
    export CYBELE_REGISTRY=127.0.0.1:$registry
    compare making 'bases|traffic|stored'
}

@test "both programs do the same for root of a user namespace" {
    compare root rooted whole
}
