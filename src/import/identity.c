/* SPDX-License-Identifier: BSD-3-Clause */
/* identity.c - Identify through libnvme; see identity.h. */
#include "base/common.h"

#include <libnvme.h>
#include <string.h>

#include "base/mem.h"
#include "devices/identity_sysfs.h"
#include "import/identity.h"

/* Fields of Identify are padded with spaces, not ended. */
static void take_text(const char *field, size_t field_bytes, char *out)
{
	size_t bytes = field_bytes;

	while (bytes && (field[bytes - 1] == ' ' || field[bytes - 1] == '\0'))
		bytes--;
	for (size_t i = 0; i < bytes; i++)
		if (field[i] < 0x20 || field[i] > 0x7e)
			return;
	memcpy(out, field, bytes);
	out[bytes] = '\0';
}

static void take_controller(int fd, struct ugst_identity *identity)
{
	struct nvme_id_ctrl *ctrl = ugst_alloc_aligned(sizeof(*ctrl), 4096);

	if (ctrl && nvme_identify_ctrl(fd, ctrl) == 0) {
		take_text(ctrl->sn, sizeof(ctrl->sn), identity->serial);
		take_text(ctrl->mn, sizeof(ctrl->mn), identity->model);
	}
	free(ctrl);
}

/* The UUID is in the list of descriptors only. */
static void take_uuid(int fd, uint32_t nsid, struct ugst_identity *identity)
{
	uint8_t *list = ugst_alloc_aligned(NVME_IDENTIFY_DATA_SIZE, 4096);
	size_t at = 0;

	if (!list || nvme_identify_ns_descs(fd, nsid, (void *)list) != 0) {
		free(list);
		return;
	}
	while (at + 4 <= NVME_IDENTIFY_DATA_SIZE) {
		uint8_t type = list[at];
		uint8_t bytes = list[at + 1];

		if (bytes == 0 || at + 4 + bytes > NVME_IDENTIFY_DATA_SIZE)
			break;
		if (type == NVME_NIDT_UUID && bytes == NVME_NIDT_UUID_LEN)
			memcpy(identity->uuid.bytes, list + at + 4, bytes);
		at += 4u + bytes;
	}
	free(list);
}

static bool take_namespace(int fd, uint32_t nsid, struct ugst_namespace *ns)
{
	struct nvme_id_ns *id = ugst_alloc_aligned(sizeof(*id), 4096);
	bool found = id && nvme_identify_ns(fd, nsid, id) == 0;

	if (found) {
		/* Bits 5 and 6 are the high part of the index (2.0). */
		unsigned format =
			(id->flbas & 0x0fu) | (id->flbas & 0x60u) >> 1;

		memcpy(ns->identity.nguid, id->nguid,
		       sizeof(ns->identity.nguid));
		memcpy(ns->identity.eui64, id->eui64,
		       sizeof(ns->identity.eui64));
		ns->metadata_bytes = le16toh(id->lbaf[format].ms);
		ns->size_nlb = le64toh(id->nsze);
		ns->capacity_nlb = le64toh(id->ncap);
		ns->identified = true;
	}
	free(id);
	return found;
}

void ugst_namespace_identify(const struct ugst_blockdev *dev,
                             struct ugst_namespace *ns_out)
{
	uint32_t nsid = 0;

	memset(ns_out, 0, sizeof(*ns_out));
	if (dev->kind != UGST_DEVICE_BLOCK)
		return;
	/* Says in passing whether this is NVMe at all: others are not asked,
	 * their drivers give these ioctl numbers other meanings. */
	ugst_identity_sysfs("/sys", dev->device, &ns_out->identity);
	if (!ns_out->identity.known || nvme_get_nsid(dev->fd, &nsid) != 0 ||
	    nsid != ns_out->identity.nsid)
		return;
	if (take_namespace(dev->fd, nsid, ns_out)) {
		take_controller(dev->fd, &ns_out->identity);
		take_uuid(dev->fd, nsid, &ns_out->identity);
	}
}
