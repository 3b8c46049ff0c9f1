/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <ugds_st.h>

int main(int argc, char **argv)
{
	ugds_st_store *store;
	ugds_st_array *array;
	struct ugds_st_error err;

	if (argc != 3) /* MANIFEST NAME */
		return 2;
	if (ugds_st_open(argv[1], NULL, &store, &err) ||
	    ugds_st_get_tensor(store, argv[2], &array, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	ugds_st_close(store, 0, NULL); /* the array lives on */
	fwrite(ugds_st_array_data(array, 0), 1,
	       ugds_st_array_info(array, 0)->payload_bytes, stdout);
	ugds_st_array_free(array);
	return 0;
}
