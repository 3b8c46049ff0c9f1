/* SPDX-License-Identifier: BSD-3-Clause */
/* identity_sysfs.c - attributes of a namespace; see identity_sysfs.h. */
#include "base/common.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "devices/identity_sysfs.h"

#define TEXT_BYTES 128

/* An attribute without its newline and the spaces that Identify pads with.
 * false: there is none. */
static bool read_attribute(const char *folder, const char *name,
                           char text[TEXT_BYTES])
{
	char path[PATH_MAX];
	size_t bytes;
	FILE *file;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >=
	    sizeof(path))
		return false;
	file = fopen(path, "re");
	if (!file)
		return false;
	bytes = fread(text, 1, TEXT_BYTES - 1, file);
	(void)fclose(file);
	while (bytes && strchr(" \n", text[bytes - 1]))
		bytes--;
	text[bytes] = '\0';
	return bytes > 0;
}

/* Hex digits, with dashes or spaces among them as kernels print them. What is
 * not that leaves zeros: absent. */
static void take_hex(const char *text, uint8_t *bytes_out, size_t bytes)
{
	uint8_t value[16] = {0};
	size_t digits = 0;

	for (; *text; text++) {
		static const char hex[] = "0123456789abcdef";
		const char *at = strchr(hex, *text | 0x20);

		if (*text == ' ' || *text == '-')
			continue;
		if (!at || !*at || digits == 2 * bytes)
			return;
		value[digits / 2] =
			(uint8_t)(value[digits / 2] << 4 | (at - hex));
		digits++;
	}
	if (digits == 2 * bytes)
		memcpy(bytes_out, value, bytes);
}

/* Printable ASCII only, as Identify has it; anything else is absent. */
static void take_text(const char *text, char *out, size_t out_bytes)
{
	for (size_t i = 0; text[i]; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return;
	if (strlen(text) < out_bytes)
		memcpy(out, text, strlen(text) + 1);
}

/* The folder of a disk, or of the disk that a partition lies on. */
static void disk_folder(const char *sysfs, dev_t device, char folder[PATH_MAX])
{
	char path[PATH_MAX];

	(void)snprintf(folder, PATH_MAX, "%s/dev/block/%u:%u", sysfs,
	               major(device), minor(device));
	/* Through the link: a partition's folder lies in its disk's. */
	if ((size_t)snprintf(path, sizeof(path), "%s/partition", folder) <
	            sizeof(path) &&
	    access(path, F_OK) == 0)
		(void)strcat(folder, "/..");
}

void ugst_identity_sysfs(const char *sysfs, dev_t device,
                         struct ugst_identity *identity_out)
{
	struct ugst_identity *id = identity_out;
	char folder[PATH_MAX];
	char text[TEXT_BYTES];
	char *end;
	unsigned long nsid;

	memset(id, 0, sizeof(*id));
	disk_folder(sysfs, device, folder);
	/* Only NVMe namespaces have one. */
	if (!read_attribute(folder, "nsid", text))
		return;
	nsid = strtoul(text, &end, 10);
	if (*end || nsid == 0 || nsid >= UINT32_MAX)
		return;
	id->known = true;
	id->nsid = (uint32_t)nsid;
	if (read_attribute(folder, "nguid", text))
		take_hex(text, id->nguid, sizeof(id->nguid));
	if (read_attribute(folder, "eui", text))
		take_hex(text, id->eui64, sizeof(id->eui64));
	if (read_attribute(folder, "uuid", text))
		take_hex(text, id->uuid.bytes, sizeof(id->uuid.bytes));
	/* Kernels show the NGUID here where a namespace has no UUID. */
	if (!memcmp(id->uuid.bytes, id->nguid, sizeof(id->nguid)))
		memset(&id->uuid, 0, sizeof(id->uuid));
	if (read_attribute(folder, "device/serial", text))
		take_text(text, id->serial, sizeof(id->serial));
	if (read_attribute(folder, "device/model", text))
		take_text(text, id->model, sizeof(id->model));
}
