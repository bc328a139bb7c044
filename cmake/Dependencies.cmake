# SPDX-License-Identifier: Apache-2.0
# Every library that the project uses, found once. All come from Debian 12.
if(CYBELE_STATIC)
    set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
    set(OPENSSL_USE_STATIC_LIBS TRUE)
    set(BUILD_SHARED_LIBS OFF)
endif()
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
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
find_path(MUSTACHE_INCLUDE_DIR kainjow/mustache.hpp REQUIRED)

# Debian has no static fmt: its headers, compiled once in support/format.cpp.
add_library(cybele_fmt INTERFACE)
target_include_directories(cybele_fmt SYSTEM INTERFACE
    $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)
add_library(cybele_mustache INTERFACE)
target_include_directories(cybele_mustache SYSTEM INTERFACE ${MUSTACHE_INCLUDE_DIR})

# libsquashfs, libsquashfuse, libarchive, yaml-cpp and libsodium, shared or with the static libraries that they need.
add_library(cybele_squashfs INTERFACE)
add_library(cybele_squashfuse INTERFACE)
target_compile_definitions(cybele_squashfuse INTERFACE FUSE_USE_VERSION=32) # as libsquashfuse was built
add_library(cybele_archive INTERFACE)
add_library(cybele_yaml INTERFACE)
add_library(cybele_sodium INTERFACE)
if(CYBELE_STATIC)
    foreach(name IN ITEMS squashfs squashfuse squashfuse_ll fuse3 yaml-cpp archive zstd lzma lz4 lzo2 z bz2 acl attr nettle sodium)
        find_library(STATIC_${name} NAMES lib${name}.a)
        mark_as_advanced(STATIC_${name})
    endforeach()
    target_link_libraries(cybele_squashfs INTERFACE ${STATIC_squashfs} ${STATIC_zstd} ${STATIC_lzma}
        ${STATIC_lz4} ${STATIC_lzo2} ${STATIC_z} ${STATIC_bz2} Threads::Threads)
    target_link_libraries(cybele_squashfuse INTERFACE ${STATIC_squashfuse_ll} ${STATIC_squashfuse} ${STATIC_fuse3}
        ${STATIC_zstd} ${STATIC_lzma} ${STATIC_lz4} ${STATIC_lzo2} ${STATIC_z} Threads::Threads)
    target_include_directories(cybele_archive SYSTEM INTERFACE ${LibArchive_INCLUDE_DIRS})
    target_link_libraries(cybele_archive INTERFACE ${STATIC_archive} OpenSSL::Crypto ${STATIC_acl} ${STATIC_attr}
        ${STATIC_zstd} ${STATIC_lzma} ${STATIC_lz4} ${STATIC_bz2} ${STATIC_z} ${STATIC_nettle} m)
    # The pax writer names every writer of libarchive, and xar's would bring libxml2 and 31 MB of ICU; it
    # is never called.
    target_link_options(cybele_archive INTERFACE -Wl,--defsym=archive_write_set_format_xar=0)
    target_link_libraries(cybele_yaml INTERFACE ${STATIC_yaml-cpp})
    target_link_libraries(cybele_sodium INTERFACE ${STATIC_sodium})
else()
    target_link_libraries(cybele_squashfs INTERFACE PkgConfig::SQUASHFS)
    target_link_libraries(cybele_squashfuse INTERFACE PkgConfig::SQUASHFUSE)
    target_link_libraries(cybele_archive INTERFACE LibArchive::LibArchive)
    target_link_libraries(cybele_yaml INTERFACE yaml-cpp)
    target_link_libraries(cybele_sodium INTERFACE PkgConfig::SODIUM)
endif()
