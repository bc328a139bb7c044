# SPDX-License-Identifier: Apache-2.0
# cybelectl as a program of its own (component "program"): beside bin/ and libexec/, what lies in share/.
# The program's own manuals and completions are printed by itself, so they are made when it is installed.
set(program_share ${CMAKE_INSTALL_DATADIR}/cybelectl)
install(DIRECTORY recipes/catalogue DESTINATION ${program_share} COMPONENT program)
install(DIRECTORY docs/schemas DESTINATION ${program_share} COMPONENT program FILES_MATCHING PATTERN "*.json")
install(DIRECTORY templates/ci DESTINATION ${program_share} COMPONENT program)
# For sites that replace some of them (`templates` of a Site).
install(DIRECTORY templates/script schedulers/dialects DESTINATION ${program_share}/templates COMPONENT program
    FILES_MATCHING PATTERN "*.mustache")
# At the top of the documents, their links to docs/ lead into the same folder.
foreach(file IN ITEMS README.md CHANGELOG.md CONTRIBUTING.md ARCHITECTURE.md SECURITY.md RELEASING.md CODE_OF_CONDUCT.md)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(REPLACE "](docs/README.md" "](index.md" text "${text}")
    string(REPLACE "](docs/" "](" text "${text}")
    file(WRITE ${PROJECT_BINARY_DIR}/documents/${file} "${text}")
    install(FILES ${PROJECT_BINARY_DIR}/documents/${file} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
endforeach()
install(FILES LICENSE CITATION.cff docs/catalogue.md docs/failures.md docs/invariants.md docs/verified.md docs/glossary.md
    docs/compatibility.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(FILES docs/README.md RENAME index.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
# Pages of design link to documents at the top, which are in the folder above them when they are installed.
file(GLOB design_pages RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS docs/design/*.md)
foreach(file IN LISTS design_pages)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(REPLACE "](../../" "](../" text "${text}")
    get_filename_component(name ${file} NAME)
    file(WRITE ${PROJECT_BINARY_DIR}/documents/design/${name} "${text}")
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/documents/design DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY docs/reference docs/tutorials docs/refusals docs/pictures docs/schemas docs/examples
    DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
# All pages as one, where pandoc is installed; packaging/release and packaging/debian want it.
find_program(CYBELE_PANDOC pandoc)
mark_as_advanced(CYBELE_PANDOC)
if(CYBELE_PANDOC)
    install(CODE "execute_process(
            COMMAND \"${PROJECT_SOURCE_DIR}/packaging/page\"
                    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}/manual.html\"
            COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
endif()
install(CODE "execute_process(
        COMMAND \"${PROJECT_SOURCE_DIR}/packaging/manuals\"
                \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\"
                ${CMAKE_CROSSCOMPILING_EMULATOR} \"$<TARGET_FILE:cybelectl>\"
        COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
