// SPDX-License-Identifier: BSD-3-Clause
// user.cc - the library from C++: links, runs, and is the version it says.
#include <cstring>

#include <ugds_st.h>
#include <ugds_st_import.h>

int main()
{
	ugds_st_open_opts opts = UGDS_ST_OPEN_OPTS_INIT;
	ugds_st_store *store = nullptr;
	ugds_st_error err;

	if (ugds_st_open("/dev/null/absent", &opts, &store, &err) ==
	    UGDS_ST_OK)
		return 1;
	return std::strcmp(ugds_st_version(), UGDS_ST_VERSION);
}
