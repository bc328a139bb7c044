# SPDX-License-Identifier: Apache-2.0
# cybele_library(NAME [SPARING] [MODULES FOLDER…] LINKS …): the static library of one area, alias cybele::NAME. Each of its
# MODULES is an object library of the sources in that folder; sources in the area's own folder are compiled too.
# PRIVATE_LINKS are libraries that no header of the area shows. SPARING: see cybele_inline_sparingly.
set(CYBELE_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast
    -Wnon-virtual-dtor -Woverloaded-virtual -Wformat=2 -Wcast-align -Wextra-semi -Wundef)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 reports std::optional members as maybe uninitialised although they are guarded.
    list(APPEND CYBELE_WARNINGS -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wuseless-cast
         -Wno-maybe-uninitialized)
endif()

add_library(cybele_settings INTERFACE)
target_compile_options(cybele_settings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${CYBELE_WARNINGS}>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The compiler collects its garbage later: a tenth of the CPU time for a quarter more memory (see JobsByMemory.cmake).
    target_compile_options(cybele_settings INTERFACE "SHELL:--param ggc-min-expand=200" "SHELL:--param ggc-min-heapsize=500000")
endif()
if(CYBELE_STATIC) # see StaticLink.cmake
    target_compile_options(cybele_settings INTERFACE -ffunction-sections -fdata-sections)
endif()
target_include_directories(cybele_settings INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_compile_definitions(cybele_settings INTERFACE CYBELE_VERSION="${PROJECT_VERSION}")
if(CYBELE_SANITIZE)
    target_compile_options(cybele_settings INTERFACE -fsanitize=${CYBELE_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(cybele_settings INTERFACE -fsanitize=${CYBELE_SANITIZE})
endif()

if(CYBELE_FUZZ) # without it libFuzzer does not see which places an input reaches
    target_compile_options(cybele_settings INTERFACE -fsanitize=fuzzer-no-link)
    # The preset asan has these checks. Here they cost a third of the time to compile and run, for little: what they would
    # report of a pointer from a stranger's bytes, the address sanitizer reports.
    target_compile_options(cybele_settings INTERFACE -fno-sanitize=null,object-size,vptr)
endif()

# cybele_group(TARGET…): compiles their sources in groups of about CYBELE_GROUP_SIZE, each of which reads the headers once:
# half of the CPU time. The groups of a target are of equal size, so that no small one is left over. Larger groups save
# a seventh for each that is spared, need more memory and make a changed line cost more.
set(CYBELE_GROUP_SIZE 45 CACHE STRING "Sources that are compiled together")
function(cybele_group)
    foreach(target IN LISTS ARGN)
        get_target_property(sources ${target} SOURCES)
        list(LENGTH sources count)
        math(EXPR groups "(${count} + ${CYBELE_GROUP_SIZE} / 2) / ${CYBELE_GROUP_SIZE}")
        if(target STREQUAL "cybele_images") # the longest unit tests: a changed line is compiled and tested within 40 s
            set(groups 3)
        endif()
        if(groups LESS 1)
            set(groups 1)
        endif()
        math(EXPR size "(${count} + ${groups} - 1) / ${groups}")
        set(is_grouped ${CYBELE_GROUPS})
        if(target STREQUAL "cybele_${CYBELE_SINGLE}")
            set(is_grouped OFF)
        endif()
        set_target_properties(${target} PROPERTIES UNITY_BUILD ${is_grouped} UNITY_BUILD_BATCH_SIZE ${size})
    endforeach()
endfunction()

# cybele_inline_sparingly(TARGET…): for code that reads and prints texts, which runs once for each command: a sixth less time
# to compile and a fifth less code.
function(cybele_inline_sparingly)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        foreach(target IN LISTS ARGN)
            target_compile_options(${target} PRIVATE "SHELL:--param max-inline-insns-single=5"
                "SHELL:--param max-inline-insns-auto=5" "SHELL:--param inline-min-speedup=90")
        endforeach()
    endif()
endfunction()

# cybele_single(AREA TARGET): without optimization and warnings, and the headers of libraries compiled once, where tests/mutate
# changes one source after the other.
function(cybele_single area target)
    if(area STREQUAL CYBELE_SINGLE)
        target_compile_options(${target} PRIVATE -O0 -w)
        target_precompile_headers(${target} PRIVATE <algorithm> <array> <charconv> <chrono> <filesystem> <fmt/format.h>
            <functional> <map> <memory> <optional> <set> <span> <string> <string_view> <tl/expected.hpp> <vector>)
    endif()
endfunction()

function(cybele_library name)
    cmake_parse_arguments(ARG "SPARING" "" "LINKS;PRIVATE_LINKS;MODULES" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
    foreach(module IN LISTS ARG_MODULES)
        file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${module}/*.cpp)
        if(CYBELE_GROUPS AND NOT name STREQUAL CYBELE_SINGLE) # small modules share a group
            list(APPEND sources ${files})
        else()
            add_library(cybele_${name}_${module} OBJECT ${files})
            target_link_libraries(cybele_${name}_${module} PRIVATE cybele_settings ${ARG_LINKS} ${ARG_PRIVATE_LINKS})
            cybele_single(${name} cybele_${name}_${module})
            list(APPEND sources $<TARGET_OBJECTS:cybele_${name}_${module}>)
        endif()
    endforeach()
    add_library(cybele_${name} STATIC ${sources})
    target_link_libraries(cybele_${name} PUBLIC cybele_settings ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
    cybele_group(cybele_${name})
    cybele_single(${name} cybele_${name})
    if(ARG_SPARING)
        cybele_inline_sparingly(cybele_${name})
    endif()
    add_library(cybele::${name} ALIAS cybele_${name})
endfunction()
