# SPDX-License-Identifier: Apache-2.0
# cybele::images as a library of its own (component "library"): the archives, their headers below
# include/cybelectl, a CMake package `cybele` and a pkg-config file `cybele-images`. Headers: those named
# here, and what they include; a header that includes something private would bring it along, and the
# test in tests/installed compiles each alone.
include(CMakePackageConfigHelpers)

set(CYBELE_PUBLIC_HEADERS
    images/sif/sif.hpp
    images/signatures/signature.hpp
    images/squashfs/squashfs.hpp
    images/container/container.hpp
    images/container/metadata.hpp
    images/inspection/checked_facts.hpp
    images/inspection/facts.hpp
    images/inspection/inspect.hpp
    images/inspection/sources.hpp
    images/inspection/contents.hpp
    images/inspection/listing.hpp
    images/inspection/packages.hpp
    images/inspection/sbom.hpp
    images/inspection/diff.hpp
    support/digest.hpp
    support/error.hpp
    support/file.hpp
    support/quote.hpp)

# cybele_with_includes(RESULT HEADER…): the headers and all of this project that they include.
function(cybele_with_includes result)
    set(all)
    set(left ${ARGN})
    while(left)
        list(POP_FRONT left header)
        if(header IN_LIST all)
            continue()
        endif()
        list(APPEND all ${header})
        file(STRINGS ${PROJECT_SOURCE_DIR}/${header} lines REGEX "^#include \"")
        foreach(line IN LISTS lines)
            string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
            list(APPEND left ${included})
        endforeach()
        set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    endwhile()
    set(${result} ${all} PARENT_SCOPE)
endfunction()

cybele_with_includes(headers ${CYBELE_PUBLIC_HEADERS})
foreach(header IN LISTS headers)
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cybelectl/${folder}
            COMPONENT library)
endforeach()

install(TARGETS cybele_images cybele_support ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/cybele)
configure_package_config_file(cmake/cybeleConfig.cmake.in ${PROJECT_BINARY_DIR}/cybeleConfig.cmake
    INSTALL_DESTINATION ${package_folder}
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cybeleConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cybeleConfig.cmake ${PROJECT_BINARY_DIR}/cybeleConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT library)
# Relocatable, as the CMake package is: `cmake --install --prefix` chooses the place.
file(RELATIVE_PATH CYBELE_UP_FROM_PKGCONFIG /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(cmake/cybele-images.pc.in ${PROJECT_BINARY_DIR}/cybele-images.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cybele-images.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
