# SPDX-License-Identifier: BSD-3-Clause
#
# Compiler.cmake - what every target of this project is compiled with.
#
# ugds_st_target(TARGET) sets it on one target: nothing here leaks into a
# project that adds this one with add_subdirectory().

include(CheckCCompilerFlag)

set(UGDS_ST_WARNING_FLAGS "")
foreach(flag IN ITEMS
        -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes
        -Wmissing-prototypes -Wundef -Wvla -Wcast-qual -Wpointer-arith)
	string(MAKE_C_IDENTIFIER "UGDS_ST_HAS${flag}" variable)
	check_c_compiler_flag(${flag} ${variable})
	if(${variable})
		list(APPEND UGDS_ST_WARNING_FLAGS ${flag})
	endif()
endforeach()
if(UGDS_ST_WERROR)
	list(APPEND UGDS_ST_WARNING_FLAGS -Werror)
endif()

set(UGDS_ST_SANITIZE_FLAGS "")
if(UGDS_ST_SANITIZE)
	string(REPLACE ";" "," UGDS_ST_SANITIZERS "${UGDS_ST_SANITIZE}")
	set(UGDS_ST_SANITIZE_FLAGS -fsanitize=${UGDS_ST_SANITIZERS}
	    -fno-sanitize-recover=all -fno-omit-frame-pointer)
endif()

function(ugds_st_target target)
	set_target_properties(${target} PROPERTIES
		C_STANDARD 11
		C_STANDARD_REQUIRED ON
		C_EXTENSIONS OFF
		C_VISIBILITY_PRESET hidden)
	# The same macros that base/common.h relies on; a 32-bit machine has to
	# see files above 2 GiB too.
	target_compile_definitions(${target}
		PRIVATE _GNU_SOURCE _FILE_OFFSET_BITS=64)
	target_compile_options(${target} PRIVATE ${UGDS_ST_WARNING_FLAGS}
	                       ${UGDS_ST_SANITIZE_FLAGS})
	target_link_options(${target} PRIVATE ${UGDS_ST_SANITIZE_FLAGS})
	if(UGDS_ST_BUILD_FUZZERS)
		target_compile_options(${target}
		                       PRIVATE -fsanitize=fuzzer-no-link)
	endif()
endfunction()

# A shared library that exports what its map lists, and nothing else.
function(ugds_st_shared target map)
	set_target_properties(${target} PROPERTIES
		VERSION ${PROJECT_VERSION}
		SOVERSION 0
		LINK_DEPENDS ${map})
	target_link_options(${target} PRIVATE
	                    "LINKER:--version-script=${map}")
	# A sanitizer's run-time library comes with the program.
	if(NOT UGDS_ST_SANITIZE AND NOT UGDS_ST_BUILD_FUZZERS)
		target_link_options(${target} PRIVATE "LINKER:--no-undefined")
	endif()
endfunction()
