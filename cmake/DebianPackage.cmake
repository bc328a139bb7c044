# SPDX-License-Identifier: Apache-2.0
# The Debian package, by cpack from the dev preset's build (packaging/debian): the component "program" below /usr, its
# libraries as dependencies by dpkg-shlibdeps, what the main job calls as recommendations (packaging/packages-run.txt).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cybelectl)
set(CPACK_PACKAGE_VENDOR "the cybelectl developers")
set(CPACK_PACKAGE_CONTACT "the cybelectl developers <developers@cybelectl.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "build, sign and launch Singularity containers on HPC clusters")
set(CPACK_PACKAGE_DESCRIPTION
    "One Recipe declares what a program needs, one Job how it runs. From these
come a definition file, a built and signed image, a batch script for Slurm,
TORQUE or PBS, and the yaml of bridges between Kubernetes and a cluster. A
builder, a runtime and a local scheduler are built in.")
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};${PROJECT_NAME};program;/")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
file(STRINGS packaging/packages-run.txt recommended REGEX "^[a-z0-9]")
list(JOIN recommended ", " CPACK_DEBIAN_PACKAGE_RECOMMENDS)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian-files.cmake)
set(CPACK_CYBELE_SOURCE ${PROJECT_SOURCE_DIR})
include(CPack)
