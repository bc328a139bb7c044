# SPDX-License-Identifier: Apache-2.0
# cybele_embed(TARGET NAME FILES…): makes NAME.cpp in the build tree with a table of the files' names
# (relative to the calling folder), bytes and digests, declared by support/embedded.hpp as
#   std::span<const cybele::EmbeddedFile> cybele::embedded::NAME();
function(cybele_embed target name)
    set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded_${name}.cpp)
    set(files ${ARGN})
    list(SORT files)
    set(absolute)
    foreach(file IN LISTS files)
        list(APPEND absolute ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    endforeach()
    string(REPLACE ";" "," joined "${files}")
    add_custom_command(
        OUTPUT ${out}
        COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DNAME=${name} -DROOT=${CMAKE_CURRENT_SOURCE_DIR} -DFILES=${joined}
                -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
        DEPENDS ${absolute} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
        VERBATIM)
    # A target of its own, which waits for no library: else all groups of TARGET would wait for those that it links.
    add_library(cybele_embedded_${name} OBJECT ${out})
    target_link_libraries(cybele_embedded_${name} PRIVATE cybele_settings)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "OBJECT_LIBRARY") # who links it takes its own objects alone
        target_link_libraries(${target} INTERFACE $<TARGET_OBJECTS:cybele_embedded_${name}>)
    else()
        target_sources(${target} PRIVATE $<TARGET_OBJECTS:cybele_embedded_${name}>)
    endif()
endfunction()
