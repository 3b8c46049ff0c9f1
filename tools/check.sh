#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# check.sh [STEP]... - build with warnings as errors, and run the tests.
#
# Without STEP, all of:
#   test        gcc, every test
#   asan        the same under the address and undefined-behaviour sanitizers
#   tsan        what uses threads, under the thread sanitizer
#   clang       clang, compile only
#   tidy cppcheck shellcheck format   what the linters say
# A part of `test` by itself: unit cli abi install e2e
#   large model fuzz diff crash shim vm; vm is left out of `test` outside CI
#
# Installs what is missing with apt. UGDS_ST_BUILD_DIR says where to build.
# The last line counts tests: "N passed, N failed, N skipped".

set -uo pipefail
# shellcheck source=tools/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

all_steps=(test asan tsan clang tidy cppcheck shellcheck format)
ctest_steps=(unit cli abi install e2e large model fuzz diff crash shim vm)
check_packages=(libcmocka-dev g++ clang clang-format clang-tidy cppcheck
	shellcheck python3-venv util-linux mount e2fsprogs)
passed=0 failed=0
skipped_names=() failed_names=() run_under=()

# ------------------------------------------------------------------- counting

# A step that is one check: its exit status counts, 77 is a skip.
count() {
	case $2 in
	0) passed=$((passed + 1)) ;;
	77) skipped_names+=("$1") ;;
	*)
		failed=$((failed + 1))
		failed_names+=("$1")
		;;
	esac
}

# run_ctest STEP FOLDER OPTION... - each of its tests counts. Skips that a
# CMocka program reports of single tests count too.
run_ctest() {
	local step=$1 folder=$build/$2 line name rest
	local log=$build/$step.ctest
	shift 2

	"${run_under[@]}" ctest --test-dir "$folder" -j "$jobs" --output-on-failure \
		--no-tests=error "$@" </dev/null | tee "$log"
	if [ "${PIPESTATUS[0]}" -ne 0 ] && ! grep -q 'Test *#' "$log"; then
		count "$step" 1
		return
	fi
	while read -r line; do
		name=${line#*: }
		name=${name%% *}
		rest=${line#*: "$name" }
		case $rest in
		*Passed*) count "$step:$name" 0 ;;
		*Skipped*) count "$step:$name" 77 ;;
		*) count "$step:$name" 1 ;;
		esac
	done < <(grep -E '^ *[0-9]+/[0-9]+ Test +#' "$log")
	while read -r line; do
		skipped_names+=("$step:$line")
	done < <(sed -n 's/^\[  SKIPPED \] \([a-z][A-Za-z0-9_]*\)$/\1/p' \
		"$folder/Testing/Temporary/LastTest.log" | sort -u)
	# Why, where a test says so.
	grep -h '^SKIP: ' "$folder/Testing/Temporary/LastTest.log" | sort -u
}

# ---------------------------------------------------------------------- steps

# Python with the official loader in it, for tests that ask UGDS_ST_PYTHON.
# Without a network they are skipped, in CI that is a failure.
make_venv() {
	local venv=$build/venv

	if [ ! -x "$venv/bin/python3" ] ||
		! "$venv/bin/python3" -c 'import safetensors, numpy' 2>/dev/null
	then
		python3 -m venv "$venv" && "$venv/bin/pip" -q \
			--disable-pip-version-check install \
			-r "$here/tests/requirements.txt"
	fi
	export UGDS_ST_PYTHON=$venv/bin/python3
	if ! "$UGDS_ST_PYTHON" -c 'import safetensors, numpy'; then
		[ -z "${CI:-}" ] || count venv 1
		UGDS_ST_PYTHON=python3
	fi
}

build_plain() {
	build_in check -DUGDS_ST_WERROR=ON
}

step_test() {
	build_plain || { count test 1 && return; }
	if [ -n "${CI:-}" ]; then
		run_ctest test check
	else
		run_ctest test check -LE '^vm$'
	fi
}

step_label() {
	build_plain || { count "$1" 1 && return; }
	run_ctest "$1" check -L "^$1\$"
}

step_asan() {
	build_in asan -DUGDS_ST_WERROR=ON -DCMAKE_BUILD_TYPE=Debug \
		"-DUGDS_ST_SANITIZE=address;undefined" ||
		{ count asan 1 && return; }
	run_ctest asan asan -LE 'abi|install|model|large|vm'
}

step_tsan() {
	build_in tsan -DUGDS_ST_WERROR=ON "-DUGDS_ST_SANITIZE=thread" ||
		{ count tsan 1 && return; }
	# More random bits of address space than gcc's run-time library knows
	# make it give up.
	run_under=(setarch -R)
	run_ctest tsan tsan -L threads
	run_under=()
}

step_clang() {
	build_in clang -DUGDS_ST_WERROR=ON -DCMAKE_C_COMPILER=clang
	count clang $?
}

step_tidy() {
	build_in tidy -DCMAKE_C_COMPILER=clang \
		-DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DUGDS_ST_BUILD_TESTS=OFF &&
		sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' \
			"$build/tidy/compile_commands.json" | sort -u |
			xargs -n 1 -P "$jobs" clang-tidy --quiet \
				-p "$build/tidy" --warnings-as-errors='*'
	count tidy $?
}

step_cppcheck() {
	cppcheck --quiet --std=c11 --enable=warning,performance,portability \
		--inline-suppr --error-exitcode=1 --suppress=missingIncludeSystem \
		-j "$jobs" -D_GNU_SOURCE -I "$here/include" -I "$here/src" \
		"$here/src" "$here/tools"
	count cppcheck $?
}

step_shellcheck() {
	cd "$here" && find . -path ./build\* -prune -o -name '*.sh' -print0 |
		xargs -0 shellcheck -S warning -x .ci/run
	count shellcheck $?
}

step_format() {
	cd "$here" && find include src tools tests docs/examples -name '*.[ch]' \
		-print0 | xargs -0 clang-format --dry-run -Werror
	count format $?
}

# ----------------------------------------------------------------------- main

main() {
	local steps=("$@") step known=" ${all_steps[*]} ${ctest_steps[*]} "

	for step in "$@"; do
		if [[ $known != *" $step "* ]]; then
			sed -n '4,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
			[ "$step" = --help ] && exit 0
			exit 2
		fi
	done
	[ $# -gt 0 ] || steps=("${all_steps[@]}")
	mkdir -p "$build"
	need "${build_packages[@]}" "${check_packages[@]}" || exit 1
	make_venv
	for step in "${steps[@]}"; do
		say "$step"
		if [[ " ${ctest_steps[*]} " == *" $step "* ]]; then
			step_label "$step"
		else
			"step_$step"
		fi
	done
	say "summary"
	[ ${#skipped_names[@]} -eq 0 ] || printf 'skipped: %s\n' "${skipped_names[@]}"
	[ ${#failed_names[@]} -eq 0 ] || printf 'failed: %s\n' "${failed_names[@]}"
	echo "$passed passed, $failed failed, ${#skipped_names[@]} skipped"
	[ "$failed" -eq 0 ]
}

main "$@" </dev/null
