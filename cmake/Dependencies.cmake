# SPDX-License-Identifier: Apache-2.0
# Every library that the project uses, found once. All come from Debian 12.
find_package(PkgConfig REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(yaml-cpp CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(tl-expected CONFIG REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(LibArchive REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(SQUASHFS REQUIRED IMPORTED_TARGET libsquashfs1)
pkg_check_modules(SQUASHFUSE REQUIRED IMPORTED_TARGET squashfuse squashfuse_ll fuse3)
find_path(TOMLPLUSPLUS_HEADERS toml++/toml.h REQUIRED) # used without its shared library
mark_as_advanced(TOMLPLUSPLUS_HEADERS)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)

# Debian has no static fmt: its headers, compiled once in support/format.cpp.
add_library(cybele_fmt INTERFACE)
target_include_directories(cybele_fmt SYSTEM INTERFACE
    $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)

# cybele_linked_library(NAME SHARED STATIC…): cybele_NAME, which is compiled against and linked as SHARED; a program whose
# property CYBELE_LINKED_STATIC is set links the archives STATIC in its place. So both programs are made of the same objects.
function(cybele_linked_library name shared)
    set(archives)
    foreach(archive IN LISTS ARGN)
        if(CYBELE_STATIC AND NOT archive MATCHES "::|^cybele_|^m$")
            find_library(STATIC_${archive} NAMES lib${archive}.a REQUIRED)
            mark_as_advanced(STATIC_${archive})
            list(APPEND archives ${STATIC_${archive}})
        else()
            list(APPEND archives ${archive})
        endif()
    endforeach()
    add_library(cybele_${name} INTERFACE)
    target_link_libraries(cybele_${name} INTERFACE
        "$<IF:$<BOOL:$<TARGET_PROPERTY:CYBELE_LINKED_STATIC>>,${archives},${shared}>")
endfunction()

cybele_linked_library(crypto OpenSSL::Crypto crypto Threads::Threads)
# Its macros would write the path of each of our sources into the program, which then differed with the folder that it was
# compiled in; the compiler cache would not serve a second checkout either.
target_compile_definitions(cybele_crypto INTERFACE OPENSSL_NO_FILENAMES)
cybele_linked_library(sqlite SQLite::SQLite3 sqlite3 m Threads::Threads)
cybele_linked_library(squashfs PkgConfig::SQUASHFS squashfs zstd lzma lz4 lzo2 z bz2 Threads::Threads)
cybele_linked_library(squashfuse PkgConfig::SQUASHFUSE
    squashfuse_ll squashfuse fuse3 zstd lzma lz4 lzo2 z Threads::Threads)
target_compile_definitions(cybele_squashfuse INTERFACE FUSE_USE_VERSION=32) # as libsquashfuse was built
cybele_linked_library(archive LibArchive::LibArchive
    archive cybele_crypto acl attr zstd lzma lz4 bz2 z nettle m)
cybele_linked_library(yaml yaml-cpp yaml-cpp)
cybele_linked_library(sodium PkgConfig::SODIUM sodium)
