# SPDX-License-Identifier: Apache-2.0
# Run by cpack on the files of the Debian package: puts them as Debian wants them (manuals and changelog compressed, the
# licence as `copyright`).
set(share ${CPACK_TEMPORARY_DIRECTORY}/usr/share)
set(doc ${share}/doc/${CPACK_PACKAGE_NAME})
file(REMOVE ${doc}/LICENSE)
file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
file(COPY_FILE ${CPACK_CYBELE_SOURCE}/packaging/debian-copyright ${doc}/copyright)
file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)
file(MAKE_DIRECTORY ${share}/lintian/overrides)
file(COPY_FILE ${CPACK_CYBELE_SOURCE}/packaging/debian-overrides ${share}/lintian/overrides/${CPACK_PACKAGE_NAME})
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH
file(WRITE ${doc}/changelog.Debian
    "cybelectl (${CPACK_PACKAGE_VERSION}-1) stable; urgency=medium\n\n  * changelog.gz tells what is new.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
file(GLOB pages ${share}/man/man1/*.1)
execute_process(COMMAND gzip -9n ${doc}/changelog ${doc}/changelog.Debian ${pages} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND chmod -R u=rwX,go=rX ${CPACK_TEMPORARY_DIRECTORY}/usr COMMAND_ERROR_IS_FATAL ANY)
