# SPDX-License-Identifier: BSD-3-Clause
#
# Install.cmake - headers, libraries, tools, man pages, .pc files, CMake
# package.
#
# Two export sets: users of the shared libraries need none of our
# dependencies, users of the archives need all of them.

include(CMakePackageConfigHelpers)

set(UGDS_ST_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/ugds_st)
set(UGDS_ST_SHARED_TARGETS ugds_st)
set(UGDS_ST_STATIC_TARGETS ugds_st_static)
set(UGDS_ST_HEADERS include/ugds_st.h)
set(UGDS_ST_PC_FILES ugds_st)

if(TARGET ugds_st_import)
	list(APPEND UGDS_ST_SHARED_TARGETS ugds_st_import)
	list(APPEND UGDS_ST_STATIC_TARGETS ugds_st_import_static)
	list(APPEND UGDS_ST_HEADERS include/ugds_st_import.h)
	list(APPEND UGDS_ST_PC_FILES ugds_st_import)
endif()
if(TARGET ugds_st_cuda)
	list(APPEND UGDS_ST_SHARED_TARGETS ugds_st_cuda)
	list(APPEND UGDS_ST_HEADERS include/ugds_st_cuda.h)
	list(APPEND UGDS_ST_PC_FILES ugds_st_cuda)
endif()

install(FILES ${UGDS_ST_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ${UGDS_ST_SHARED_TARGETS} EXPORT ugds_st-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ${UGDS_ST_STATIC_TARGETS} EXPORT ugds_st-static-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT ugds_st-targets NAMESPACE ugds_st::
        DESTINATION ${UGDS_ST_PACKAGE_DIR})
install(EXPORT ugds_st-static-targets NAMESPACE ugds_st::
        DESTINATION ${UGDS_ST_PACKAGE_DIR})

configure_package_config_file(
	cmake/ugds_st-config.cmake.in ugds_st-config.cmake
	INSTALL_DESTINATION ${UGDS_ST_PACKAGE_DIR})
# Before 1.0 a minor version may break.
write_basic_package_version_file(
	ugds_st-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
	${CMAKE_CURRENT_BINARY_DIR}/ugds_st-config.cmake
	${CMAKE_CURRENT_BINARY_DIR}/ugds_st-config-version.cmake
	DESTINATION ${UGDS_ST_PACKAGE_DIR})

# .pc files find their prefix from where they lie, so that an installed tree
# may be moved; an absolute libdir or includedir stays as it is.
function(ugds_st_pc_path variable dir)
	if(IS_ABSOLUTE "${dir}")
		set(${variable} "${dir}" PARENT_SCOPE)
	else()
		set(${variable} "\${prefix}/${dir}" PARENT_SCOPE)
	endif()
endfunction()
ugds_st_pc_path(UGDS_ST_PC_LIBDIR "${CMAKE_INSTALL_LIBDIR}")
ugds_st_pc_path(UGDS_ST_PC_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
	set(UGDS_ST_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
	file(RELATIVE_PATH UGDS_ST_PC_UP
	     "${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig"
	     "${CMAKE_INSTALL_PREFIX}")
	string(REGEX REPLACE "/$" "" UGDS_ST_PC_UP "${UGDS_ST_PC_UP}")
	set(UGDS_ST_PC_PREFIX "\${pcfiledir}/${UGDS_ST_PC_UP}")
endif()
foreach(pc IN LISTS UGDS_ST_PC_FILES)
	configure_file(cmake/${pc}.pc.in ${pc}.pc @ONLY)
	install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${pc}.pc
	        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

if(UGDS_ST_BUILD_TOOLS)
	install(TARGETS ugds-st-cat
	        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
	install(FILES docs/man/ugds-st-cat.1
	        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
	if(TARGET ugds-st-import)
		install(TARGETS ugds-st-import
		        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
		install(FILES docs/man/ugds-st-import.1
		        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
	endif()
endif()
